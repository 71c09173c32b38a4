"""What callers add to errors, by their codes."""

import re
from pathlib import Path

import pytest

import tabsa
from tabsa.cli import hints
from tabsa.cli.hints import line_of
from tabsa.errors import DataError, TabsaError

SOURCES = sorted(Path(tabsa.__file__).parent.rglob("*.py"))


def test_a_code_has_a_hint_and_a_hint_a_code():
    tables = pytest.importorskip("tabsa.serve.tables", reason="needs the service: pip install 'tabsa[serve]'")
    codes = {code for path in SOURCES for code in re.findall(r'code="(\w+)"', path.read_text("utf-8"))}
    assert codes == hints._HINTS.keys() | tables._HINTS.keys()


def test_a_hint_goes_behind_the_message():
    assert line_of(TabsaError("it is there", code="output_exists")) == (
        "it is there; replace it with --overwrite, or choose another name"
    )


def test_an_error_without_a_code_has_that_of_its_kind_and_no_hint():
    assert (DataError("x").code, TabsaError("x").code) == ("bad_data", "error")
    assert line_of(DataError("it is wrong")) == "it is wrong"
