"""Reports and comparisons as tables for a terminal."""

import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from tabsa.evaluation.answers import Mistake
from tabsa.evaluation.metrics import FAMILIES, METRICS
from tabsa.schema import UNNAMED
from tabsa.tables.rows import Values
from tabsa.tables.writing import write_table

if TYPE_CHECKING:
    from rich.console import Group, RenderableType
    from rich.table import Table

    from tabsa.evaluation.bootstrap import Comparison
    from tabsa.evaluation.report import Report

# Aspects that the table by aspect has at most; where there are more, as where every text asks its own, fewer are shown.
_MOST_ASPECTS, _SHOWN_ASPECTS = 50, 20

NAMES: Final = {
    "strict_accuracy": "strict accuracy",
    "macro_f1": "aspect macro-F1",
    "aspect_auc": "aspect AUC",
    "sentiment_accuracy": "sentiment accuracy",
    "sentiment_auc": "sentiment AUC",
}
QUESTION_NAMES: Final = {
    "opinion_f1": "F1 of opinions, with their polarity",
    "presence_f1": "F1 of their presence alone",
    "polarity_accuracy": "polarity right, of true opinions",
    "false_opinions": "opinions found where there are none",
}
# What of a comparison is shown; the other figures are the same in both families.
COMPARED: Final = (
    ("sun", "strict_accuracy", "strict accuracy, sun"),
    ("ma", "strict_accuracy", "strict accuracy, ma"),
    ("sun", "macro_f1", "macro-F1, sun"),
    ("ma", "macro_f1", "macro-F1, ma"),
    ("sun", "aspect_auc", "aspect AUC"),
    ("sun", "sentiment_accuracy", "sentiment accuracy"),
    ("sun", "sentiment_auc", "sentiment AUC"),
    ("questions", "opinion_f1", "opinion F1"),
    ("questions", "presence_f1", "presence F1"),
    ("questions", "false_opinions", "false opinions"),
)


def report_tables(report: "Report") -> "Group":
    """All of a report."""
    from rich.console import Group

    parts = [_families_table(report), _questions_table(report), _labels_table(report), _aspects_table(report)]
    return Group(*parts, *_notes(report.notes))


def comparison_tables(comparison: "Comparison") -> "Group":
    """Two models side by side."""
    from rich.console import Group
    from rich.text import Text

    table = _table(f"{comparison.first} against {comparison.second} on {comparison.data} {comparison.split}")
    words = f"paired bootstrap over texts, {comparison.resamples:,} resamples" if comparison.resamples else ""
    table.caption = Text(words, style="dim")
    table.add_column("%")
    headings = (comparison.first, comparison.second, "difference [95%]", "better in", "p")
    for heading in headings:
        table.add_column(Text(heading), justify="right", overflow="fold")
    for section, name, words in COMPARED:
        one = comparison.figures[section][name]
        apart = Text(points(one.difference), style="bold")
        if comparison.resamples:
            apart.append(f"  [{', '.join(map(points, one.interval))}]", style="not bold dim")
        table.add_row(words, percent(one.first), percent(one.second), apart, f"{percent(one.better)}%", p_value(one.p))
    return Group(table, *_notes(comparison.notes))


def _notes(notes: tuple[str, ...]) -> list["RenderableType"]:
    from rich.text import Text

    return [Text(f"note: {note}", style="yellow") for note in notes]


def _families_table(report: "Report") -> "Table":
    from rich.text import Text

    counts = report.counts
    who = f"{report.model} on " if report.model else ""
    table = _table(f"{who}{report.data} {report.split}: {counts['groups']} targets in {counts['examples']} texts")
    if report.intervals:
        table.caption = Text("[95% bootstrap interval over texts]", style="dim")
    table.add_column("%")
    table.add_column("sun (Sun et al., 2019)", justify="right")
    table.add_column("ma (Ma et al., 2018)", justify="right")
    for name in METRICS:
        cells = []
        for family in FAMILIES:
            cell = Text(percent(getattr(report, family)[name]), style="bold")
            if report.intervals:
                low, high = map(percent, report.intervals[family][name])
                cell.append(f"  [{low}, {high}]", style="not bold dim")
            cells.append(cell)
        table.add_row(NAMES[name], *cells)
    return table


def _questions_table(report: "Report") -> "Table":
    from rich.text import Text

    counts = report.counts
    table = _table(f"{counts['rows']:,} questions, {counts['opinions']:,} opinions")
    table.add_column("%")
    table.add_column("", justify="right")
    for name, figure in report.questions.items():
        cell = Text(percent(figure))
        if report.intervals:
            low, high = map(percent, report.intervals["questions"][name])
            cell.append(f"  [{low}, {high}]", style="dim")
        table.add_row(QUESTION_NAMES[name], cell)
    return table


def _labels_table(report: "Report") -> "Table":
    from rich.text import Text

    table = _table("by polarity: questions, and figures in %")
    table.add_column("")
    for heading in ("in the data", "said", "right", "prec.", "recall", "F1"):
        table.add_column(heading, justify="right")
    for label, one in report.labels.items():
        counts = (f"{count:,}" for count in (one.gold, one.said, one.right))
        table.add_row(Text(label), *counts, *map(percent, (one.precision, one.recall, one.f1)))
    return table


def _aspects_table(report: "Report") -> "Table":
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
        table.add_row(Text(aspect), *map(str, support), *map(percent, figures))
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


def without_nan(value: Any) -> Any:
    """The same with None for each NaN, and lists for tuples."""
    match value:
        case float() if math.isnan(value):
            return None
        case dict():
            return {key: without_nan(item) for key, item in value.items()}
        case tuple() | list():
            return [without_nan(item) for item in value]
    return value


def percent(fraction: float) -> str:
    """A share in percent with one decimal, a dash where it is not defined."""
    return "–" if math.isnan(fraction) else f"{100 * fraction:.1f}"


def points(difference: float) -> str:
    """A difference of shares in percentage points, with its sign."""
    if math.isnan(difference):
        return "–"
    shown = f"{100 * difference:+.1f}"
    return "0.0" if float(shown) == 0 else shown.replace("-", "−")


def p_value(p: float) -> str:
    """A p-value with three decimals, without the zero before the point."""
    return "–" if math.isnan(p) else f"{p:.3f}".removeprefix("0")


_COLUMNS = ("id", "text", "target", "aspect", "gold", "said")


def write_errors(errors: Sequence[Mistake], labels: Sequence[str], path: str | Path) -> Path:
    """One row a mistake: what was asked, what is right, what was said, and the probability of each label.

    The target that a text is about and does not name is null, or an empty field.
    """
    column = {label: f"p_{label}" if label in (*_COLUMNS, "probability") else label for label in labels}
    types: dict[str, type] = {**dict.fromkeys(_COLUMNS, str), **dict.fromkeys(("probability", *column.values()), float)}
    rows = [_row(mistake, column) for mistake in errors]
    return write_table(path, types, rows)


def _row(mistake: Mistake, column: dict[str, str]) -> Values:
    target = None if mistake.target.name == UNNAMED else mistake.target.name
    values = (mistake.id, mistake.text, target, mistake.aspect, mistake.gold, mistake.said)
    shares = {column[label]: round(share, 6) for label, share in mistake.probabilities.items()}
    return {**dict(zip(_COLUMNS, values, strict=True)), "probability": round(mistake.probability, 6), **shares}
