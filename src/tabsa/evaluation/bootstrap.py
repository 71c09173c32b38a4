"""Figures of one set of answers for any weighting of its texts, which is what a bootstrap asks for."""

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from tabsa.errors import DataError
from tabsa.evaluation import metrics
from tabsa.evaluation.answers import Answers, AspectRows, QuestionRows, by_aspect
from tabsa.evaluation.metrics import FAMILIES, FloatArray, Score, divide, question_counts
from tabsa.evaluation.report_tables import without_nan
from tabsa.schema import Dataset

if TYPE_CHECKING:
    from rich.console import Group

    from tabsa.evaluation.report import Report

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

    def __init__(self, dataset: Dataset, rows: QuestionRows) -> None:
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
    rows: QuestionRows, columns: Sequence[AspectRows], weights: FloatArray | None
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
        from tabsa.evaluation.report_tables import comparison_tables

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
