"""What the app is made of, where every route finds it."""

from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

from fastapi import Depends, Request

from tabsa.inference.predictor import Predictor
from tabsa.serve.batching import Batcher
from tabsa.serve.crowd import client_name
from tabsa.serve.jobs import Jobs
from tabsa.serve.metrics import Metrics
from tabsa.serve.problems import busy
from tabsa.serve.schema import ErrorResponse
from tabsa.serve.settings import Settings

if TYPE_CHECKING:
    from tabsa.serve.corrections import CorrectionsFile

_RETRY_SECONDS: Final = 10


@dataclass(slots=True)
class Service:
    """The parts of a running service."""

    name: str  # of the model
    settings: Settings
    predictor: Predictor
    batcher: Batcher
    jobs: Jobs
    metrics: Metrics
    uploads: Path  # a folder for files that are being scored
    scoring: ThreadPoolExecutor  # what scores files for clients that wait
    corrections: "CorrectionsFile | None" = None
    streams: Counter[str] = field(default_factory=Counter)  # files that are being scored for clients that wait
    receiving: Counter[str] = field(default_factory=Counter)  # files that are being sent, by client

    def check_streams(self, request: Request) -> None:
        """Raise a Problem where as many files are being scored as may be, of all clients or half as many of this."""
        most = self.settings.max_scoring
        if self.streams.total() >= most or self.streams[_client(request)] >= max(1, most // 2):
            raise busy("too many files are being scored; come again later", _RETRY_SECONDS)

    def begin_stream(self, request: Request) -> Callable[[], None]:
        """One file more, which is there, because who sends slowly takes no place; raises a Problem as above.

        Returns what is to be called at its end.
        """
        self.check_streams(request)
        client = _client(request)
        self.streams[client] += 1

        def end() -> None:
            self.streams[client] -= 1
            self.streams += Counter()  # forgets who waits for nothing

        return end

    @contextmanager
    def receive(self, request: Request) -> Iterator[None]:
        """While a client sends a file; raises a Problem where it, or all together, send too many."""
        client, most = _client(request), self.settings.max_uploads
        if self.receiving.total() >= most or self.receiving[client] >= max(1, most // 4):
            raise busy("too many files are being sent; come again later", _RETRY_SECONDS)
        self.receiving[client] += 1
        try:
            yield
        finally:
            self.receiving[client] -= 1
            self.receiving += Counter()  # forgets who sends nothing


def _client(request: Request) -> str:
    return client_name(request.client.host if request.client else None)


async def _service(request: Request) -> Service:
    service: Service = request.app.state.service
    return service


TheService = Annotated[Service, Depends(_service)]

_MEANINGS = {
    400: "The request cannot be read.",
    401: "The API key is missing or wrong.",
    403: "A page of another site sent it.",
    404: "There is no such thing.",
    408: "The body comes too slowly.",
    413: "The body is too large.",
    415: "The body is of another type.",
    422: "The request is readable but not right, or beyond a limit.",
    429: "There are too many jobs.",
    503: "Too much is waiting; `Retry-After` says when to come again.",
}


def problems(*statuses: int) -> dict[int | str, dict[str, object]]:
    """The errors of a route, for the OpenAPI document."""
    return {status: {"model": ErrorResponse, "description": _MEANINGS[status]} for status in (400, 401, 503, *statuses)}
