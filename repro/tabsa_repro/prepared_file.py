"""Prepared data in one safetensors file, so that a machine with a GPU needs neither texts nor word vectors.

What is prepared is a dataclass of arrays, of other such dataclasses, of tuples of these, and of plain data; arrays are
tensors under the path to them, and all else is JSON in the file's metadata.
"""

import json
from dataclasses import fields, is_dataclass
from pathlib import Path
from types import UnionType
from typing import Any, TypeVar, get_args, get_origin, get_type_hints

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save

from tabsa.errors import DataError
from tabsa.files import reason, replacing

T = TypeVar("T")


def write_prepared(path: Path, data: Any) -> None:
    """Write a dataclass for `read_prepared`."""
    arrays: dict[str, NDArray[Any]] = {}
    facts = json.dumps(_without_arrays(data, "", arrays))
    with replacing(path, "wb") as stream:
        stream.write(save(arrays, {"prepared": facts}))


def read_prepared(path: Path, cls: type[T]) -> T:
    """Read what `write_prepared` wrote."""
    try:
        with safe_open(path, "numpy") as stream:
            facts = json.loads((stream.metadata() or {})["prepared"])
            arrays = {name: stream.get_tensor(name) for name in stream.keys()}  # noqa: SIM118
        found: T = _with_arrays(cls, facts, arrays)
        return found
    except OSError as e:
        raise DataError(f"cannot read {path}: {reason(e)}") from e
    except (SafetensorError, KeyError, TypeError) as e:
        raise DataError(f"{path} is damaged, or not what preparing for a run wrote ({e})") from e


def _without_arrays(value: Any, where: str, arrays: dict[str, NDArray[Any]]) -> Any:
    if isinstance(value, np.ndarray):
        arrays[where] = np.ascontiguousarray(value)  # whole, because safetensors writes the memory behind a view
        return where
    if is_dataclass(value):
        return {f.name: _without_arrays(getattr(value, f.name), f"{where}.{f.name}", arrays) for f in fields(value)}
    if isinstance(value, tuple):
        return [_without_arrays(one, f"{where}.{n}", arrays) for n, one in enumerate(value)]
    return value


def _with_arrays(hint: Any, value: Any, arrays: dict[str, NDArray[Any]]) -> Any:
    if isinstance(hint, UnionType):  # with None
        return None if value is None else _with_arrays(get_args(hint)[0], value, arrays)
    if is_dataclass(hint):
        hints = get_type_hints(hint)
        return hint(**{name: _with_arrays(hints[name], one, arrays) for name, one in value.items()})  # type: ignore[operator]
    if get_origin(hint) is tuple:
        return tuple(_with_arrays(get_args(hint)[0], one, arrays) for one in value)
    return arrays[value] if get_origin(hint) is np.ndarray else value
