"""An evaluation as a page: figures with intervals, confusion, parts of the questions, reliability, worst mistakes."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from tabsa.evaluation.answers import WAYS, Mistake, worst_of_each
from tabsa.evaluation.bootstrap import LOWER_IS_BETTER, Comparison
from tabsa.evaluation.metrics import METRICS
from tabsa.evaluation.report import Report
from tabsa.evaluation.report_tables import COMPARED, NAMES
from tabsa.inference.evaluating import label_names
from tabsa.inference.predictor import Predictor
from tabsa.pages.rendering import cut, render, write_page
from tabsa.pages.svg_charts import Curve, curve_chart, reliability_chart
from tabsa.schema import Span
from tabsa.text.aspects import clean_aspect

_MOST_MISTAKES: Final = 50
_LEAST = 0.02  # a weight that is shown at all
_OPPOSED = 0.05  # one against the answer that is put into words
_LONGEST = 1500  # characters of a text that are shown
_MOST_ROWS, _SHOWN_ROWS = 50, 30  # rows of a table; where there are more, fewer are shown
_LOSSES: Final = {"loss": "training", "dev_loss": "held out"}
_SCORES: Final = {
    "opinion_f1": "opinion F1",
    "presence_f1": "presence F1",
    "polarity_accuracy": "polarity",
    "strict_accuracy": "strict",
}
_HEADINGS: Final = {
    "missed": "Opinions that were missed",
    "invented": "Opinions found where there are none",
    "turned": "Opinions with another polarity",
}


def write_evaluation(report: Report, path: str | Path, against: Report | None = None) -> Path:
    """Write the page; an OutputError says where the name does not end in .html, or it cannot be written."""
    return write_page(evaluation_page(report, against), path)


def evaluation_page(report: Report, against: Report | None = None) -> str:
    """Return the page as text, with a comparison where another report on the same questions is given."""
    resamples = report.resamples.count if report.resamples else 0
    comparison = None if against is None else report.compare(against, bootstrap=resamples)
    curves = _curve_charts(report.history)
    links = {
        "figures": "Figures",
        "against": comparison and "Against another",
        "confusion": "Confusion",
        "polarities": "By polarity",
        "aspects": "By aspect",
        **{f"by-{tag}": f"By {tag}" for tag in report.tags},
        "reliability": "Reliability",
        "history": curves and "Learning",
        "mistakes": "Mistakes",
    }
    shown = worst_of_each(report.errors, _MOST_MISTAKES)
    return render(
        "evaluation.html",
        title=report.title,
        report=report,
        links=[(name, heading) for name, heading in links.items() if heading],
        metrics=[(name, NAMES[name]) for name in METRICS],
        comparison=comparison,
        compared=_compared(comparison) if comparison else [],
        aspects=_most(report.aspects, lambda one: sum(one.support.values())),
        tags={tag: _most(found, lambda one: one.questions) for tag, found in report.tags.items()},
        reliability=_reliability_charts(report),
        curves=curves,
        shown=len(shown),
        explained=any(one.evidence for one in shown),
        mistakes=[
            (_HEADINGS[way], sum(one.way == way for one in report.errors), [_mistake(m) for m in shown if m.way == way])
            for way in WAYS
        ],
    )


def _most(rows: Mapping[str, Any], size: Callable[[Any], int]) -> dict[str, Any]:
    """The largest rows, where there are very many."""
    if len(rows) <= _MOST_ROWS:
        return dict(rows)
    return dict(sorted(rows.items(), key=lambda item: -size(item[1]))[:_SHOWN_ROWS])


def _compared(comparison: Comparison) -> list[dict[str, Any]]:
    """Each figure of two models, how far apart they are, and how long a line of that is."""
    rows = [(words, name, comparison.figures[part][name]) for part, name, words in COMPARED]
    ends = [abs(end) for _, _, one in rows for end in (*one.interval, one.difference) if not math.isnan(end)]
    found = []
    for words, name, one in rows:
        sure = one.interval[0] > 0 or one.interval[1] < 0
        good = (one.difference < 0) == (name in LOWER_IS_BETTER)
        tone = ("positive" if good else "negative") if sure else ""
        found.append({"words": words, "one": one, "tone": tone, "reach": max(ends, default=0.0) or 0.01})
    return found


def _reliability_charts(report: Report) -> list[tuple[str, Any]]:
    found = []
    for name, axes in (
        ("presence", ("opinion said to be so likely", "is there")),
        ("polarity", ("so sure of its polarity", "is right")),
    ):
        one = report.reliability[name]
        if one.bins:
            heading = f"{name.capitalize()}: error {100 * one.error:.1f}"
            found.append((heading, reliability_chart(name, heading, one, *axes)))
    return found


def _curve_charts(history: Sequence[Mapping[str, Any]]) -> list[tuple[str, Any]]:
    found = []
    for name, heading, names, form, upwards in (
        ("loss", "Loss", _LOSSES, "{:.3g}", "loss"),
        ("scores", "Figures on held-out data", _SCORES, "{:.0%}", "share"),
    ):
        if chosen := curves(history, names):
            found.append((heading, curve_chart(name, heading, chosen, form.format, upwards)))
    return found


def curves(history: Sequence[Mapping[str, Any]], names: Mapping[str, str]) -> list[Curve]:
    """The curves of these figures over epochs; what is no number is left out, as a folder may come from anyone."""
    found: list[Curve] = []
    for key, name in names.items():
        points = {
            float(entry["epoch"]): float(entry[key])
            for entry in history
            if isinstance(entry, Mapping) and _is_number(entry.get("epoch")) and _is_number(entry.get(key))
        }
        if points:
            found.append((name, sorted(points.items())))
    return found


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 1e9  # false for NaN, too


# ---- mistakes


def explain_mistakes(report: Report, predictor: Predictor, most: int = _MOST_MISTAKES) -> Report:
    """Return the report with the words that carry the answer, for the `most` worst of its mistakes."""
    dataset = report.answers.dataset
    names = dict(zip(dataset.labels, label_names(predictor, dataset), strict=True))
    explained = {}
    for one in worst_of_each(report.errors, most):
        aspect = clean_aspect(one.aspect) if predictor.open_aspects else one.aspect
        prediction = predictor.predict(one.text, one.example.targets, [aspect])
        found = prediction.evidence(one.target.name, aspect, names[one.predicted], among=tuple(names.values()))
        explained[id(one)] = replace(one, evidence=found.words)
    return replace(report, errors=tuple(explained.get(id(one), one) for one in report.errors))


def _mistake(mistake: Mistake) -> dict[str, Any]:
    """A mistake with its text in pieces, and the words with the largest weights."""
    reach = max((end for _, end in mistake.target.mentions), default=0)
    weights = {span: weight for span, weight in mistake.evidence if abs(weight) >= _LEAST}
    marks: dict[Span, str | float] = {**weights, **{Span(*span): "" for span in mistake.target.mentions}}
    ranked = sorted(mistake.evidence, key=lambda item: -item[1])
    carrying = [(_word(mistake, span), weight) for span, weight in ranked[:3] if weight >= _LEAST]
    opposed = [(_word(mistake, span), weight) for span, weight in ranked[:-3:-1] if weight <= -_OPPOSED]
    most = min(len(mistake.text), max(_LONGEST, reach + 200))
    return {
        "one": mistake,
        "text": cut(mistake.text, marks, most),
        "marks": [mark for mark in (mistake.id, *mistake.example.tags.values()) if mark],
        "carrying": carrying,
        "opposed": opposed,
    }


def _word(mistake: Mistake, span: Span) -> str:
    word = mistake.text[span.start : span.end]
    return word if len(word) <= 60 else f"{word[:59]}…"
