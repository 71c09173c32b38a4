"""`config.json` of a model folder, checked: a folder may come from anyone."""

import dataclasses
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final
from unicodedata import category

from tabsa.errors import ModelError
from tabsa.schema import NONE

FORMAT: Final = "tabsa model 1"
_MOST_TARGETS: Final = 1024  # that a model tells apart at a time
_MOST_NAMES: Final = 10_000  # of aspects or labels
_LONGEST: Final = 1 << 20  # words or pieces that are read at once
_LARGEST: Final = 1e6  # number that calibrates
_SHOWN: Final = 120  # characters of a wrong value
_CALIBRATION: Final = {  # the least of each number
    "presence_temperature": 1 / _LARGEST, "presence_bias": -_LARGEST, "polarity_temperature": 1 / _LARGEST,
}  # fmt: skip


@dataclass(frozen=True)
class ModelConfig:
    """The content of `config.json`."""

    kind: str
    model: dict[str, Any]
    aspects: tuple[str, ...]
    labels: tuple[str, ...]
    targets: int
    max_length: int
    temperature: float = 1.0  # what logits are divided by, so that probabilities are calibrated
    bias: tuple[float, ...] = ()  # what is added to them after that, one number a label, or none
    tokeniser: str = "treebank, case folded"
    calibration: dict[str, float] | None = None  # a reader's: the fields of `PresenceCalibration`
    implied: bool = False  # whether in use a target that a text does not name is what the text is about, by default
    named: bool = True  # whether it learnt from targets that texts name; where not, it looks for none that is implied
    windows: tuple[int, ...] = ()  # a reader's: pieces of a text that is read whole, and of a window of a longer one
    format: str = FORMAT


def model_config(values: Mapping[str, Any], path: Path) -> ModelConfig:
    """Check the content of `config.json` at `path`; raises a one-line ModelError where no model folder has that."""
    given: dict[str, Any] = {}
    for field in dataclasses.fields(ModelConfig):
        if field.name in values and field.name in _RIGHT:
            value = values[field.name]
            if not _RIGHT[field.name](value):
                raise ModelError(f"{path}: '{field.name}' is {shown(value)}, which no model folder has")
            given[field.name] = tuple(value) if isinstance(value, list) else value
        elif field.default is dataclasses.MISSING:
            raise ModelError(f"{path} has no '{field.name}'; the folder is incomplete")
    config = ModelConfig(**given)
    for name, names in (("aspects", config.aspects), ("labels", config.labels)):
        if twice := [one for number, one in enumerate(names) if one in names[:number]]:
            raise ModelError(f"{path}: '{name}' has {shown(twice[0])} twice")
        if wrong := [one for one in names if not one.strip() or any(category(mark) in ("Cc", "Cs") for mark in one)]:
            expected = "expected words, without control characters"
            raise ModelError(f"{path}: '{name}' has {shown(wrong[0])} among them; {expected}")
    if config.labels[0] != NONE or len(config.labels) < 2:
        raise ModelError(f"{path}: 'labels' are {shown(list(config.labels))}; expected '{NONE}' first, and others")
    if config.bias and len(config.bias) != len(config.labels):
        raise ModelError(f"{path}: 'bias' has {len(config.bias)} numbers; expected one for each of the labels, or none")
    return config


def shown(value: Any) -> str:
    """Show a wrong value on one line, cut where it is long."""
    try:
        shown = repr(value)
    except (ValueError, RecursionError):  # a number of thousands of digits; lists in lists without end
        shown = f"a {type(value).__name__} that is too long to show"
    return shown if len(shown) <= _SHOWN else f"{shown[:_SHOWN]}…"


def _is_names(value: Any) -> bool:
    return isinstance(value, list) and 0 < len(value) <= _MOST_NAMES and all(isinstance(name, str) for name in value)


def _is_count(value: Any, low: int = 0, high: int = _LONGEST) -> bool:
    return type(value) is int and low <= value <= high


def _is_number(value: Any, low: float = -_LARGEST) -> bool:
    return type(value) in (int, float) and low <= value < _LARGEST and math.isfinite(value)


def _is_calibration(value: Any) -> bool:
    if not isinstance(value, dict):
        return value is None
    return value.keys() == _CALIBRATION.keys() and all(
        _is_number(value[name], low) for name, low in _CALIBRATION.items()
    )


_RIGHT: Final[dict[str, Callable[[Any], bool]]] = {
    "kind": lambda value: isinstance(value, str),
    "model": lambda value: isinstance(value, dict),
    "aspects": _is_names,
    "labels": _is_names,
    "targets": lambda value: _is_count(value, 1, _MOST_TARGETS),
    "max_length": _is_count,
    "temperature": lambda value: _is_number(value, 1 / _LARGEST),
    "bias": lambda value: isinstance(value, list) and all(map(_is_number, value)),
    "tokeniser": lambda value: isinstance(value, str),
    "calibration": _is_calibration,
    "implied": lambda value: type(value) is bool,
    "named": lambda value: type(value) is bool,
    "windows": lambda value: isinstance(value, list) and len(value) in (0, 2) and all(map(_is_count, value)),
}
