"""Run the service: a socket, one process or several, signals.

Several workers have a parent that holds the socket (`supervisor.py`). Whoever is told to stop answers what it has taken
and what is on its way, and takes no more connections (`server.py`).
"""

import functools
import os
import socket
from collections.abc import Callable
from contextlib import ExitStack, suppress
from dataclasses import replace
from pathlib import Path

import uvicorn

from tabsa.errors import ConfigError
from tabsa.files import reason
from tabsa.models.onnx.session import cores
from tabsa.serve.balance import Balance
from tabsa.serve.connection import Connection
from tabsa.serve.crowd import Crowd
from tabsa.serve.folders import service_folder
from tabsa.serve.logs import LOGGING
from tabsa.serve.metrics import SHARED
from tabsa.serve.server import Server
from tabsa.serve.settings import Settings
from tabsa.serve.supervisor import CONTEXT, Supervisor


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
            own = stack.enter_context(service_folder(settings.folder))
            os.environ[SHARED] = f"{own}/metrics"
            Path(own, "metrics").mkdir()
            folder = settings.folder or str(own)
            settings = replace(settings, folder=folder, threads=settings.threads or _share(workers))
        balance = Balance(workers, CONTEXT if workers > 1 else None)
        config = uvicorn.Config(
            functools.partial(create_app, settings, balance),
            factory=True,
            workers=workers,
            access_log=access_log,
            server_header=False,
            log_config=LOGGING,
            http=functools.partial(Connection, settings, Crowd(settings), balance),  # type: ignore[arg-type]  # it is only called
            ws="none",
            timeout_graceful_shutdown=settings.shutdown_seconds,
        )
        on_listening(_address(host, listener))
        if workers > 1:
            Supervisor(config, listener, own, balance).run()
        else:
            with suppress(KeyboardInterrupt):  # how uvicorn ends when it was stopped so
                Server(config).run(sockets=[listener])


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
    return max(1, cores() // workers)
