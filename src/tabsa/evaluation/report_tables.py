"""Reports and comparisons as tables for a terminal, mistakes as a table in a file, and figures as people read them."""

import math
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from rich.box import SIMPLE_HEAD
from rich.console import Console, Group
from rich.table import Table
from rich.text import Text

from tabsa.evaluation.answers import AnsweredQuestion
from tabsa.evaluation.metrics import FAMILIES, METRICS

if TYPE_CHECKING:
    from tabsa.evaluation.bootstrap import Comparison
    from tabsa.evaluation.report import Report
    from tabsa.tables.reading import Values

# Aspects that the table by aspect has at most; where there are more, as where texts have their own, fewer are shown.
_MOST_ASPECTS, _SHOWN_ASPECTS = 50, 20
_WIDTH: Final = 100  # of tables as plain text

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
# The figures of a comparison that are shown; the others are the same in both families.
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
_ERROR_COLUMNS: Final = ("id", "text", "target", "aspect", "gold", "predicted")


def percent(fraction: float) -> str:
    """Return a share in percent with one decimal, a dash where it is not defined."""
    return "–" if math.isnan(fraction) else f"{100 * fraction:.1f}"


def points(difference: float) -> str:
    """Return a difference of shares in percentage points, with its sign."""
    if math.isnan(difference):
        return "–"
    shown = f"{100 * difference:+.1f}"
    return "0.0" if float(shown) == 0 else shown.replace("-", "−")


def p_value(p: float) -> str:
    """Return a p-value with three decimals, without the zero before the point."""
    return "–" if math.isnan(p) else f"{p:.3f}".removeprefix("0")


def report_tables(report: "Report") -> Group:
    """Return all of a report."""
    counts, right = report.counts, sum(one.right for one in report.labels.values())
    who = f"{report.model} on " if report.model else ""
    families = _table(
        f"{who}{report.data} {report.split}: {counts['groups']} targets in {counts['examples']} texts",
        ("%", "sun (Sun et al., 2019)", "ma (Ma et al., 2018)"),
        ([NAMES[name], *(_figure(report, family, name, "bold") for family in FAMILIES)] for name in METRICS),
        "[95% bootstrap interval over texts]" if report.intervals else "",
    )
    questions = _table(
        f"{counts['rows']:,} questions, {right:,} answered right; {counts['opinions']:,} opinions",
        ("%", ""),
        ([QUESTION_NAMES[name], _figure(report, "questions", name)] for name in report.questions),
    )
    labels = _table(
        "by polarity: questions, and figures in %",
        ("", "in the data", "predicted", "right", "prec.", "recall", "F1"),
        (
            [label, *(f"{n:,}" for n in (one.gold, one.predicted, one.right))]
            + [percent(figure) for figure in (one.precision, one.recall, one.f1)]
            for label, one in report.labels.items()
        ),
    )
    return _group([families, questions, labels, _aspects_table(report)], report.notes)


def as_text(shown: object) -> str:
    """Return tables as plain text, for `print`."""
    console = Console(width=_WIDTH, color_system=None, force_jupyter=False)
    with console.capture() as printed:
        console.print(shown)
    return printed.get()


def comparison_tables(comparison: "Comparison") -> Group:
    """Return two models side by side."""
    rows: list[list[str | Text]] = []
    for section, name, words in COMPARED:
        one = comparison.figures[section][name]
        apart = Text(points(one.difference), style="bold")
        if comparison.resamples:
            apart.append(f"  [{', '.join(map(points, one.interval))}]", style="not bold dim")
        rows.append([words, percent(one.first), percent(one.second), apart, f"{percent(one.better)}%", p_value(one.p)])
    table = _table(
        f"{comparison.first} against {comparison.second} on {comparison.data} {comparison.split}",
        ("%", comparison.first, comparison.second, "difference [95%]", "better in", "p"),
        rows,
        f"paired bootstrap over texts, {comparison.resamples:,} resamples" if comparison.resamples else "",
    )
    return _group([table], comparison.notes)


def _aspects_table(report: "Report") -> Table:
    shown = list(report.aspects.items())
    caption = ""
    if len(shown) > _MOST_ASPECTS:
        shown.sort(key=lambda item: -sum(item[1].support.values()))
        caption = f"the {_SHOWN_ASPECTS} of {len(shown):,} aspects with most opinions"
        del shown[_SHOWN_ASPECTS:]
    polarities = [*shown[0][1].support]
    apart = len(polarities) <= 2  # more columns would not fit in a terminal
    headings = ["aspect", *(polarities if apart else ["opinions"]), "prec.", "recall", "F1", "AUC"]
    rows = []
    for aspect, one in shown:
        support = one.support.values() if apart else [sum(one.support.values())]
        figures = (one.precision, one.recall, one.f1, one.aspect_auc, one.sentiment_accuracy, one.sentiment_auc)
        rows.append([aspect, *map(str, support), *map(percent, figures)])
    title = "by aspect: opinions in the data, and figures in %"
    return _table(title, [*headings, "sent.\nacc.", "sent.\nAUC"], rows, caption)


def _figure(report: "Report", section: str, name: str, style: str = "") -> Text:
    """Return a figure with its interval, where there is one."""
    cell = Text(percent(getattr(report, section)[name]), style=style)
    if report.intervals:
        low, high = map(percent, report.intervals[section][name])
        cell.append(f"  [{low}, {high}]", style="not bold dim")
    return cell


def _table(title: str, headings: Sequence[str], rows: Iterable[Sequence[str | Text]], caption: str = "") -> Table:
    """Return a table whose first column is to the left; names of the data are no markup."""
    table = Table(
        title=Text(title, style="bold"),
        title_justify="left",
        caption=Text(caption, style="dim") if caption else None,
        caption_justify="left",
        box=SIMPLE_HEAD,
        pad_edge=False,
        padding=(0, 0, 0, 1),
    )
    for place, heading in enumerate(headings):
        table.add_column(Text(heading), justify="right" if place else "left", overflow="fold")
    for row in rows:
        table.add_row(*(Text(cell) if isinstance(cell, str) else cell for cell in row))
    return table


def _group(tables: list[Table], notes: Sequence[str]) -> Group:
    return Group(*tables, *(Text(f"note: {note}", style="yellow") for note in notes))


def write_errors(errors: Sequence[AnsweredQuestion], labels: Sequence[str], path: str | Path) -> Path:
    """Write one row a mistake: question, gold label, predicted label, probabilities; an unnamed target is null."""
    from tabsa.tables.writing import write_table

    rows: list[Values] = []
    for one in errors:
        question = (one.example.id, one.text, one.target.name or None, one.aspect, one.gold, one.predicted)
        shares = {label: round(share, 6) for label, share in one.probabilities.items()}
        row = dict(zip(_ERROR_COLUMNS, question, strict=True))
        rows.append({**row, "probability": round(one.probability, 6), **shares})
    return write_table(path, [*_ERROR_COLUMNS, "probability", *labels], rows)
