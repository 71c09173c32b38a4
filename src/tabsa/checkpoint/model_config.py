"""What `config.json` says, checked: a folder may come from anyone."""

import dataclasses
import math
from collections.abc import Callable, Mapping, Sequence
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


@dataclass(frozen=True)
class ModelConfig:
    """What `config.json` says."""

    kind: str
    model: dict[str, Any]
    aspects: tuple[str, ...]
    labels: tuple[str, ...]
    targets: int
    max_length: int
    temperature: float = 1.0  # what logits are divided by, so that probabilities are calibrated
    bias: tuple[float, ...] = ()  # what is added to them after that, one number a label, or none
    tokeniser: str = "treebank, case folded"
    calibration: dict[str, float] | None = None  # a reader's: the fields of `evaluation`'s PresenceCalibration
    implied: bool = False  # whether in use a target that a text does not name is what the text is about, unless told
    named: bool = True  # whether it learnt from targets that texts name; where not, it looks for none that is implied
    windows: tuple[int, ...] = ()  # a reader's: pieces of a text that is read whole, and of a window of a longer one
    format: str = FORMAT


def model_config(values: Mapping[str, Any], path: Path) -> ModelConfig:
    """What `config.json` at `path` says; raises a one-line ModelError where no model folder says that."""
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
        if wrong := _wrong_name(names):
            raise ModelError(f"{path}: '{name}' {wrong}")
    if config.labels[0] != NONE or len(config.labels) < 2:
        raise ModelError(f"{path}: 'labels' are {shown(list(config.labels))}; expected '{NONE}' first, and others")
    if config.bias and len(config.bias) != len(config.labels):
        raise ModelError(f"{path}: 'bias' has {len(config.bias)} numbers; expected one for each of the labels, or none")
    return config


def shown(value: Any) -> str:
    """A wrong value on one line, cut where it is long."""
    try:
        shown = repr(value)
    except (ValueError, RecursionError):  # a number of thousands of digits; lists in lists without end
        shown = f"a {type(value).__name__} that is too long to show"
    return shown if len(shown) <= _SHOWN else f"{shown[:_SHOWN]}…"


def _wrong_name(names: Sequence[str]) -> str:
    """What is wrong with names of aspects or labels, nothing where all are right."""
    if len(set(names)) < len(names):
        twice = next(name for n, name in enumerate(names) if name in names[:n])
        return f"has {shown(twice)} twice"
    for name in names:
        if not name.strip() or any(category(character) in ("Cc", "Cs") for character in name):
            return f"has {shown(name)} among them; expected words, without control characters"
    return ""


def _is_names(value: Any) -> bool:
    return isinstance(value, list) and 0 < len(value) <= _MOST_NAMES and all(isinstance(name, str) for name in value)


def _is_count(value: Any, low: int = 0, high: int = _LONGEST) -> bool:
    return type(value) is int and low <= value <= high


def _is_number(value: Any) -> bool:
    return type(value) in (int, float) and abs(value) < _LARGEST


def _is_calibration(value: Any) -> bool:
    """Whether it is what `PresenceCalibration` has, in numbers that are of use."""
    names = {"presence_temperature", "presence_bias", "polarity_temperature"}
    return (
        isinstance(value, dict)
        and value.keys() == names
        and all(map(_is_number, value.values()))
        and min(value["presence_temperature"], value["polarity_temperature"]) >= 1 / _LARGEST
    )


_RIGHT: Final[dict[str, Callable[[Any], bool]]] = {
    "kind": lambda value: isinstance(value, str),
    "model": lambda value: isinstance(value, dict),
    "aspects": _is_names,
    "labels": _is_names,
    "targets": lambda value: _is_count(value, 1, _MOST_TARGETS),
    "max_length": _is_count,
    "temperature": lambda value: _is_number(value) and value >= 1 / _LARGEST and math.isfinite(value),
    "bias": lambda value: isinstance(value, list) and all(map(_is_number, value)),
    "tokeniser": lambda value: isinstance(value, str),
    "calibration": lambda value: value is None or _is_calibration(value),
    "implied": lambda value: type(value) is bool,
    "named": lambda value: type(value) is bool,
    "windows": lambda value: isinstance(value, list) and len(value) in (0, 2) and all(map(_is_count, value)),
}
