"""A file on its way to the disk: never whole in memory, never larger than allowed, packed or not."""

import gzip
import os
import shutil
import tempfile
import zlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, nullcontext
from pathlib import Path
from typing import IO, Any, Final

from fastapi import Request
from pydantic import ValidationError
from starlette.datastructures import FormData, UploadFile

from tabsa.serve.metrics import is_alive
from tabsa.serve.problems import Problem, of_validation
from tabsa.serve.schema import ScoreForm
from tabsa.serve.settings import Settings
from tabsa.tables.rows import TEXT_SUFFIXES

_PIECE: Final = 1 << 18
_FIELD_BYTES: Final = 1 << 15
_LISTS: Final = ("targets", "aspect")
_TYPE: Final = "multipart/form-data"


def _form_schema() -> dict[str, Any]:
    schema = ScoreForm.model_json_schema()
    about = "A table with a header: .csv, .tsv or .jsonl, as its name tells; with .gz, packed."
    file = {"type": "string", "format": "binary", "description": about}
    return {**schema, "properties": {"file": file, **schema["properties"]}, "required": ["file"]}


# What `read_form` reads, for the OpenAPI document.
FORM: Final = {"requestBody": {"required": True, "content": {_TYPE: {"schema": _form_schema()}}}}


@asynccontextmanager
async def read_form(request: Request, settings: Settings) -> AsyncIterator[tuple[UploadFile, ScoreForm]]:
    """The file, which is gone afterwards, and what to ask of it."""
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() != _TYPE:
        raise Problem(415, "not_a_form", f"expected {_TYPE} with the table as 'file'")
    fields = settings.max_targets + settings.max_aspects + len(ScoreForm.model_fields)
    async with request.form(max_files=1, max_fields=fields, max_part_size=_FIELD_BYTES) as form:
        file = form.get("file")
        if not isinstance(file, UploadFile):
            raise Problem(422, "invalid", "'file' is missing; expected the table to score", "file")
        yield file, _fields(form)


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
    """A folder for a file to score; its name tells whose it is."""
    return Path(tempfile.mkdtemp(prefix=f"{os.getpid()}-", dir=parent))


def sweep(parent: Path) -> None:
    """Remove the folders of workers that were killed."""
    for folder in parent.iterdir():
        worker = folder.name.partition("-")[0]
        if worker.isdecimal() and not is_alive(int(worker)):
            shutil.rmtree(folder, ignore_errors=True)


def store(file: IO[bytes], name: str, folder: Path, settings: Settings) -> Path:
    """Write an uploaded file to the folder, unpacked; raises a Problem where it is too large or of an unknown kind."""
    lowered = name.lower()
    packed = lowered.endswith(".gz")
    suffix = next((known for known in TEXT_SUFFIXES if lowered.removesuffix(".gz").endswith(known)), None)
    if suffix is None:
        kinds = ", ".join(TEXT_SUFFIXES)
        raise Problem(415, "unknown_format", f"the file's name tells no known format; expected {kinds}, or .gz", "file")
    path = folder / f"input{suffix}"
    try:
        with path.open("wb") as out, gzip.open(file) if packed else nullcontext(file) as source:
            _copy(source, out, settings)
    except (gzip.BadGzipFile, EOFError, zlib.error) as e:
        raise Problem(422, "invalid", f"the file is not a whole gzip file: {e}", "file") from e
    return path


def _copy(source: IO[bytes] | gzip.GzipFile, out: IO[bytes], settings: Settings) -> None:
    size = lines = 0
    while piece := source.read(_PIECE):
        size += len(piece)
        lines += piece.count(b"\n")
        if size > settings.max_upload_bytes:
            message = f"the file is larger than {settings.max_upload_bytes:,} bytes, unpacked; use `tabsa score`"
            raise Problem(413, "too_large", message, "file")
        if lines > settings.max_rows:
            message = f"the file has more than {settings.max_rows:,} lines; send it in parts, or use `tabsa score`"
            raise Problem(413, "too_large", message, "file")
        out.write(piece)
