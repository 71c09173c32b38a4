"""The pictures, drawn from the results' files by matplotlib, in the look of `tabsa.pages`."""

import io
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from tabsa.errors import OutputError
from tabsa.evaluation.plot import INK, QUIET, new_figure
from tabsa.files import replacing
from tabsa_repro.paper import FIGURE3
from tabsa_repro.records import Record

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_RED, _TEAL, _AMBER, _GREY = "#eb3c28", "#01756a", "#b86a00", "#cccccc"
_TITLES: Final = {"entnet": "EntNet", "delayed-entnet": "Delayed EntNet"}
_FEWEST: Final = 100  # words at a distance for it to be drawn


def write_pictures(experiment: str, content: Any, folder: Path) -> list[Path]:
    """Draw what a result's file holds; returns the files, none for an experiment that is a table."""
    pictures: dict[str, dict[str, Callable[[Any], Figure]]] = {
        "figure2": {"figure2": figure2, "gate_distance": gate_distance},
        "figure3": {"figure3": figure3},
    }
    written = []
    for name, draw in pictures.get(experiment, {}).items():
        try:
            import matplotlib as mpl
        except ImportError as e:
            raise OutputError("drawing needs matplotlib: pip install 'tabsa[plot]'") from e
        settings: Any = {"font.size": 8, "svg.hashsalt": "tabsa", "axes.edgecolor": QUIET, "text.color": INK}
        with mpl.rc_context(settings):
            figure = draw(content)
            for kind in ("png", "svg"):
                path = folder / f"{name}.{kind}"
                _save(figure, path, kind)
                written.append(path)
    return written


def _save(figure: "Figure", path: Path, kind: str) -> None:
    stream = io.BytesIO()
    metadata = {"Date": None} if kind == "svg" else {}
    figure.savefig(stream, format=kind, dpi=200, metadata=metadata, bbox_inches="tight", facecolor="white")
    with replacing(path, "wb") as file:
        file.write(stream.getvalue())


def _axes(width: float, height: float) -> tuple["Figure", "Axes"]:
    figure = new_figure(width, height)
    axes = figure.add_subplot()
    axes.spines[["top", "right"]].set_visible(False)
    return figure, axes


def figure3(records: Sequence[Record]) -> "Figure":
    """Aspect F1 by the number of chains: the paper's bars, and ours in both families."""
    figure, axes = _axes(6.3, 2.9)
    chains = np.array([record["config"]["model"]["chains"] for record in records])
    series = [("paper", _GREY, [FIGURE3[n] for n in chains])]
    series += [(f"here, F1 ({name})", colour, _f1(records, name)) for name, colour in (("sun", _TEAL), ("ma", _AMBER))]
    for number, (label, colour, pairs) in enumerate(series):
        means, deviations = 100 * np.array(pairs).T
        places = chains + 0.27 * (number - 1)
        axes.bar(places, means, 0.25, yerr=deviations, color=colour, label=label, ecolor=INK, error_kw={"lw": 0.8})
    lowest = min(mean - deviation for _, _, pairs in series for mean, deviation in pairs)
    axes.set_ylim(bottom=max(0, np.floor(100 * lowest) - 1))
    axes.set_xticks(chains)
    axes.set_xlabel("memory chains")
    axes.set_ylabel("aspect detection F1, %")
    axes.grid(axis="y", lw=0.4, color="#e6e2dc")
    axes.set_axisbelow(True)
    axes.legend(frameon=False, ncols=3, loc="lower center", bbox_to_anchor=(0.5, 1))
    return figure


def _f1(records: Sequence[Record], family: str) -> list[tuple[float, float]]:
    """Mean and deviation of each."""
    return [
        (record["mean"]["test"][family]["macro_f1"], record["sd"]["test"][family]["macro_f1"] or 0.0)
        for record in records
    ]


def gate_distance(content: Any) -> "Figure":
    """The mean gate by distance from the nearest mention, over the whole test split."""
    figure, axes = _axes(5, 2.9)
    for record, colour in zip(content["systems"], (QUIET, _RED), strict=False):
        found = record["gates"]["gate_distance"]
        drawn = np.array(found["words"]) >= min(_FEWEST, max(found["words"]))
        last = int(np.argmin(drawn)) if not drawn.all() else len(drawn)
        mean, deviation = (np.array(found[what][:last]) for what in ("mean", "sd"))
        axes.plot(range(last), mean, color=colour, label=_TITLES[record["system"]], marker="o", ms=2.5, lw=1.2)
        axes.fill_between(range(last), mean - deviation, mean + deviation, color=colour, alpha=0.18, lw=0)
    axes.set_ylim(bottom=0)
    axes.set_xlabel("words from the nearest mention of a target")
    axes.set_ylabel("gate, mean over chains and directions")
    axes.grid(axis="y", lw=0.4, color="#e6e2dc")
    axes.legend(frameon=False)
    return figure


def figure2(content: Any) -> "Figure":
    """The paper's sentence under both systems: its words above rows of shades, the paper's own beside ours."""
    from matplotlib.colors import LinearSegmentedColormap

    words = content["words"]
    rows = [row for record in content["systems"] for row in _rows(record, content["published"])]
    figure = new_figure(1.6 + 0.24 * len(words), 0.9 + 0.24 * len(rows))
    axes = figure.add_subplot(xlim=(0, len(words)), ylim=(len(rows) + len(content["systems"]) - 1, 0))
    axes.set_axis_off()
    shades = LinearSegmentedColormap.from_list("gate", ["#ffffff", _RED])
    y = 0.0
    for number, (label, values) in enumerate(rows):
        y += 0.8 if number and label.endswith("paper") else 0
        shown = np.ma.masked_invalid(np.array([values], float))
        mesh = axes.pcolormesh(
            range(len(words) + 1), [y, y + 1], shown, cmap=shades, vmin=0, vmax=1, edgecolors="#e6e2dc", lw=0.4
        )
        axes.text(-0.4, y + 0.5, label, ha="right", va="center", color=QUIET if label[0] in "→←" else INK)
        y += 1
    for place, word in enumerate(words):
        weight = "bold" if not place else "normal"
        axes.text(place + 0.5, -0.25, word, rotation=90, ha="center", va="bottom", weight=weight, parse_math=False)
    figure.colorbar(mesh, ax=axes, orientation="horizontal", shrink=0.25, aspect=18, pad=0.06, label="gate")
    return figure


def _rows(record: Record, published: dict[str, list[float | None]]) -> list[tuple[str, list[float]]]:
    """A label and a value a word: the paper's, ours, and ours by direction."""
    title, sentence = _TITLES[record["system"]], record["gates"]["sentence"]
    paper = [np.nan if value is None else value for value in published[record["system"]]]
    rows = [(f"{title}, paper", paper[: len(sentence["mean"])]), (f"{title}, here", sentence["mean"])]
    signs = {"forward": "→", "backward": "←"}
    return rows + [(f"{sign} {name}", sentence[name]) for name, sign in signs.items() if name in sentence]
