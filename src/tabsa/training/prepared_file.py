"""Prepared data in one safetensors file, so that a machine with a GPU needs neither texts nor word vectors.

What is prepared is a dataclass of arrays, of other such dataclasses, of tuples of these, and of plain data; arrays are
tensors under the path to them, and all else is JSON in the file's metadata.
"""

import dataclasses
import json
from pathlib import Path
from typing import Any, TypeVar

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
    facts = json.dumps(_without_arrays(data, type(data).__name__, arrays))
    with replacing(path, "wb") as stream:
        stream.write(save(arrays, {"prepared": facts}))


def read_prepared(path: Path, cls: type[T], *parts: type[Any]) -> T:
    """Read a `cls` whose fields may be of the classes `parts`."""
    try:
        with safe_open(path, "numpy") as stream:
            facts = json.loads((stream.metadata() or {})["prepared"])
            arrays = {name: stream.get_tensor(name) for name in stream.keys()}  # noqa: SIM118
        found = _with_arrays(facts, {known.__name__: known for known in (cls, *parts)}, arrays)
    except OSError as e:
        raise DataError(f"cannot read {path}: {reason(e)}") from e
    except (SafetensorError, KeyError, TypeError) as e:
        raise DataError(f"{path} is damaged, or not what preparing for a run wrote ({e})") from e
    if not isinstance(found, cls):
        raise DataError(
            f"{path} holds {facts['class']}, not {cls.__name__}: it was prepared for another kind of system"
        )
    return found


def _without_arrays(value: Any, where: str, arrays: dict[str, NDArray[Any]]) -> Any:
    if isinstance(value, np.ndarray):
        arrays[where] = np.ascontiguousarray(value)  # whole, because safetensors writes the memory behind a view
        return {"array": where}
    if dataclasses.is_dataclass(value):
        names = [field.name for field in dataclasses.fields(value)]
        own = {name: _without_arrays(getattr(value, name), f"{where}.{name}", arrays) for name in names}
        return {"class": type(value).__name__, "fields": own}
    if isinstance(value, tuple):
        return [_without_arrays(one, f"{where}.{n}", arrays) for n, one in enumerate(value)]
    return {"plain": value} if isinstance(value, dict) else value


def _with_arrays(value: Any, classes: dict[str, type[Any]], arrays: dict[str, NDArray[Any]]) -> Any:
    if isinstance(value, list):
        return tuple(_with_arrays(one, classes, arrays) for one in value)
    if not isinstance(value, dict):
        return value
    if "array" in value:
        return arrays[value["array"]]
    if "class" in value:
        own = {name: _with_arrays(one, classes, arrays) for name, one in value["fields"].items()}
        return classes[value["class"]](**own)
    return value["plain"]
