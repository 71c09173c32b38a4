"""Charts as SVG, in the colours of the page's own style: a share over time, reliability, curves of training."""

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import TypeAlias

from tabsa.evaluation.calibration import Reliability
from tabsa.pages.rendering import html_text
from tabsa.pages.tally import FEW_OPINIONS, Tally, percent

_TONES = ("positive", "negative", "other", "mixed")
_DASHES = ("", "6 4", "2 3", "8 3 2 3")
_Ticks: TypeAlias = Iterable[tuple[float, str]]
Curve: TypeAlias = tuple[str, Sequence[tuple[float, float]]]  # a name, and points of epoch and value


@dataclass(frozen=True, slots=True)
class _Axes:
    """Where values lie in a drawing, and the pieces it is made of."""

    low: tuple[float, float]
    high: tuple[float, float]
    width: int = 340
    height: int = 290
    left: int = 52
    right: int = 14
    top: int = 12
    bottom: int = 40

    def x(self, value: float) -> float:
        share = (value - self.low[0]) / ((self.high[0] - self.low[0]) or 1)
        return self.left + share * (self.width - self.left - self.right)

    def y(self, value: float) -> float:
        share = (value - self.low[1]) / ((self.high[1] - self.low[1]) or 1)
        return self.height - self.bottom - share * (self.height - self.top - self.bottom)

    def grid(self, upwards: _Ticks, across: _Ticks, tick_y: float) -> Iterator[str]:
        """Lines across with the values of y, and the names of values of x along the height `tick_y`."""
        for value, name in upwards:
            y = self.y(value)
            yield f'<path class="grid" d="M{self.left} {y:.1f}H{self.width - self.right}"/>'
            yield _words("end", self.left - 6, y + 3.5, name)
        for value, name in across:
            yield _words("middle", self.x(value), tick_y, name)

    def path(self, kind: str, points: Iterable[tuple[float, float]], more: str = "") -> str:
        line = "L".join(f"{self.x(x):.1f} {self.y(y):.1f}" for x, y in points)
        return f'<path class="{kind}" d="M{line}{"Z" if kind == "band" else ""}"{more}/>'

    def dot(self, x: float, y: float, size: float, title: str = "", tone: str = "") -> str:
        inside = f"<title>{html_text(title)}</title>" if title else ""
        at = f'cx="{self.x(x):.1f}" cy="{self.y(y):.1f}" r="{size:.1f}"'
        return f'<circle class="dot {tone}" {at}>{inside}</circle>'

    def bar(self, start: float, end: float, height: float, bottom: float) -> str:
        left, width = self.x(start), self.x(end) - self.x(start)
        at = f'x="{left + 0.1 * width:.1f}" y="{bottom - height:.1f}" width="{0.8 * width:.1f}"'
        return f'<rect class="count" {at} height="{height:.1f}"/>'

    def drawing(self, name: str, title: str, description: str, parts: Iterable[str]) -> str:
        """The whole, with a title and a description for those who hear it."""
        words = f'<title id="{name}-t">{html_text(title)}</title><desc id="{name}-d">{html_text(description)}</desc>'
        box = f'viewBox="0 0 {self.width} {self.height}" role="img" aria-labelledby="{name}-t {name}-d"'
        return f'<svg class="chart" {box}>{words}{"".join(parts)}</svg>'

    def names(self, across: str, upwards: str) -> Iterator[str]:
        """What the axes are."""
        x, y = (self.width + self.left - self.right) / 2, (self.height + self.top - self.bottom) / 2
        yield _words("middle", x, self.height - 5, across)
        yield f'<text class="middle" transform="translate(11 {y:.1f}) rotate(-90)">{html_text(upwards)}</text>'


def _words(side: str, x: float, y: float, text: str, more: str = "") -> str:
    return f'<text class="{side}" x="{x:.1f}" y="{y:.1f}"{more}>{html_text(text)}</text>'


def trend_chart(name: str, title: str, series: Sequence[Tally], buckets: Sequence[str], *, small: bool = False) -> str:
    """The share of positive opinions over time with its interval as a band, and bars that tell how many there are.

    Buckets with too few opinions have a bar alone.
    """
    sizes = (240, 130, 40, 6, 8, 36) if small else (1080, 310, 50, 8, 10, 66)
    axes = _Axes((0, 0), (len(series), 1), *sizes)
    bars, labels = (14, 2) if small else (38, 10)
    step = max(1, -(-(len(buckets) - 1) // (labels - 1)))
    ticks = [(place + 0.5, buckets[place].removeprefix("week of ")) for place in range(0, len(buckets), step)]
    shares = [(share, f"{share:.0%}") for share in ((0, 0.5, 1) if small else (0, 0.25, 0.5, 0.75, 1))]
    parts = [*axes.grid(shares, ticks, axes.height - 5), axes.path("dashed", [(0, 0.5), (len(series), 0.5)])]
    most, floor = max((tally.n for tally in series), default=0) or 1, axes.height - axes.bottom + bars + 8
    parts += [axes.bar(p, p + 1, max(1, bars * one.n / most), floor) for p, one in enumerate(series) if one.n]
    enough = list(_shares(series))
    for _, run in groupby(enough, lambda point: point[0]):
        points = [(place + 0.5, share, low, high) for _, place, share, low, high in run]
        if len(points) == 1:
            points = [(x + way, share, low, high) for x, share, low, high in points for way in (-0.15, 0.15)]
        ends = [(x, high) for x, _, _, high in points] + [(x, low) for x, _, low, _ in reversed(points)]
        parts += [axes.path("band", ends), axes.path("line", [(x, share) for x, share, _, _ in points])]
    if not small:
        parts += [axes.dot(place + 0.5, share, 3.5) for _, place, share, _, _ in enough]
    spoken = (f"{buckets[place]}: {percent(share)} of {series[place].judged:,}" for _, place, share, _, _ in enough)
    return axes.drawing(name, title, "; ".join(spoken) or "too few opinions", parts)


def _shares(series: Sequence[Tally]) -> Iterator[tuple[int, int, float, float, float]]:
    """Each bucket with enough opinions: a number for its unbroken run, its place, its share and its interval."""
    run = 0
    for place, tally in enumerate(series):
        if tally.share is None or tally.interval is None or tally.judged < FEW_OPINIONS:
            run += 1
        else:
            yield run, place, tally.share, *tally.interval


def reliability_chart(name: str, title: str, found: Reliability, across: str, upwards: str) -> str:
    """How sure against how often right; the area of a dot, and the bar under it, are the number of answers."""
    axes = _Axes((0, 0), (1, 1))
    most = max((one.count for one in found.bins), default=1)
    ticks = [(share, f"{share:.0%}") for share in (0, 0.25, 0.5, 0.75, 1)]
    parts = [*axes.grid(ticks, ticks, axes.y(0) + 17), axes.path("dashed", [(0, 0), (1, 1)])]
    for one in found.bins:
        start = min(int(one.confidence * 10), 9) / 10
        parts.append(axes.bar(start, start + 0.1, 34 * one.count / most, axes.y(0)))
    if found.bins:
        parts.append(axes.path("line", [(one.confidence, one.accuracy) for one in found.bins]))
    spoken = [f"{percent(one.confidence)} sure: {percent(one.accuracy)} right of {one.count:,}" for one in found.bins]
    for one, title_of_dot in zip(found.bins, spoken, strict=True):
        parts.append(axes.dot(one.confidence, one.accuracy, 2.5 + 5.5 * math.sqrt(one.count / most), title_of_dot))
    return axes.drawing(name, title, "; ".join(spoken) or "no answers", [*parts, *axes.names(across, upwards)])


def curve_chart(name: str, title: str, curves: Sequence[Curve], form: Callable[[float], str], upwards: str) -> str:
    """Curves over epochs, each named at its end."""
    points = [point for _, found in curves for point in found]
    first, last = min(epoch for epoch, _ in points), max(epoch for epoch, _ in points)
    values = _round_values(min(value for _, value in points), max(value for _, value in points))
    axes = _Axes((first, values[0]), (max(last, first + 1), values[-1]), right=72)
    step = max(1, -(-int(last - first) // 6))
    epochs = [first + number for number in range(0, int(last - first) + 1, step)]
    across = [(epoch, "base" if epoch == 0 else f"{epoch:.0f}") for epoch in epochs]
    parts = [*axes.grid([(value, form(value)) for value in values], across, axes.y(values[0]) + 17)]
    reached, spoken = -math.inf, []
    for (label, found), tone, dash in sorted(
        zip(curves, _TONES, _DASHES, strict=False), key=lambda one: -one[0][1][-1][1]
    ):
        parts.append(axes.path(f"line {tone}", found, f' stroke-dasharray="{dash}"' if dash else ""))
        parts += [axes.dot(epoch, value, 3, f"epoch {epoch:g}: {form(value)}", tone) for epoch, value in found]
        reached = max(axes.y(found[-1][1]), reached + 13)  # names do not stand upon each other
        parts.append(_words("name", axes.x(found[-1][0]) + 8, reached + 4, label))
        spoken.append(f"{label}: " + ", ".join(f"{form(value)} after {epoch:g}" for epoch, value in found))
    return axes.drawing(name, title, "; ".join(spoken), [*parts, *axes.names("epochs", upwards)])


def _round_values(low: float, high: float) -> list[float]:
    """Four to seven round values around two ends."""
    rough = (max(high - low, abs(high) * 1e-6) or 1.0) / 4
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(power * times for times in (1, 2, 2.5, 5, 10) if power * times >= rough * 0.999)
    first, last = int(low // step), -int(-high // step)
    return [number * step for number in range(first, max(last, first + 1) + 1)]
