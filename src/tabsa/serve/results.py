"""What a finished job found: its summary, the rows behind it, and both as files."""

from pathlib import Path
from typing import Annotated, Final

from fastapi import APIRouter, Query, Response
from fastapi.responses import FileResponse

from tabsa.schema import UNNAMED
from tabsa.serve.answers import to_json
from tabsa.serve.findings import INDEX, NUMBERS, REPORT, SUMMARY
from tabsa.serve.opinion_index import Wanted, find_rows
from tabsa.serve.service import Service, TheService, problems
from tabsa.serve.summary_schema import RowsOut, SummaryOut
from tabsa.serve.tables import Identity

router = APIRouter(prefix="/v1/jobs")
_MOST: Final = 100  # rows of one answer
# The report runs its own script and nothing else, loads nothing, and is a stranger to the service that it came from.
# (Its own policy, in the page, allows that one script by its digest; both hold.)
_REPORT_HEADERS: Final = {
    "Content-Security-Policy": "sandbox allow-scripts allow-modals allow-downloads; default-src 'none'; "
    "style-src 'unsafe-inline'; script-src 'unsafe-inline'; frame-ancestors 'none'",
    "Cross-Origin-Opener-Policy": "unsafe-none",  # a sandbox has no origin to be the same as
}
_NAME: Final = Query(max_length=1000)


def _part(service: Service, identity: str, name: str) -> Path:
    return service.jobs.findings(identity) / name


@router.get("/{id}/summary", response_model=SummaryOut, responses=problems(404, 422))
def summary(identity: Identity, service: TheService) -> Response:
    """Tell what a finished job's results say: who is judged how on what, with intervals."""
    return FileResponse(_part(service, identity, SUMMARY), media_type="application/json")


@router.get("/{id}/rows", response_model=RowsOut, responses=problems(404, 422))
def rows(
    identity: Identity,
    service: TheService,
    target: Annotated[str | None, _NAME] = None,
    unnamed: Annotated[bool, Query(description="Instead, what the texts do not name.")] = False,
    aspect: Annotated[str | None, _NAME] = None,
    polarity: Annotated[str | None, _NAME] = None,
    words: Annotated[str, Query(max_length=1000, description="That the text holds, in any case of letters.")] = "",
    offset: Annotated[int, Query(ge=0, le=10**9)] = 0,
    limit: Annotated[int, Query(ge=1, le=_MOST)] = 20,
) -> Response:
    """Give the opinions behind a number of the summary, in the order of the table."""
    wanted = Wanted(UNNAMED if unnamed else target, aspect, polarity, words)
    total, found = find_rows(_part(service, identity, INDEX), wanted, offset=offset, limit=limit)
    told = [row._asdict() | {"target": None if row.target == UNNAMED else row.target} for row in found]
    return to_json({"total": total, "offset": offset, "rows": told})


@router.get(
    "/{id}/report.html",
    response_class=Response,
    responses={200: {"content": {"text/html": {}}, "description": "The report."}, **problems(404, 422)},
)
def report(identity: Identity, service: TheService) -> Response:
    """Give the summary as one page that needs nothing but itself."""
    path = _part(service, identity, REPORT)
    return FileResponse(path, media_type="text/html; charset=utf-8", headers=_REPORT_HEADERS)


@router.get(
    "/{id}/numbers.csv",
    response_class=Response,
    responses={200: {"content": {"text/csv": {}}, "description": "A row a cell."}, **problems(404, 422)},
)
def numbers(identity: Identity, service: TheService) -> Response:
    """Give the numbers of every target and aspect as a table."""
    path = _part(service, identity, NUMBERS)
    return FileResponse(path, media_type="text/csv; charset=utf-8", filename="numbers.csv")
