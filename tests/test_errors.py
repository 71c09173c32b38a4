"""An error's message is one line, whatever a file put into it."""

import ast
import re
import warnings
from pathlib import Path

import pytest

import tabsa
from tabsa.errors import DataError, DeprecatedWarning, deprecated


@pytest.mark.parametrize(
    ("message", "told"),
    [
        ("no column 'price'", "no column 'price'"),
        ("no column 'p\nrice'", "no column 'p rice'"),
        ("two\r\nlines\n", "two lines"),
        ("no column '\x1b[2Jprice\x07'", "no column '\\x1b[2Jprice\\x07'"),
        ("Zürich, 北京, \u2028 and \x85", "Zürich, 北京,   and"),
    ],
)
def test_one_line_that_no_terminal_obeys(message: str, told: str) -> None:
    assert str(DataError(message)) == told


# ---- old ways, as CONTRIBUTING.md has them


def test_a_warning_of_an_old_way_is_seen_by_everybody_where_they_used_it() -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.resetwarnings()  # what Python does for a user who asked for nothing
        for category in (DeprecationWarning, PendingDeprecationWarning, ImportWarning, ResourceWarning):
            warnings.simplefilter("ignore", category, append=True)
        deprecated("'a' is called 'b' now", until="9.0", stacklevel=1)
    (seen,) = caught
    assert (seen.category, seen.filename) == (DeprecatedWarning, __file__)
    assert str(seen.message) == "'a' is called 'b' now; the old way works until 9.0"


def calls_of_deprecated() -> list[tuple[Path, ast.Call]]:
    return [
        (path, node)
        for path in sorted(Path(tabsa.__file__).parent.rglob("*.py"))
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "deprecated"
    ]


def test_no_old_way_outlives_its_time() -> None:
    """At the version that a warning names, the old way and its warning go."""
    now = tuple(map(int, tabsa.__version__.split(".")[:2]))
    calls = calls_of_deprecated()
    assert calls
    for path, call in calls:
        (until,) = (ast.literal_eval(keyword.value) for keyword in call.keywords if keyword.arg == "until")
        assert re.fullmatch(r"\d+\.\d+", until), f"{path}, line {call.lineno}: a minor version"
        assert tuple(map(int, until.split("."))) > now, f"{path}, line {call.lineno}: its time has come"


def test_old_ways_are_told_in_one_form() -> None:
    """Python's own category is hidden from most users, so nobody warns with it."""
    for path in Path(tabsa.__file__).parent.rglob("*.py"):
        if path.name != "errors.py":
            assert not re.search(r"DeprecationWarning|FutureWarning", path.read_text("utf-8")), path
