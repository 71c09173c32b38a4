"""Predictions and gold -> Report: every figure in both families, parts of them, mistakes, and how far chance goes."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from rich.console import Group

from tabsa.errors import DataError
from tabsa.evaluation import metrics
from tabsa.evaluation.answers import AnsweredQuestion, Answers, arrange_answers
from tabsa.evaluation.bootstrap import Comparison, Resampled, TextScorer, compare, plain_data
from tabsa.evaluation.calibration import Reliability, polarity_reliability, presence_reliability, reliability
from tabsa.evaluation.metrics import AspectRows, FloatArray
from tabsa.evaluation.report_tables import as_text, report_tables, write_errors
from tabsa.schema import Dataset

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FEW: Final = 100  # opinions; with fewer, figures of two models are hardly ever told apart
_NOT_IN_JSON: Final = ("errors", "answers", "history", "resamples")


@dataclass(frozen=True, slots=True)
class AspectReport:
    """One aspect's figures."""

    support: dict[str, int]  # rows of each polarity in the gold data
    precision: float  # precision, recall and F1 of finding an opinion, whatever its polarity
    recall: float
    f1: float
    aspect_auc: float
    sentiment_accuracy: float
    sentiment_auc: float


@dataclass(frozen=True, slots=True)
class LabelReport:
    """One label's figures, `none` and each polarity against all others."""

    gold: int  # the number of questions that it is right for
    predicted: int
    right: int
    precision: float
    recall: float
    f1: float


@dataclass(frozen=True, slots=True)
class Report:
    """The figures of predictions on one split of a dataset: fractions, NaN where not defined."""

    data: str
    split: str
    sun: dict[str, float]  # the five metrics as Sun et al. (2019) define them
    ma: dict[str, float]  # the five metrics as Ma et al. (2018) define them
    row_accuracy: float  # share of rows with the right label, `none` included
    questions: dict[str, float]  # F1 of opinions, with their polarity and without, and more (`question_metrics`)
    counts: dict[str, int]  # of examples, groups, groups without an opinion, rows, and opinions
    aspects: dict[str, AspectReport]
    intervals: dict[str, dict[str, tuple[float, float]]] | None  # 95% of the figures of `sun`, `ma` and `questions`
    confusion: dict[str, dict[str, int]]  # `confusion[gold][predicted]`: how many questions
    labels: dict[str, LabelReport]  # the figures of each polarity, and of `none`
    reliability: dict[str, Reliability]  # confidence against accuracy: of each `answer`, of `presence`, of `polarity`
    notes: tuple[str, ...]  # warnings to readers, such as that the figures rest on few opinions
    model: str = ""  # the name of what was scored
    errors: tuple[AnsweredQuestion, ...] = field(default=(), repr=False, compare=False)  # the most wrong first
    answers: Answers = field(repr=False, compare=False, kw_only=True)  # every question
    history: Sequence[Mapping[str, Any]] = field(default=(), repr=False, compare=False)  # of training, by epoch
    resamples: Resampled | None = field(default=None, repr=False, compare=False)

    @property
    def title(self) -> str:
        """The model and the data in a line; of a file its name alone, so that a page tells nothing of folders."""
        split = "" if self.split == "all" else f" {self.split}"
        where = f"{Path(self.data).name or self.data}{split}"
        return f"{self.model} on {where}" if self.model else where

    def to_dict(self) -> dict[str, Any]:
        """Return plain data for JSON: undefined figures are None. Single questions and mistakes are not in it."""
        shown = {one.name: getattr(self, one.name) for one in fields(self) if one.name not in _NOT_IN_JSON}
        first = {key: shown.pop(key) for key in ("sun", "ma", "data", "split")}
        return plain_data(first | shown)

    def compare(self, other: "Report", *, bootstrap: int = 1000, seed: int = 0) -> Comparison:
        """Compare this model with another on the same questions, by a paired bootstrap over texts."""
        return compare(self, other, bootstrap=bootstrap, seed=seed)

    def plot(self) -> "Figure":
        """Draw a matplotlib figure: confusion matrix, aspects, reliability; needs `tabsa[plot]`."""
        from tabsa.evaluation.plot import draw_report

        return draw_report(self)

    def write_errors(self, path: str | Path) -> Path:
        """Write every wrong answer as a row: .csv, .tsv or .jsonl, by the name."""
        return write_errors(self.errors, self.answers.dataset.labels, path)

    def __rich__(self) -> Group:
        return report_tables(self)

    def __str__(self) -> str:
        return as_text(self)


def evaluate(
    dataset: Dataset,
    probabilities: FloatArray,
    *,
    bootstrap: int = 1000,
    seed: int = 0,
    model: str = "",
    history: Sequence[Mapping[str, Any]] = (),
) -> Report:
    """Score probabilities against a dataset's gold labels.

    Args:
        dataset: the questions and their gold labels.
        probabilities: in the order of the dataset; (groups, aspects, labels), or (questions, labels).
        bootstrap: resamples of the texts for the 95% intervals; 0: none.
        seed: the same gives the same intervals.
        model: the name of what gave the probabilities.
        history: the figures of its training after each epoch.
    """
    if not dataset.examples or not dataset.polarities:
        raise DataError(f"{dataset.name} {dataset.split} has no opinions; expected some to compare predictions with")
    if not np.isfinite(probabilities).all():
        raise ValueError("probabilities hold NaN or infinite values")
    answers = arrange_answers(dataset, probabilities)
    scorer = TextScorer(answers)
    figures = {
        section: {name: float(score) for name, score in found.items()} for section, found in scorer.figures().items()
    }
    resamples = scorer.resampled(bootstrap, seed) if bootstrap else None
    present, confused = answers.group_gold > 0, confusion(answers)
    opinions = int(present.sum())
    few = f"{opinions} opinion{'s' * (opinions != 1)}: too few to tell models apart by a few points"
    gold, shares = answers.gold, answers.probabilities
    return Report(
        data=dataset.name,
        split=dataset.split,
        **figures,
        row_accuracy=metrics.row_accuracy(gold, answers.predicted),
        counts={
            "examples": len(dataset.examples),
            "groups": len(present),
            "groups_without_opinion": int((~present.any(axis=1)).sum()),
            "rows": len(gold),
            "opinions": opinions,
        },
        aspects={dataset.aspects[aspect]: _aspect_report(dataset, column) for aspect, column in scorer.columns},
        intervals=resamples.intervals() if resamples else None,
        confusion=confused,
        labels=label_reports(confused),
        reliability={
            "answer": reliability(shares.max(-1), answers.predicted == gold),
            "presence": presence_reliability(gold, shares),
            "polarity": polarity_reliability(gold, shares),
        },
        notes=(few,) if opinions < FEW else (),
        model=model,
        errors=answers.mistakes(),
        answers=answers,
        history=history,
        resamples=resamples,
    )


def confusion(answers: Answers) -> dict[str, dict[str, int]]:
    """Count how often each label was predicted for each that is right: gold, then predicted."""
    labels, size = answers.dataset.labels, len(answers.dataset.labels)
    counts = np.bincount(answers.gold * size + answers.predicted, minlength=size * size).reshape(size, size)
    return {gold: dict(zip(labels, row, strict=True)) for gold, row in zip(labels, counts.tolist(), strict=True)}


def label_reports(counts: dict[str, dict[str, int]]) -> dict[str, LabelReport]:
    """Return precision, recall and F1 of each label, of the counts that `confusion` gives."""
    reports = {}
    for label, row in counts.items():
        gold, predicted, right = sum(row.values()), sum(other[label] for other in counts.values()), row[label]
        precision, recall = (right / whole if whole else math.nan for whole in (predicted, gold))
        f1 = 2 * right / (gold + predicted) if gold + predicted else math.nan
        reports[label] = LabelReport(gold, predicted, right, precision, recall, f1)
    return reports


def _aspect_report(dataset: Dataset, column: AspectRows) -> AspectReport:
    gold, probabilities, _ = column
    return AspectReport(
        {polarity: int((gold == label).sum()) for label, polarity in enumerate(dataset.polarities, start=1)},
        *metrics.detection(gold, metrics.predicted_labels(probabilities)),
        aspect_auc=float(metrics.aspect_auc(gold, probabilities)),
        sentiment_accuracy=float(metrics.sentiment_accuracy(gold, probabilities)),
        sentiment_auc=float(metrics.sentiment_auc(gold, probabilities)),
    )
