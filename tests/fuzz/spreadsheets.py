"""Tables as bytes, in every format that is read, by hand: so that what is wrong in them is wrong inside, too."""

import gzip
import io
import json
import zipfile
from collections.abc import Sequence
from typing import Any
from xml.sax.saxutils import escape

from fuzz.making import Edits, edited

_SPACE = "http://schemas.openxmlformats.org"
_HEAD = '<?xml version="1.0" encoding="UTF-8"?>'
_PARTS = {
    "[Content_Types].xml": f'{_HEAD}<Types xmlns="{_SPACE}/package/2006/content-types">'
    '<Default Extension="xml" ContentType="application/xml"/></Types>',
    "_rels/.rels": f'{_HEAD}<Relationships xmlns="{_SPACE}/package/2006/relationships"><Relationship Id="rId1" '
    f'Type="{_SPACE}/officeDocument/2006/relationships/officeDocument" Target="xl/workbook.xml"/></Relationships>',
    "xl/workbook.xml": f'{_HEAD}<workbook xmlns="{_SPACE}/spreadsheetml/2006/main" '
    f'xmlns:r="{_SPACE}/officeDocument/2006/relationships"><sheets><sheet name="A" sheetId="1" r:id="rId1"/></sheets>'
    "</workbook>",
    "xl/_rels/workbook.xml.rels": f'{_HEAD}<Relationships xmlns="{_SPACE}/package/2006/relationships"><Relationship '
    f'Id="rId1" Type="{_SPACE}/officeDocument/2006/relationships/worksheet" Target="worksheets/sheet1.xml"/>'
    "</Relationships>",
}


def content_of(
    end: str, names: Sequence[str], rows: Sequence[Sequence[Any]], form: dict[str, Any], inner: Edits
) -> bytes:
    """The bytes of a table; `inner` is done to what a format packs, before it is packed."""
    if end == ".parquet":
        return _parquet(names, rows)
    if end == ".xlsx":
        return _workbook(names, rows, inner)
    text = _lines(names, rows) if "json" in end else _fields(names, rows, form)
    content = edited(
        text.encode(form["encoding"], "replace" if "utf" not in form["encoding"] else "surrogatepass"), inner
    )
    return gzip.compress(content, mtime=0) if end.endswith(".gz") else content


def _lines(names: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    return "".join(
        json.dumps(dict(zip(names, row, strict=True)), ensure_ascii=len(row) % 2 == 0) + "\n" for row in rows
    )


def _fields(names: Sequence[str], rows: Sequence[Sequence[Any]], form: dict[str, Any]) -> str:
    separator = form["separator"]

    def field(value: Any) -> str:
        text = value if isinstance(value, str) else "" if value is None else json.dumps(value)
        if form["quotes"] == "right" and any(mark in text for mark in (separator, '"', "\n", "\r")):
            return '"' + text.replace('"', '""') + '"'
        return '"' + text if form["quotes"] == "open" and len(text) > 10 else text

    lines = [separator.join(map(field, row)) for row in (names, *rows)]
    if form["ragged"]:
        lines = [line + separator * (number % 3) for number, line in enumerate(lines)]
    return "\n".join(lines) + "\n"


def _parquet(names: Sequence[str], rows: Sequence[Sequence[Any]]) -> bytes:
    import pyarrow
    from pyarrow import parquet

    columns: dict[str, Any] = {}
    for place, name in enumerate(names):
        values = [row[place] for row in rows]
        try:
            columns[_whole(name)] = pyarrow.array(values)
        except (
            pyarrow.ArrowException,
            ValueError,
            OverflowError,
            UnicodeError,
        ):  # of several types, or none of its own
            columns[_whole(name)] = pyarrow.array([_whole(json.dumps(value)) for value in values])
    stream = io.BytesIO()
    try:
        parquet.write_table(pyarrow.table(columns), stream)
    except (pyarrow.ArrowException, ValueError):  # what it can hold in memory and not in a file
        return b"PAR1"
    return stream.getvalue()


def _whole(text: str) -> str:
    return text.encode("utf-8", "replace").decode()


def _workbook(names: Sequence[str], rows: Sequence[Sequence[Any]], inner: Edits) -> bytes:
    lines = []
    for number, row in enumerate((names, *rows), start=1):
        cells = "".join(_cell(value, f"{chr(65 + place % 26)}{number}") for place, value in enumerate(row))
        lines.append(f'<row r="{number}">{cells}</row>')
    rows_written = f"<sheetData>{''.join(lines)}</sheetData>"
    sheet = f'{_HEAD}<worksheet xmlns="{_SPACE}/spreadsheetml/2006/main">{rows_written}</worksheet>'
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, part in _PARTS.items():
            archive.writestr(zipfile.ZipInfo(name), part)
        content = edited(sheet.encode("utf-8", "replace"), inner)
        archive.writestr(zipfile.ZipInfo("xl/worksheets/sheet1.xml"), content, zipfile.ZIP_DEFLATED)
    return stream.getvalue()


def _cell(value: Any, place: str) -> str:
    if isinstance(value, bool):
        return f'<c r="{place}" t="b"><v>{int(value)}</v></c>'
    if isinstance(value, (int, float)):
        return f'<c r="{place}"><v>{value}</v></c>'
    text = value if isinstance(value, str) else json.dumps(value)
    return f'<c r="{place}" t="inlineStr"><is><t xml:space="preserve">{escape(text)}</t></is></c>'
