"""Two models on the same questions: how far apart they are, and how far chance moves that (paired bootstrap).

Texts are drawn with replacement, each with all its targets, and both models are scored on what was drawn (Efron and
Tibshirani, 1993; Koehn, 2004). Models mostly fail on the same texts, so a difference is far surer than the two
figures are.
"""

import math
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from tabsa.errors import DataError
from tabsa.evaluation.answers import Answers
from tabsa.evaluation.metrics import FloatArray
from tabsa.evaluation.resampling import SECTIONS, TextScorer, Values, middle
from tabsa.evaluation.values import without_nan

if TYPE_CHECKING:
    from rich.console import Group

    from tabsa.evaluation.report import Report

LOWER_IS_BETTER: Final = frozenset({"false_opinions"})


@dataclass(frozen=True, slots=True)
class Difference:
    """One figure of two models."""

    first: float
    second: float
    difference: float
    """The first less the second."""
    interval: tuple[float, float]
    """The middle 95% of the difference over resamples; NaN where there was no bootstrap."""
    better: float
    """The share of resamples in which the first is better; equal ones count half."""
    p: float
    """Two-sided, of the bootstrap: small where hardly a resample turns the difference round."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two models on the same questions, by section (`sun`, `ma`, `questions`) and figure."""

    first: str
    second: str
    data: str
    split: str
    resamples: int
    figures: dict[str, dict[str, Difference]]
    notes: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON: undefined figures are None."""
        plain: dict[str, Any] = without_nan(asdict(self))
        return plain

    def __rich__(self) -> "Group":
        from tabsa.evaluation.tables import comparison_tables

        return comparison_tables(self)


def compare(first: "Report", second: "Report", *, bootstrap: int = 1000, seed: int = 0) -> Comparison:
    """What `Report.compare` gives.

    Raises:
        DataError: the two were not asked the same, or do not know the same to be right.
    """
    _check_same(first.answers, second.answers)
    values = [_resampled(report, bootstrap, seed) for report in (first, second)]
    figures = {
        section: {
            name: _difference(name, figure, getattr(second, section)[name], *(one[section][name] for one in values))
            for name, figure in getattr(first, section).items()
        }
        for section in SECTIONS
    }
    one, other = first.model or "first", second.model or "second"
    if one == other:
        one, other = f"{one} (first)", f"{other} (second)"
    return Comparison(one, other, first.data, first.split, bootstrap, figures, first.notes)


def _resampled(report: "Report", bootstrap: int, seed: int) -> Values:
    """The report's own resamples where they are those asked for; both reports must have drawn the same texts."""
    kept = report.resamples
    if kept is not None and (kept.count, kept.seed) == (bootstrap, seed):
        return kept.figures
    if not bootstrap:
        return {section: dict.fromkeys(getattr(report, section), np.zeros(0)) for section in SECTIONS}
    return TextScorer(report.answers.dataset, report.answers.rows).resampled(bootstrap, seed)


def _difference(
    name: str, first: float, second: float, first_values: FloatArray, second_values: FloatArray
) -> Difference:
    apart = first_values - second_values
    apart = apart[~np.isnan(apart)]
    way = -1 if name in LOWER_IS_BETTER else 1
    better = float(((way * apart > 0) + 0.5 * (apart == 0)).mean()) if len(apart) else math.nan
    # One more of each, so that a p-value is never 0: as many resamples say no more.
    tail = 1 + min(int((apart <= 0).sum()), int((apart >= 0).sum()))
    p = min(1.0, 2 * tail / (len(apart) + 1)) if len(apart) else math.nan
    return Difference(first, second, first - second, middle(apart), better, p)


def _check_same(first: Answers, second: Answers) -> None:
    one, other = (list(answers.dataset.questions()) for answers in (first, second))
    asked = [[(e.id, e.text, t.name, aspect) for e, t, aspect, _ in questions] for questions in (one, other)]
    if asked[0] != asked[1]:
        raise DataError("the two were not asked the same questions; evaluate both on the same data and aspects")
    if [gold for *_, gold in one] != [gold for *_, gold in other] or first.dataset.labels != second.dataset.labels:
        raise DataError("the two were scored against different labels; evaluate both on the same data")
    texts = [[(e.id, len(e.targets)) for e in answers.dataset.examples] for answers in (first, second)]
    if texts[0] != texts[1]:
        raise DataError("the two were scored on different texts; evaluate both on the same data")
