"""A connection: uvicorn's own, with a deadline for the head of a request.

uvicorn closes a connection that is silent after an answer, but waits without end for the first head, and for one of
which a byte came. Bodies are the guard's, which can still tell the client; answers are the system's (see `run.py`).
"""

import asyncio
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from tabsa.serve.guard import CROWDED
from tabsa.serve.settings import Settings


class Connection(HttpToolsProtocol):
    """Closes itself where a head is not whole `read_timeout` after the connection was made, or after an answer."""

    def __init__(self, settings: Settings, **given: Any) -> None:
        super().__init__(**given)
        self._settings = settings
        self._deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """See asyncio.Protocol."""
        super().connection_made(transport)
        self._expect_head()

    def connection_lost(self, exc: Exception | None) -> None:
        """See asyncio.Protocol."""
        self._stop_expecting()
        super().connection_lost(exc)

    def on_headers_complete(self) -> None:
        """See httptools. The guard answers where there are too many connections."""
        self._stop_expecting()
        if len(self.connections) > self._settings.max_connections:
            self.scope["state"][CROWDED] = True
        super().on_headers_complete()

    def on_response_complete(self) -> None:
        """See uvicorn."""
        super().on_response_complete()
        if self.cycle.response_complete:  # else the client sent the next request ahead
            self._expect_head()

    def _expect_head(self) -> None:
        self._stop_expecting()
        self._deadline = self.loop.call_later(self._settings.read_timeout, self.transport.close)

    def _stop_expecting(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None
