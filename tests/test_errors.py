"""An error's message is one line, whatever a file put into it."""

import pytest

from tabsa.errors import DataError


@pytest.mark.parametrize(
    ("message", "line"),
    [
        ("no column 'price'", "no column 'price'"),
        ("no column 'p\nrice'", "no column 'p rice'"),
        ("two\r\nlines\n", "two lines"),
        ("no column '\x1b[2Jprice\x07'", "no column '\\x1b[2Jprice\\x07'"),
        ("Zürich, 北京, \u2028 and \x85", "Zürich, 北京,   and"),
    ],
)
def test_one_line_that_no_terminal_obeys(message: str, line: str) -> None:
    assert str(DataError(message)) == line
