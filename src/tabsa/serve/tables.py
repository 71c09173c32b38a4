"""A file in, results out: look at its columns, score its rows in a streamed answer, make its report.

An uploaded file lies on the disk, never whole in memory, and is read and scored in a thread, chunk by chunk.
"""

import asyncio
import json
import shutil
import tempfile
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from concurrent.futures import Future
from contextlib import ExitStack, closing
from functools import partial
from itertools import islice
from pathlib import Path
from typing import IO, Annotated, Any, Final, TypeVar

from fastapi import APIRouter, Depends, Form, Request, Response, UploadFile
from fastapi.responses import HTMLResponse, StreamingResponse
from fastapi.routing import APIRoute

from tabsa.errors import DataError, TabsaError
from tabsa.inference.predictor import Predictor
from tabsa.pages.counting import summarise
from tabsa.pages.dates import looks_dated
from tabsa.pages.report_page import report_page
from tabsa.pages.scored_files import ColumnNames
from tabsa.scoring.request import Layout
from tabsa.scoring.request import Request as ScoreRequest
from tabsa.scoring.scorer import Rejected, Scorer, chunks
from tabsa.serve import schema
from tabsa.serve.opinions import Service, TheService, find_targets
from tabsa.serve.problems import Problem, blaming, busy, invalid
from tabsa.tables.fields import guess_text_column
from tabsa.tables.outputs import Counts
from tabsa.tables.reading import TEXT_SUFFIXES, BadRow, Row, as_text, read_rows, suffix_of
from tabsa.text.suggestions import suggest_common
from tabsa.text.targets import parse_target

_T = TypeVar("_T")
_SUFFIXES: Final = (*TEXT_SUFFIXES, ".xlsx")
_MOST_FIELDS, _FIELD_BYTES = schema.MAX_TARGETS + schema.MAX_ASPECTS + 20, 1 << 15  # of a form
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


class _FormRoute(APIRoute):
    """A route whose form has one file and a bounded number of fields, each of bounded size."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handle = super().get_route_handler()

        async def bounded(request: Request) -> Response:
            limits = {"max_files": 1, "max_fields": _MOST_FIELDS, "max_part_size": _FIELD_BYTES}
            request.form = partial(request.form, **limits)  # type: ignore[method-assign]
            return await handle(request)

        return bounded


router = APIRouter(prefix="/v1", route_class=_FormRoute)
_MULTIPART: Final = Form(media_type="multipart/form-data")


async def _after_answer() -> AsyncIterator[ExitStack]:
    with ExitStack() as stack:
        yield stack


AfterAnswer = Annotated[ExitStack, Depends(_after_answer)]  # what is closed when the answer was sent, or broke off


@router.post("/columns")
async def columns(form: Annotated[schema.ColumnsForm, _MULTIPART], service: TheService) -> dict[str, Any]:
    """Look at a table before it is scored: its columns, what they seem to be for, and names in its texts."""
    with closing(_Upload(form.file, service)) as upload:
        return await upload.run(_look, upload, form)


@router.post("/score", response_class=Response, responses={200: {"content": {kind: {} for kind in _TYPES.values()}}})
async def score(form: Annotated[schema.ScoreForm, _MULTIPART], service: TheService, after: AfterAnswer) -> Response:
    """Score every row of a table; the results are those of `tabsa score` and come while later rows are being read.

    Rows that cannot be scored are left out. With `events`, the answer is JSON Lines, each an object with an `event`:
    `start`; `rows` with the `output` as text, the `texts` that were scored, those `rejected` with reasons, the `counts`
    so far and the `share` of the file that was read; and `end`, or `error` where the table cannot be read on.
    """
    questions = _score_request(form, service.predictor)
    upload = after.enter_context(closing(_Upload(form.file, service)))
    pieces = _pieces(upload, form, questions, service)
    first = await upload.run(next, pieces)  # what is wrong with most files is found before the answer begins
    kind = "jsonl" if form.events else form.format
    headers = {} if form.events else {"Content-Disposition": f'attachment; filename="opinions.{kind}"'}
    return StreamingResponse(upload.iterate(first, pieces), media_type=_TYPES[kind], headers=headers)


@router.post("/report", response_class=Response, responses={200: {"content": {"text/html": {}}}})
async def report(form: Annotated[schema.ReportForm, _MULTIPART], service: TheService) -> Response:
    """Make the page of `tabsa report` from a scored table: one file that needs nothing but itself."""
    with closing(_Upload(form.file, service)) as upload:
        return HTMLResponse(await upload.run(_report, upload, form), headers=_REPORT_HEADERS)


class _Upload:
    """A file that is worked on in a thread; its place is given back after that, because no thread can be stopped."""

    def __init__(self, file: UploadFile, service: Service) -> None:
        try:
            suffix = suffix_of(Path(file.filename or "the file"), _SUFFIXES)
        except DataError as e:
            raise Problem(415, "unknown_format", str(e), "file") from e
        if not service.table_places.acquire(blocking=False):
            raise busy("too many files are being worked on")
        self._service = service
        self.path = Path(f"the file{suffix}")  # a name, for messages
        self.stream: IO[bytes] = file.file
        self._size = max(1, file.size or 0)
        self.notes: list[str] = []
        self._last: Future[Any] = Future()
        self._last.set_result(None)

    async def run(self, function: Callable[..., _T], *args: object) -> _T:
        """Call a function in a thread; raises a Problem where the file is wrong."""
        self._last = self._service.tables.submit(function, *args)
        try:
            result: _T = await asyncio.wrap_future(self._last)
        except TabsaError as e:
            raise self.problem(e) from e
        return result

    async def iterate(self, first: bytes, rest: Iterator[bytes]) -> AsyncIterator[bytes]:
        """The first piece, and those that a thread makes."""
        piece: bytes | None = first
        while piece is not None:
            yield piece
            piece = await self.run(next, rest, None)

    def problem(self, error: TabsaError) -> Problem:
        """An error, with what a field can do about it."""
        hint = "; name it with 'text_column'" if error.code == "no_text_column" else ""
        return Problem(422, "bad_file", str(error).replace(str(self.path), "the file") + hint, "file")

    def rows(self) -> Iterator[Row | BadRow]:
        """The rows of the table."""
        return read_rows(self.path, self.stream, on_guess=self.notes.append)

    @property
    def note(self) -> str | None:
        """How the file is read, where its name does not tell."""
        return "; ".join(note.removeprefix(f"{self.path}: ") for note in self.notes) or None

    @property
    def share(self) -> float:
        """How much of the file was read."""
        return 1.0 if self.stream.closed else min(1.0, self.stream.tell() / self._size)

    def close(self) -> None:
        """Give the place back."""
        self._last.add_done_callback(lambda _: self._service.table_places.release())


# ---- in a thread


def _look(upload: _Upload, form: schema.ColumnsForm) -> dict[str, Any]:
    good = (row.values.items() for row in islice(upload.rows(), _LOOKED_AT) if isinstance(row, Row))
    rows = [{name: as_text(value) for name, value in values} for values in good]
    rows = rows[:-1] if form.cut and 1 < len(rows) < _LOOKED_AT else rows  # the last may be broken
    names = list(dict.fromkeys(name for row in rows for name in row))
    if not names:
        raise DataError(f"{upload.path} holds no rows; expected a header and a row for each text")
    values = {name: [row.get(name, "") for row in rows] for name in names}
    text = form.text_column or guess_text_column(rows) or names[0]
    if text not in names:
        raise invalid("text_column", f"there is no column {text!r}")

    def called(*wanted: str) -> str | None:
        return next((name for name in names if name != text and name.lower() in wanted), None)

    dated = (n for n in names if n != text and looks_dated(values[n], strict="date" not in n.lower()))
    texts = [value[:_LONGEST_CELL] for value in values[text] if value.strip()]
    return {
        "format": upload.path.suffix.removeprefix("."),
        "note": upload.note,
        "columns": names,
        "text": text,
        "id": called("id", "review_id", "comment_id", "nr", "no"),
        "target": called("target", "targets"),
        "date": next(dated, None),
        "rows": [{name: value[:_LONGEST_CELL] for name, value in row.items()} for row in rows[:_SHOWN]],
        "targets": [{"name": name, "texts": count} for name, count in suggest_common(texts)],
    }


def _score_request(form: schema.ScoreForm, predictor: Predictor) -> ScoreRequest:
    """The questions about every row; raises a Problem where a field is wrong."""
    with blaming("targets"):
        targets = [parse_target(one) for one in form.targets]
    for name, aliases in targets:
        for count, most in ((len(aliases), schema.MAX_ALIASES), (max(map(len, (name, *aliases))), schema.MAX_NAME)):
            if count > most:
                raise Problem(422, "limit", f"'targets': {count:,} given; at most {most:,} are allowed", "targets")
    find_targets(targets)
    with blaming("aspect"):
        aspects = predictor.choose_aspects(form.aspect or None)
    implied = predictor.implied if form.implied is None else form.implied
    if not targets and form.target_column is None and not implied:
        raise Problem(422, "invalid", "give either 'targets', names to look for in every row, or 'target_column'")
    same = {"target_column", "text_column", "id_column", "probabilities", "evidence", "escape_formulas"}
    return ScoreRequest(
        **form.model_dump(include=same),
        targets=dict(targets) if form.target_column is None else None,
        implied=implied,
        aspects=aspects,
        layout=Layout(form.layout),
        chunk=_CHUNK,
        longest_text=_LONGEST_ROW,
        most_targets=schema.MAX_TARGETS,
    )


def _pieces(upload: _Upload, form: schema.ScoreForm, questions: ScoreRequest, service: Service) -> Iterator[bytes]:
    """The answer, piece by piece; the first comes when it is known that rows can be scored."""
    path, counts, begun = upload.path, Counts(), False
    scorer = Scorer(path, f".{form.format}", service.predictor, questions, on_guess=upload.notes.append)
    unfit: list[Rejected] = []
    try:
        for chunk in chunks(upload.rows(), scorer.chunk):
            results, rejected, more = scorer.answer(chunk)
            counts.add(more)
            unfit += rejected
            if not counts.scored:
                continue
            output = scorer.encoder.encode(results, first=not begun)
            if form.events and not begun:
                yield _line("start", note=upload.note)
            begun = True
            if not form.events:
                yield output
                continue
            yield _line(
                "rows",
                output=output.decode(),
                texts=[
                    {
                        "row": row.number,
                        "text": row.values[scorer.table_columns.text],
                        "targets": form.target_column and as_text(row.values.get(form.target_column)),
                    }
                    for row in chunk
                    if isinstance(row, Row) and all(row is not one.row for one in rejected)
                ],
                rejected=[{"row": one.row.number, "reason": one.reason} for one in unfit],
                counts=_totals(counts),
                share=upload.share,
            )
            unfit = []
        if not counts.scored:
            why = f"all {counts.rows:,} rows were rejected, the first: {counts.first_reason}"
            raise DataError(why if counts.rows else f"{path} holds no rows; expected at least one text")
        if form.events:
            yield _line("end", counts=_totals(counts))
    except (TabsaError, Problem) as e:
        if not (begun and form.events):
            raise
        yield _line("error", error=(e if isinstance(e, Problem) else upload.problem(e)).error)


def _totals(counts: Counts) -> dict[str, int]:
    return {name: getattr(counts, name) for name in ("scored", "rejected", "opinions", "unsure")}


def _line(event: str, **fields: object) -> bytes:
    return json.dumps({"event": event, **fields}, ensure_ascii=False, allow_nan=False).encode() + b"\n"


def _report(upload: _Upload, form: schema.ReportForm) -> str:
    names = ColumnNames(text=form.text_column, id=form.id_column, date=form.date_column, target=form.target_column)
    with tempfile.TemporaryDirectory(prefix="tabsa-") as folder:
        path = Path(folder) / upload.path
        with path.open("wb") as out:
            shutil.copyfileobj(upload.stream, out)
        try:
            return report_page(summarise(path, title=form.title or form.file.filename or "", columns=names))
        except TabsaError as e:
            raise DataError(str(e).replace(str(path), "the file"), code=e.code) from e
