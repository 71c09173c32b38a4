"""Figures of one set of answers for any weighting of its texts, which is what a bootstrap asks for."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from tabsa.evaluation import metrics
from tabsa.evaluation.metrics import FAMILIES, FloatArray, Score, divide
from tabsa.evaluation.questions import question_counts
from tabsa.evaluation.rows import AskedRows, AspectRows, by_aspect
from tabsa.schema import Dataset

QUESTIONS: Final = "questions"
SECTIONS: Final = (*FAMILIES, QUESTIONS)  # of figures: the two families, and those of single questions
Values: TypeAlias = dict[str, dict[str, FloatArray]]  # by section and figure, one value a resample
# How many weights a bootstrap holds at once (8 bytes each, and a few copies of them on the way).
_WEIGHTS_AT_ONCE = 2_000_000


@dataclass(frozen=True, slots=True)
class Resampled:
    """Every figure of every resample of the texts."""

    count: int
    seed: int
    figures: Values

    def intervals(self) -> dict[str, dict[str, tuple[float, float]]]:
        """The 95% interval of each figure, by section."""
        return {
            section: {name: middle(values) for name, values in found.items()} for section, found in self.figures.items()
        }


class TextScorer:
    """The figures of answers where each text counts as often as it is told to."""

    def __init__(self, dataset: Dataset, rows: AskedRows) -> None:
        self.rows, self.texts = rows, len(dataset.examples)
        self.columns = list(by_aspect(dataset, rows))
        self.text_of_group = np.repeat(np.arange(self.texts), [len(example.targets) for example in dataset.examples])
        asked = rows.gold >= 0
        text_of_question = self.text_of_group[np.nonzero(asked)[0]]
        counts = question_counts(rows.gold[asked], rows.probabilities[asked])
        self.counts = {  # of each text
            name: tuple(np.bincount(text_of_question, values, self.texts) for values in counted)
            for name, counted in counts.items()
        }

    def figures(self, times: FloatArray | None = None) -> dict[str, dict[str, Score]]:
        """Every figure by section; `times`, (..., texts), says how often each text counts."""
        weights = None if times is None else times[..., self.text_of_group]
        once = np.ones(self.texts) if times is None else times
        questions = {name: divide(once @ part, once @ whole) for name, (part, whole) in self.counts.items()}
        columns = [column for _, column in self.columns]
        return {**_family_figures(self.rows, columns, weights), QUESTIONS: questions}

    def resampled(self, count: int, seed: int) -> Values:
        """The figures of `count` resamples of the texts, each text with all its targets.

        Targets of one text are not independent. The same seed draws the same texts, whatever the answers are: what
        two models get wrong can be compared resample by resample.
        """
        rng = np.random.default_rng(seed)
        step = max(1, _WEIGHTS_AT_ONCE // max(1, len(self.rows.gold)))
        parts = []
        for start in range(0, count, step):
            drawn = rng.integers(0, self.texts, (min(step, count - start), self.texts))
            times = np.stack([np.bincount(sample, minlength=self.texts) for sample in drawn])
            parts.append(self.figures(times.astype(np.float64)))
        return {
            section: {name: np.concatenate([part[section][name] for part in parts]) for name in figures}
            for section, figures in parts[0].items()
        }


def _family_figures(
    rows: AskedRows, columns: Sequence[AspectRows], weights: FloatArray | None
) -> dict[str, dict[str, Score]]:
    """The five metrics in both families; `columns` are the rows by aspect."""
    figures = metrics.all_metrics(rows.gold, rows.probabilities, weights)
    if rows.aspects is None:
        return {family: values for family, values in figures.items()}  # noqa: C416 (a Family is a str)
    ours = [None if weights is None else weights[..., column.groups] for column in columns]
    pairs = list(zip(columns, ours, strict=True))
    shared = {
        "aspect_auc": _mean([metrics.aspect_auc(one.gold, one.probabilities, w) for one, w in pairs]),
        "sentiment_auc": _mean([metrics.sentiment_auc(one.gold, one.probabilities, w) for one, w in pairs]),
    }
    return {family: values | shared for family, values in figures.items()}


def _mean(values: Sequence[Score]) -> Score:
    """The mean of those that are defined."""
    stacked = np.stack(values)
    defined = (~np.isnan(stacked)).sum(0)
    mean: Score = np.where(defined, np.nansum(stacked, 0) / np.maximum(defined, 1), np.nan)[()]
    return mean


def middle(values: NDArray[np.floating]) -> tuple[float, float]:
    """Where the middle 95% of the values lie; resamples in which the figure is not defined are left out."""
    values = values[~np.isnan(values)]
    if not len(values):
        return math.nan, math.nan
    low, high = np.percentile(values, [2.5, 97.5])
    return float(low), float(high)
