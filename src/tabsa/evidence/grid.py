"""The opinions of a prediction as targets by aspects, the same for a page and for a picture."""

from dataclasses import dataclass

from tabsa.inference.results import Prediction
from tabsa.schema import MIXED, NEGATIVE, NEUTRAL, NONE, POSITIVE

_SIGNS = {POSITIVE: "▲", NEGATIVE: "▼", NEUTRAL: "○", MIXED: "◆", NONE: ""}


@dataclass(frozen=True, slots=True)
class Cell:
    """What is said of one target's aspect; a polarity is told by a sign and a word, not by colour alone."""

    polarity: str
    confidence: float

    @property
    def sign(self) -> str:
        """Up, down, a ring, a diamond; a dot for a polarity of the user's own, nothing for `none`."""
        return _SIGNS.get(self.polarity, "●")

    @property
    def tone(self) -> str:
        """The name of its colours."""
        return self.polarity if self.polarity in _SIGNS else "other"


@dataclass(frozen=True, slots=True)
class Grid:
    """Rows of cells for the aspects that any target has an opinion on."""

    aspects: tuple[str, ...]
    rows: tuple[tuple[str, tuple[Cell, ...]], ...]
    silent: tuple[str, ...]  # the other aspects
    unmentioned: frozenset[str]  # targets that the text does not mention


def opinion_grid(prediction: Prediction) -> Grid:
    """The grid of a prediction, targets and aspects in the order they were asked in."""
    targets = tuple(dict.fromkeys(opinion.target for opinion in prediction.opinions))
    aspects = tuple(dict.fromkeys(opinion.aspect for opinion in prediction.opinions))
    judged = {opinion.aspect for opinion in prediction.found()}
    shown = tuple(aspect for aspect in aspects if aspect in judged)
    cells = {(o.target, o.aspect): Cell(o.polarity, o.confidence) for o in prediction.opinions}
    rows = tuple((target, tuple(cells[target, aspect] for aspect in shown)) for target in targets)
    silent = tuple(aspect for aspect in aspects if aspect not in judged)
    return Grid(shown, rows, silent, frozenset(prediction.unmentioned()))
