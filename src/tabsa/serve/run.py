"""Run the service: a socket, and uvicorn's server or its supervisor of several workers."""

import functools
import socket
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from typing import Final

import uvicorn
from uvicorn.supervisors import Multiprocess

from tabsa.errors import ConfigError
from tabsa.files import reason
from tabsa.models.onnx.session import cores
from tabsa.serve.app import create_app
from tabsa.serve.connection import Connection
from tabsa.serve.settings import Settings

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
