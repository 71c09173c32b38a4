"""The app, every part put together, and what runs it: uvicorn's server, or its supervisor of several workers."""

import functools
import os
import socket
import threading
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Final

import uvicorn
from fastapi import APIRouter, Depends, FastAPI, Request, Response
from fastapi.responses import FileResponse
from fastapi.security import HTTPBearer
from fastapi.staticfiles import StaticFiles
from starlette.concurrency import run_in_threadpool
from starlette.middleware.cors import CORSMiddleware
from uvicorn.supervisors import Multiprocess

import tabsa.pages
from tabsa import __version__
from tabsa.errors import ConfigError
from tabsa.files import reason
from tabsa.models.onnx.session import cores
from tabsa.serve import opinions, tables
from tabsa.serve.guard import Connection, Guard
from tabsa.serve.opinions import Service, TheService
from tabsa.serve.problems import ERRORS, handle_problems
from tabsa.serve.settings import Settings

PAGE: Final = Path(__file__).parent / "page"
STYLE: Final = Path(tabsa.pages.__file__).parent / "style.css"
_EXIT_SECONDS: Final = 3  # for a thread that still computes when all else has ended
_WRITE_SECONDS: Final = 60  # that a client may take nothing of an answer


def create_app(settings: Settings | None = None, *, exit_seconds: float | None = None) -> FastAPI:
    """The service as an ASGI app; the model is loaded when it starts.

    With `exit_seconds`, the process ends so long after the app, even where a thread still computes.
    """
    settings = settings or Settings()

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        app.state.service = service = await run_in_threadpool(Service, settings)
        try:
            yield
        finally:
            service.close()
            if exit_seconds is not None:
                timer = threading.Timer(exit_seconds, os._exit, (0,))
                timer.daemon = True
                timer.start()

    # FastAPI's pages of documentation load scripts from elsewhere.
    app = FastAPI(title="tabsa", version=__version__, docs_url=None, redoc_url=None, lifespan=lifespan)
    handle_problems(app)
    # The guard checks the key; this mentions it in the OpenAPI document.
    keyed = [Depends(HTTPBearer(auto_error=False))] if settings.api_key else []
    app.include_router(opinions.router, tags=["opinions"], dependencies=keyed, responses=ERRORS)
    app.include_router(tables.router, tags=["tables"], dependencies=keyed, responses=ERRORS)
    app.include_router(_health, tags=["health"], responses=ERRORS)
    for address, file in (("/", PAGE / "index.html"), ("/static/base.css", STYLE)):  # the style that all pages share
        app.add_route(address, _file(file))
    app.mount("/static", StaticFiles(directory=PAGE), name="static")
    app.add_middleware(Guard, settings=settings)
    if settings.cors_origins:  # around the guard: browsers send no key when they inquire, and read its refusals too
        app.add_middleware(
            CORSMiddleware,
            allow_origins=list(settings.cors_origins),
            allow_methods=["GET", "POST"],
            allow_headers=["Authorization", "Content-Type", "X-API-Key"],
            expose_headers=["Content-Disposition", "Retry-After"],
        )
    return app


def _file(path: Path) -> Callable[[Request], Awaitable[Response]]:
    async def give(_: Request) -> Response:
        return FileResponse(path)

    return give


_health = APIRouter()


@_health.get("/healthz")
async def healthz() -> dict[str, str]:
    """Answer while the process is there."""
    return {"status": "ok"}


@_health.get("/readyz")
async def readyz(service: TheService) -> dict[str, str]:
    """Answer 200 where a request would be taken now."""
    service.batcher.check()
    return {"status": "ready"}


def run(
    settings: Settings, *, host: str, port: int, workers: int, access_log: bool, on_listening: Callable[[str], None]
) -> None:
    """Serve until a signal; `on_listening` gets the address. Raises a ConfigError where it cannot be listened on."""
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
