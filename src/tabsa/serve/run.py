"""Run the service: a socket, one process or several, signals.

Several workers are uvicorn's: a parent holds the socket, starts a worker in the place of one that dies, and passes
SIGTERM on. A worker that is told to stop takes no more connections and answers what it has taken.
"""

import functools
import os
import socket
import tempfile
from collections.abc import Callable
from contextlib import ExitStack, suppress
from dataclasses import replace
from pathlib import Path
from typing import Final

import uvicorn
from uvicorn.supervisors import Multiprocess

from tabsa.errors import ConfigError
from tabsa.files import reason
from tabsa.serve.connection import Connection
from tabsa.serve.metrics import SHARED
from tabsa.serve.settings import Settings

_HEALTHCHECK_SECONDS: Final = 60  # a worker that is only slow, or still starting, must not be taken for dead


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
    from tabsa.serve.app import create_app

    with ExitStack() as stack:
        listener = stack.enter_context(_listen(host, port))
        if hasattr(socket, "TCP_USER_TIMEOUT"):  # Linux: ends a connection whose other side takes nothing
            listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, int(1000 * settings.write_timeout))
        if workers > 1:
            if settings.folder:
                Path(settings.folder).mkdir(parents=True, exist_ok=True)
            own = stack.enter_context(tempfile.TemporaryDirectory(prefix="tabsa-", dir=settings.folder))
            os.environ[SHARED] = f"{own}/metrics"
            Path(own, "metrics").mkdir()
            settings = replace(settings, folder=settings.folder or own, threads=settings.threads or _share(workers))
        config = uvicorn.Config(
            functools.partial(create_app, settings),
            factory=True,
            workers=workers,
            access_log=access_log,
            server_header=False,
            http=functools.partial(Connection, settings),  # type: ignore[arg-type]  # it is only called
            ws="none",
            timeout_graceful_shutdown=settings.shutdown_seconds,
            timeout_worker_healthcheck=_HEALTHCHECK_SECONDS,
        )
        on_listening(_address(host, listener))
        if workers > 1:
            Multiprocess(config, sockets=[listener]).run()
        else:
            with suppress(KeyboardInterrupt):  # how uvicorn ends when it was stopped so
                uvicorn.Server(config).run(sockets=[listener])


def _listen(host: str, port: int) -> socket.socket:
    try:
        family, _, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0]
        return socket.create_server(address[:2], family=family, backlog=2048)
    except (OSError, OverflowError) as e:
        why = reason(e) if isinstance(e, OSError) else str(e)
        raise ConfigError(f"cannot listen on {host}, port {port}: {why}", code="cannot_listen") from e


def _address(host: str, listener: socket.socket) -> str:
    shown = f"[{host}]" if ":" in host else host
    return f"http://{shown}:{listener.getsockname()[1]}"


def _share(workers: int) -> int:
    """The cores of each worker."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, cores // workers)
