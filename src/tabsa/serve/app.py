"""The app, every part put together, and what runs it: uvicorn's server, or its supervisor of several workers."""

import functools
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Final

import uvicorn
from fastapi import Depends, FastAPI
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
from tabsa.serve.guard import Guard
from tabsa.serve.opinions import Service
from tabsa.serve.problems import ERRORS, handle_problems
from tabsa.serve.settings import Settings

PAGE: Final = Path(__file__).parent / "page"
STYLE: Final = Path(tabsa.pages.__file__).parent / "style.css"
_IDLE_SECONDS: Final = 130  # longer than a proxy holds a connection, lest it send on one that is being closed


def create_app(settings: Settings | None = None) -> FastAPI:
    """The service as an ASGI app; the model is loaded when it starts."""
    settings = settings or Settings()

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        app.state.service = service = await run_in_threadpool(Service, settings)
        try:
            yield
        finally:
            service.close()

    # FastAPI's pages of documentation load scripts from elsewhere.
    app = FastAPI(title="tabsa", version=__version__, docs_url=None, redoc_url=None, lifespan=lifespan)
    handle_problems(app)
    # The guard checks the key; this mentions it in the OpenAPI document.
    keyed = [Depends(HTTPBearer(auto_error=False))] if settings.api_key else []
    app.include_router(opinions.router, tags=["opinions"], dependencies=keyed, responses=ERRORS)
    app.include_router(tables.router, tags=["tables"], dependencies=keyed, responses=ERRORS)
    app.add_api_route("/healthz", healthz, tags=["health"], responses=ERRORS)
    app.add_route("/", lambda _: FileResponse(PAGE / "index.html"))
    app.add_route("/static/base.css", lambda _: FileResponse(STYLE))  # which all pages share
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


async def healthz() -> dict[str, str]:
    """Answer while the process is there."""
    return {"status": "ok"}


def run(settings: Settings, *, host: str, port: int, workers: int, on_listening: Callable[[str], None]) -> None:
    """Serve until a signal; `on_listening` gets the address. Raises a ConfigError where it cannot be listened on."""
    with _listen(host, port) as listener:
        if workers > 1:
            settings = replace(settings, threads=settings.threads or max(1, cores() // workers))
        config = uvicorn.Config(
            functools.partial(create_app, settings),
            factory=True,
            workers=workers,
            timeout_worker_healthcheck=60,  # a worker on a busy machine is longer than the usual 5 seconds in starting
            access_log=False,
            server_header=False,
            proxy_headers=False,  # nothing here depends on a client's address
            http="h11",  # which bounds the head of a request
            ws="none",
            limit_concurrency=settings.max_connections,
            timeout_keep_alive=_IDLE_SECONDS,
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
    return listener
