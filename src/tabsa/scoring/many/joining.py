"""Joining a Ray cluster, or starting one on this machine. Needs ray, and only when called."""

import logging
import os
import re
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

from tabsa.errors import ConfigError
from tabsa.files import reason

_KNOCK: Final = 5  # seconds to find out whether a cluster answers
_OBJECT_STORE: Final = 200_000_000  # bytes, of a cluster that is started here: pieces are small, and soon scored
_QUIET: Final = {
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",  # or Ray warns of a change to come, about GPUs
    "RAY_BACKEND_LOG_LEVEL": "fatal",  # of what a user can mend, this program tells itself
    "RAY_DATA_LOG_LEVEL": "ERROR",
}


def require() -> Any:
    """The ray module, or one clear line where it is not installed."""
    try:
        import pyarrow  # noqa: F401
        import ray
    except ImportError as e:
        raise ConfigError(
            "a Ray cluster needs ray; install it with `pip install 'tabsa[scale]'`", code="ray_missing"
        ) from e
    return ray


def connect(address: str | None = None) -> bool:
    """Join a cluster, or start one on this machine; False where this process is part of one already."""
    ray = require()
    if ray.is_initialized():
        return False
    address = address or os.environ.get("RAY_ADDRESS") or "local"
    if address.startswith("ray://"):
        raise ConfigError(f"{address} is for Ray's client; run this on a node of the cluster", code="ray_client")
    _knock(address)
    for name, value in _QUIET.items():
        os.environ.setdefault(name, value)
    options: dict[str, Any] = {"log_to_driver": False, "logging_level": logging.ERROR}
    if address == "local":
        options |= {"include_dashboard": False, "object_store_memory": _OBJECT_STORE}
    try:
        with _hushed():
            ray.init(address=address, **options)
    except (ray.exceptions.RayError, ConnectionError, RuntimeError, ValueError, OSError) as e:
        asks = ":" in address and "RAY_AUTH_MODE" not in os.environ
        advice = "; if it asks for a token, set RAY_AUTH_MODE=token and RAY_AUTH_TOKEN_PATH" if asks else ""
        raise ConfigError(f"cannot join the Ray cluster at {address}: {said(e)}{advice}") from e
    return True


@contextmanager
def _hushed() -> Iterator[None]:
    """Keep from the terminal what Ray's C++ side says of its own settings; what is wrong it raises."""
    kept = os.dup(2)
    nowhere = os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(nowhere, 2)
        yield
    finally:
        os.dup2(kept, 2)
        os.close(nowhere)
        os.close(kept)


def said(error: Exception) -> str:
    """The first line of what Ray said."""
    said = re.sub(r"\x1b\[[0-9;]*m", "", str(error)).strip()  # less its colours
    return (said.splitlines() or [type(error).__name__])[0].rstrip(".")[:500]


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
