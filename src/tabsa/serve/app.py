"""The app: every part put together."""

import asyncio
import contextlib
import logging
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final

from fastapi import APIRouter, Depends, FastAPI
from fastapi.responses import FileResponse, Response
from fastapi.security import HTTPBearer
from fastapi.staticfiles import StaticFiles
from starlette.concurrency import run_in_threadpool
from starlette.middleware.cors import CORSMiddleware

from tabsa import __version__
from tabsa.inference.predictor import Predictor, load
from tabsa.models.onnx.session import cores
from tabsa.serve import corrections, folders, results, routes, tables
from tabsa.serve.balance import Balance
from tabsa.serve.batching import Batcher
from tabsa.serve.guard import Guard
from tabsa.serve.jobs import Jobs
from tabsa.serve.metrics import Metrics
from tabsa.serve.priority import Priority
from tabsa.serve.problems import handle_problems
from tabsa.serve.service import Service
from tabsa.serve.settings import Settings

PAGE: Final = Path(__file__).parent / "page"
_SWEEP_SECONDS: Final = 60
_log = logging.getLogger("uvicorn.error")


def create_app(settings: Settings | None = None, balance: Balance | None = None) -> FastAPI:
    """The service as an ASGI app; the model is loaded when it starts, in the event loop's own process.

    `balance` is shared by the workers, where there are several.
    """
    settings = settings or Settings()
    metrics = Metrics()

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        async with _service(settings, metrics, balance or Balance()) as service:
            app.state.service = service
            yield

    app = FastAPI(
        title="tabsa",
        summary="Who is judged, on what, and how: targeted aspect-based sentiment analysis.",
        version=__version__,
        docs_url=None,  # FastAPI's page of documentation loads scripts from elsewhere
        redoc_url=None,
        lifespan=lifespan,
    )
    handle_problems(app)
    # The guard asks for the key; this tells of it in the OpenAPI document.
    keyed = [Depends(HTTPBearer(auto_error=False))] if settings.api_key else []
    app.include_router(routes.router, tags=["opinions"], dependencies=keyed)
    app.include_router(tables.router, tags=["tables"], dependencies=keyed)
    app.include_router(results.router, tags=["tables"], dependencies=keyed)
    app.include_router(corrections.router, tags=["corrections"], dependencies=keyed)
    app.include_router(routes.health, tags=["health"])
    app.include_router(_page())
    app.mount("/static", _Static(directory=PAGE), name="static")
    app.add_middleware(Guard, settings=settings, metrics=metrics)
    if settings.cors_origins:  # around the guard: browsers ask without a key, and read its refusals too
        app.add_middleware(
            CORSMiddleware,
            allow_origins=list(settings.cors_origins),
            allow_methods=["GET", "POST", "DELETE"],
            allow_headers=["Authorization", "Content-Type", "X-API-Key"],
            expose_headers=["Content-Disposition", "Retry-After"],
        )
    return app


class _Static(StaticFiles):
    """Asked for anew each time, by its ETag, so that no browser mixes the files of two versions."""

    def file_response(self, *args: Any, **kwargs: Any) -> Response:
        response = super().file_response(*args, **kwargs)
        response.headers["Cache-Control"] = "no-cache"
        return response


def _page() -> APIRouter:
    router = APIRouter(include_in_schema=False)

    @router.get("/")
    async def page() -> FileResponse:
        return FileResponse(PAGE / "index.html", headers={"Cache-Control": "no-cache"})

    return router


@asynccontextmanager
async def _service(settings: Settings, metrics: Metrics, balance: Balance) -> AsyncIterator[Service]:
    """The parts of the service, while it runs."""
    predictor = await run_in_threadpool(_loaded, settings)
    with contextlib.ExitStack() as stack:
        folder = Path(settings.folder or stack.enter_context(folders.service_folder(None)))
        for name in ("jobs", "uploads"):
            (folder / name).mkdir(parents=True, exist_ok=True)
        folders.sweep(folder / "uploads")  # of a worker that was killed, whose place this one may take
        uploads = stack.enter_context(folders.own_folder("worker-", folder / "uploads"))
        priority = Priority(settings.threads or cores())
        batcher = Batcher(predictor, settings, metrics, priority, balance)
        jobs = Jobs(folder / "jobs", predictor, settings, metrics, priority)
        name = predictor.folder.path.resolve().name
        kept = corrections.of_settings(settings)
        scoring = priority.threads(settings.max_scoring, "scoring")
        batcher.start()
        balance.open()
        sweeper = asyncio.create_task(_sweep_on(jobs, folder))
        try:
            yield Service(name, settings, predictor, batcher, jobs, metrics, uploads, scoring, kept)
        finally:
            sweeper.cancel()
            await batcher.stop()
            scoring.shutdown(wait=False)
            await run_in_threadpool(jobs.close)


def _loaded(settings: Settings) -> Predictor:
    """The model, having read a text: whatever it reads late is there before the first request."""
    predictor = load(settings.model, threads=settings.threads, precision=settings.precision)
    predictor.predict("Camden is dear.", ["Camden"])
    return predictor


async def _sweep_on(jobs: Jobs, folder: Path) -> None:
    while True:
        await asyncio.sleep(_SWEEP_SECONDS)
        try:
            await run_in_threadpool(_sweep, jobs, folder)
        except OSError:
            _log.exception("old files could not be removed")


def _sweep(jobs: Jobs, folder: Path) -> None:
    for name in ("jobs", "uploads"):
        os.utime(folder / name)  # what empties the system's temporary folder spares what is in use
    jobs.sweep()
    folders.sweep(folder / "uploads")
