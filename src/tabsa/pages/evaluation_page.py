"""An evaluation as a page: figures with intervals, confusion, parts of the questions, reliability, worst mistakes."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from tabsa.evaluation.answers import WAYS, AnsweredQuestion, worst_of_each
from tabsa.evaluation.bootstrap import LOWER_IS_BETTER
from tabsa.evaluation.metrics import METRICS
from tabsa.evaluation.report import Report
from tabsa.evaluation.report_tables import COMPARED, NAMES
from tabsa.inference.evaluating import label_names
from tabsa.inference.predictor import Predictor
from tabsa.pages.rendering import cut, render, write_page
from tabsa.pages.svg_charts import reliability_chart
from tabsa.schema import Span
from tabsa.text.aspects import clean_aspect

_MOST_MISTAKES: Final = 50
_LEAST = 0.02  # a weight that is shown at all
_OPPOSED = 0.05  # one against the answer that is put into words
_LONGEST = 1500  # characters of a text that are shown
_MOST_ROWS, _SHOWN_ROWS = 50, 30  # rows of a table; where there are more, fewer are shown


def write_evaluation(report: Report, path: str | Path, against: Report | None = None) -> Path:
    """Write the page; an OutputError says where the name does not end in .html, or it cannot be written."""
    return write_page(evaluation_page(report, against), path)


def evaluation_page(report: Report, against: Report | None = None) -> str:
    """Return the page as text, with a comparison where another report on the same questions is given."""
    resamples = report.resamples.count if report.resamples else 0
    comparison = None if against is None else report.compare(against, bootstrap=resamples)
    rows = [(w, n in LOWER_IS_BETTER, comparison.figures[part][n]) for part, n, w in COMPARED] if comparison else []
    shown = worst_of_each(report.errors, _MOST_MISTAKES)
    return render(
        "evaluation.html",
        title=report.title,
        report=report,
        metrics=[(name, NAMES[name]) for name in METRICS],
        comparison=comparison,
        compared=rows,
        reach=max((abs(end) for _, _, one in rows for end in (*one.interval, one.difference) if end == end), default=0),
        aspects=_most(report.aspects, lambda one: sum(one.support.values())),
        reliability_chart=reliability_chart,
        history=[entry for entry in report.history if isinstance(entry, Mapping) and _is_number(entry.get("epoch"))],
        is_number=_is_number,
        shown=len(shown),
        mistakes={way: [_mistake(one) for one in shown if one.way == way] for way in WAYS},
    )


def _most(rows: Mapping[str, Any], size: Callable[[Any], int]) -> dict[str, Any]:
    """The largest rows, where there are very many."""
    if len(rows) <= _MOST_ROWS:
        return dict(rows)
    return dict(sorted(rows.items(), key=lambda item: -size(item[1]))[:_SHOWN_ROWS])


def _is_number(value: object) -> bool:
    """Tell what can be shown: a model's folder may come from anyone. The comparison is false for NaN, too."""
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 1e9


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


def _mistake(mistake: AnsweredQuestion) -> dict[str, Any]:
    """A mistake with its text in pieces, and the words with the largest weights."""
    reach = max((end for _, end in mistake.target.mentions), default=0)
    weights = {span: weight for span, weight in mistake.evidence if abs(weight) >= _LEAST}
    marks: dict[Span, str | float] = {**weights, **{Span(*span): "" for span in mistake.target.mentions}}
    ranked = sorted(mistake.evidence, key=lambda item: -item[1])
    words = [(mistake.text[span.start : span.end], weight) for span, weight in ranked]
    most = min(len(mistake.text), max(_LONGEST, reach + 200))
    return {
        "one": mistake,
        "text": cut(mistake.text, marks, most),
        "marks": [mark for mark in (mistake.example.id, *mistake.example.tags.values()) if mark],
        "carrying": [item for item in words[:3] if item[1] >= _LEAST],
        "opposed": [item for item in words[:-3:-1] if item[1] <= -_OPPOSED],
    }
