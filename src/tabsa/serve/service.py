"""The parts of a running service, where every route finds them, and its counts for Prometheus."""

import os
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Annotated, Final

from fastapi import Depends, Request
from prometheus_client import CollectorRegistry, Counter, Histogram, disable_created_metrics, generate_latest
from prometheus_client.multiprocess import MultiProcessCollector

from tabsa.inference.predictor import Predictor
from tabsa.serve.batching import Batcher
from tabsa.serve.corrections import CorrectionsFile
from tabsa.serve.settings import Settings

# prometheus-client adds up several workers where this is set before it is imported, as `run` does.
_SHARED: Final = "PROMETHEUS_MULTIPROC_DIR"
_SECONDS: Final = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10)
_TEXTS: Final = (1, 2, 4, 8, 16, 32, 64, 128)


class Metrics:
    """One app's counts; several apps of one process do not share them."""

    def __init__(self) -> None:
        disable_created_metrics()  # type: ignore[no-untyped-call]
        own = self._registry = CollectorRegistry()
        self.requests = Counter("tabsa_requests", "Requests answered.", ("method", "route", "status"), registry=own)
        self.seconds = Histogram("tabsa_request_seconds", "Time to answer.", ("route",), buckets=_SECONDS, registry=own)
        self.batch = Histogram(
            "tabsa_batch_texts", "Texts of a model call.", buckets=(1, 2, 4, 8, 16, 32), registry=own
        )
        self.model = Histogram("tabsa_model_seconds", "Time of a model call.", buckets=_SECONDS, registry=own)

    def text(self) -> bytes:
        """The counts of all workers in Prometheus's text format."""
        registry = self._registry
        if _SHARED in os.environ:
            registry = CollectorRegistry()
            MultiProcessCollector(registry)  # type: ignore[no-untyped-call]
        return generate_latest(registry)


@dataclass(frozen=True, slots=True)
class Service:
    """The model and what works with it."""

    name: str  # of the model
    settings: Settings
    predictor: Predictor
    batcher: Batcher
    metrics: Metrics
    corrections: CorrectionsFile | None
    evidence: ThreadPoolExecutor  # of one thread: evidence costs several readings of a text
    evidence_places: threading.BoundedSemaphore
    tables: ThreadPoolExecutor
    table_places: threading.BoundedSemaphore


async def _service(request: Request) -> Service:
    service: Service = request.app.state.service
    return service


TheService = Annotated[Service, Depends(_service)]
