"""Small tables as files, and cells that a spreadsheet would run."""

import csv

import pytest

from table_rows import text_rows
from tabsa.errors import OutputError
from tabsa.tables.writing import escape_formula, write_table


def test_formulas_become_text_and_numbers_and_words_stay() -> None:
    for cell in ("=1+2", "+a", "-a", "@SUM(A1)", "\ta", "\ra", "-2+3+cmd|' /C calc'!A0", "＝1", "-", "=5"):
        assert escape_formula(cell) == "'" + cell
    for cell in ("", "a", "a=1", "'=1", "-0.5", "+3", "-1,000.5", "1e-5", "-1e-5", "-5%", "0.2", " =1"):
        assert escape_formula(cell) == cell


@pytest.mark.parametrize("suffix", [".csv", ".tsv"])
def test_a_table_is_escaped_on_request(tmp_path, suffix):
    rows = [{"=name": "=x", "number": -0.5}, {"=name": "-3", "number": 2.0}]
    for escape, mark in ((False, ""), (True, "'")):
        path = write_table(tmp_path / f"t{suffix}", ["=name", "number"], rows, escape_formulas=escape)
        with path.open(newline="") as stream:
            written = list(csv.reader(stream, delimiter="," if suffix == ".csv" else "\t"))
        assert written == [[f"{mark}=name", "number"], [f"{mark}=x", "-0.5"], ["-3", "2.0"]]


@pytest.mark.parametrize("name", ["t.csv", "t.tsv", "t.jsonl"])
def test_tables_come_back_in_every_format(tmp_path, name):
    rows = [{"text": 'a "b",\r\nc', "n": 1, "x": float("nan")}, {"text": "é\t", "n": 2, "x": 0.5}]
    path = write_table(tmp_path / name, ["text", "n", "x"], rows)
    assert list(text_rows(path)) == [{"text": 'a "b",\r\nc', "n": "1", "x": ""}, {"text": "é\t", "n": "2", "x": "0.5"}]
    assert [one.name for one in tmp_path.iterdir()] == [name]
    with pytest.raises(OutputError, match=r"cannot write '.*t\.txt'; expected a name that ends in \.csv, "):
        write_table(tmp_path / "t.txt", ["text"], rows)
