"""Bootstrap: 95% intervals of one model's figures, and the difference of two models (paired).

Texts are drawn with replacement, each with all its targets, because targets of one text are not independent. Of two
models both are scored on what was drawn (Efron and Tibshirani, 1993; Koehn, 2004): models mostly fail on the same
texts, so a difference is far surer than the two figures are.
"""

import json
import math
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import numpy as np
from rich.console import Group

from tabsa.errors import DataError
from tabsa.evaluation import metrics
from tabsa.evaluation.answers import Answers
from tabsa.evaluation.metrics import FAMILIES, FloatArray, Score
from tabsa.evaluation.report_tables import as_text, comparison_tables
from tabsa.schema import Example, Target

if TYPE_CHECKING:
    from tabsa.evaluation.report import Report

SECTIONS: Final = (*FAMILIES, "questions")  # of figures: the two families, and those of single questions
LOWER_IS_BETTER: Final = frozenset({"false_opinions"})
Values: TypeAlias = dict[str, dict[str, FloatArray]]  # by section and figure, one value a resample
_WEIGHTS_AT_ONCE = 2_000_000  # that a bootstrap holds, 8 bytes each, and a few copies of them


@dataclass(frozen=True, slots=True)
class Resampled:
    """Every figure of every resample of the texts."""

    count: int
    seed: int
    figures: Values

    def intervals(self) -> dict[str, dict[str, tuple[float, float]]]:
        """Return the 95% interval of each figure, by section."""
        return {section: {name: middle(found[name]) for name in found} for section, found in self.figures.items()}


def middle(values: FloatArray) -> tuple[float, float]:
    """Return where the middle 95% of the values lie; resamples in which the figure is not defined are left out."""
    values = values[~np.isnan(values)]
    low, high = np.percentile(values, [2.5, 97.5]) if len(values) else (math.nan, math.nan)
    return float(low), float(high)


class TextScorer:
    """The figures of answers for any weighting of their texts."""

    def __init__(self, answers: Answers) -> None:
        self.answers, examples = answers, answers.dataset.examples
        self.columns = list(answers.by_aspect())
        self.texts = len(examples)
        self.text_of_group = np.repeat(np.arange(self.texts), [len(example.targets) for example in examples])
        of_question = answers.texts
        counts = metrics.question_counts(answers.gold, answers.probabilities)
        self.counts = {  # of each text
            name: tuple(np.bincount(of_question, values, self.texts) for values in counted)
            for name, counted in counts.items()
        }

    def figures(self, times: FloatArray | None = None) -> dict[str, dict[str, Score]]:
        """Return every figure by section; `times`, (..., texts), says how often each text counts."""
        weights = None if times is None else times[..., self.text_of_group]
        columns = [column for _, column in self.columns]
        gold, probabilities = self.answers.group_gold, self.answers.group_probabilities
        families = metrics.all_metrics(gold, probabilities, weights, columns)
        once = np.ones(self.texts) if times is None else times
        questions = {name: metrics.divide(once @ part, once @ whole) for name, (part, whole) in self.counts.items()}
        return {**{str(family): figures for family, figures in families.items()}, "questions": questions}

    def resampled(self, count: int, seed: int) -> Resampled:
        """Return the figures of `count` resamples; the same seed draws the same texts, whatever the answers are."""
        rng = np.random.default_rng(seed)
        step = max(1, _WEIGHTS_AT_ONCE // max(1, len(self.text_of_group)))
        parts = []
        for start in range(0, count, step):
            drawn = rng.integers(0, self.texts, (min(step, count - start), self.texts))
            times = np.stack([np.bincount(sample, minlength=self.texts) for sample in drawn])
            parts.append(self.figures(times.astype(np.float64)))
        figures = {
            section: {name: np.concatenate([part[section][name] for part in parts]) for name in found}
            for section, found in parts[0].items()
        }
        return Resampled(count, seed, figures)


@dataclass(frozen=True, slots=True)
class Difference:
    """One figure of two models."""

    first: float
    second: float
    difference: float  # the first less the second
    interval: tuple[float, float]  # the middle 95% of the difference over resamples; NaN where there was no bootstrap
    better: float  # the share of resamples in which the first is better; equal ones count half
    p: float  # two-sided, of the bootstrap: small where hardly a resample turns the difference round


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
        """Return plain data for JSON: undefined figures are None."""
        return plain_data(self)

    def __rich__(self) -> Group:
        return comparison_tables(self)

    def __str__(self) -> str:
        return as_text(self)


def compare(first: "Report", second: "Report", *, bootstrap: int = 1000, seed: int = 0) -> Comparison:
    """Compare two models; see `Report.compare`."""
    questions = [list(map(_identity, report.answers.dataset.questions())) for report in (first, second)]
    if questions[0] != questions[1] or first.answers.dataset.labels != second.answers.dataset.labels:
        raise DataError("the two were not asked the same, or scored against other labels; give both the same data")
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
    """Return the report's own resamples where they are of this number and seed, and others otherwise."""
    own = report.resamples
    if own is not None and (own.count, own.seed) == (bootstrap, seed):
        return own.figures
    if not bootstrap:
        return {section: dict.fromkeys(getattr(report, section), np.zeros(0)) for section in SECTIONS}
    return TextScorer(report.answers).resampled(bootstrap, seed).figures


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


def _identity(question: tuple[Example, Target, str, str]) -> tuple[object, ...]:
    example, target, aspect, gold = question
    return example.id, example.text, len(example.targets), target.name, aspect, gold


def plain_data(value: object) -> dict[str, Any]:
    """Return the same as plain data: None for each NaN, lists for tuples, mappings for dataclasses."""
    plain: dict[str, Any] = json.loads(json.dumps(value, default=asdict), parse_constant=lambda _: None)
    return plain
