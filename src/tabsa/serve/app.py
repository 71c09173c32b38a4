"""The app: every part put together."""

import os
import threading
from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final

from fastapi import APIRouter, Depends, FastAPI
from fastapi.responses import FileResponse
from fastapi.security import HTTPBearer
from fastapi.staticfiles import StaticFiles
from starlette.concurrency import run_in_threadpool
from starlette.middleware.cors import CORSMiddleware

import tabsa.pages
from tabsa import __version__
from tabsa.inference.predictor import load
from tabsa.serve import opinions, tables
from tabsa.serve.batching import Batcher
from tabsa.serve.corrections import CorrectionsFile
from tabsa.serve.guard import Guard
from tabsa.serve.opinions import Service, TheService
from tabsa.serve.problems import ERRORS, handle_problems
from tabsa.serve.settings import Settings

PAGE: Final = Path(__file__).parent / "page"
STYLE: Final = Path(tabsa.pages.__file__).parent / "style.css"
_MOST_EVIDENCE: Final = 32  # requests for evidence that may wait


def create_app(settings: Settings | None = None, *, exit_seconds: float | None = None) -> FastAPI:
    """The service as an ASGI app; the model is loaded when it starts.

    With `exit_seconds`, the process ends so long after the app, even where a thread still computes.
    """
    settings = settings or Settings()

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        app.state.service = service = await run_in_threadpool(_service, settings)
        try:
            yield
        finally:
            service.batcher.stop()
            for pool in (service.evidence, service.tables):
                pool.shutdown(wait=False, cancel_futures=True)
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


def _service(settings: Settings) -> Service:
    predictor = load(settings.model, threads=settings.threads, precision=settings.precision)
    predictor.predict("Camden is dear.", ["Camden"])  # whatever it loads late is there before the first request

    return Service(
        name=predictor.folder.path.resolve().name,
        settings=settings,
        predictor=predictor,
        batcher=Batcher(predictor, settings),
        corrections=CorrectionsFile(Path(settings.corrections).expanduser()) if settings.corrections else None,
        evidence=ThreadPoolExecutor(1, "evidence"),
        evidence_places=threading.BoundedSemaphore(_MOST_EVIDENCE),
        tables=ThreadPoolExecutor(settings.max_tables, "tables"),
        table_places=threading.BoundedSemaphore(settings.max_tables),
    )


_health = APIRouter()


@_health.api_route("/", methods=["GET", "HEAD"], include_in_schema=False)
async def page() -> FileResponse:
    """Give the page."""
    return FileResponse(PAGE / "index.html")


@_health.get("/static/base.css", include_in_schema=False)
async def style() -> FileResponse:
    """Give the stylesheet that every page of tabsa shares."""
    return FileResponse(STYLE)


@_health.get("/healthz")
async def healthz() -> dict[str, str]:
    """Answer while the process is there."""
    return {"status": "ok"}


@_health.get("/readyz")
async def readyz(service: TheService) -> dict[str, str]:
    """Answer 200 where a request would be taken now."""
    service.batcher.check()
    return {"status": "ready"}
