"""The heat map as a picture, for slides and print: PNG or SVG by matplotlib, on white."""

import io
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from tabsa.errors import OutputError
from tabsa.files import replacing
from tabsa.report.page.shown import Shown, called
from tabsa.report.page.words import SIGNS, percent, strength
from tabsa.report.summary import Summary
from tabsa.report.tally import Tally
from tabsa.schema import NEGATIVE, POSITIVE

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_KINDS: Final = (".png", ".svg")
_WIDTH, _HEIGHT = 1.0, 0.62  # of a cell, in inches
_LABELS, _HEADS = 1.9, 1.0
_FULL: Final = {POSITIVE: (42, 157, 143), NEGATIVE: (224, 138, 30)}
_INK, _QUIET, _SOFT = "#1d1f23", "#5b616a", "#f1efea"
_FONTS: Final = ("DejaVu Sans", "Noto Sans CJK JP", "Noto Sans CJK SC", "Noto Sans", "Arial Unicode MS")


def check_picture_name(path: str | Path) -> Path:
    """The path, if a picture can be written there: worth asking before a long computation."""
    path = Path(path)
    if path.suffix.lower() not in _KINDS:
        raise OutputError(f"cannot write a picture to '{path}'; expected a name that ends in {' or '.join(_KINDS)}")
    try:
        import matplotlib  # noqa: F401
    except ImportError as e:
        raise OutputError("drawing a picture needs matplotlib: pip install 'tabsa[plot]'; a page needs nothing") from e
    return path


def write_picture(summary: Summary, path: str | Path) -> Path:
    """Draw the most spoken-of targets and aspects."""
    path = check_picture_name(path)
    content = _drawn(summary, path.suffix.lower().removeprefix("."))
    with replacing(path, "wb") as stream:
        stream.write(content)
    return path


def _drawn(summary: Summary, kind: str) -> bytes:
    import matplotlib as mpl
    from matplotlib.figure import Figure
    from matplotlib.font_manager import fontManager

    shown = Shown.of(summary)
    fonts = [font for font in _FONTS if font in set(fontManager.get_font_names())]
    width = _LABELS + _WIDTH * max(1, len(shown.aspects)) + 0.3
    height = _HEADS + _HEIGHT * max(1, len(shown.targets)) + 0.5
    with mpl.rc_context({"font.family": fonts, "svg.hashsalt": "tabsa", "font.size": 9}), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph .* missing from font")
        figure = Figure(figsize=(width, height), facecolor="white")
        axes = figure.add_axes((0, 0, 1, 1), xlim=(0, width), ylim=(height, 0))
        axes.axis("off")
        _write(axes, 0.15, 0.3, _plain(summary.title, 70), size=13, weight="bold")
        for column, aspect in enumerate(shown.aspects):
            x = _LABELS + (column + 0.5) * _WIDTH
            _write(axes, x, _HEADS - 0.12, _plain(aspect, 14), ha="center", color=_QUIET)
        for row, target in enumerate(shown.targets):
            y = _HEADS + (row + 0.5) * _HEIGHT
            _write(axes, 0.15, y, _plain(called(target), 24), weight="bold")
            for column, aspect in enumerate(shown.aspects):
                _draw_cell(axes, _LABELS + column * _WIDTH, y - _HEIGHT / 2, summary.cell(target, aspect).tally)
        note = "share of positive opinions among those that take a side, with its 95% interval; the surer, the deeper"
        _write(axes, 0.15, height - 0.2, note, size=7.5, color=_QUIET)
        stream = io.BytesIO()
        figure.savefig(stream, format=kind, dpi=200, metadata={"Date": None} if kind == "svg" else None)
    return stream.getvalue()


def _draw_cell(axes: "Axes", x: float, y: float, tally: Tally) -> None:
    from matplotlib.patches import FancyBboxPatch

    middle = x + _WIDTH / 2
    if not tally.n:
        _write(axes, middle, y + _HEIGHT / 2, "–", ha="center", color=_QUIET)
        return
    style = "round,pad=0,rounding_size=0.06"
    size = (_WIDTH - 0.05, _HEIGHT - 0.05)
    axes.add_patch(FancyBboxPatch((x + 0.025, y + 0.025), *size, boxstyle=style, linewidth=0, facecolor=_colour(tally)))
    if tally.share is None or tally.interval is None:
        _write(axes, middle, y + _HEIGHT / 2, f"○ {tally.n:,}", ha="center")
        return
    _write(axes, middle, y + 0.16, f"{SIGNS[tally.verdict]} {percent(tally.share)}", ha="center", weight="bold")
    low, high = (x + 0.15 + end * (_WIDTH - 0.3) for end in tally.interval)
    at = x + 0.15 + tally.share * (_WIDTH - 0.3)
    axes.plot([x + 0.15, x + _WIDTH - 0.15], [y + 0.32] * 2, color=_INK, linewidth=0.5, alpha=0.35)
    axes.plot([low, high], [y + 0.32] * 2, color=_INK, linewidth=1.8, alpha=0.65, solid_capstyle="butt")
    axes.plot([at, at], [y + 0.285, y + 0.355], color=_INK, linewidth=1.2)
    _write(axes, middle, y + 0.47, f"{tally.positive:,} of {tally.judged:,}", ha="center", size=7)


def _colour(tally: Tally) -> str:
    full = _FULL.get(tally.verdict)
    if full is None:
        return _SOFT
    share = 0.12 + 0.6 * strength(tally)
    return "#" + "".join(f"{round(255 + share * (part - 255)):02x}" for part in full)


def _write(axes: "Axes", x: float, y: float, text: str, *, size: float = 9, color: str = _INK, **options: Any) -> None:
    axes.text(x, y, text, size=size, color=color, va="center", parse_math=False, **options)


def _plain(text: str, most: int) -> str:
    """A text that is short enough for its place, without characters that no font has."""
    text = "".join(character if character.isprintable() else "\ufffd" for character in text)
    return text if len(text) <= most else f"{text[: most - 1]}…"
