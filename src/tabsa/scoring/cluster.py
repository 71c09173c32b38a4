"""The tables of a folder on a Ray cluster, a task each: what `folders` does in a pool of processes, on many machines.

Needs ray, and only when called. What a lost worker left of its table is taken up by the next, so all nodes must see the
same files.
"""

import logging
import os
import platform
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import lru_cache
from typing import Any, Final

from tabsa.errors import ConfigError, TabsaError, first_line
from tabsa.inference.predictor import Predictor
from tabsa.scoring.folders import Ended, ModelChoice, TablePair, TableWork, score_pair
from tabsa.scoring.single import request_identity
from tabsa.tables.outputs import Counts

_RETRIES: Final = 3  # of a table whose worker or node is lost
_QUIET: Final = {
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",  # or Ray warns of a change to come, about GPUs
    "RAY_BACKEND_LOG_LEVEL": "fatal",  # of what a user can mend, this program tells itself
}


def score_on_ray(
    pairs: Sequence[TablePair], work: TableWork, identity: dict[str, Any], address: str | None
) -> Iterator[Ended]:
    """Score tables on a cluster: that at `address`, or of $RAY_ADDRESS, or else this machine alone."""
    with _joined(address) as ray:
        task = ray.remote(num_cpus=max(1, work.model.threads), max_retries=_RETRIES)(_score)
        waiting = {task.remote(pair, work, identity): pair for pair in pairs}
        while waiting:
            (done,), _ = ray.wait(list(waiting))
            pair = waiting.pop(done)
            try:
                yield pair, ray.get(done)
            except ray.exceptions.RayError as e:
                yield pair, f"Ray gave up: {_line(e)}"


def _score(pair: TablePair, work: TableWork, identity: dict[str, Any]) -> Counts | str:
    try:
        predictor = _loaded(work.model)
        if request_identity(predictor, work.request) != identity:
            return f"the model or the version of tabsa on {platform.node()} is not the command's"
        return score_pair(pair, work, predictor)
    except TabsaError as e:
        return str(e)


@lru_cache(maxsize=1)  # Ray gives a process one task after another
def _loaded(model: ModelChoice) -> Predictor:
    return model.load()


@contextmanager
def _joined(address: str | None) -> Iterator[Any]:
    """Join a cluster, or start one on this machine, and leave it at the end; one that is joined already stays so."""
    for name, value in _QUIET.items():
        os.environ.setdefault(name, value)
    try:
        import ray
    except ImportError as e:
        advice = "install it with `pip install 'tabsa[scale]'`"
        raise ConfigError(f"a Ray cluster needs ray; {advice}", code="ray_missing") from e
    if ray.is_initialized():
        yield ray
        return
    address = address or os.environ.get("RAY_ADDRESS") or "local"
    options: dict[str, Any] = {"log_to_driver": False, "logging_level": logging.ERROR}
    if address == "local":
        options |= {"include_dashboard": False, "object_store_memory": 100_000_000}  # tables do not go through it
    try:
        ray.init(address=address, **options)
    except (ray.exceptions.RayError, ConnectionError, RuntimeError, ValueError, OSError) as e:
        raise ConfigError(f"cannot join the Ray cluster at {address}: {_line(e)}") from e
    try:
        yield ray
    finally:
        with suppress(Exception):
            ray.shutdown()


def _line(error: Exception) -> str:
    """Return the first line of Ray's message, less its colours."""
    return re.sub(r"\x1b\[[0-9;]*m", "", first_line(error)).rstrip(".")[:500]
