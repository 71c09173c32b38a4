"""A connection: uvicorn's own, with a bound on heads and on how many clients are waited for.

uvicorn closes what is silent after an answer, but waits without end for a first head, takes heads of any size, and
counts silent connections against `limit_concurrency`. Bodies are the guard's, which can still answer.
"""

import asyncio
from typing import Any, ClassVar, Final

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

MAX_HEAD_BYTES: Final = 32_768
_AHEAD: Final = 16  # requests that may be sent before the first is answered


class Connection(HttpToolsProtocol):
    """Closes itself where a head is too large, or not whole `timeout_keep_alive` seconds after the last answer.

    Of more than `limit_concurrency` connections, the one that has waited longest for its client is closed.
    """

    _waiting: ClassVar[dict["Connection", None]] = {}  # for their clients, the oldest first

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._most, self.limit_concurrency = self.limit_concurrency, None
        self._in_head, self._vain = False, 0  # bytes since something came of them

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """See asyncio."""
        super().connection_made(transport)
        self.timeout_keep_alive_task = self.loop.call_later(self.timeout_keep_alive, self.timeout_keep_alive_handler)
        self._wait()
        if self._most is not None and len(self.connections) > self._most:
            next(iter(self._waiting)).transport.abort()

    def connection_lost(self, exc: Exception | None) -> None:
        """See asyncio."""
        self._waiting.pop(self, None)
        self._in_head = False
        self._unset_keepalive_if_required()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """See asyncio."""
        self._vain += len(data)
        super().data_received(data)
        if self._vain > MAX_HEAD_BYTES and not self.transport.is_closing():
            self.transport.write(b"HTTP/1.1 431 \r\nconnection: close\r\ncontent-length: 0\r\n\r\n")
            self.transport.close()

    def on_headers_complete(self) -> None:
        """See httptools."""
        self._in_head, self._vain = False, 0
        self._unset_keepalive_if_required()
        if len(self.pipeline) >= _AHEAD:
            raise ValueError("too many requests before an answer")  # of which the parser makes a 400
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        """See httptools."""
        self._vain = 0
        super().on_body(body)

    def on_message_complete(self) -> None:
        """See httptools."""
        self._vain = 0
        self._waiting.pop(self, None)
        super().on_message_complete()

    def on_response_complete(self) -> None:
        """See uvicorn."""
        super().on_response_complete()
        if self.timeout_keep_alive_task is not None:  # else the client sent the next request ahead
            self._wait()

    def _wait(self) -> None:
        self._waiting[self], self._in_head = None, True

    def _unset_keepalive_if_required(self) -> None:
        """Let the time run on while a head arrives."""
        if not self._in_head:
            super()._unset_keepalive_if_required()
