"""The parts of a running service, where every route finds them."""

import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Annotated, Final

from fastapi import Depends, Request

from tabsa.inference.predictor import Predictor
from tabsa.serve.batching import Batcher
from tabsa.serve.corrections import CorrectionsFile
from tabsa.serve.metrics import Metrics
from tabsa.serve.schema import ErrorResponse
from tabsa.serve.settings import Settings

MOST_EVIDENCE: Final = 32  # requests for evidence that may wait
_MEANINGS: Final = {
    400: "The request cannot be read.",
    401: "The API key is missing or wrong.",
    403: "A page of another site sent it.",
    404: "There is no such thing.",
    408: "The body comes too slowly.",
    413: "The body is too large.",
    415: "The body is of another type.",
    422: "The request is readable but not right, or beyond a limit.",
    503: "Too much is waiting; `Retry-After` says when to come again.",
}


@dataclass(frozen=True, slots=True)
class Service:
    """The model and what works with it."""

    name: str  # of the model
    settings: Settings
    predictor: Predictor
    batcher: Batcher
    metrics: Metrics
    corrections: CorrectionsFile | None
    evidence: ThreadPoolExecutor  # of one thread: evidence costs several readings of a text
    evidence_places: threading.BoundedSemaphore
    tables: ThreadPoolExecutor
    places: threading.BoundedSemaphore  # of tables


async def _service(request: Request) -> Service:
    service: Service = request.app.state.service
    return service


TheService = Annotated[Service, Depends(_service)]


def problems(*statuses: int) -> dict[int | str, dict[str, object]]:
    """The errors of a route, for the OpenAPI document."""
    return {status: {"model": ErrorResponse, "description": _MEANINGS[status]} for status in (400, 401, 503, *statuses)}
