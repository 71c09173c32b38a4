"""Small tables as files, and cells that a spreadsheet would run."""

import csv

import pytest

from table_rows import text_rows
from tabsa.errors import OutputError
from tabsa.tables.writing import escape_formula, write_table


@pytest.mark.parametrize(
    "cell", ["=1+2", "+a", "-a", "@SUM(A1)", "\ta", "\ra", "-2+3+cmd|' /C calc'!A0", "＝1", "-", "=5"]
)
def test_a_formula_becomes_text(cell):
    assert escape_formula(cell) == "'" + cell


@pytest.mark.parametrize(
    "cell", ["", "a", "a=1", "'=1", "-0.5", "+3", "-1,000.5", "1e-5", "-1e-5", "-5%", "0.2", " =1"]
)
def test_numbers_and_words_stay_as_they_are(cell):
    assert escape_formula(cell) == cell


@pytest.mark.parametrize("suffix", [".csv", ".tsv"])
def test_a_table_is_escaped_on_request(tmp_path, suffix):
    rows = [{"=name": "=x", "number": -0.5}, {"=name": "-3", "number": 2.0}]
    for escape, mark in ((False, ""), (True, "'")):
        path = write_table(tmp_path / f"t{suffix}", {"=name": str, "number": float}, rows, escape_formulas=escape)
        with path.open(newline="") as stream:
            written = list(csv.reader(stream, delimiter="," if suffix == ".csv" else "\t"))
        assert written == [[f"{mark}=name", "number"], [f"{mark}=x", "-0.5"], ["-3", "2.0"]]


@pytest.mark.parametrize("name", ["t.csv", "t.tsv.gz", "t.jsonl", "t.parquet"])
def test_tables_come_back_in_every_format(tmp_path, name):
    if name == "t.parquet":
        pytest.importorskip("pyarrow", reason="needs pyarrow: pip install 'tabsa[tables]'")
    rows = [{"text": 'a "b",\r\nc', "n": 1, "x": None}, {"text": "é\t", "n": 2, "x": 0.5}]
    path = write_table(tmp_path / name, {"text": str, "n": int, "x": float}, rows)
    assert list(text_rows(path)) == [
        {"text": 'a "b",\r\nc', "n": "1", "x": ""},
        {"text": "é\t", "n": "2", "x": "0.5"},
    ]
    assert [one.name for one in tmp_path.iterdir()] == [name]


def test_a_name_that_tells_no_format_is_refused(tmp_path):
    with pytest.raises(OutputError, match=r"cannot write '.*t\.txt'; expected a name that ends in \.csv, "):
        write_table(tmp_path / "t.txt", {"a": str}, [])
