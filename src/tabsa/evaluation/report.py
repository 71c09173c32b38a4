"""Predictions and gold -> Report: every figure in both families, parts of them, mistakes, and how far chance goes."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, is_dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from tabsa.errors import DataError
from tabsa.evaluation import metrics
from tabsa.evaluation.answers import Answers, Mistake
from tabsa.evaluation.breakdown import LabelReport, Reliability, TagReport, by_confidence, by_label, by_tag, confusion
from tabsa.evaluation.comparison import Comparison, compare
from tabsa.evaluation.metrics import FloatArray
from tabsa.evaluation.resampling import Resampled, TextScorer
from tabsa.evaluation.rows import AspectRows, asked_rows
from tabsa.evaluation.values import without_nan
from tabsa.schema import Dataset

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from rich.console import Group

FEW: Final = 100  # opinions; with fewer, figures of two models are hardly ever told apart


@dataclass(frozen=True, slots=True)
class AspectReport:
    """One aspect's figures."""

    support: dict[str, int]
    """Rows of each polarity in the gold data."""
    precision: float
    """Precision, recall and F1 of finding an opinion, whatever its polarity."""
    recall: float
    f1: float
    aspect_auc: float
    sentiment_accuracy: float
    sentiment_auc: float


@dataclass(frozen=True, slots=True)
class Report:
    """What predictions are worth on one split of a dataset; figures are fractions, NaN where not defined."""

    data: str
    split: str
    sun: dict[str, float]
    """The five metrics as Sun et al. (2019) define them."""
    ma: dict[str, float]
    """The five metrics as Ma et al. (2018) define them."""
    row_accuracy: float
    """Share of rows with the right label, `none` included."""
    questions: dict[str, float]
    """F1 of opinions with their polarity and of their presence, and more (`tabsa.evaluation.questions`)."""
    counts: dict[str, int]
    """Of examples, groups, groups without an opinion, rows, and opinions."""
    aspects: dict[str, AspectReport]
    intervals: dict[str, dict[str, tuple[float, float]]] | None
    """95% bootstrap interval of each figure of `sun`, `ma` and `questions`; None where it was not asked for."""
    confusion: dict[str, dict[str, int]]
    """How often each label was said for each that is right: `confusion[gold][said]`."""
    labels: dict[str, LabelReport]
    """The figures of each polarity, and of `none`."""
    tags: dict[str, dict[str, TagReport]]
    """The figures by `kind` and by `domain` of text, where the data has such marks."""
    reliability: dict[str, Reliability]
    """Whether what is said is right as often as it is sure: of each `answer`, of `presence`, of `polarity`."""
    notes: tuple[str, ...]
    """What to bear in mind, such as that the figures rest on few opinions."""
    model: str = ""
    """The name of what was scored."""
    errors: tuple[Mistake, ...] = field(default=(), repr=False, compare=False)
    """The wrong answers, the most wrong first."""
    answers: Answers = field(repr=False, compare=False, kw_only=True)
    """Every question with what is right and the probabilities given."""
    history: Sequence[Mapping[str, Any]] = field(default=(), repr=False, compare=False)
    """What training wrote down after each epoch, where the model's folder has it."""
    resamples: Resampled | None = field(default=None, repr=False, compare=False)

    @property
    def title(self) -> str:
        """Who was scored on what, in a line; of a file its name alone, so that a page tells nothing of folders."""
        split = "" if self.split == "all" else f" {self.split}"
        where = f"{Path(self.data).name or self.data}{split}"
        return f"{self.model} on {where}" if self.model else where

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON: undefined figures are None. Single questions and mistakes are not in it."""
        left_out = ("errors", "answers", "history", "resamples")
        shown = {one.name: _plain(getattr(self, one.name)) for one in fields(self) if one.name not in left_out}
        first = {key: shown.pop(key) for key in ("sun", "ma", "data", "split")}
        plain: dict[str, Any] = without_nan(first | shown)
        return plain

    def compare(self, other: "Report", *, bootstrap: int = 1000, seed: int = 0) -> Comparison:
        """This model against another on the same questions, with a paired bootstrap over texts.

        Raises:
            DataError: the two were not asked the same questions.
        """
        return compare(self, other, bootstrap=bootstrap, seed=seed)

    def plot(self) -> "Figure":
        """A matplotlib figure: confusion matrix, aspects, reliability; needs `tabsa[plot]`.

        Raises:
            OutputError: matplotlib is missing.
        """
        from tabsa.evaluation.plot import draw_report

        return draw_report(self)

    def write_page(self, path: str | Path, against: "Report | None" = None) -> Path:
        """Write the report as one page (.html) that needs nothing else, compared with another where that is given."""
        from tabsa.evaluation.page import write_page

        return write_page(self, path, against)

    def write_errors(self, path: str | Path) -> Path:
        """Write every wrong answer as a row: .csv, .tsv, .jsonl or .parquet, by the name."""
        from tabsa.evaluation.error_table import write_errors

        return write_errors(self.errors, self.answers.dataset.labels, path)

    def __rich__(self) -> "Group":
        from tabsa.evaluation.tables import report_tables

        return report_tables(self)


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
        dataset: what was asked, and what is right.
        probabilities: in the order of the dataset; (groups, aspects, labels), or (questions, labels) of what was asked
            alone (`Dataset.questions`), which is far less where each text asks its own aspects.
        bootstrap: resamples of the examples for the 95% intervals (0: none), each with all its groups, because targets
            of one text are not independent.
        seed: the same gives the same intervals.
        model: the name of what gave the probabilities.
        history: what its training wrote down after each epoch.
    """
    if not dataset.examples or not dataset.polarities:
        raise DataError(f"{dataset.name} {dataset.split} has no opinions; expected some to compare predictions with")
    if not np.isfinite(probabilities).all():
        raise ValueError("probabilities hold NaN or infinite values")
    answers = Answers(dataset, asked_rows(dataset, probabilities))
    rows, scorer = answers.rows, TextScorer(dataset, answers.rows)
    figures = {
        section: {name: float(score) for name, score in found.items()} for section, found in scorer.figures().items()
    }
    resamples = Resampled(bootstrap, seed, scorer.resampled(bootstrap, seed)) if bootstrap else None
    counts, confused = _counts(answers), confusion(answers)
    return Report(
        data=dataset.name,
        split=dataset.split,
        **figures,
        row_accuracy=float(metrics.row_accuracy(rows.gold, metrics.predicted_labels(rows.probabilities))),
        counts=counts,
        aspects={dataset.aspects[aspect]: _aspect_report(dataset, column) for aspect, column in scorer.columns},
        intervals=resamples.intervals() if resamples else None,
        confusion=confused,
        labels=by_label(confused),
        tags=by_tag(answers),
        reliability=by_confidence(answers),
        notes=_notes(counts["opinions"]),
        model=model,
        errors=answers.mistakes(),
        answers=answers,
        history=history,
        resamples=resamples,
    )


def _counts(answers: Answers) -> dict[str, int]:
    present = answers.rows.gold > 0
    return {
        "examples": len(answers.dataset.examples),
        "groups": len(answers.rows.gold),
        "groups_without_opinion": int((~present.any(axis=1)).sum()),
        "rows": len(answers),
        "opinions": int(present.sum()),
    }


def _notes(opinions: int) -> tuple[str, ...]:
    if opinions >= FEW:
        return ()
    return (f"{opinions} opinion{'s' * (opinions != 1)}: too few to tell models apart by a few points",)


def _plain(value: Any) -> Any:
    """Dataclasses as mappings, wherever they stand."""
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    return asdict(value) if is_dataclass(value) and not isinstance(value, type) else value


def _aspect_report(dataset: Dataset, column: AspectRows) -> AspectReport:
    """The figures of one aspect."""
    gold, probabilities, _ = column
    precision, recall, f1 = metrics.detection(gold, metrics.predicted_labels(probabilities))
    return AspectReport(
        support={polarity: int((gold == label).sum()) for label, polarity in enumerate(dataset.polarities, start=1)},
        precision=float(precision),
        recall=float(recall),
        f1=float(f1),
        aspect_auc=float(metrics.aspect_auc(gold, probabilities)),
        sentiment_accuracy=float(metrics.sentiment_accuracy(gold, probabilities)),
        sentiment_auc=float(metrics.sentiment_auc(gold, probabilities)),
    )
