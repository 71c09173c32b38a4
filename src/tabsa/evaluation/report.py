"""Predictions and gold -> Report: every figure in both families, for each aspect, and how far chance moves them."""

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from tabsa.errors import DataError
from tabsa.evaluation import metrics
from tabsa.evaluation.metrics import FAMILIES, METRICS, Family, FloatArray, Score
from tabsa.evaluation.questions import question_metrics
from tabsa.evaluation.rows import AskedRows, AspectRows, asked_rows, by_aspect
from tabsa.schema import Dataset

if TYPE_CHECKING:
    from rich.console import Group
    from rich.table import Table

# Aspects that the table by aspect has at most; where there are more, as where every text asks its own, fewer are shown.
_MOST_ASPECTS, _SHOWN_ASPECTS = 50, 20
# How many weights a bootstrap holds at once (8 bytes each, and a few copies of them on the way).
_WEIGHTS_AT_ONCE = 2_000_000


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
    intervals: dict[Family, dict[str, tuple[float, float]]] | None
    """95% bootstrap interval of each metric; None where it was not asked for."""

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON: undefined figures are None."""
        fields = asdict(self)
        first = {key: fields.pop(key) for key in ("sun", "ma", "data", "split")}
        plain: dict[str, Any] = _without_nan(first | fields)
        return plain

    def __rich__(self) -> "Group":
        from rich.console import Group

        return Group(_families_table(self), _questions_table(self), _aspects_table(self))


def evaluate(dataset: Dataset, probabilities: FloatArray, *, bootstrap: int = 1000, seed: int = 0) -> Report:
    """Score probabilities against a dataset's gold labels.

    Args:
        dataset: what was asked, and what is right.
        probabilities: in the order of the dataset; (groups, aspects, labels), or (questions, labels) of what was asked
            alone (`Dataset.questions`), which is far less where each text asks its own aspects.
        bootstrap: resamples of the examples for the 95% intervals (0: none), each with all its groups, because targets
            of one text are not independent.
        seed: the same gives the same intervals.
    """
    if not dataset.examples or not dataset.polarities:
        raise DataError(f"{dataset.name} {dataset.split} has no opinions; expected some to compare predictions with")
    if not np.isfinite(probabilities).all():
        raise ValueError("probabilities hold NaN or infinite values")
    rows = asked_rows(dataset, probabilities)
    predicted = metrics.predicted_labels(rows.probabilities)
    aspects = list(by_aspect(dataset, rows))
    columns = [column for _, column in aspects]
    figures = _figures(rows, columns)
    present = rows.gold > 0
    return Report(
        data=dataset.name,
        split=dataset.split,
        sun={name: float(score) for name, score in figures["sun"].items()},
        ma={name: float(score) for name, score in figures["ma"].items()},
        row_accuracy=float(metrics.row_accuracy(rows.gold, predicted)),
        questions=question_metrics(rows.gold.ravel(), rows.probabilities.reshape(-1, len(dataset.labels))),
        counts={
            "examples": len(dataset.examples),
            "groups": len(rows.gold),
            "groups_without_opinion": int((~present.any(axis=1)).sum()),
            "rows": int((rows.gold >= 0).sum()),
            "opinions": int(present.sum()),
        },
        aspects={dataset.aspects[aspect]: _aspect_report(dataset, column) for aspect, column in aspects},
        intervals=_intervals(dataset, rows, columns, bootstrap, seed) if bootstrap else None,
    )


# ---- figures


def _figures(
    rows: AskedRows, columns: Sequence[AspectRows], weights: FloatArray | None = None
) -> dict[Family, dict[str, Score]]:
    """The five metrics in both families; `columns` are the rows by aspect."""
    figures = metrics.all_metrics(rows.gold, rows.probabilities, weights)
    if rows.aspects is None:
        return figures
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


def _intervals(
    dataset: Dataset, rows: AskedRows, columns: Sequence[AspectRows], resamples: int, seed: int
) -> dict[Family, dict[str, tuple[float, float]]]:
    rng = np.random.default_rng(seed)
    examples = len(dataset.examples)
    example_of_group = np.repeat(np.arange(examples), [len(example.targets) for example in dataset.examples])
    step = max(1, _WEIGHTS_AT_ONCE // max(1, len(rows.gold)))
    parts = []
    for start in range(0, resamples, step):
        drawn = rng.integers(0, examples, (min(step, resamples - start), examples))
        times = np.stack([np.bincount(sample, minlength=examples) for sample in drawn])
        parts.append(_figures(rows, columns, times[:, example_of_group].astype(np.float64)))
    return {
        family: {name: _middle(np.concatenate([part[family][name] for part in parts])) for name in METRICS}
        for family in FAMILIES
    }


def _middle(values: FloatArray) -> tuple[float, float]:
    """Where the middle 95% of the values lie; resamples in which the figure is not defined are left out."""
    values = values[~np.isnan(values)]
    if not len(values):
        return math.nan, math.nan
    low, high = np.percentile(values, [2.5, 97.5])
    return float(low), float(high)


def _without_nan(value: Any) -> Any:
    match value:
        case float() if math.isnan(value):
            return None
        case dict():
            return {key: _without_nan(item) for key, item in value.items()}
        case tuple():
            return [_without_nan(item) for item in value]
    return value


# ---- for people

_NAMES = {
    "strict_accuracy": "strict accuracy",
    "macro_f1": "aspect macro-F1",
    "aspect_auc": "aspect AUC",
    "sentiment_accuracy": "sentiment accuracy",
    "sentiment_auc": "sentiment AUC",
}
_QUESTION_NAMES = {
    "opinion_f1": "F1 of opinions, with their polarity",
    "presence_f1": "F1 of their presence alone",
    "polarity_accuracy": "polarity right, of true opinions",
    "false_opinions": "opinions found where there are none",
}


def _families_table(report: Report) -> "Table":
    from rich.text import Text

    counts = report.counts
    table = _table(f"{report.data} {report.split}: {counts['groups']} targets in {counts['examples']} texts")
    if report.intervals:
        table.caption = Text("[95% bootstrap interval over texts]", style="dim")
    table.add_column("%")
    table.add_column("sun (Sun et al., 2019)", justify="right")
    table.add_column("ma (Ma et al., 2018)", justify="right")
    for name in METRICS:
        cells = []
        for family in FAMILIES:
            cell = Text(_percent(getattr(report, family)[name]), style="bold")
            if report.intervals:
                low, high = map(_percent, report.intervals[family][name])
                cell.append(f"  [{low}, {high}]", style="not bold dim")
            cells.append(cell)
        table.add_row(_NAMES[name], *cells)
    return table


def _questions_table(report: Report) -> "Table":
    counts = report.counts
    table = _table(f"{counts['rows']:,} questions, {counts['opinions']:,} opinions")
    table.add_column("%")
    table.add_column("", justify="right")
    for name, figure in report.questions.items():
        table.add_row(_QUESTION_NAMES[name], _percent(figure))
    return table


def _aspects_table(report: Report) -> "Table":
    from rich.text import Text

    table = _table("by aspect: opinions in the data, and figures in %")
    shown = list(report.aspects.items())
    if len(shown) > _MOST_ASPECTS:
        shown.sort(key=lambda item: -sum(item[1].support.values()))
        table.caption = Text(f"the {_SHOWN_ASPECTS} of {len(shown):,} aspects with most opinions", style="dim")
        del shown[_SHOWN_ASPECTS:]
    table.add_column("aspect", overflow="fold")
    polarities = [*next(iter(report.aspects.values())).support]
    apart = len(polarities) <= 2  # more columns would not fit in a terminal
    for heading in (
        *(polarities if apart else ["opinions"]),
        "prec.",
        "recall",
        "F1",
        "AUC",
        "sent.\nacc.",
        "sent.\nAUC",
    ):
        table.add_column(Text(heading), justify="right", overflow="fold")
    for aspect, one in shown:
        support = one.support.values() if apart else [sum(one.support.values())]
        figures = (one.precision, one.recall, one.f1, one.aspect_auc, one.sentiment_accuracy, one.sentiment_auc)
        table.add_row(Text(aspect), *map(str, support), *map(_percent, figures))
    return table


def _table(title: str) -> "Table":
    from rich.box import SIMPLE_HEAD
    from rich.table import Table
    from rich.text import Text

    return Table(
        title=Text(title, style="bold"),
        title_justify="left",
        caption_justify="left",
        box=SIMPLE_HEAD,
        pad_edge=False,
        padding=(0, 0, 0, 1),
    )


def _percent(fraction: float) -> str:
    return "–" if math.isnan(fraction) else f"{100 * fraction:.1f}"
