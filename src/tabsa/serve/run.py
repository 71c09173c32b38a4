"""Run the service: a socket, and uvicorn's server or its supervisor of several workers."""

import asyncio
import functools
import socket
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from typing import Any, ClassVar, Final

import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol
from uvicorn.supervisors import Multiprocess

from tabsa.errors import ConfigError
from tabsa.files import reason
from tabsa.models.onnx.session import cores
from tabsa.serve.app import create_app
from tabsa.serve.settings import Settings

MAX_HEAD_BYTES: Final = 32_768
_AHEAD: Final = 16  # requests that may be sent before the first is answered
_EXIT_SECONDS: Final = 3  # for a thread that still computes when all else has ended
_WRITE_SECONDS: Final = 60  # that a client may take nothing of an answer


def run(
    settings: Settings,
    *,
    host: str = "127.0.0.1",
    port: int = 8000,
    workers: int = 1,
    access_log: bool = False,
    on_listening: Callable[[str], None] = lambda _: None,
) -> None:
    """Serve until a signal; `on_listening` gets the address.

    Raises:
        ConfigError: the address cannot be listened on.
    """
    with _listen(host, port) as listener:
        if workers > 1:
            settings = replace(settings, threads=settings.threads or max(1, cores() // workers))
        config = uvicorn.Config(
            functools.partial(create_app, settings, exit_seconds=_EXIT_SECONDS),
            factory=True,
            workers=workers,
            access_log=access_log,
            server_header=False,
            http=Connection,
            ws="none",
            proxy_headers=bool(settings.proxies),
            forwarded_allow_ips=list(settings.proxies),
            limit_concurrency=settings.max_connections,
            timeout_keep_alive=settings.read_timeout,  # type: ignore[arg-type]  # a float does as well
            timeout_graceful_shutdown=settings.shutdown_seconds,
        )
        on_listening(f"http://{f'[{host}]' if ':' in host else host}:{listener.getsockname()[1]}")
        if workers > 1:
            Multiprocess(config, [listener]).run()
        else:
            with suppress(KeyboardInterrupt):  # how uvicorn ends when it was stopped so
                uvicorn.Server(config).run(sockets=[listener])


def _listen(host: str, port: int) -> socket.socket:
    try:
        family, _, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0]
        listener = socket.create_server(address[:2], family=family, backlog=2048)
    except (OSError, OverflowError) as e:
        why = reason(e) if isinstance(e, OSError) else str(e)
        raise ConfigError(f"cannot listen on {host}, port {port}: {why}", code="cannot_listen") from e
    if hasattr(socket, "TCP_USER_TIMEOUT"):  # Linux: ends a connection whose other side takes nothing
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, 1000 * _WRITE_SECONDS)
    return listener


class Connection(HttpToolsProtocol):
    """uvicorn's connection, which takes heads of any size, waits without end for the first, and counts silent clients.

    This one closes itself where a head is too large, or not whole `timeout_keep_alive` seconds after the last answer.
    Of more than `limit_concurrency`, the one that has waited longest for its client is closed.
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
        self._waiting[self], self._in_head = None, True
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
            self._waiting[self], self._in_head = None, True

    def _unset_keepalive_if_required(self) -> None:
        """Let the time run on while a head arrives."""
        if not self._in_head:
            super()._unset_keepalive_if_required()
