"""Counts for Prometheus.

prometheus-client adds up several workers where `PROMETHEUS_MULTIPROC_DIR` is set before it is imported, as `run` does.
"""

import os
from typing import Final

from prometheus_client import (
    CONTENT_TYPE_LATEST,
    CollectorRegistry,
    Counter,
    Histogram,
    disable_created_metrics,
    generate_latest,
)
from prometheus_client.multiprocess import MultiProcessCollector

SHARED: Final = "PROMETHEUS_MULTIPROC_DIR"
CONTENT_TYPE: Final = CONTENT_TYPE_LATEST
_SECONDS: Final = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10)
_TEXTS: Final = (1, 2, 4, 8, 16, 32, 64, 128)


class Metrics:
    """One app's counts; several apps of one process do not share them."""

    def __init__(self) -> None:
        disable_created_metrics()  # type: ignore[no-untyped-call]
        own = self._registry = CollectorRegistry()
        self.requests = Counter("tabsa_requests", "Requests answered.", ("method", "route", "status"), registry=own)
        self.seconds = Histogram("tabsa_request_seconds", "Time to answer.", ("route",), buckets=_SECONDS, registry=own)
        self.rows = Counter("tabsa_rows", "Rows of files scored.", registry=own)
        self.batch = Histogram("tabsa_batch_texts", "Texts of a model call.", buckets=_TEXTS, registry=own)
        self.model = Histogram("tabsa_model_seconds", "Time of a model call.", buckets=_SECONDS, registry=own)

    def text(self) -> bytes:
        """The counts of all workers in Prometheus's text format."""
        registry = self._registry
        if SHARED in os.environ:
            registry = CollectorRegistry()
            MultiProcessCollector(registry)  # type: ignore[no-untyped-call]
        return generate_latest(registry)
