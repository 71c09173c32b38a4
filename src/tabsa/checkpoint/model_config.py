"""`config.json` of a model folder, checked: a folder may come from anyone."""

from collections.abc import Mapping
from dataclasses import MISSING, dataclass, field, fields
from pathlib import Path
from typing import Any, Final
from unicodedata import category

from tabsa.config import build, option
from tabsa.encoding.answers import PresenceCalibration
from tabsa.errors import ConfigError, ModelError
from tabsa.schema import NONE

FORMAT: Final = "tabsa model 1"
_MOST_NAMES: Final = 10_000  # of aspects or labels
_LONGEST: Final = 1 << 20  # words or pieces that are read at once
_SHOWN: Final = 120  # characters of a wrong value


@dataclass(frozen=True)
class ModelConfig:
    """The content of `config.json`."""

    kind: str
    model: dict[str, Any]
    aspects: tuple[str, ...]
    labels: tuple[str, ...]
    targets: int = field(metadata={"low": 1, "high": 1024})  # that a model tells apart at a time
    max_length: int = field(metadata={"low": 0, "high": _LONGEST})
    temperature: float = 1.0  # what logits are divided by, so that probabilities are calibrated
    bias: tuple[float, ...] = ()  # what is added to them after that, one number a label, or none
    tokeniser: str = "treebank, case folded"
    calibration: dict[str, float] | None = None  # a reader's: the fields of `PresenceCalibration`
    implied: bool = False  # whether in use a target that a text does not name is what the text is about, by default
    named: bool = True  # whether it learnt from targets that texts name; where not, it looks for none that is implied
    # A reader's: pieces of a text that is read whole, and of a window of a longer one.
    windows: tuple[int, ...] = option((), "pieces", low=0, high=_LONGEST)
    format: str = FORMAT


def model_config(values: Mapping[str, Any], path: Path) -> ModelConfig:
    """Check the content of `config.json` at `path`; raises a one-line ModelError where no model folder has that."""
    given = {own.name: values[own.name] for own in fields(ModelConfig) if values.get(own.name) is not None}
    if missing := [own.name for own in fields(ModelConfig) if own.default is MISSING and own.name not in given]:
        raise ModelError(f"{path} has no '{missing[0]}'; the folder is incomplete")
    try:
        config = build(ModelConfig, given)
        build(PresenceCalibration, config.calibration or {}, "calibration.")
    except (ConfigError, RecursionError) as e:  # of a value that is too deep to show
        raise ModelError(f"{path}: {str(e)[: 2 * _SHOWN]}") from e
    for name, names in (("aspects", config.aspects), ("labels", config.labels)):
        if not 0 < len(names) <= _MOST_NAMES:
            raise ModelError(f"{path}: '{name}' are {len(names):,}; expected 1 to {_MOST_NAMES:,}")
        if len(set(names)) < len(names):
            raise ModelError(f"{path}: '{name}' has a name twice")
        if wrong := [one for one in names if not one.strip() or any(category(mark) in ("Cc", "Cs") for mark in one)]:
            expected = "expected words, without control characters"
            raise ModelError(f"{path}: '{name}' has {shown(wrong[0])} among them; {expected}")
    if config.labels[0] != NONE or len(config.labels) < 2:
        raise ModelError(f"{path}: 'labels' are {shown(list(config.labels))}; expected '{NONE}' first, and others")
    if len(config.bias) not in (0, len(config.labels)):
        raise ModelError(f"{path}: 'bias' has {len(config.bias)} numbers; expected one for each of the labels, or none")
    for name, some, count in (("windows", config.windows, 2), ("calibration", config.calibration, 3)):
        if some and len(some) != count:
            raise ModelError(f"{path}: '{name}' is {shown(some)}; expected {count} numbers, or none")
    return config


def shown(value: Any) -> str:
    """Show a wrong value on one line, cut where it is long."""
    try:
        shown = repr(value)
    except (ValueError, RecursionError):  # a number of thousands of digits; lists in lists without end
        shown = f"a {type(value).__name__} that is too long to show"
    return shown if len(shown) <= _SHOWN else f"{shown[:_SHOWN]}…"
