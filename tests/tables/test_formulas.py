"""Cells that a spreadsheet would run."""

import csv

import pytest

from tabsa.tables.formulas import escape_formula
from tabsa.tables.writing import escape_file, write_table


@pytest.mark.parametrize(
    "cell", ["=1+2", "+a", "-a", "@SUM(A1)", "\ta", "\ra", "-2+3+cmd|' /C calc'!A0", "＝1", "-", "=5"]
)
def test_a_formula_becomes_text(cell: str) -> None:
    assert escape_formula(cell) == "'" + cell


@pytest.mark.parametrize(
    "cell", ["", "a", "a=1", "'=1", "-0.5", "+3", "-1,000.5", "1e-5", "-1e-5", "-5%", "0.2", " =1"]
)
def test_numbers_and_words_stay_as_they_are(cell: str) -> None:
    assert escape_formula(cell) == cell


@pytest.mark.parametrize("suffix", [".csv", ".tsv"])
def test_a_table_is_escaped_on_request(tmp_path, suffix: str) -> None:
    rows = [{"=name": "=x", "number": -0.5}, {"=name": "-3", "number": 2.0}]
    for escape, mark in ((False, ""), (True, "'")):
        path = write_table(tmp_path / f"t{suffix}", {"=name": str, "number": float}, rows, escape_formulas=escape)
        with path.open(newline="") as stream:
            written = list(csv.reader(stream, delimiter="," if suffix == ".csv" else "\t"))
        assert written == [[f"{mark}=name", "number"], [f"{mark}=x", "-0.5"], ["-3", "2.0"]]


def test_a_file_is_escaped_whatever_is_in_its_cells(tmp_path) -> None:
    cells = [["=a", 'q"uote', "-1"], ["two\nlines", "+x\r", "é"], ["", "@", "plain"]]
    path = tmp_path / "t.csv"
    with path.open("w", newline="") as stream:
        csv.writer(stream, lineterminator="\r\n").writerows(cells)
    escape_file(path)
    with path.open(newline="") as stream:
        assert list(csv.reader(stream)) == [[escape_formula(cell) for cell in row] for row in cells]
