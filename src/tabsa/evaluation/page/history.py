"""What training wrote down after each epoch, as curves; anything else than numbers is passed over."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

LOSSES: Final = {"loss": "training", "dev_loss": "held out"}
SCORES: Final = {
    "opinion_f1": "opinion F1",
    "presence_f1": "presence F1",
    "polarity_accuracy": "polarity",
    "strict_accuracy": "strict",
}


@dataclass(frozen=True, slots=True)
class Curve:
    """One figure over epochs."""

    name: str
    points: tuple[tuple[float, float], ...]  # epoch, value


def curves(history: Sequence[Mapping[str, Any]], names: Mapping[str, str]) -> list[Curve]:
    """The curves of these figures that have a point at least, in the order of `names`."""
    found = []
    for key, name in names.items():
        points = [
            (float(entry["epoch"]), float(entry[key]))
            for entry in history
            if isinstance(entry, Mapping) and _is_number(entry.get("epoch")) and _is_number(entry.get(key))
        ]
        if points:
            found.append(Curve(name, tuple(sorted(dict(points).items()))))
    return found


def _is_number(value: object) -> bool:
    """Whether it is one that can be drawn; a folder may come from anyone. The comparison is false for NaN, too."""
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 1e9
