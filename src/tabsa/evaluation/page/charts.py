"""Diagrams of the page as SVG, drawn here: no library, and colours from the page's own style, light or dark."""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from tabsa.evaluation.calibration import Reliability, ReliabilityBin
from tabsa.evaluation.page.history import Curve
from tabsa.text.escaping import html_text

_WIDTH, _HEIGHT = 340, 290
_LEFT, _RIGHT, _TOP, _BOTTOM = 52, 14, 12, 40  # margins of the plot
_DASHES = ("", "6 4", "2 3", "8 3 2 3")


@dataclass(frozen=True, slots=True)
class _Scale:
    """Where values of x and y lie in the drawing."""

    low: tuple[float, float]
    high: tuple[float, float]
    right: float = _RIGHT

    def x(self, value: float) -> float:
        """The place of a value of x."""
        share = (value - self.low[0]) / ((self.high[0] - self.low[0]) or 1)
        return _LEFT + share * (_WIDTH - _LEFT - self.right)

    def y(self, value: float) -> float:
        """The place of a value of y, which grow upwards."""
        share = (value - self.low[1]) / ((self.high[1] - self.low[1]) or 1)
        return _HEIGHT - _BOTTOM - share * (_HEIGHT - _TOP - _BOTTOM)


def reliability_chart(name: str, heading: str, found: Reliability, axes: tuple[str, str]) -> str:
    """A reliability diagram: how sure against how often right, the area of a dot as the number of answers."""
    scale = _Scale((0, 0), (1, 1))
    most = max((one.count for one in found.bins), default=1)
    ticks = (0, 0.25, 0.5, 0.75, 1)
    parts = [
        *_grid(scale, ticks, ticks, "{:.0%}".format, "{:.0%}".format),
        f'<path class="diagonal" d="M{_point(scale, 0, 0)}L{_point(scale, 1, 1)}"/>',
        *(_histogram(scale, number, one.count / most) for number, one in _numbered(found)),
        f'<path class="line" d="{_path(_point(scale, one.confidence, one.accuracy) for one in found.bins)}"/>',
        *(
            f'<circle class="dot" cx="{scale.x(one.confidence):.1f}" cy="{scale.y(one.accuracy):.1f}" '
            f'r="{2.5 + 5.5 * (one.count / most) ** 0.5:.1f}"><title>{one.confidence:.0%} sure, {one.accuracy:.0%} '
            f"right: {one.count:,}</title></circle>"
            for one in found.bins
        ),
        *_axis_names(*axes),
    ]
    told = "; ".join(f"{one.confidence:.0%} sure: {one.accuracy:.0%} right of {one.count:,}" for one in found.bins)
    return _svg(name, heading, told or "no answers", parts)


def curve_chart(name: str, heading: str, curves: Sequence[Curve], form: Callable[[float], str], up: str) -> str:
    """Curves over epochs, each named at its end."""
    epochs = [epoch for curve in curves for epoch, _ in curve.points]
    values = [value for curve in curves for _, value in curve.points]
    low, high, ticks = _nice(min(values), max(values))
    scale = _Scale((min(epochs), low), (max(max(epochs), min(epochs) + 1), high), right=72)
    parts = _grid(scale, _epoch_ticks(epochs), ticks, lambda epoch: "base" if epoch == 0 else f"{epoch:.0f}", form)
    ends = _apart([scale.y(curve.points[-1][1]) for curve in curves])
    for number, (curve, end) in enumerate(zip(curves, ends, strict=True)):
        kind = f"series-{number % 4}"
        points = [_point(scale, *point) for point in curve.points]
        dash = f' stroke-dasharray="{_DASHES[number % 4]}"' if number % 4 else ""
        parts.append(f'<path class="line {kind}"{dash} d="{_path(points)}"/>')
        parts += [
            f'<circle class="dot {kind}" cx="{scale.x(epoch):.1f}" cy="{scale.y(value):.1f}" r="3">'
            f"<title>epoch {epoch:g}: {form(value)}</title></circle>"
            for epoch, value in curve.points
        ]
        at = scale.x(curve.points[-1][0]) + 8
        parts.append(f'<text class="{kind} name" x="{at:.1f}" y="{end + 4:.1f}">{html_text(curve.name)}</text>')
    told = "; ".join(
        f"{curve.name}: " + ", ".join(f"{form(value)} after {epoch:g}" for epoch, value in curve.points)
        for curve in curves
    )
    return _svg(name, heading, told, [*parts, *_axis_names("epochs", up)])


# ---- pieces


def _svg(name: str, heading: str, told: str, parts: Iterable[str]) -> str:
    inside = "\n".join(parts)
    return (
        f"<figure><figcaption>{html_text(heading)}</figcaption>\n"
        f'<svg viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" aria-labelledby="{name}-t {name}-d">\n'
        f'<title id="{name}-t">{html_text(heading)}</title><desc id="{name}-d">{html_text(told)}</desc>\n'
        f"{inside}\n</svg></figure>"
    )


def _grid(
    scale: _Scale,
    across: Iterable[float],
    upwards: Iterable[float],
    x_form: Callable[[float], str],
    y_form: Callable[[float], str],
) -> list[str]:
    left, right = scale.x(scale.low[0]), scale.x(scale.high[0])
    bottom = scale.y(scale.low[1])
    parts = []
    for value in upwards:
        y = scale.y(value)
        parts.append(f'<path class="grid" d="M{left:.1f} {y:.1f}H{right:.1f}"/>')
        parts.append(f'<text class="tick end" x="{left - 6:.1f}" y="{y + 3.5:.1f}">{y_form(value)}</text>')
    for value in across:
        x = scale.x(value)
        parts.append(f'<path class="grid" d="M{x:.1f} {bottom:.1f}v4"/>')
        parts.append(f'<text class="tick middle" x="{x:.1f}" y="{bottom + 17:.1f}">{x_form(value)}</text>')
    return parts


def _axis_names(across: str, upwards: str) -> list[str]:
    x, y = (_WIDTH + _LEFT - _RIGHT) / 2, (_HEIGHT + _TOP - _BOTTOM) / 2
    return [
        f'<text class="axis middle" x="{x:.1f}" y="{_HEIGHT - 5}">{html_text(across)}</text>',
        f'<text class="axis middle" transform="translate(11 {y:.1f}) rotate(-90)">{html_text(upwards)}</text>',
    ]


def _numbered(found: Reliability, bins: int = 10) -> list[tuple[int, ReliabilityBin]]:
    return [(min(int(one.confidence * bins), bins - 1), one) for one in found.bins]


def _histogram(scale: _Scale, number: int, share: float, bins: int = 10) -> str:
    """How many answers are in a bin, as a bar along the bottom."""
    left, right = scale.x(number / bins), scale.x((number + 1) / bins)
    height = 34 * share
    return (
        f'<rect class="count" x="{left + 1:.1f}" y="{scale.y(0) - height:.1f}" width="{right - left - 2:.1f}" '
        f'height="{height:.1f}"/>'
    )


def _point(scale: _Scale, x: float, y: float) -> str:
    return f"{scale.x(x):.1f} {scale.y(y):.1f}"


def _path(points: Iterable[str]) -> str:
    return "M" + "L".join(points)


def _nice(low: float, high: float) -> tuple[float, float, list[float]]:
    """Ends of an axis and four to seven round values on it."""
    span = max(high - low, abs(high) * 1e-6) or 1.0
    rough = span / 4
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(power * times for times in (1, 2, 2.5, 5, 10) if power * times >= rough * 0.999)
    first, last = int(low // step), -int(-high // step)
    last = max(last, first + 1)
    return first * step, last * step, [number * step for number in range(first, last + 1)]


def _epoch_ticks(epochs: Sequence[float]) -> list[float]:
    first, last = min(epochs), max(epochs)
    step = max(1, -(-int(last - first) // 6))
    return [first + number for number in range(0, int(last - first) + 1, step)]


def _apart(places: Sequence[float], least: float = 13) -> list[float]:
    """Places for words that would stand upon each other: moved downwards as far as it takes."""
    moved = list(places)
    reached = float("-inf")
    for place in sorted(range(len(places)), key=places.__getitem__):
        moved[place] = reached = max(places[place], reached + least)
    return moved
