"""A file in, results out: look at its columns, score its rows in a streamed answer, make its report."""

import asyncio
import codecs
import gzip
import json
import os
import shutil
import tempfile
import zlib
from collections.abc import AsyncIterator, Callable, Generator, Iterator, Sequence
from concurrent.futures import Future
from contextlib import ExitStack, asynccontextmanager
from itertools import islice
from pathlib import Path
from typing import IO, Any, Final, NamedTuple, TypeVar

from fastapi import APIRouter, Request, Response
from fastapi.responses import HTMLResponse, StreamingResponse
from pydantic import ValidationError
from starlette.datastructures import UploadFile
from starlette.types import Receive, Scope, Send

from tabsa.errors import DataError, TabsaError
from tabsa.pages.counting import summarise
from tabsa.pages.dates import looks_dated
from tabsa.pages.report_page import report_page
from tabsa.pages.scored_files import ColumnNames
from tabsa.scoring.request import Layout
from tabsa.scoring.request import Request as ScoreRequest
from tabsa.scoring.scorer import Scorer
from tabsa.scoring.scorer import chunks as cut_chunks
from tabsa.serve.opinions import choose_aspects, find_targets
from tabsa.serve.problems import Problem, busy, of_validation, too_many
from tabsa.serve.schema import (
    MAX_ALIASES,
    MAX_ASPECTS,
    MAX_NAME,
    MAX_TARGETS,
    ColumnsForm,
    ColumnsResponse,
    ReportForm,
    ScoreForm,
    SuggestedName,
)
from tabsa.serve.service import Service, TheService
from tabsa.tables.fields import guess_text_column
from tabsa.tables.outputs import Counts
from tabsa.tables.reading import TEXT_SUFFIXES, Row, as_text, read_rows
from tabsa.text.suggestions import suggest_common
from tabsa.text.targets import parse_target

router = APIRouter(prefix="/v1")
_T = TypeVar("_T")
_Form = TypeVar("_Form", ColumnsForm, ScoreForm, ReportForm)
_PIECE: Final = 1 << 16
_FIELD_BYTES: Final = 1 << 15
_LISTS: Final = ("targets", "aspect")  # fields that may be repeated
_MULTIPART: Final = "multipart/form-data"
_CHUNK: Final = 64  # rows at a time: few, because somebody watches, and others wait for the processor
_LONGEST_ROW: Final = 100_000  # characters of a row's text; one with more is rejected
_LOOKED_AT, _SHOWN, _LONGEST_CELL = 256, 5, 2_000  # rows of a table that is looked at, and characters of a cell
_TYPES: Final = {"csv": "text/csv; charset=utf-8", "jsonl": "application/x-ndjson"}
# The report runs its own script and nothing else, loads nothing, and is a stranger to the service that it came from.
_REPORT_HEADERS: Final = {
    "Content-Security-Policy": "sandbox allow-scripts allow-modals allow-downloads allow-popups; default-src 'none'; "
    "style-src 'unsafe-inline'; script-src 'unsafe-inline'; frame-ancestors 'self'",
    "X-Frame-Options": "SAMEORIGIN",
    "Cross-Origin-Opener-Policy": "unsafe-none",  # a sandbox has no origin to be the same as
}
# What the fields of a request can do about an error, by the error's code.
_HINTS: Final = {
    "column_taken": "tell the new ones apart with 'prefix'",
    "no_text_column": "name it with 'text_column'",
}


def _form(model: type[_Form]) -> dict[str, Any]:
    """What a route reads, for the OpenAPI document."""
    about = "A table with a header: .csv, .tsv or .jsonl, as its name tells (with .gz, packed), or .xlsx."
    schema = model.model_json_schema()
    properties = {**schema["properties"], "file": {"type": "string", "format": "binary", "description": about}}
    content = {_MULTIPART: {"schema": {**schema, "properties": properties, "required": ["file"]}}}
    return {"requestBody": {"required": True, "content": content}}


@router.post("/columns", response_model=ColumnsResponse, openapi_extra=_form(ColumnsForm))
async def columns(request: Request, service: TheService) -> ColumnsResponse:
    """Look at a table before it is scored: its columns, what they seem to be for, and names in its texts."""
    async with _received(request, ColumnsForm, service) as (work, form):
        return await work.run(_look, work.source, form)


@router.post(
    "/score",
    response_class=Response,
    responses={200: {"content": {kind: {} for kind in _TYPES.values()}, "description": "The results."}},
    openapi_extra=_form(ScoreForm),
)
async def score(request: Request, service: TheService) -> Response:
    """Score every row of a table; the results are those of `tabsa score` and come while later rows are being read.

    Rows that cannot be scored are left out. With `events`, the answer is JSON Lines, each an object with an `event`:
    `start`; `rows` with the `output` as text, the `texts` that were scored, those `rejected` with reasons, the `counts`
    so far and the `share` of the file that was read; and `end`, or `error` where the table cannot be read on.
    """
    async with _received(request, ScoreForm, service) as (work, form):
        questions = _score_request(form, service)
        chunks = _chunks(work.source, form, questions, service)
        work.ending.callback(chunks.close)
        first = await work.run(next, chunks)  # what is wrong with most files is found before the answer begins
        return _Streamed(work, first, chunks, form)


@router.post(
    "/report",
    response_class=HTMLResponse,
    responses={200: {"content": {"text/html": {}}, "description": "The report."}},
    openapi_extra=_form(ReportForm),
)
async def report(request: Request, service: TheService) -> Response:
    """Make the page of `tabsa report` from a scored table: one file that needs nothing but itself."""
    async with _received(request, ReportForm, service) as (work, form):
        return HTMLResponse(await work.run(_report, work.source, form), headers=_REPORT_HEADERS)


# ---- a file on its way to the disk: never whole in memory, never larger than allowed, packed or not


class _Work:
    """A table that is worked on in a thread; its place and its folder are given back when nobody uses them any more."""

    def __init__(self, service: Service, name: str) -> None:
        if not service.table_places.acquire(blocking=False):
            raise busy("too many files are being worked on")
        self._threads, self.ending, self.kept = service.tables, ExitStack(), False
        self.ending.callback(service.table_places.release)
        self.name, self.folder = name, Path(tempfile.mkdtemp(prefix="tabsa-"))
        self.ending.callback(shutil.rmtree, self.folder, ignore_errors=True)
        self.source = self.folder
        self._last: Future[Any] = Future()
        self._last.set_result(None)

    async def run(self, function: Callable[..., _T], *args: object) -> _T:
        """Call a function in a thread; raises a Problem where the file is wrong."""
        self._last = self._threads.submit(function, *args)
        try:
            result: _T = await asyncio.wrap_future(self._last)
        except TabsaError as e:
            raise Problem(422, "bad_file", self.message(e), "file") from e
        return result

    def message(self, error: TabsaError) -> str:
        """An error as a client may read it: without the service's folders, and with what a field can do about it."""
        message = str(error).replace(str(self.source), "the file")
        return f"{message}; {_HINTS[error.code]}" if error.code in _HINTS else message

    def close(self) -> None:
        """Give all back, as soon as the thread is done: it cannot be stopped."""
        self._last.add_done_callback(lambda _: self.ending.close())


@asynccontextmanager
async def _received(request: Request, model: type[_Form], service: Service) -> AsyncIterator[tuple[_Work, _Form]]:
    """The file of a form on the disk, and the form's other fields; empty ones count as left out, as pages send them."""
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() != _MULTIPART:
        raise Problem(415, "not_a_form", f"expected {_MULTIPART} with the table as 'file'")
    fields = MAX_TARGETS + MAX_ASPECTS + len(model.model_fields)
    async with request.form(max_files=1, max_fields=fields, max_part_size=_FIELD_BYTES) as sent:
        file = sent.get("file")
        if not isinstance(file, UploadFile):
            raise Problem(422, "invalid", "'file' is missing; expected a table", "file")
        given = [(name, value) for name, value in sent.multi_items() if name != "file" and value != ""]
        values: dict[str, Any] = {name: value for name, value in given if name not in _LISTS}
        for name in _LISTS:
            if listed := [value for other, value in given if other == name]:
                values[name] = listed
        try:
            form = model.model_validate(values)
        except ValidationError as e:
            raise of_validation(e.errors()) from e
        work = _Work(service, file.filename or "")  # only now: a file that still arrives takes no place
        try:
            cut, most = isinstance(form, ColumnsForm) and form.cut, service.settings.max_upload_bytes
            work.source = await work.run(_store, file.file, work.name, work.folder, most, cut)
            yield work, form
        finally:
            if not work.kept:
                work.close()


def _store(file: IO[bytes], name: str, folder: Path, most: int, cut: bool) -> Path:
    """Write an uploaded file to the folder, unpacked; of a part of one, the whole lines."""
    lowered = name.lower()
    packed = lowered.endswith(".gz")
    known = (*TEXT_SUFFIXES, *(() if packed else (".xlsx",)))
    suffix = next((one for one in known if lowered.removesuffix(".gz").endswith(one)), None)
    if suffix is None:
        message = f"the file is of no known format, by its name; expected {', '.join(known)}"
        raise Problem(415, "unknown_format", message, "file")
    path = folder / f"input{suffix}"
    size = 0
    try:
        with path.open("wb") as out:
            source = gzip.GzipFile(fileobj=file, mode="rb") if packed else file
            while piece := source.read(_PIECE):
                size += out.write(piece)
                if size > most:
                    message = f"the file is larger than {most:,} bytes, unpacked; use `tabsa score`"
                    raise Problem(413, "too_large", message, "file")
    except (gzip.BadGzipFile, EOFError, zlib.error) as e:
        if not (cut and isinstance(e, EOFError) and size):
            raise Problem(422, "bad_file", f"the file is not a whole gzip file: {e}", "file") from e
    if cut and suffix != ".xlsx":
        os.truncate(path, _whole_lines(path.read_bytes()))
    return path


def _whole_lines(data: bytes) -> int:
    """How much of the first part of a file is whole lines; in UTF-16 whole characters."""
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return len(data) // 2 * 2
    return data.rfind(b"\n") + 1 or len(data)


# ---- in a thread


def _look(source: Path, form: ColumnsForm) -> ColumnsResponse:
    notes: list[str] = []
    read = islice(read_rows(source, on_guess=notes.append), _LOOKED_AT)
    rows = [{name: as_text(value) for name, value in row.values.items()} for row in read if isinstance(row, Row)]
    names = list(dict.fromkeys(name for row in rows for name in row))
    if not names:
        raise DataError(f"{source} holds no rows; expected a header and a row for each text")
    values = {name: [row.get(name, "") for row in rows] for name in names}
    text = form.text_column or guess_text_column(rows) or names[0]
    if text not in names:
        raise Problem(422, "invalid", f"'text_column': there is no column {text!r}", "text_column")

    def called(*wanted: str) -> str | None:
        return next((name for name in names if name != text and name.lower() in wanted), None)

    dated = (n for n in names if n != text and looks_dated(values[n], strict="date" not in n.lower()))
    texts = [value[:_LONGEST_CELL] for value in values[text] if value.strip()]
    return ColumnsResponse(
        format=source.suffix.removeprefix("."),
        note=_note(notes, source),
        columns=names,
        text=text,
        id=called("id", "review_id", "comment_id", "nr", "no"),
        target=called("target", "targets"),
        date=next(dated, None),
        rows=[{name: value[:_LONGEST_CELL] for name, value in row.items()} for row in rows[:_SHOWN]],
        targets=[SuggestedName(name=name, texts=count) for name, count in suggest_common(texts)],
    )


def _note(notes: Sequence[str], source: Path) -> str | None:
    return "; ".join(note.removeprefix(f"{source}: ") for note in notes) or None


def _score_request(form: ScoreForm, service: Service) -> ScoreRequest:
    """The questions about every row; raises a Problem where a field is wrong."""
    predictor = service.predictor
    aspects = choose_aspects(form.aspect or None, predictor, "aspect")
    try:
        targets = [parse_target(one) for one in form.targets]
    except DataError as e:
        raise Problem(422, "invalid", f"'targets': {e}", "targets") from e
    for name, aliases in targets:
        for count, most in ((len(aliases), MAX_ALIASES), (max(map(len, (name, *aliases))), MAX_NAME)):
            if count > most:
                raise too_many("targets", count, most)
    find_targets(dict(targets), "targets")
    implied = predictor.implied if form.implied is None else form.implied
    if not targets and form.target_column is None and not implied:
        raise Problem(422, "invalid", "give either 'targets', names to look for in every row, or 'target_column'")
    return ScoreRequest(
        targets=dict(targets) if form.target_column is None else None,
        target_column=form.target_column,
        implied=implied,
        aspects=aspects,
        text_column=form.text_column,
        id_column=form.id_column,
        layout=Layout(form.layout),
        probabilities=form.probabilities,
        evidence=form.evidence,
        prefix=form.prefix,
        escape_formulas=form.escape_formulas and form.format == "csv",
        chunk=_CHUNK,
        longest_text=_LONGEST_ROW,
        most_targets=MAX_TARGETS,
    )


class _Chunk(NamedTuple):
    """Some rows' results."""

    output: bytes
    rejects: bytes  # JSON Lines
    rows: Sequence[Row]
    text: str  # the column of texts
    counts: Counts  # of all so far
    share: float  # of the file that was read
    note: str | None


def _chunks(source: Path, form: ScoreForm, questions: ScoreRequest, service: Service) -> Generator[_Chunk, None, None]:
    """The results, chunk by chunk; the first comes when it is known that rows can be scored."""
    counts, notes, before = Counts(), list[str](), (b"", b"")
    with source.open("rb") as file:
        scorer = Scorer(source, f".{form.format}", service.predictor, questions, on_guess=notes.append)
        size = max(1, source.stat().st_size)
        for chunk in cut_chunks(read_rows(source, file, on_guess=notes.append), scorer.chunk):
            result = scorer.score(chunk)
            counts.add(result.counts)
            before = (before[0] + result.output, before[1] + result.rejects)
            if counts.rows > service.settings.max_rows:
                raise DataError(f"{source} has more than {service.settings.max_rows:,} rows; send it in parts")
            if counts.scored:
                rows = [row for row in chunk if isinstance(row, Row)]
                share = 1.0 if file.closed else file.tell() / size
                text = scorer.table_columns.text
                yield _Chunk(*before, rows, text, counts, share, _note(notes, source))
                before = (b"", b"")
    if not counts.rows:
        raise DataError(f"{source} holds no rows; expected at least one text")
    if not counts.scored:
        raise DataError(f"all {counts.rows:,} rows were rejected, the first: {counts.first_reason}")


def _report(source: Path, form: ReportForm) -> str:
    names = ColumnNames(
        text=form.text_column,
        id=form.id_column,
        date=form.date_column,
        target=form.target_column,
        prefix=form.prefix,
    )
    return report_page(summarise(source, title=form.title, columns=names))


# ---- the streamed answer


class _Streamed(StreamingResponse):
    """Sends what a thread makes, chunk by chunk; ends the work however the answer ends."""

    def __init__(self, work: _Work, first: _Chunk, rest: Iterator[_Chunk], form: ScoreForm) -> None:
        work.kept = True
        self._work, self._form = work, form
        kind = "jsonl" if form.events else form.format
        headers = {} if form.events else {"Content-Disposition": f'attachment; filename="opinions.{kind}"'}
        super().__init__(self._pieces(first, rest), media_type=_TYPES[kind], headers=headers)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """See ASGI."""
        try:
            await super().__call__(scope, receive, send)
        finally:
            self._work.close()

    async def _pieces(self, first: _Chunk, rest: Iterator[_Chunk]) -> AsyncIterator[bytes]:
        events, chunk = self._form.events, first
        if events:
            yield _line({"event": "start", "note": first.note})
        try:
            while chunk is not None:
                last = chunk.counts
                yield self._event(chunk) if events else chunk.output
                chunk = await self._work.run(next, rest, None)
        except Problem as problem:
            if not events:
                raise  # only breaking the answer off says that it is not whole
            yield _line({"event": "error", "error": problem.error})
            return
        if events:
            yield _line({"event": "end", "counts": _counts(last)})

    def _event(self, chunk: _Chunk) -> bytes:
        rejected = [json.loads(line) for line in chunk.rejects.splitlines()]
        left_out = {one["row"] for one in rejected}
        target = self._form.target_column
        return _line(
            {
                "event": "rows",
                "output": chunk.output.decode(),
                "texts": [
                    {
                        "row": row.number,
                        "text": as_text(row.values.get(chunk.text)),
                        "targets": None if target is None else as_text(row.values.get(target)),
                    }
                    for row in chunk.rows
                    if row.number not in left_out
                ],
                "rejected": [{"row": one["row"], "reason": one["reason"]} for one in rejected],
                "counts": _counts(chunk.counts),
                "share": chunk.share,
            }
        )


def _counts(counts: Counts) -> dict[str, int]:
    return {"scored": counts.scored, "rejected": counts.rejected, "opinions": counts.opinions}


def _line(event: dict[str, Any]) -> bytes:
    return json.dumps(event, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode() + b"\n"
