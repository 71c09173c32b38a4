"""A file on its way to the disk: never whole in memory, never larger than allowed, packed or not."""

import csv
import gzip
import tempfile
import zlib
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, nullcontext
from pathlib import Path
from typing import IO, Any, Final

from fastapi import Request
from pydantic import ValidationError
from starlette.datastructures import FormData, UploadFile

from tabsa.errors import DataError
from tabsa.serve.problems import Problem, of_validation
from tabsa.serve.schema import ScoreForm
from tabsa.serve.settings import Settings
from tabsa.tables.kinds import TEXT_SUFFIXES, WORKBOOK, other_kind
from tabsa.tables.rows import as_text
from tabsa.tables.workbook import Workbook, workbook_header

_PIECE: Final = 1 << 18
_UNPACKED: Final = 10  # how much larger than its rows a workbook's XML may be
_FIELD_BYTES: Final = 1 << 15
_LISTS: Final = ("targets", "aspect")
_TYPE: Final = "multipart/form-data"


def _form(about: str, fields: dict[str, Any]) -> dict[str, Any]:
    file = {"type": "string", "format": "binary", "description": about}
    schema = {**fields, "properties": {"file": file, **fields.get("properties", {})}, "required": ["file"]}
    return {"requestBody": {"required": True, "content": {_TYPE: {"schema": schema}}}}


# What `read_form` and `read_file` read, for the OpenAPI document.
_ABOUT: Final = "A table with a header: .csv, .tsv or .jsonl, as its name tells (with .gz, packed), or .xlsx."
FORM: Final = _form(_ABOUT, ScoreForm.model_json_schema())
FILE_FORM: Final = _form("An Excel workbook, .xlsx.", {"type": "object"})


@asynccontextmanager
async def read_form(request: Request, settings: Settings) -> AsyncIterator[tuple[UploadFile, ScoreForm]]:
    """The file, which is gone afterwards, and what to ask of it."""
    fields = settings.max_targets + settings.max_aspects + len(ScoreForm.model_fields)
    async with _read(request, fields) as (file, form):
        yield file, _fields(form)


@asynccontextmanager
async def read_file(request: Request) -> AsyncIterator[UploadFile]:
    """The file of a form that has nothing else; it is gone afterwards."""
    async with _read(request, 0) as (file, _):
        yield file


@asynccontextmanager
async def _read(request: Request, fields: int) -> AsyncIterator[tuple[UploadFile, FormData]]:
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() != _TYPE:
        raise Problem(415, "not_a_form", f"expected {_TYPE} with the table as 'file'")
    async with request.form(max_files=1, max_fields=fields, max_part_size=_FIELD_BYTES) as form:
        file = form.get("file")
        if not isinstance(file, UploadFile):
            raise Problem(422, "invalid", "'file' is missing; expected the table to score", "file")
        yield file, form


def _fields(form: FormData) -> ScoreForm:
    """The form's other fields; empty ones count as left out, because web pages send them so."""
    given = [(name, value) for name, value in form.multi_items() if name != "file" and value != ""]
    values: dict[str, Any] = {name: value for name, value in given if name not in _LISTS}
    for name in _LISTS:
        values[name] = [value for other, value in given if other == name]
    try:
        return ScoreForm.model_validate(values)
    except ValidationError as e:
        error = e.errors()[0]
        raise of_validation({**error, "loc": ("body", *error["loc"])}) from e


def make_folder(parent: Path) -> Path:
    """A folder for a file to score."""
    return Path(tempfile.mkdtemp(dir=parent))


def store(file: IO[bytes], name: str, folder: Path, settings: Settings) -> Path:
    """Write an uploaded file to the folder, unpacked, and a workbook as CSV.

    Raises a Problem where it is too large or of an unknown kind.
    """
    lowered = name.lower()
    if lowered.endswith(WORKBOOK):
        return _store_workbook(file, folder, settings)
    packed = lowered.endswith(".gz")
    suffix = next((known for known in TEXT_SUFFIXES if lowered.removesuffix(".gz").endswith(known)), None)
    if suffix is None:
        raise Problem(415, "unknown_format", _unknown(name), "file")
    path = folder / f"input{suffix}"
    try:
        with path.open("wb") as out, gzip.open(file) if packed else nullcontext(file) as source:
            _copy(source, out, settings)
    except (gzip.BadGzipFile, EOFError, zlib.error) as e:
        raise Problem(422, "invalid", f"the file is not a whole gzip file: {e}", "file") from e
    return path


def _unknown(name: str) -> str:
    if other := other_kind(name):
        return f"the file is {other}"
    return f"the file's name tells no known format; expected {', '.join(TEXT_SUFFIXES)}, or .gz, or {WORKBOOK}"


def _store_workbook(file: IO[bytes], folder: Path, settings: Settings) -> Path:
    """Write the rows of a workbook as CSV; empty rows stay, so that each keeps its number."""
    path = folder / "input.csv"
    try:
        with path.open("w", encoding="utf-8", newline="") as out:
            book = Workbook(file, path, largest=_UNPACKED * settings.max_upload_bytes)
            writer, last, width = csv.writer(out), 0, 0
            for number, cells in book.rows():
                names = workbook_header(cells) if not width else []
                width = max(width, len(names))
                if number > settings.max_rows or out.tell() > settings.max_upload_bytes:
                    message = "the workbook has too many rows; send it in parts, or use `tabsa score`"
                    raise Problem(413, "too_large", message, "file")
                out.write("\n" * (number - last - 1))
                row = names or [as_text(cells.get(place)) for place in range(max(width, max(cells) + 1))]
                writer.writerow(row)
                last = number
    except DataError as e:
        raise Problem(422, "bad_file", str(e).replace(str(path), "the file"), "file") from e
    return path


def pieces(path: Path) -> Iterator[bytes]:
    """A file, piece by piece."""
    with path.open("rb") as stream:
        yield from iter(lambda: stream.read(_PIECE), b"")


def _copy(source: IO[bytes] | gzip.GzipFile, out: IO[bytes], settings: Settings) -> None:
    size = lines = 0
    while piece := source.read(_PIECE):
        size += len(piece)
        lines += max(piece.count(b"\n"), piece.count(b"\r"))
        if size > settings.max_upload_bytes:
            message = f"the file is larger than {settings.max_upload_bytes:,} bytes, unpacked; use `tabsa score`"
            raise Problem(413, "too_large", message, "file")
        if lines > settings.max_rows:
            message = f"the file has more than {settings.max_rows:,} lines; send it in parts, or use `tabsa score`"
            raise Problem(413, "too_large", message, "file")
        out.write(piece)
