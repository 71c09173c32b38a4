"""A connection: uvicorn's own, with limits on the head of a request and a stop that loses nobody's request.

uvicorn closes a connection that is silent after an answer, but waits without end for the first head, takes heads of any
size, and on a stop closes connections whose next request may be on its way. Bodies are the guard's, which can still
tell the client; answers are the system's (see `run.py`).
"""

import asyncio
from typing import Any, Final

import httptools
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol, RequestResponseCycle

from tabsa.serve.balance import Balance
from tabsa.serve.crowd import Crowd, client_name
from tabsa.serve.guard import CROWDED
from tabsa.serve.problems import Problem
from tabsa.serve.settings import Settings

_PIECE: Final = 1 << 14  # bytes that the parser gets at a time
_AHEAD: Final = 32  # requests that may be sent before the first is answered
_GRACE_SECONDS: Final = 1.0  # after a stop, for a request that is on its way


class _RefusedHeadError(Exception):
    """What comes is no request that the service takes; the parser passes it on as one of its own errors."""


class Connection(HttpToolsProtocol):
    """Closes itself where a head is too large, or not whole `read_timeout` after the last answer."""

    def __init__(self, settings: Settings, crowd: Crowd, balance: Balance, **given: Any) -> None:
        super().__init__(**given)
        self._settings, self._crowd, self._balance = settings, crowd, balance
        self._deadline: asyncio.TimerHandle | None = None
        self.client_name = ""
        self._in_head = False
        self._size = self._fields = 0  # of the head, as far as it is known
        self._vain = 0  # bytes since something came of them
        self._deaf = self._stopping = False
        self._let_go: RequestResponseCycle | None = None  # whose client is told to connect again

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """See asyncio.Protocol."""
        super().connection_made(transport)
        self.client_name = client_name(self.client[0] if self.client else None)
        if self._crowd.join(self):
            self._expect_head()
        else:
            transport.abort()

    def connection_lost(self, exc: Exception | None) -> None:
        """See asyncio.Protocol."""
        self._stop_expecting()
        self._crowd.leave(self)
        super().connection_lost(exc)

    def dismiss(self) -> None:
        """Make room for others, at once: a client that does not take its last answer keeps nothing."""
        self.transport.abort()

    def data_received(self, data: bytes) -> None:
        """See asyncio.Protocol. The parser keeps a field until it is whole, so it gets no more than a head may have."""
        self._unset_keepalive_if_required()
        view = memoryview(data)
        try:
            for start in range(0, len(view), _PIECE):
                if self._deaf or self.transport.is_closing():
                    return
                piece = view[start : start + _PIECE]
                self._vain += len(piece)
                self.parser.feed_data(piece)
                if self._vain > self._settings.max_head_bytes:
                    self._refuse(_too_large_head(self._settings))
        except httptools.HttpParserUpgrade:  # there is nothing to upgrade to; the request is answered as it is
            self._vain = 0
        except httptools.HttpParserError as e:
            self._refuse(_too_large_head(self._settings) if isinstance(e.__context__, _RefusedHeadError) else None)

    def _refuse(self, problem: Problem | None) -> None:
        """Hear no more of a client, tell it why where no other answer is under way, and close."""
        self._deaf = True
        cycle = self.cycle
        if cycle is not None and not cycle.response_complete:
            if not cycle.more_body:  # it is a later request that is wrong; those before it are answered
                cycle.keep_alive = False
                return
            if cycle.response_started or self.pipeline:
                self.transport.abort()
                return
            cycle.disconnected = True  # nothing more comes of this body, and whoever reads it has to know
            cycle.message_event.set()
        self._answer(problem or Problem(400, "bad_request", "this is not HTTP/1.1, or not as it should be"))

    def _answer(self, problem: Problem) -> None:
        response = problem.response()
        headers = [*self.server_state.default_headers, *response.raw_headers, (b"connection", b"close")]
        lines = b"".join(name + b": " + value + b"\r\n" for name, value in headers)
        self.transport.write(STATUS_LINE[problem.status_code] + lines + b"\r\n" + bytes(response.body))
        self.transport.close()

    def on_message_begin(self) -> None:
        """See httptools."""
        self._in_head, self._size, self._fields = True, 0, 0
        super().on_message_begin()

    def on_url(self, url: bytes) -> None:
        """See httptools."""
        self._count_head(len(url))
        super().on_url(url)

    def on_header(self, name: bytes, value: bytes) -> None:
        """See httptools. A field behind a body counts too, but is not taken for one of the head."""
        self._fields += 1
        self._count_head(len(name) + len(value))
        if self._in_head:
            super().on_header(name, value)

    def _count_head(self, size: int) -> None:
        self._size += size
        if self._size > self._settings.max_head_bytes or self._fields > self._settings.max_head_fields:
            raise _RefusedHeadError

    def on_headers_complete(self) -> None:
        """See httptools. The guard answers where there are too many connections."""
        self._vain, self._in_head = 0, False
        if len(self.pipeline) >= _AHEAD:
            raise _RefusedHeadError
        self._stop_expecting()
        self._crowd.work(self)
        if self._crowd.is_too_many(self):
            self.scope["state"][CROWDED] = True
        if self._let_go is not None and not self._let_go.response_started:
            self._let_go.keep_alive = True  # another request came before it could be told
        super().on_headers_complete()
        if self._stopping:
            self.cycle.keep_alive = False
        elif self.cycle.keep_alive and self._balance.lets_go():
            self.cycle.keep_alive = False
            self._let_go = self.cycle

    def on_body(self, body: bytes) -> None:
        """See httptools."""
        self._vain = 0
        super().on_body(body)

    def on_message_complete(self) -> None:
        """See httptools."""
        self._vain = 0
        super().on_message_complete()

    def on_response_complete(self) -> None:
        """See uvicorn."""
        super().on_response_complete()
        if self.cycle.response_complete:  # else the client sent the next request ahead
            self._crowd.wait(self)
            self._expect_head()

    def shutdown(self) -> None:
        """Close when what was taken, and what is on its way, is answered; a client is told with its last answer."""
        self._stopping = True
        if self.cycle is None or self.cycle.response_complete:
            if not self._in_head:
                self._expect_head()
        elif not self.cycle.response_started:
            self.cycle.keep_alive = False

    def _expect_head(self) -> None:
        self._stop_expecting()
        seconds = self._settings.read_timeout
        if self._stopping:
            seconds = min(seconds, _GRACE_SECONDS)
        self._deadline = self.loop.call_later(seconds, self.transport.close)

    def _stop_expecting(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None


def _too_large_head(settings: Settings) -> Problem:
    most = f"{settings.max_head_bytes:,} bytes and {settings.max_head_fields} fields"
    return Problem(431, "too_large", f"the head of the request is larger than {most}")
