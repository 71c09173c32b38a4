"""A report as one matplotlib figure, for slides and notebooks: confusion matrix, aspects, reliability."""

import math
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from tabsa.errors import OutputError
from tabsa.evaluation.calibration import ReliabilityBin

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from tabsa.evaluation.report import Report

_MOST_ASPECTS = 15
_TEAL, _AMBER, _INK, _QUIET = "#2a9d8f", "#e08a1e", "#1d1f23", "#646a73"
_PANELS: Final = {"presence": (_TEAL, "o"), "polarity": (_AMBER, "s")}


def draw_report(report: "Report") -> "Figure":
    """The figure, which belongs to no window: `figure.savefig(...)` writes it.

    Raises:
        OutputError: matplotlib is missing.
    """
    try:
        from matplotlib.figure import Figure
    except ImportError as e:
        raise OutputError("drawing a report needs matplotlib: pip install 'tabsa[plot]'; a page needs nothing") from e
    rows = min(_MOST_ASPECTS, len(report.aspects))
    figure = Figure(figsize=(14, max(4.2, 1.6 + 0.26 * rows)), facecolor="white", layout="constrained")
    confusion, aspects, reliability = figure.subplots(1, 3)
    _draw_confusion(confusion, report)
    _draw_aspects(aspects, report)
    _draw_reliability(reliability, report)
    figure.suptitle(_plain(report.title, 90), color=_INK, fontweight="bold", parse_math=False)
    return figure


def _draw_confusion(axes: "Axes", report: "Report") -> None:
    labels = [_plain(label) for label in report.confusion]
    counts = np.array([list(row.values()) for row in report.confusion.values()])
    shares = counts / np.maximum(counts.sum(1, keepdims=True), 1)
    axes.imshow(shares, cmap="GnBu", vmin=0, vmax=1, aspect="auto")
    for gold, said in np.ndindex(*counts.shape):
        colour = "white" if shares[gold, said] > 0.6 else _INK
        axes.text(said, gold, f"{counts[gold, said]:,}", ha="center", va="center", color=colour, size=9)
    axes.set_xticks(range(len(labels)), labels, rotation=30, ha="right", parse_math=False)
    axes.set_yticks(range(len(labels)), labels, parse_math=False)
    axes.set(xlabel="said", ylabel="right", title="What is taken for what")
    axes.spines[:].set_visible(False)


def _draw_aspects(axes: "Axes", report: "Report") -> None:
    ranked = sorted(report.aspects.items(), key=lambda item: -sum(item[1].support.values()))[:_MOST_ASPECTS][::-1]
    places = np.arange(len(ranked))
    found = [0 if math.isnan(one.f1) else one.f1 for _, one in ranked]
    polarity = [0 if math.isnan(one.sentiment_accuracy) else one.sentiment_accuracy for _, one in ranked]
    axes.barh(places + 0.2, found, 0.38, color=_TEAL, label="F1 of presence")
    axes.barh(places - 0.2, polarity, 0.38, color=_AMBER, label="sentiment accuracy")
    names = [f"{_plain(aspect)} ({sum(one.support.values())})" for aspect, one in ranked]
    axes.set_yticks(places, names, parse_math=False)
    title = "By aspect (opinions)" if len(ranked) == len(report.aspects) else f"The {len(ranked)} commonest aspects"
    axes.set(xlim=(0, 1), title=title)
    _percents(axes.xaxis)
    axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.08), ncols=2, frameon=False, fontsize=8)
    axes.spines[["top", "right"]].set_visible(False)


def _draw_reliability(axes: "Axes", report: "Report") -> None:
    axes.plot([0, 1], [0, 1], "--", color=_QUIET, linewidth=1)
    for name, (colour, marker) in _PANELS.items():
        found = report.reliability[name]
        if found.bins:
            _draw_bins(axes, found.bins, colour, marker, f"{name}, error {100 * found.error:.1f}")
    axes.set(xlim=(0, 1), ylim=(0, 1), xlabel="how sure", ylabel="how often so", title="How sure it is")
    _percents(axes.xaxis)
    _percents(axes.yaxis)
    axes.legend(loc="upper left", frameon=False, fontsize=8)
    axes.spines[["top", "right"]].set_visible(False)


def _draw_bins(axes: "Axes", bins: tuple[ReliabilityBin, ...], colour: str, marker: str, label: str) -> None:
    sure, right = [one.confidence for one in bins], [one.accuracy for one in bins]
    most = max(one.count for one in bins)
    axes.plot(sure, right, color=colour, marker=marker, markersize=3, label=label)
    axes.scatter(sure, right, [15 + 120 * one.count / most for one in bins], color=colour, marker=marker, alpha=0.5)


def _percents(axis: Any) -> None:
    from matplotlib.ticker import PercentFormatter

    axis.set_major_formatter(PercentFormatter(1, decimals=0))


def _plain(text: str, most: int = 28) -> str:
    """A text that is short enough for its place, without characters that no font has."""
    text = "".join(character if character.isprintable() else "\ufffd" for character in text)
    return text if len(text) <= most else f"{text[: most - 1]}…"
