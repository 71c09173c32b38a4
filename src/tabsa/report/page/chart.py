"""A share over time as SVG, drawn here; the page's script draws the same when the reader chooses another."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tabsa.report.tally import Tally
from tabsa.text.escaping import html_text


@dataclass(frozen=True, slots=True)
class Frame:
    """Sizes of a drawing: `bars` is the height of the strip that tells how many opinions there are."""

    width: int
    height: int
    left: int
    right: int
    top: int
    bottom: int
    bars: int
    labels: int  # along the bottom, at most

    def x(self, place: int, places: int) -> float:
        """The middle of a bucket."""
        return self.left + (place + 0.5) * (self.width - self.left - self.right) / places

    def y(self, share: float) -> float:
        """The place of a share."""
        return self.top + (1 - share) * (self.height - self.top - self.bottom)


LARGE = Frame(width=1080, height=310, left=50, right=8, top=10, bottom=66, bars=38, labels=10)
SMALL = Frame(width=240, height=130, left=40, right=6, top=8, bottom=36, bars=14, labels=2)


def chart(series: Sequence[Tally], ticks: Sequence[str], frame: Frame) -> str:
    """What goes into the `svg` element."""
    return "".join((*_grid(frame), *_ticks(ticks, frame), *_bars(series, frame), *_bands(series, frame)))


def _grid(frame: Frame) -> Iterator[str]:
    right = frame.width - frame.right
    for share in (0, 0.25, 0.5, 0.75, 1) if frame is LARGE else (0, 0.5, 1):
        y = frame.y(share)
        kind = "grid middle-line" if share == 0.5 else "grid"
        yield f'<path class="{kind}" d="M{frame.left} {y:.1f}H{right}"/>'
        yield f'<text class="end" x="{frame.left - 6}" y="{y + 3.5:.1f}">{share:.0%}</text>'


def _ticks(ticks: Sequence[str], frame: Frame) -> Iterator[str]:
    step = max(1, -(-(len(ticks) - 1) // max(1, frame.labels - 1)))
    for place in range(0, len(ticks), step):
        x = frame.x(place, len(ticks))
        side = "middle" if 0 < place < len(ticks) - 1 or len(ticks) == 1 else "start" if place == 0 else "end"
        yield f'<text class="{side}" x="{x:.1f}" y="{frame.height - 5}">{html_text(ticks[place])}</text>'


def _bars(series: Sequence[Tally], frame: Frame) -> Iterator[str]:
    most = max((tally.n for tally in series), default=0) or 1
    width = (frame.width - frame.left - frame.right) / len(series)
    bottom = frame.height - frame.bottom + frame.bars + 8
    for place, tally in enumerate(series):
        if tally.n:
            height = max(1.0, frame.bars * tally.n / most)
            at = f'x="{frame.x(place, len(series)) - 0.4 * width:.1f}" y="{bottom - height:.1f}"'
            yield f'<rect class="count" {at} width="{0.8 * width:.1f}" height="{height:.1f}"/>'


def _bands(series: Sequence[Tally], frame: Frame) -> Iterator[str]:
    """Band, line and dots; what has no opinions is a gap."""
    places = len(series)
    for run in _runs(series):
        spots = [(frame.x(place, places), series[place]) for place in run]
        if len(spots) == 1:
            x, low, high = spots[0][0], *(spots[0][1].interval or (0.0, 1.0))
            yield f'<path class="whisker" d="M{x:.1f} {frame.y(low):.1f}V{frame.y(high):.1f}"/>'
            continue
        upper = [f"{x:.1f} {frame.y((tally.interval or (0, 1))[1]):.1f}" for x, tally in spots]
        lower = [f"{x:.1f} {frame.y((tally.interval or (0, 1))[0]):.1f}" for x, tally in reversed(spots)]
        yield f'<path class="band" d="M{"L".join(upper + lower)}Z"/>'
        line = "L".join(f"{x:.1f} {frame.y(tally.share or 0):.1f}" for x, tally in spots)
        yield f'<path class="line" d="M{line}"/>'
    size = 3.5 if frame is LARGE else 2
    for place, tally in enumerate(series):
        if tally.share is not None:
            at = f'cx="{frame.x(place, places):.1f}" cy="{frame.y(tally.share):.1f}"'
            yield f'<circle class="dot" {at} r="{size}"/>'


def _runs(series: Sequence[Tally]) -> Iterator[list[int]]:
    """Places of buckets that follow each other and have a share."""
    run: list[int] = []
    for place, tally in enumerate(series):
        if tally.share is not None:
            run.append(place)
        elif run:
            yield run
            run = []
    if run:
        yield run
