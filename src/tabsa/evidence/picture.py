"""The same as a picture, for slides and print: PNG or SVG by matplotlib, on white."""

import io
import warnings
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tabsa.encoding.passages import Passage
from tabsa.errors import OutputError
from tabsa.evidence.bands import Band, bands, carried, evidence_bands
from tabsa.evidence.grid import Grid, opinion_grid
from tabsa.inference.results import Evidence, Prediction
from tabsa.text import Token

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# All sizes are inches; points are of 1/72.
_MARGIN = 0.3
_LABELS = 1.75  # the column of labels
_COLUMN, _ROW, _MEAN = 0.27, 0.15, 0.27  # a word's width, a band's height, the mean's
_HEIGHTS = {"evidence": 0.22, "mean": _MEAN}  # of other bands than a chain's
_RAMP = 1.5  # a scale's width
_GRID_COLUMN, _GRID_ROW = 1.35, 0.26
_MOST_WORDS = 32  # in a line
_MOST_PIXELS = 60_000  # what matplotlib can draw is a little more
_DPI = 200
_INK, _QUIET = "#1d1f23", "#646a73"
_TONES = {
    "positive": ("#01564e", "#d5ede9"),
    "negative": ("#7a4300", "#faead0"),
    "neutral": ("#33415c", "#e3e8f1"),
    "mixed": ("#5a2585", "#f0e5fa"),
    "other": ("#33415c", "#e3e8f1"),
    "none": (_QUIET, "#ffffff"),
}
_RED, _BLUE = "#eb3c28", "#2f5bd0"  # gates, as in the paper; evidence
_FONTS = ("DejaVu Sans", "Noto Sans CJK JP", "Noto Sans CJK SC", "Noto Sans", "Noto Emoji", "Arial Unicode MS")


def draw_picture(predictions: Sequence[Prediction], kind: str, title: str = "") -> bytes:
    """The picture's bytes; `kind` is png or svg."""
    try:
        import matplotlib as mpl
        from matplotlib.figure import Figure
        from matplotlib.font_manager import fontManager
    except ImportError as e:
        raise OutputError(
            "drawing a picture needs matplotlib: pip install 'tabsa[plot]'; a page (.html) needs nothing"
        ) from e
    known = set(fontManager.get_font_names())
    fonts = [font for font in _FONTS if font in known]
    shown = [(prediction, carried(prediction)) for prediction in predictions]
    width = max([_width(prediction) for prediction in predictions], default=_LABELS) + 2 * _MARGIN
    height = sum(_height(*one) for one in shown) + _MARGIN + 0.5 + (0.4 if title else 0)
    if kind == "png" and max(width, height) * _DPI > _MOST_PIXELS:
        raise OutputError(f"{len(predictions)} texts are too many for one picture; write a page (.html)")
    with mpl.rc_context({"font.family": fonts, "svg.hashsalt": "tabsa", "font.size": 9}), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph .* missing from font")
        figure = Figure(figsize=(width, height), facecolor="white")
        axes = figure.add_axes((0, 0, 1, 1), xlim=(0, width), ylim=(height, 0))
        axes.set_axis_off()
        _Drawing(axes).draw(shown, title)
        stream = io.BytesIO()
        metadata = {"Title": title or "tabsa", "Date": None} if kind == "svg" else {"Title": title or "tabsa"}
        figure.savefig(stream, format=kind, dpi=_DPI, metadata=metadata)
    return stream.getvalue()


def _lines(passage: Passage) -> Iterator[slice]:
    """The words in lines of about the same number."""
    count = max(1, -(-len(passage.tokens) // _MOST_WORDS))
    size = -(-len(passage.tokens) // count)
    return (slice(start, start + size) for start in range(0, len(passage.tokens), size))


def _word_height(tokens: Sequence[Token]) -> float:
    return 0.16 + 0.078 * max((len(_shown(token.text)) for token in tokens), default=0)


def _width(prediction: Prediction) -> float:
    words = max((line.stop - line.start for p in prediction.passages for line in _lines(p)), default=0)
    return _LABELS + max(words * _COLUMN, len(opinion_grid(prediction).aspects) * _GRID_COLUMN, 2.5)


def _height(prediction: Prediction, evidence: Sequence[Evidence]) -> float:
    """How much room one prediction takes; as `_Drawing` goes down the page."""
    grid = opinion_grid(prediction)
    height = 0.3 + _GRID_ROW * len(grid.rows) + 0.25
    for passage in prediction.passages:
        shown = [*evidence_bands(evidence, passage), *bands(prediction, passage)]
        for line in _lines(passage):
            height += _word_height(passage.tokens[line]) + _bands_height(shown) + 0.25
    return height + 0.2


def _bands_height(shown: Sequence[Band]) -> float:
    kinds = len({band.kind for band in shown})
    return sum(_HEIGHTS.get(band.kind, _ROW) for band in shown) + 0.07 * max(0, kinds - 1)


def _shown(text: str, most: int = 24) -> str:
    """A text that is short enough for its place, without characters that no font has."""
    text = "".join(character if character.isprintable() else "\ufffd" for character in text)
    return text if len(text) <= most else f"{text[: most - 1]}…"


class _Drawing:
    """Draws from the top of the page down; `y` is where the next thing goes."""

    def __init__(self, axes: "Axes") -> None:
        from matplotlib.colors import LinearSegmentedColormap

        self.axes, self.y = axes, _MARGIN
        self.shades = LinearSegmentedColormap.from_list("gate", ["#ffffff", _RED])
        self.carrying = LinearSegmentedColormap.from_list("evidence", ["#ffffff", _BLUE])

    def draw(self, predictions: Sequence[tuple[Prediction, Sequence[Evidence]]], title: str) -> None:
        """All of it."""
        if title:
            self.write(_MARGIN, self.y + 0.1, _shown(title, 60), size=13, weight="bold")
            self.y += 0.4
        for prediction, evidence in predictions:
            self.grid(opinion_grid(prediction))
            for passage in prediction.passages:
                shown = [*evidence_bands(evidence, passage), *bands(prediction, passage)]
                for line in _lines(passage):
                    self.words(passage.tokens[line], shown, line)
            self.y += 0.2
        gates = any(bands(prediction, passage) for prediction, _ in predictions for passage in prediction.passages)
        weighed = any(evidence for _, evidence in predictions)
        self.scale([("evidence", self.carrying)] * weighed + [("gate", self.shades)] * gates)

    def write(self, x: float, y: float, text: str, **how: Any) -> None:
        """One text, vertically centred; `$` is no formula."""
        settings: dict[str, Any] = {"color": _INK, "va": "center", "parse_math": False, "size": 8}
        self.axes.text(x, y, text, **(settings | how))

    def grid(self, grid: Grid) -> None:
        """The opinions, targets by aspects."""
        left = _MARGIN + _LABELS
        self.y += 0.15
        for column, aspect in enumerate(grid.aspects):
            self.write(left + column * _GRID_COLUMN + 0.08, self.y, _shown(aspect), color=_QUIET)
        self.y += 0.15
        for target, cells in grid.rows:
            middle = self.y + _GRID_ROW / 2
            self.write(left - 0.1, middle, _shown(target), weight="bold", ha="right", size=9)
            if target in grid.unmentioned or not grid.aspects:
                words = "not mentioned in the text" if target in grid.unmentioned else "no opinion found"
                self.write(left + 0.08, middle, words, color=_QUIET)
                cells = ()
            for column, cell in enumerate(cells):
                ink, back = _TONES[cell.tone]
                x = left + column * _GRID_COLUMN
                self.box(x, self.y + 0.02, _GRID_COLUMN - 0.05, _GRID_ROW - 0.04, back)
                words = f"{cell.sign} {cell.polarity} {cell.confidence:.0%}" if cell.sign else "–"
                self.write(x + 0.08, middle, words, color=ink)
            self.y += _GRID_ROW
        self.y += 0.25

    def box(self, x: float, y: float, width: float, height: float, colour: str) -> None:
        """A filled rectangle."""
        from matplotlib.patches import Rectangle

        self.axes.add_patch(Rectangle((x, y), width, height, facecolor=colour, linewidth=0))

    def words(self, tokens: Sequence[Token], shown: Sequence[Band], line: slice) -> None:
        """A line of upright words above their bands, as in the paper."""
        left = _MARGIN + _LABELS
        self.y += _word_height(tokens)
        for number, token in enumerate(tokens):
            weight = "bold" if token.target is not None else "normal"
            x = left + (number + 0.5) * _COLUMN
            self.write(
                x, self.y - 0.05, _shown(token.text), rotation=90, va="bottom", ha="center", size=9, weight=weight
            )
        edges = left + _COLUMN * np.arange(len(tokens) + 1)
        previous = shown[0].kind if shown else "mean"
        for band in shown:
            self.y += 0.07 if band.kind != previous else 0
            height = _HEIGHTS.get(band.kind, _ROW)
            self.shade(edges, height, band.values[line], self.carrying if band.kind == "evidence" else self.shades)
            self.label(band, self.y + height / 2)
            self.y += height
            previous = band.kind
        self.y += 0.25

    def label(self, band: Band, middle: float) -> None:
        """What a band shows, left of it."""
        sign = {"forward": "→ ", "backward": "← "}.get(band.kind, "")
        colour = _INK if band.kind in ("evidence", "mean", "opinion") else _QUIET
        size = 8 if band.kind in _HEIGHTS else 6.5
        x = _MARGIN + _LABELS - 0.1
        label = "what the memory kept" if band.kind == "mean" else band.label
        self.write(x, middle, sign + _shown(label, 32), ha="right", size=size, color=colour)

    def shade(self, edges: Any, height: float, values: Any, shades: Any) -> None:
        """One row of shades, from white to blue or red."""
        rows = [self.y, self.y + height]
        self.axes.pcolormesh(
            edges, rows, np.atleast_2d(values), cmap=shades, vmin=0, vmax=1, edgecolors="#e6e2dc", linewidth=0.4
        )

    def scale(self, ramps: Sequence[tuple[str, Any]]) -> None:
        """What the shades mean, side by side."""
        left = _MARGIN + _LABELS
        for number, (what, shades) in enumerate(ramps):
            x = left + number * (_RAMP + 0.8)
            self.write(x - 0.1, self.y + 0.07, what, ha="right", color=_QUIET)
            ends = np.linspace(x, x + _RAMP, 65)
            self.axes.pcolormesh(ends, [self.y, self.y + 0.14], np.linspace(0, 1, 64)[None], cmap=shades)
            for value in (0, 0.5, 1):
                self.write(x + _RAMP * value, self.y + 0.25, f"{value:g}", ha="center", color=_QUIET, size=7)
