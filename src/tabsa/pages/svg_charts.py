"""Charts as SVG, in the colours of the page's own style: a share over time, and reliability."""

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from tabsa.evaluation.calibration import Reliability
from tabsa.pages.rendering import html_text
from tabsa.pages.tally import FEW_OPINIONS, Tally, percent

_QUARTERS = (0, 0.25, 0.5, 0.75, 1)


@dataclass(frozen=True, slots=True)
class _Axes:
    """The coordinates of values in a drawing (x from 0 to `span`, y a share), and the pieces it is made of."""

    span: float = 1
    width: int = 340
    height: int = 290
    left: int = 52
    right: int = 14
    top: int = 12
    bottom: int = 40

    def x(self, value: float) -> float:
        return self.left + value / self.span * (self.width - self.left - self.right)

    def y(self, share: float) -> float:
        return self.height - self.bottom - share * (self.height - self.top - self.bottom)

    def grid(self, shares: Iterable[float], across: Iterable[tuple[float, str]], tick_y: float) -> Iterator[str]:
        """Lines across with the values of y, and the names of values of x along the height `tick_y`."""
        for share in shares:
            yield f'<path class="grid" d="M{self.left} {self.y(share):.1f}H{self.width - self.right}"/>'
            yield _words("end", self.left - 6, self.y(share) + 3.5, f"{share:.0%}")
        for value, name in across:
            side = "start" if value < 0.05 * self.span else "end" if value > 0.95 * self.span else "middle"
            yield _words(side, self.x(value), tick_y, name)

    def path(self, kind: str, points: Iterable[tuple[float, float]]) -> str:
        line = "L".join(f"{self.x(x):.1f} {self.y(y):.1f}" for x, y in points)
        return f'<path class="{kind}" d="M{line}{"Z" if kind == "band" else ""}"/>'

    def dot(self, x: float, y: float, size: float) -> str:
        return f'<circle class="dot" cx="{self.x(x):.1f}" cy="{self.y(y):.1f}" r="{size:.1f}"/>'

    def bar(self, start: float, end: float, height: float, bottom: float) -> str:
        left, width = self.x(start), self.x(end) - self.x(start)
        at = f'x="{left + 0.1 * width:.1f}" y="{bottom - height:.1f}" width="{0.8 * width:.1f}"'
        return f'<rect class="count" {at} height="{height:.1f}"/>'

    def drawing(self, name: str, title: str, description: str, parts: Iterable[str]) -> str:
        """The whole, with a title and a description for those who hear it."""
        words = f'<title id="{name}-t">{html_text(title)}</title><desc id="{name}-d">{html_text(description)}</desc>'
        box = f'viewBox="0 0 {self.width} {self.height}" role="img" aria-labelledby="{name}-t {name}-d"'
        return f'<svg class="chart" {box}>{words}{"".join(parts)}</svg>'


def _words(side: str, x: float, y: float, text: str) -> str:
    return f'<text class="{side}" x="{x:.1f}" y="{y:.1f}">{html_text(text)}</text>'


def trend_chart(name: str, title: str, series: Sequence[Tally], buckets: Sequence[str], *, small: bool = False) -> str:
    """The share of positive opinions over time, its interval as a band, and bars of how many; few have a bar alone."""
    sizes = (240, 130, 40, 6, 8, 36) if small else (1080, 310, 50, 8, 10, 66)
    axes = _Axes(len(series), *sizes)
    bars, labels = (14, 2) if small else (38, 10)
    step = max(1, -(-(len(buckets) - 1) // (labels - 1)))
    ticks = [(place + 0.5, buckets[place].removeprefix("week of ")) for place in range(0, len(buckets), step)]
    parts = [
        *axes.grid((0, 0.5, 1) if small else _QUARTERS, ticks, axes.height - 5),
        axes.path("dashed", [(0, 0.5), (len(series), 0.5)]),
    ]
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
    """Draw confidence against accuracy; the area of a dot, and the bar under it, are the number of answers."""
    axes = _Axes()
    most = max((one.count for one in found.bins), default=1)
    ticks = [(share, f"{share:.0%}") for share in _QUARTERS]
    parts = [*axes.grid(_QUARTERS, ticks, axes.y(0) + 17), axes.path("dashed", [(0, 0), (1, 1)])]
    for one in found.bins:
        start = min(int(one.confidence * 10), 9) / 10
        parts.append(axes.bar(start, start + 0.1, 34 * one.count / most, axes.y(0)))
    if found.bins:
        parts.append(axes.path("line", [(one.confidence, one.accuracy) for one in found.bins]))
    parts += [axes.dot(one.confidence, one.accuracy, 2.5 + 5.5 * math.sqrt(one.count / most)) for one in found.bins]
    spoken = (f"{percent(one.confidence)} sure: {percent(one.accuracy)} right of {one.count:,}" for one in found.bins)
    x, y = (axes.width + axes.left - axes.right) / 2, (axes.height + axes.top - axes.bottom) / 2
    parts.append(_words("middle", x, axes.height - 5, across))
    parts.append(f'<text class="middle" transform="translate(11 {y:.1f}) rotate(-90)">{html_text(upwards)}</text>')
    return axes.drawing(name, title, "; ".join(spoken) or "no answers", parts)
