"""What Prometheus reads.

prometheus-client, because it knows how to add up several workers: where `PROMETHEUS_MULTIPROC_DIR` is set before it is
imported (`run.py` does), each process counts in a file of that folder, and whichever is asked sums all of them.
"""

import os
import re
from pathlib import Path

from prometheus_client import (
    CONTENT_TYPE_LATEST,
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    disable_created_metrics,
    generate_latest,
)
from prometheus_client.multiprocess import MultiProcessCollector, mark_process_dead

SHARED = "PROMETHEUS_MULTIPROC_DIR"
CONTENT_TYPE = CONTENT_TYPE_LATEST
_SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10)
_TEXTS = (1, 2, 4, 8, 16, 32, 64, 128)


class Metrics:
    """One app's counts; several apps of one process do not share them."""

    def __init__(self) -> None:
        disable_created_metrics()  # type: ignore[no-untyped-call]
        registry = self._registry = CollectorRegistry()
        labels = ("method", "route", "status")
        self.requests = Counter("tabsa_requests", "Requests answered.", labels, registry=registry)
        self.seconds = Histogram(
            "tabsa_request_seconds", "Time to answer.", ("route",), buckets=_SECONDS, registry=registry
        )
        self.texts = Counter("tabsa_texts", "Texts read for /v1/predict.", registry=registry)
        self.rows = Counter("tabsa_rows", "Rows of files scored.", registry=registry)
        self.batch = Histogram("tabsa_batch_texts", "Texts of a model call.", buckets=_TEXTS, registry=registry)
        self.model = Histogram("tabsa_model_seconds", "Time of a model call.", buckets=_SECONDS, registry=registry)
        self.waiting = Gauge(
            "tabsa_waiting_texts", "Texts without an answer yet.", registry=registry, multiprocess_mode="livesum"
        )
        _forget_dead_workers()

    def text(self) -> bytes:
        """The counts of all workers in Prometheus's text format."""
        if SHARED not in os.environ:
            return generate_latest(self._registry)
        registry = CollectorRegistry()
        MultiProcessCollector(registry)  # type: ignore[no-untyped-call]
        return generate_latest(registry)


def _forget_dead_workers() -> None:
    """A worker that was killed waits for nothing; its replacement says so."""
    if SHARED not in os.environ or os.name == "nt":
        return
    for path in Path(os.environ[SHARED]).glob("gauge_live*.db"):
        number = re.search(r"_(\d+)\.db$", path.name)
        if number and not is_alive(int(number[1])):
            mark_process_dead(int(number[1]))  # type: ignore[no-untyped-call]


def is_alive(process: int) -> bool:
    """Whether there is a process of that number; on Windows, where asking would stop it, always."""
    if os.name == "nt":
        return True
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
