"""Figures by matplotlib: a report's, for slides and notebooks; other modules draw theirs in the same look."""

import math
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from tabsa.errors import OutputError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from tabsa.evaluation.report import Report

INK, QUIET, TEAL, AMBER = "#1d1f23", "#646a73", "#2a9d8f", "#e08a1e"
_MOST_ASPECTS: Final = 15
_SERIES: Final = {"presence": (TEAL, "o"), "polarity": (AMBER, "s")}


def new_figure(width: float, height: float, **options: Any) -> "Figure":
    """Return an empty figure, which belongs to no window: `figure.savefig(...)` writes it."""
    try:
        from matplotlib.figure import Figure
    except ImportError as e:
        raise OutputError("drawing needs matplotlib: pip install 'tabsa[plot]'; a page needs nothing") from e
    return Figure(figsize=(width, height), facecolor="white", **options)


def draw_report(report: "Report") -> "Figure":
    """Draw confusion matrix, aspects and reliability."""
    rows = min(_MOST_ASPECTS, len(report.aspects))
    figure = new_figure(14, max(4.2, 1.6 + 0.26 * rows), layout="constrained")
    confusion, aspects, reliability = figure.subplots(1, 3)
    _draw_confusion(confusion, report)
    _draw_aspects(aspects, report)
    _draw_reliability(reliability, report)
    figure.suptitle(_plain(report.title, 90), color=INK, fontweight="bold", parse_math=False)
    return figure


def _draw_confusion(axes: "Axes", report: "Report") -> None:
    labels = [_plain(label) for label in report.confusion]
    counts = np.array([list(row.values()) for row in report.confusion.values()])
    shares = counts / np.maximum(counts.sum(1, keepdims=True), 1)
    axes.imshow(shares, cmap="GnBu", vmin=0, vmax=1, aspect="auto")
    for gold, predicted in np.ndindex(*counts.shape):
        colour = "white" if shares[gold, predicted] > 0.6 else INK
        axes.text(predicted, gold, f"{counts[gold, predicted]:,}", ha="center", va="center", color=colour, size=9)
    axes.set_xticks(range(len(labels)), labels, rotation=30, ha="right", parse_math=False)
    axes.set_yticks(range(len(labels)), labels, parse_math=False)
    axes.set(xlabel="predicted", ylabel="right", title="What is taken for what")
    axes.spines[:].set_visible(False)


def _draw_aspects(axes: "Axes", report: "Report") -> None:
    ranked = sorted(report.aspects.items(), key=lambda item: -sum(item[1].support.values()))[:_MOST_ASPECTS][::-1]
    places = np.arange(len(ranked))
    for shift, colour, label in ((0.2, TEAL, "F1 of presence"), (-0.2, AMBER, "sentiment accuracy")):
        figures = [one.f1 if colour == TEAL else one.sentiment_accuracy for _, one in ranked]
        axes.barh(places + shift, [0 if math.isnan(one) else one for one in figures], 0.38, color=colour, label=label)
    names = [f"{_plain(aspect)} ({sum(one.support.values())})" for aspect, one in ranked]
    axes.set_yticks(places, names, parse_math=False)
    title = "By aspect (opinions)" if len(ranked) == len(report.aspects) else f"The {len(ranked)} commonest aspects"
    axes.set(xlim=(0, 1), title=title)
    axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.08), ncols=2, frameon=False, fontsize=8)
    axes.xaxis.set_major_formatter("{x:.0%}")
    axes.spines[["top", "right"]].set_visible(False)


def _draw_reliability(axes: "Axes", report: "Report") -> None:
    axes.plot([0, 1], [0, 1], "--", color=QUIET, linewidth=1)
    for name, (colour, marker) in _SERIES.items():
        found = report.reliability[name]
        if found.bins:
            sure, right = [one.confidence for one in found.bins], [one.accuracy for one in found.bins]
            sizes = [15 + 120 * one.count / max(other.count for other in found.bins) for one in found.bins]
            label = f"{name}, error {100 * found.error:.1f}"
            axes.plot(sure, right, color=colour, marker=marker, markersize=3, label=label)
            axes.scatter(sure, right, sizes, color=colour, marker=marker, alpha=0.5)
    axes.set(xlim=(0, 1), ylim=(0, 1), xlabel="how sure", ylabel="how often so", title="How sure it is")
    axes.legend(loc="upper left", frameon=False, fontsize=8)
    axes.xaxis.set_major_formatter("{x:.0%}")
    axes.yaxis.set_major_formatter("{x:.0%}")
    axes.spines[["top", "right"]].set_visible(False)


def _plain(text: str, most: int = 28) -> str:
    """Return a text that is short enough for its place, without characters that no font has."""
    text = "".join(character if character.isprintable() else "\ufffd" for character in text)
    return text if len(text) <= most else f"{text[: most - 1]}…"
