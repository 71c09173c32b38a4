"""Workbooks that another program wrote, and that nobody wrote in good faith."""

import datetime
import random
import sys
import zipfile
from contextlib import suppress
from pathlib import Path

import pytest

from tabsa.errors import DataError, DataWarning
from tabsa.tables.reading import Row, read_good_rows, read_rows

openpyxl = pytest.importorskip("openpyxl", reason="needs openpyxl: pip install 'tabsa[tables]'")
SHEET = "xl/worksheets/sheet1.xml"
NAMESPACE = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"


def save(path: Path, rows: list[list[object]], **sheets: list[list[object]]) -> Path:
    book = openpyxl.Workbook()
    book.active.title = "Reviews"
    for row in rows:
        book.active.append(row)
    for name, more in sheets.items():
        sheet = book.create_sheet(name)
        for row in more:
            sheet.append(row)
    book.save(path)
    return path


def replace(path: Path, content: str) -> None:
    """Put something else in the place of a workbook's first sheet."""
    with zipfile.ZipFile(path) as old:
        parts = {name: old.read(name) for name in old.namelist()}
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as new:
        for name, data in (parts | {SHEET: content.encode()}).items():
            new.writestr(name, data)


def test_random_workbooks_come_back(tmp_path):
    draw = random.Random(5)
    words = ["Café", "Ünder", "日本", "a,b", 'say "x"', "two\nlines", " spaced ", "<b>&amp;", "😀", "3,5"]
    for number in range(10):
        header = ["id", "text", "stars", "when"]
        rows: list[list[object]] = []
        expected: list[list[str]] = []
        for n in range(draw.choice([1, 30, 300])):
            text = " ".join(draw.choices(words, k=draw.randint(1, 8)))
            stars = draw.choice([1, 2.5, -3, 10**12, None, True])
            day = datetime.date(2024, 1, 1) + datetime.timedelta(days=draw.randint(-9000, 900))
            rows.append([n, text, stars, day])
            shown = "" if stars is None else "true" if stars is True else str(stars)
            expected.append([str(n), text, shown, day.isoformat()])
        path = save(tmp_path / f"{number}.xlsx", [header, *rows])
        with path.open("rb") as stream:
            found = list(read_rows(path, stream))
        assert list(found[0].values) == header
        assert [list(row.values.values()) for row in found] == expected
        assert [row.number for row in found] == list(range(2, len(rows) + 2))


def test_times_formulas_gaps_and_empty_rows(tmp_path):
    book = openpyxl.Workbook()
    sheet = book.active
    sheet["B2"], sheet["D2"] = "text", "when"
    sheet["B3"], sheet["D3"] = "first", datetime.datetime(2024, 5, 6, 7, 8, 9)
    sheet["B6"], sheet["C6"], sheet["D6"] = 12, "of a column without a name", datetime.time(7, 30)
    book.save(tmp_path / "my.xlsx")
    first, second = read_rows(tmp_path / "my.xlsx")
    assert first.values == {"text": "first", "when": "2024-05-06 07:08:09"}
    assert second == Row(f"{tmp_path / 'my.xlsx'} row 6", {"text": "12", "when": "07:30:00"}, 6)


def test_the_first_sheet_that_is_shown_is_read_and_named(tmp_path):
    path = save(tmp_path / "my.xlsx", [["secret"]], Second=[["text"], ["a"]], Third=[["x"]])
    book = openpyxl.load_workbook(path)
    book["Reviews"].sheet_state = "hidden"
    book.save(path)
    with pytest.warns(DataWarning, match=r"my\.xlsx: read its first sheet, 'Second'; it has 2$"):
        (row,) = read_good_rows(path)
    assert row.values == {"text": "a"}


def test_damaged_workbooks_are_refused(tmp_path):
    whole = save(tmp_path / "whole.xlsx", [["text"], *([f"text {n}"] for n in range(400))]).read_bytes()
    draw = random.Random(9)
    path = tmp_path / "my.xlsx"
    for _ in range(60):
        broken = bytearray(whole[: draw.randint(1, len(whole))] if draw.random() < 0.3 else whole)
        for _ in range(draw.randint(1, 20)):
            broken[draw.randrange(len(broken))] = draw.randrange(256)
        path.write_bytes(broken)
        with suppress(DataError):  # and nothing else may come of it
            for row in read_rows(path, on_guess=lambda _: None):
                assert isinstance(row, Row)


def test_bombs_do_not_go_off(tmp_path, monkeypatch):
    path = save(tmp_path / "my.xlsx", [["text"], ["a"]])
    levels = "".join(f'<!ENTITY a{n} "{f"&a{n - 1};" * 10}">' for n in range(1, 12))
    replace(path, f'<!DOCTYPE x [<!ENTITY a0 "aaaaaaaaaa">{levels}]><worksheet>&a11;</worksheet>')
    with pytest.raises(DataError, match="is not a whole Excel workbook"):
        list(read_rows(path))
    row = '<row r="{0}"><c r="A{0}" t="inlineStr"><is><t>x</t></is></c></row>'
    claims = f'<dimension ref="A1:XFD1048576"/><sheetData>{row.format(1)}{row.format(999_999_999_999)}</sheetData>'
    replace(path, f'<worksheet xmlns="{NAMESPACE}">{claims}</worksheet>')
    assert list(read_rows(path)) == []  # a header, and a row beyond the last that there can be
    monkeypatch.setattr("tabsa.tables.reading._LARGEST_WORKBOOK", 1_000_000)
    replace(path, " " * 30_000_000)
    with pytest.raises(DataError, match="would unpack to more than 1,000,000 bytes; save it as CSV UTF-8"):
        list(read_rows(path))


def test_without_openpyxl(tmp_path, monkeypatch):
    path = save(tmp_path / "my.xlsx", [["text"], ["a"]])
    monkeypatch.setitem(sys.modules, "openpyxl", None)
    with pytest.raises(DataError, match=r"my\.xlsx needs openpyxl; install it with `pip install 'tabsa\[tables\]'`"):
        list(read_rows(path))
