"""A file in, results out: at once and streamed, or as a job."""

import asyncio
import shutil
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, Final

from fastapi import APIRouter, Query, Request, Response
from fastapi import Path as PathParameter
from fastapi.responses import FileResponse, JSONResponse
from starlette.concurrency import run_in_threadpool

from tabsa.errors import TabsaError
from tabsa.serve.findings import AskedFile
from tabsa.serve.forms import refuse_large, score_request
from tabsa.serve.jobs import shown_error
from tabsa.serve.problems import Problem
from tabsa.serve.schema import JobAccepted, JobStatus
from tabsa.serve.service import Service, TheService, problems
from tabsa.serve.streaming import RowsResponse, scored
from tabsa.serve.uploads import FILE_FORM, FORM, make_folder, pieces, read_file, read_form, store
from tabsa.tables.kinds import WORKBOOK

router = APIRouter(prefix="/v1")
Identity = Annotated[str, PathParameter(alias="id", description="What `POST /v1/score?job=true` answered.")]
_TYPES: Final = {"csv": "text/csv; charset=utf-8", "jsonl": "application/x-ndjson"}
_FILE: Final[dict[str, Any]] = {"content": {"text/csv": {}, "application/x-ndjson": {}}, "description": "The results."}
_STARTED: Final[dict[str, Any]] = {"model": JobAccepted, "description": "The job has begun."}


@router.post(
    "/score",
    response_class=Response,
    responses={200: _FILE, 202: _STARTED, **problems(403, 408, 413, 415, 422, 429)},
    openapi_extra=FORM,
)
async def score(
    request: Request,
    service: TheService,
    job: Annotated[bool, Query(description="Do not wait for the results.")] = False,
) -> Response:
    """Score every row of a table.

    The results are streamed back as they come. With `job=true` the answer is an id: ask `/v1/jobs/{id}` how far it is.
    Rows that cannot be scored are left out; only a job keeps them, with the reasons.
    """
    return await (_as_job if job else _at_once)(request, service)


async def _as_job(request: Request, service: Service) -> Response:
    folder = await run_in_threadpool(service.jobs.make_folder)
    try:
        source, form, asked = await _received(request, folder, service)
        identity = service.jobs.start(source, form, asked)
    except BaseException:
        service.jobs.discard(folder)
        raise
    return JSONResponse(JobAccepted(id=identity).model_dump(), 202)


async def _at_once(request: Request, service: Service) -> Response:
    """The first results are there before the answer begins: what is wrong with most files can still be told."""
    service.check_streams(request)
    with ExitStack() as stack:
        folder = make_folder(service.uploads)
        stack.callback(shutil.rmtree, folder, ignore_errors=True)
        source, form, asked = await _received(request, folder, service)
        stack.callback(service.begin_stream(request))
        made = replace(asked.request, escape_formulas=asked.escape_formulas)
        rows = scored(source, f".{form}", service.predictor, made, on_rows=service.metrics.rows.inc)
        stack.callback(rows.close)
        try:
            first = await asyncio.get_running_loop().run_in_executor(service.scoring, next, rows, b"")
        except TabsaError as e:
            raise Problem(422, "bad_file", shown_error(e, source), "file") from e
        response = RowsResponse(first, rows, stack.pop_all().close, _TYPES[form], service.scoring)
    response.headers["Content-Disposition"] = f'attachment; filename="opinions.{form}"'
    return response


async def _received(request: Request, folder: Path, service: Service) -> tuple[Path, str, AskedFile]:
    """The uploaded file in its folder, the format of the results, and what to ask."""
    with service.receive(request):
        async with read_form(request, service.settings) as (file, form):
            escaped = form.escape_formulas and form.format == "csv"
            asked = AskedFile(file.filename or "", score_request(form, service), form.date_column, escaped)
            source = await run_in_threadpool(store, file.file, asked.name, folder, service.settings)
    await run_in_threadpool(refuse_large, source, asked.request, service)
    return source, form.format, asked


@router.post(
    "/csv",
    response_class=Response,
    responses={200: {"content": {"text/csv": {}}, "description": "The rows."}, **problems(403, 408, 413, 415, 422)},
    openapi_extra=FILE_FORM,
)
async def as_csv(request: Request, service: TheService) -> Response:
    """Give the first sheet of an Excel workbook as CSV, in UTF-8, to look at it before it is scored."""
    service.check_streams(request)
    with ExitStack() as stack:
        folder = make_folder(service.uploads)
        stack.callback(shutil.rmtree, folder, ignore_errors=True)
        with service.receive(request):
            async with read_file(request) as file:
                name = file.filename or ""
                if not name.lower().endswith(WORKBOOK):
                    raise Problem(415, "unknown_format", f"expected an Excel workbook, {WORKBOOK}", "file")
                stack.callback(service.begin_stream(request))
                path = await run_in_threadpool(store, file.file, name, folder, service.settings)
        response = RowsResponse(b"", pieces(path), stack.pop_all().close, _TYPES["csv"], service.scoring)
    response.headers["Content-Disposition"] = 'attachment; filename="table.csv"'
    return response


@router.get("/jobs/{id}", responses=problems(404, 422))
def status(identity: Identity, service: TheService) -> JobStatus:
    """Tell how far a job is."""
    return service.jobs.status(identity)


@router.get("/jobs/{id}/result", response_class=Response, responses={200: _FILE, **problems(404, 422)})
def result(identity: Identity, service: TheService) -> Response:
    """Give a finished job's results."""
    path, form = service.jobs.result(identity)
    return FileResponse(path, media_type=_TYPES[form], filename=f"opinions.{form}")


@router.get("/jobs/{id}/rejects", response_class=Response, responses={200: _FILE, **problems(404, 422)})
def rejects(identity: Identity, service: TheService) -> Response:
    """Give the rows that a job could not score, each with the reason; none where all went well."""
    path = service.jobs.rejects(identity)
    if path is None:
        return Response(b"", media_type=_TYPES["jsonl"])
    return FileResponse(path, media_type=_TYPES["jsonl"], filename="rejects.jsonl")


@router.delete("/jobs/{id}", status_code=204, responses=problems(403, 404, 422))
def delete(identity: Identity, service: TheService) -> None:
    """Remove a job and its results; one that is running is stopped."""
    service.jobs.delete(identity)
