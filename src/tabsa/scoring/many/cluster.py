"""Workers on a Ray cluster, or on the cores of one machine. Needs ray, and only when called."""

import logging
import os
import socket
import time
import warnings
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict
from typing import Any, Final

from tabsa.errors import ConfigError
from tabsa.files import reason
from tabsa.scoring.many.dispatch import outcome_of
from tabsa.scoring.many.parts import Part
from tabsa.scoring.many.worker import Job, Kind, Outcome, Worker

_TICK: Final = 1.0  # seconds after which `wait` comes back, whether something happened or not
_PATIENCE: Final = 30  # seconds before a cluster that starts no worker is worth a line
_KNOCK: Final = 5  # seconds to find out whether a cluster answers
_STARTS: Final = 3  # workers that may fail to start, one after another
_OBJECT_STORE: Final = 100_000_000  # bytes: workers are sent names and send counts, the rows stay in files


def require() -> Any:
    """The ray module, or one clear line where it is not installed."""
    try:
        import ray
    except ImportError as e:
        raise ConfigError(
            "a Ray cluster needs ray; install it with `pip install 'tabsa[scale]'`", code="ray_missing"
        ) from e
    return ray


class RayPool:
    """Ray actors with a model each.

    A worker is given a part once it has told that it is ready, so that no part waits for a node that is still to come.
    One that dies is replaced.

    Args:
        job: what parts are scored with; each worker takes as many CPUs as the model's threads.
        address: of the cluster; by default that in $RAY_ADDRESS, or else this machine alone.
        workers: how many there are; by default as many as the CPUs are for.
        most: how many are of use: there are no more, unless asked for.
    """

    def __init__(self, job: Job, *, address: str | None = None, workers: int | None = None, most: int = 2**31) -> None:
        self._ray = require()
        self._connected = connect(address)
        cpus = int(self._ray.cluster_resources().get("CPU", 1))
        self.workers = workers or max(1, min(most, cpus // job.threads))
        # A task is not retried by Ray: the next worker may be another, and three failures end it.
        options = {"num_cpus": job.threads, "max_restarts": 0, "max_task_retries": 0}
        self._actor = self._ray.remote(**options)(Worker)
        self._job = job.plain()
        self._idle: list[Any] = []
        self._busy: dict[Any, tuple[Any, Part | None]] = {}  # what is awaited, of which worker, for which part
        self._failed_starts = 0
        self._cpus, self._silent_from = job.threads, time.monotonic()
        for _ in range(self.workers):
            self._hire()

    def _hire(self) -> None:
        actor = self._actor.remote(self._job)
        self._busy[actor.prepare.remote()] = (actor, None)

    def idle(self) -> int:
        """See `Pool`."""
        return len(self._idle)

    def start(self, part: Part) -> None:
        """See `Pool`."""
        actor = self._idle.pop()
        self._busy[actor.score.remote(asdict(part))] = (actor, part)

    def wait(self) -> Sequence[Outcome]:
        """See `Pool`."""
        self._warn_if_waiting()
        ready, _ = self._ray.wait(list(self._busy), timeout=_TICK)
        return [outcome for reference in ready if (outcome := self._ended(reference))]

    def _warn_if_waiting(self) -> None:
        """Tell once that no worker has started: a cluster without free CPUs looks just like work otherwise."""
        if self._silent_from and time.monotonic() - self._silent_from > _PATIENCE:
            self._silent_from = 0.0
            message = f"no worker has started in {_PATIENCE} s: each needs {self._cpus} free CPU; still waiting"
            warnings.warn(message, RuntimeWarning, stacklevel=2)

    def _ended(self, reference: Any) -> Outcome | None:
        actor, part = self._busy.pop(reference)
        try:
            result = self._ray.get(reference)
        except self._ray.exceptions.RayError as e:
            return self._lost(actor, part, e)
        if part is None:
            if result:
                raise ConfigError(result)
            self._failed_starts, self._silent_from = 0, 0.0
        self._idle.append(actor)
        return outcome_of(part, result) if part else None

    def _lost(self, actor: Any, part: Part | None, error: Exception) -> Outcome | None:
        """A worker died, or cannot be reached: another takes its place."""
        with suppress(self._ray.exceptions.RayError):
            self._ray.kill(actor)  # it may be there yet, and must not write on
        why = " ".join(str(error).split()) or type(error).__name__
        if part is None:
            self._failed_starts += 1
            if self._failed_starts == _STARTS:
                raise ConfigError(f"no worker starts on the cluster; is tabsa on every node? Ray says: {why[:500]}")
        self._hire()
        return Outcome(part, Kind.FAILED, f"its worker died ({type(error).__name__})") if part else None

    def close(self) -> None:
        """See `Pool`."""
        for actor in [*self._idle, *(actor for actor, _ in self._busy.values())]:
            with suppress(self._ray.exceptions.RayError):
                self._ray.kill(actor)
        if self._connected:
            self._ray.shutdown()


def connect(address: str | None = None) -> bool:
    """Join a cluster, or start one on this machine; False where this process is part of one already."""
    ray = require()
    if ray.is_initialized():
        return False
    address = address or os.environ.get("RAY_ADDRESS") or "local"
    if address.startswith("ray://"):
        raise ConfigError(f"{address} is for Ray's client; run this on a node of the cluster", code="ray_client")
    _knock(address)
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")  # or Ray warns of a change to come, about GPUs
    options: dict[str, Any] = {"log_to_driver": False, "logging_level": logging.ERROR}
    if address == "local":
        options |= {"include_dashboard": False, "object_store_memory": _OBJECT_STORE}
    try:
        ray.init(address=address, **options)
    except (ray.exceptions.RayError, ConnectionError, RuntimeError, ValueError, OSError) as e:
        why = (str(e).strip().splitlines() or [type(e).__name__])[0].rstrip(".")
        asks = ":" in address and "RAY_AUTH_MODE" not in os.environ
        advice = "; if it asks for a token, set RAY_AUTH_MODE=token and RAY_AUTH_TOKEN_PATH" if asks else ""
        raise ConfigError(f"cannot join the Ray cluster at {address}: {why}{advice}") from e
    return True


def _knock(address: str) -> None:
    """See that something listens at a host's port: Ray would try for minutes."""
    host, _, port = address.rpartition(":")
    if not host or not port.isdecimal():
        return
    try:
        socket.create_connection((host, int(port)), timeout=_KNOCK).close()
    except (OSError, OverflowError) as e:
        why = reason(e) if isinstance(e, OSError) else str(e)
        raise ConfigError(f"cannot join the Ray cluster at {address}: {why}; start it with `ray start --head`") from e
