"""Workbooks that another program wrote, and that nobody wrote in good faith."""

import datetime
import io
import random
import tracemalloc
import zipfile
from contextlib import suppress
from pathlib import Path

import pytest

from tabsa.errors import DataError, DataWarning
from tabsa.tables.rows import BadRow, Row, every_row, typed_rows
from tabsa.tables.workbook import Workbook, column_name

openpyxl = pytest.importorskip("openpyxl", reason="needs openpyxl: pip install '.[dev]'")


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


def test_random_workbooks_come_back(tmp_path: Path) -> None:
    draw = random.Random(5)
    words = ["Café", "Ünder", "日本", "a,b", 'say "x"', "two\nlines", " spaced ", "<b>&amp;", "😀", "3,5"]
    for number in range(20):
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
        found = list(every_row(save(tmp_path / f"{number}.xlsx", [header, *rows])))
        assert [list(row.values) for row in found[:1]] == [header]
        assert [list(row.values.values()) for row in found] == expected
        assert [row.number for row in found] == list(range(2, len(rows) + 2))


def test_times_formulas_gaps_and_empty_rows(tmp_path: Path) -> None:
    book = openpyxl.Workbook()
    sheet = book.active
    sheet["B2"], sheet["D2"] = "text", "when"
    sheet["B3"], sheet["D3"] = "first", datetime.datetime(2024, 5, 6, 7, 8, 9)
    sheet["B6"], sheet["C6"], sheet["D6"] = 12, "named by its letter", datetime.time(7, 30)
    sheet["B7"], sheet["F7"] = "too far", "right"
    book.save(tmp_path / "my.xlsx")
    first, second, bad = every_row(tmp_path / "my.xlsx")
    names = ["column A", "text", "column C", "when"]
    assert first.values == dict(zip(names, ["", "first", "", "2024-05-06 07:08:09"], strict=True))
    assert second == Row(
        f"{tmp_path / 'my.xlsx'} row 6",
        dict(zip(names, ["", "12", "named by its letter", "07:30:00"], strict=True)),
        6,
    )
    assert isinstance(bad, BadRow)
    assert str(bad.error).endswith("row 7 has a value in column F, which has no name")


def test_rich_text_and_inline_text(tmp_path: Path) -> None:
    path = save(tmp_path / "my.xlsx", [["text"], ["placeholder"]])
    sheet = (
        '<worksheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"><sheetData>'
        '<row><c t="inlineStr"><is><t>text</t></is></c><c t="str"><f>A1</f><v>formula</v></c></row>'
        '<row><c t="inlineStr"><is><r><t>Ca</t></r><r><t>fé </t></r><rPh><t>no</t></rPh></is></c>'
        '<c t="e"><v>#N/A</v></c></row></sheetData></worksheet>'
    )
    replace(path, "xl/worksheets/sheet1.xml", sheet.encode())
    assert [row.values for row in every_row(path)] == [{"text": "Café ", "formula": "#N/A"}]


def replace(path: Path, part: str, content: bytes) -> None:
    with zipfile.ZipFile(path) as old:
        parts = {name: old.read(name) for name in old.namelist()}
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as new:
        for name, data in (parts | {part: content}).items():
            new.writestr(name, data)


def test_the_first_sheet_that_is_shown_is_read_and_said(tmp_path: Path) -> None:
    path = save(tmp_path / "my.xlsx", [["secret"]], Second=[["text"], ["a"]], Third=[["x"]])
    book = openpyxl.load_workbook(path)
    book["Reviews"].sheet_state = "hidden"
    book.save(path)
    with pytest.warns(DataWarning, match=r"my\.xlsx: read its first sheet, 'Second'; it has 2$"):
        (row,) = typed_rows(path)
    assert row.values == {"text": "a"}


def test_days_since_1904(tmp_path: Path) -> None:
    book = openpyxl.Workbook()
    book.epoch = openpyxl.utils.datetime.CALENDAR_MAC_1904
    book.active.append(["when"])
    book.active.append([datetime.date(2020, 2, 29)])
    book.save(tmp_path / "my.xlsx")
    assert [row.values for row in every_row(tmp_path / "my.xlsx")] == [{"when": "2020-02-29"}]


def test_columns_are_counted_as_spreadsheets_do() -> None:
    for place in (0, 1, 25, 26, 51, 52, 701, 702, 16383):
        assert column_name(place) == openpyxl.utils.get_column_letter(place + 1)


@pytest.mark.parametrize(
    ("content", "line"),
    [
        (b"", "is not a whole Excel workbook; save it again"),
        (b"id,text\n1,a\n", "is not a whole Excel workbook"),
        (b"PK\x03\x04", "is not a whole Excel workbook"),
    ],
)
def test_what_is_no_workbook_is_one_clear_line(tmp_path: Path, content: bytes, line: str) -> None:
    path = tmp_path / "my.xlsx"
    path.write_bytes(content)
    with pytest.raises(DataError) as caught:
        list(every_row(path))
    assert str(caught.value).startswith(f"{path} {line}")


def test_damaged_workbooks_are_refused(tmp_path: Path) -> None:
    whole = save(tmp_path / "whole.xlsx", [["text"], *([f"text {n}"] for n in range(400))]).read_bytes()
    draw = random.Random(9)
    path = tmp_path / "my.xlsx"
    for _ in range(150):
        broken = bytearray(whole[: draw.randint(1, len(whole))] if draw.random() < 0.3 else whole)
        for _ in range(draw.randint(1, 20)):
            broken[draw.randrange(len(broken))] = draw.randrange(256)
        path.write_bytes(broken)
        with suppress(DataError):  # and nothing else may come of it
            for row in every_row(path, on_guess=lambda _: None):
                assert isinstance(row, Row | BadRow)


def test_bombs_do_not_go_off(tmp_path: Path) -> None:
    path = save(tmp_path / "my.xlsx", [["text"], ["a"]])
    definitions = b'<!DOCTYPE x [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;">]><worksheet>&b;</worksheet>'
    replace(path, "xl/worksheets/sheet1.xml", definitions)
    with pytest.raises(DataError, match="is a damaged Excel workbook"):
        list(every_row(path))
    replace(path, "xl/worksheets/sheet1.xml", b"<!--" + b"-x" * 65_536 + b"-->" + definitions)
    with pytest.raises(DataError, match="it defines words of its own"):
        list(every_row(path))
    replace(path, "xl/worksheets/sheet1.xml", b" " * 30_000_000)
    assert path.stat().st_size < 100_000
    tracemalloc.start()
    with pytest.raises(DataError, match="would unpack to more than 1,000,000 bytes; save it as CSV UTF-8"):
        Workbook(io.BytesIO(path.read_bytes()), path, largest=1_000_000)
    with pytest.raises(DataError, match="is a damaged Excel workbook"):
        list(every_row(path))
    assert tracemalloc.get_traced_memory()[1] < 5_000_000
    tracemalloc.stop()


def test_memory_does_not_grow_with_the_rows(tmp_path: Path) -> None:
    path = save(tmp_path / "my.xlsx", [["id", "text"], *([n, "the same text"] for n in range(20_000))])
    tracemalloc.start()
    assert sum(1 for _ in every_row(path)) == 20_000
    assert tracemalloc.get_traced_memory()[1] < 3_000_000
    tracemalloc.stop()
