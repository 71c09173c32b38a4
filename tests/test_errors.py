"""An error's message is one line, whatever a file put into it."""

from tabsa.errors import DataError


def test_one_line_that_no_terminal_obeys() -> None:
    for message, line in (
        ("no column 'p\nrice'", "no column 'p rice'"),
        ("two\r\nlines\n", "two lines"),
        ("no column '\x1b[2Jprice\x07'", "no column '\\x1b[2Jprice\\x07'"),
        ("Zürich, 北京, \u2028 and \x85", "Zürich, 北京,   and"),
    ):
        assert str(DataError(message)) == line
