"""A summary as one page: who is judged how on what, change over time, two compared, the sentences behind it."""

from itertools import combinations
from typing import Any, Final

from tabsa.pages.rendering import cut, render
from tabsa.pages.summary import Summary, Times
from tabsa.pages.svg_charts import trend_chart
from tabsa.pages.tally import FEW_OPINIONS, display_name

MOST_TARGETS: Final = 30
MOST_ASPECTS: Final = 20
_MOST_COMPARED: Final = 8  # targets
_MOST_CHARTS: Final = 8  # of targets, and of aspects
_LEAST_TREND: Final = 20  # opinions of a cell that is drawn over time


def report_page(summary: Summary, numbers: str = "") -> str:
    """Return the page as text; `numbers` is the name of the table of all numbers, where there is one."""
    targets, aspects = (
        [name for name, tally in totals.items() if tally.n][:most]
        for totals, most in ((summary.target_totals, MOST_TARGETS), (summary.aspect_totals, MOST_ASPECTS))
    )
    groups = _groups(summary, targets, aspects)
    pairs = [
        (first, second, [one for one in summary.compare(first, second) if one.aspect in aspects])
        for first, second in combinations(targets[:_MOST_COMPARED], 2)
        if any(one.difference for one in summary.compare(first, second))
    ]
    return render(
        "report.html",
        script="report.js",
        title=summary.title,
        summary=summary,
        numbers=numbers,
        few=FEW_OPINIONS,
        targets=targets,
        aspects=aspects,
        pairs=pairs,
        groups=groups,
        quotes=[quote for group in groups for quote, _ in group["quotes"]],
        anchors={f"c{group['row']}-{group['column']}" for group in groups},
        **_trends(summary.times, targets, aspects),
    )


def _groups(summary: Summary, targets: list[str], aspects: list[str]) -> list[dict[str, Any]]:
    """The sentences of each cell, those of the most spoken-of first."""
    times, groups = summary.times, []
    for row, target in enumerate(targets):
        for column, aspect in enumerate(aspects):
            cell = summary.cell(target, aspect)
            if not (quotes := cell.quotes):
                continue
            drawn = times is not None and cell.tally.judged >= _LEAST_TREND
            groups.append(
                {
                    "row": row,
                    "column": column,
                    "cell": cell,
                    "quotes": [(quote, cut(quote.sentence, dict.fromkeys(quote.mentions, ""))) for quote in quotes],
                    "trend": _small(times, f"t{row}-{column}", target, aspect) if times and drawn else "",
                }
            )
    return sorted(groups, key=lambda group: -group["cell"].tally.n)


def _trends(times: Times | None, targets: list[str], aspects: list[str]) -> dict[str, Any]:
    """The charts over time; none where fewer than two buckets have enough opinions."""
    series = times.series() if times else ()
    if times is None or not targets or sum(tally.judged >= FEW_OPINIONS for tally in series) < 2:
        return {"times": times, "series": [], "large_trend": "", "small_trends": []}
    drawn = [t for t in targets[:_MOST_CHARTS] if any(tally.judged >= FEW_OPINIONS for tally in times.series(t))]
    lines = [a for a in aspects[:_MOST_CHARTS] if any(tally.judged >= FEW_OPINIONS for tally in times.series(None, a))]
    by_target = [(display_name(t), _small(times, f"target-{n}", t, None)) for n, t in enumerate(drawn)]
    by_aspect = [(a, _small(times, f"aspect-{n}", None, a)) for n, a in enumerate(lines)]
    small = [("Target by target", by_target), ("Aspect by aspect", by_aspect)]
    return {
        "times": times,
        "series": list(zip(times.names, series, strict=True)),
        "large_trend": trend_chart("trend", "all targets on all aspects over time", series, times.names),
        "small_trends": [(heading, charts) for heading, charts in small if len(charts) > 1],
    }


def _small(times: Times, name: str, target: str | None, aspect: str | None) -> str:
    who = "all targets" if target is None else display_name(target)
    title = f"{who} on {'all aspects' if aspect is None else aspect} over time"
    return trend_chart(name, title, times.series(target, aspect), times.names, small=True)
