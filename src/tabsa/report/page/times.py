"""Change over time: the share of positive opinions with its interval, drawn and as a table."""

from collections.abc import Sequence

from tabsa.evaluation.page.markup import count, row_head, section, table
from tabsa.report.page.chart import LARGE, SMALL, Frame, chart
from tabsa.report.page.shown import Shown, called
from tabsa.report.page.words import between, percent
from tabsa.report.summary import Summary, Times
from tabsa.report.tally import Tally
from tabsa.text.escaping import html_text

_MOST_SMALL = 8
_ABOUT = (
    "The share of positive opinions among those that take a side, by {bucket}, with the 95% interval as a band: where "
    "bands are wide or overlap, there is no change to speak of. Bars below tell how many opinions there are."
)


def times_part(summary: Summary, shown: Shown) -> str:
    """The part of the page: all together, and the most spoken-of targets beside each other."""
    times = summary.times
    if times is None or not shown.targets:
        return ""
    series = times.series()
    large = _figure(times, series, "all targets on all aspects", LARGE, "trend")
    rows = [_row(name, tally) for name, tally in zip(times.names, series, strict=True)]
    heads = [times.bucket, "opinions", "positive", "negative", "share", "95% interval"]
    listed = table("The same as a table", heads, rows, "trend")
    content = f'{_form(shown)}{large}<details class="trend"><summary>As a table</summary>{listed}</details>'
    if len(shown.targets) > 1:
        each = (times.series(target) for target in shown.targets[:_MOST_SMALL])
        drawn = [
            _figure(times, one, called(target), SMALL, f"trend-{place}")
            for place, (target, one) in enumerate(zip(shown.targets, each, strict=False))
        ]
        content += f'<h3>Target by target</h3><div class="small-charts">{"".join(drawn)}</div>'
    return section("time", "Change over time", content, _ABOUT.format(bucket=times.bucket) + _dates(times))


def _dates(times: Times) -> str:
    order = "day first" if times.day_first else ""
    told = f" Dates are from <q>{html_text(times.column)}</q>"
    return f"{told}, read {order}." if order else f"{told}."


def _form(shown: Shown) -> str:
    def options(names: Sequence[str], every: str) -> str:
        listed = "".join(f'<option value="{place}">{html_text(name)}</option>' for place, name in enumerate(names))
        return f'<option value="">{every}</option>{listed}'

    return f"""<form id="when" class="choices" data-script hidden>
<label>Target <select name="target">{options([called(t) for t in shown.targets], "all targets")}</select></label>
<label>Aspect <select name="aspect">{options(shown.aspects, "all aspects")}</select></label>
</form>"""


def _figure(times: Times, series: Sequence[Tally], heading: str, frame: Frame, name: str) -> str:
    told = "; ".join(
        f"{bucket}: {html_text(percent(tally.share))} of {tally.judged:,}"
        for bucket, tally in zip(times.names, series, strict=True)
        if tally.share is not None
    )
    scroll = ' class="scroll" tabindex="0" role="group" aria-label="drawing"' if frame is LARGE else ""
    return (
        f"<figure><figcaption><bdi>{html_text(heading)}</bdi></figcaption><div{scroll}>"
        f'<svg id="{name}" viewBox="0 0 {frame.width} {frame.height}" role="img" aria-labelledby="{name}-t {name}-d">'
        f'<title id="{name}-t">{html_text(heading)} over time</title><desc id="{name}-d">{told or "no opinions"}</desc>'
        f"{chart(series, times.ticks, frame)}</svg></div></figure>"
    )


def _row(name: str, tally: Tally) -> str:
    if tally.share is None or tally.interval is None:
        rest = "<td>–</td><td>–</td>"
    else:
        rest = f"<td>{html_text(percent(tally.share))}</td><td>{html_text(between(tally.interval))}</td>"
    return row_head(name) + count(tally.n) + count(tally.positive) + count(tally.negative) + rest
