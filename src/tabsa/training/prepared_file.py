"""Prepared data in one safetensors file: arrays, and facts as JSON in its metadata."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tabsa.errors import DataError
from tabsa.files import reason, replacing


def write_prepared(path: Path, kind: str, arrays: Mapping[str, NDArray[Any]], facts: Mapping[str, Any]) -> None:
    """Write what `read_prepared` of that kind reads."""
    from safetensors.numpy import save

    # Whole arrays, because safetensors writes the memory behind a view.
    whole = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
    with replacing(path, "wb") as stream:
        stream.write(save(whole, {kind: json.dumps(facts)}))


def read_prepared(path: Path, kind: str) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
    """The arrays and the facts of prepared data of that kind."""
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(path, "numpy") as stream:
            facts: dict[str, Any] = json.loads((stream.metadata() or {})[kind])
            return {name: stream.get_tensor(name) for name in stream.keys()}, facts  # noqa: SIM118
    except OSError as e:
        raise DataError(f"cannot read {path}: {reason(e)}") from e
    except (SafetensorError, KeyError) as e:
        raise DataError(f"{path} is damaged, or not what preparing for a run wrote ({e})") from e
