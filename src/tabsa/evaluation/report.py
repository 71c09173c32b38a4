"""Figures of parts of the questions: by label, by kind of text, by how sure the answers are."""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, is_dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from tabsa.errors import DataError
from tabsa.evaluation import metrics
from tabsa.evaluation.answers import Answers, AspectRows, Mistake, question_rows
from tabsa.evaluation.bootstrap import Comparison, Resampled, TextScorer, compare
from tabsa.evaluation.calibration import (
    ReliabilityBin,
    expected_error,
    polarity_reliability,
    presence_reliability,
    reliability,
)
from tabsa.evaluation.metrics import FloatArray, question_metrics
from tabsa.evaluation.report_tables import without_nan
from tabsa.schema import Dataset

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from rich.console import Group

TAGS: Final = ("kind", "domain")  # what a text may be marked with (`Example.tags`)


@dataclass(frozen=True, slots=True)
class LabelReport:
    """One label's figures, `none` and each polarity against all others."""

    gold: int
    """How many questions it is right for."""
    said: int
    right: int
    precision: float
    recall: float
    f1: float


@dataclass(frozen=True, slots=True)
class TagReport:
    """The figures of single questions for texts that are marked alike (`tabsa.evaluation.metrics`)."""

    texts: int
    questions: int
    opinions: int
    opinion_f1: float
    presence_f1: float
    polarity_accuracy: float
    false_opinions: float


@dataclass(frozen=True, slots=True)
class Reliability:
    """Whether answers are right as often as they are sure (Guo et al., 2017)."""

    error: float
    """How far confidence is from accuracy, on average over answers."""
    bins: tuple[ReliabilityBin, ...]


def confusion(answers: Answers) -> dict[str, dict[str, int]]:
    """How often each label was said for each that is right: gold, then said."""
    labels = answers.dataset.labels
    size = len(labels)
    counts = np.bincount(answers.gold * size + answers.said, minlength=size * size).reshape(size, size)
    return {gold: dict(zip(labels, row, strict=True)) for gold, row in zip(labels, counts.tolist(), strict=True)}


def by_label(counts: dict[str, dict[str, int]]) -> dict[str, LabelReport]:
    """Precision, recall and F1 of each label, of the counts that `confusion` gives."""
    reports = {}
    for label, row in counts.items():
        gold, said, right = sum(row.values()), sum(other[label] for other in counts.values()), row[label]
        reports[label] = LabelReport(
            gold=gold,
            said=said,
            right=right,
            precision=right / said if said else math.nan,
            recall=right / gold if gold else math.nan,
            f1=2 * right / (gold + said) if gold + said else math.nan,
        )
    return reports


def by_tag(answers: Answers) -> dict[str, dict[str, TagReport]]:
    """The figures for texts of each kind and each domain, those with most questions first; only tags there are."""
    reports = {tag: _of_tag(answers, tag) for tag in TAGS}
    return {tag: found for tag, found in reports.items() if found}


def _of_tag(answers: Answers, tag: str) -> dict[str, TagReport]:
    of_text = [example.tags.get(tag, "") for example in answers.dataset.examples]
    texts = Counter(of_text)
    number = {value: place for place, value in enumerate(texts)}
    of_question = np.array([number[value] for value in of_text], np.int64)[answers.texts]
    order = np.argsort(of_question, kind="stable")
    places = np.split(order, np.cumsum(np.bincount(of_question, minlength=len(number)))[:-1])
    gold, probabilities = answers.gold, answers.probabilities
    found = {
        value: TagReport(
            texts=texts[value],
            questions=len(ours),
            opinions=int((gold[ours] > 0).sum()),
            **question_metrics(gold[ours], probabilities[ours]),
        )
        for value, ours in zip(number, places, strict=True)
        if value and len(ours)
    }
    return dict(sorted(found.items(), key=lambda item: -item[1].questions))


def by_confidence(answers: Answers) -> dict[str, Reliability]:
    """Of the answers, of whether there is an opinion, and of the polarity of true opinions."""
    gold, probabilities = answers.gold, answers.probabilities
    found = {
        "answer": reliability(probabilities.max(-1), answers.said == gold),
        "presence": presence_reliability(gold, probabilities),
        "polarity": polarity_reliability(gold, probabilities),
    }
    return {name: Reliability(expected_error(bins) if bins else math.nan, bins) for name, bins in found.items()}


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
    """F1 of opinions with their polarity and of their presence, and more (`tabsa.evaluation.metrics`)."""
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
        from tabsa.evaluation.report_tables import write_errors

        return write_errors(self.errors, self.answers.dataset.labels, path)

    def __rich__(self) -> "Group":
        from tabsa.evaluation.report_tables import report_tables

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
    answers = Answers(dataset, question_rows(dataset, probabilities))
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
