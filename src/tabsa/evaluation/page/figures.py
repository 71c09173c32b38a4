"""The head of the page: the main figures with their intervals, both families, and two models side by side."""

import math

from tabsa.evaluation.bootstrap import LOWER_IS_BETTER, Comparison, Difference
from tabsa.evaluation.metrics import METRICS
from tabsa.evaluation.page.markup import row_head, section, share, table
from tabsa.evaluation.report import Report
from tabsa.evaluation.report_tables import COMPARED, NAMES, p_value, percent, points
from tabsa.text.escaping import html_text

_CARDS = (
    ("opinion_f1", "Opinion F1", "opinions found, with the right polarity"),
    ("presence_f1", "Presence F1", "opinions found, whatever their polarity"),
    ("polarity_accuracy", "Polarity", "true opinions whose polarity is right"),
    ("false_opinions", "False opinions", "silent questions that get an opinion; lower is better"),
)


def main_figures(report: Report) -> str:
    """The figures of single questions as cards, then both families as a table."""
    cards = "".join(_card(report, *card) for card in _CARDS)
    rows = [
        row_head(NAMES[name])
        + "".join(
            share(getattr(report, family)[name], report.intervals[family][name] if report.intervals else None)
            for family in ("sun", "ma")
        )
        for name in METRICS
    ]
    families = table("Both families of definitions, in %", ("", "sun (Sun et al., 2019)", "ma (Ma et al., 2018)"), rows)
    about = "In percent, with the 95% bootstrap interval over texts." if report.intervals else "In percent."
    return section("figures", "How good it is", f'<div class="cards">{cards}</div>\n{families}', about)


def _card(report: Report, name: str, heading: str, words: str) -> str:
    figure = report.questions[name]
    interval, track = "", ""
    if report.intervals and not math.isnan(figure):
        low, high = report.intervals["questions"][name]
        interval = f'<p class="interval">{percent(low)} to {percent(high)}</p>'
        track = f'<div class="track" aria-hidden="true" style="--v:{figure:.4f};--l:{low:.4f};--h:{high:.4f}"></div>'
    return (
        f'<div class="card"><h3>{heading}</h3><p class="figure">{percent(figure)}</p>{interval}{track}'
        f"<p>{words}</p></div>"
    )


def two_models(comparison: Comparison) -> str:
    """One row a figure: both, how far apart they are, and whether chance alone would do."""
    shown = [(words, name, comparison.figures[part][name]) for part, name, words in COMPARED]
    reach = max((abs(bound) for _, _, one in shown for bound in _bounds(one)), default=0.0) or 0.01
    rows = [
        row_head(words)
        + share(one.first)
        + share(one.second)
        + _apart(name, one, reach)
        + f"<td>{percent(one.better)}%</td><td>{p_value(one.p)}</td>"
        for words, name, one in shown
    ]
    heads = ("", comparison.first, comparison.second, "difference, in points", "better in", "p")
    caption = f"{comparison.first} against {comparison.second}"
    about = "Both were asked the same questions; without a bootstrap nothing is known of chance."
    if comparison.resamples:
        about = (
            f"Both were asked the same. Paired bootstrap: {comparison.resamples:,} resamples of the texts, the "
            f"same for both. <i>Better in</i> is the share of them in which {html_text(comparison.first)} is better, "
            "<i>p</i> is two-sided. An interval that holds 0 is no proof of a difference."
        )
    return section("against", f"Against {html_text(comparison.second)}", table(caption, heads, rows, "compared"), about)


def _bounds(one: Difference) -> list[float]:
    return [bound for bound in (*one.interval, one.difference) if not math.isnan(bound)]


def _apart(name: str, one: Difference, reach: float) -> str:
    """The difference with its interval, and both on a line whose middle is 0."""
    words = f"<b>{points(one.difference)}</b>"
    if math.isnan(one.interval[0]):
        return f"<td>{words}</td>"
    low, high = one.interval
    sure = "sure" if low > 0 or high < 0 else "unsure"
    good = (one.difference < 0) == (name in LOWER_IS_BETTER)
    way = "tie" if sure == "unsure" else "gain" if good else "loss"
    places = {"v": one.difference, "l": low, "h": high}
    style = ";".join(f"--{key}:{0.5 + value / reach / 2:.4f}" for key, value in places.items())
    line = f'<div class="forest {way}" aria-hidden="true" style="{style}"></div>'
    return f"<td>{words} <small>[{points(low)}, {points(high)}]</small>{line}</td>"


def summary(report: Report) -> str:
    """How much was asked, in one line."""
    counts = report.counts
    facts = (("examples", "texts"), ("groups", "targets"), ("rows", "questions"), ("opinions", "opinions"))
    listed = "".join(f"<div><dd>{counts[key]:,}</dd><dt>{words}</dt></div>" for key, words in facts)
    wrong = f"<div><dd>{len(report.errors):,}</dd><dt>wrong answers</dt></div>"
    return f'<dl class="counts">{listed}{wrong}</dl>'
