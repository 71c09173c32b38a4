"""The findings of a summary in a few sentences that claim no more than the numbers hold, and as a table of numbers."""

from pathlib import Path
from typing import Final

from tabsa.errors import OutputError
from tabsa.pages.summary import Summary
from tabsa.pages.tally import (
    FEW_OPINIONS,
    Tally,
    between,
    difference,
    display_name,
    percent,
    plural,
    rounded,
    wilson,
    z_of_many,
)
from tabsa.schema import NONE
from tabsa.tables.rows import Values
from tabsa.tables.writing import check_table_name, write_table

_FEW_IN_ALL: Final = 30  # opinions that take a side
_MOST_FINDINGS: Final = 3
_FIGURES: Final[dict[str, type]] = {
    "opinions": int,
    "unsure": int,
    "judged": int,
    "share_positive": float,
    "low": float,
    "high": float,
    "net": float,
    "verdict": str,
}


def lead(summary: Summary) -> list[str]:
    """Say what the table says."""
    total = summary.total
    if not total.n:
        return [f"None of {plural(summary.texts, 'text')} has an opinion on these aspects."]
    spoken_of = len(summary.targets) - len(summary.silent_targets)
    who = display_name(summary.targets[0]) if spoken_of == 1 else plural(spoken_of, "target")
    on = plural(len(summary.aspects) - len(summary.silent_aspects), "aspect")
    of = f" of {summary.texts:,}" if summary.has_silent else ""
    texts = f"{summary.texts_with_opinion:,}{of} text{'s' * (summary.texts_with_opinion != 1 or bool(of))}"
    hold = "holds" if summary.texts_with_opinion == 1 else "hold"
    sentences = [f"{texts} {hold} {plural(total.n, 'opinion')} of {who} on {on}."]
    if total.judged:
        sentences += [_overall(total), *_strongest(summary), *_best_and_worst(summary)]
    return sentences


def _overall(total: Tally) -> str:
    if total.judged < FEW_OPINIONS or total.share is None or total.interval is None:
        return f"Of those that take a side, {total.counted()}: too few to generalise."
    few = ": few, so that little is sure" if total.judged < _FEW_IN_ALL else ""
    return f"{percent(total.share)} of those that take a side are positive ({between(total.interval)}){few}."


def _strongest(summary: Summary) -> list[str]:
    """The cells that are most surely praised or blamed, of all that were looked at."""
    cells = [cell for cell in summary.cells.values() if cell.tally.judged >= FEW_OPINIONS]
    z = z_of_many(len(cells))
    ends = [(wilson(cell.tally.positive, cell.tally.judged, z), cell) for cell in cells]
    sure = [(max(low - 0.5, 0.5 - high), cell) for (low, high), cell in ends if low > 0.5 or high < 0.5]
    ranked = sorted(sure, key=lambda one: -one[0])[:_MOST_FINDINGS]
    if not ranked:
        return []
    named = (f"{display_name(cell.target)} on {cell.aspect}: {cell.tally.counted()}" for _, cell in ranked)
    return [f"Strongest: {'; '.join(named)}."]


def _best_and_worst(summary: Summary) -> list[str]:
    """The two ends of the targets, if they are surely apart: more surely, the more of them were looked at."""
    judged = {t: tally for t, tally in summary.target_totals.items() if tally.judged >= FEW_OPINIONS}
    if len(judged) < 2:
        return []
    z = z_of_many(len(judged) * (len(judged) - 1) // 2)
    ends = {target: wilson(tally.positive, tally.judged, z) for target, tally in judged.items()}
    best, worst = max(ends, key=lambda target: ends[target][0]), min(ends, key=lambda target: ends[target][1])
    apart = difference(judged[best], judged[worst], z)
    if best == worst or apart is None or apart[1] <= 0:
        return ["No target is surely seen better than another."]
    first, last = (f"{display_name(target)} ({judged[target].counted()})" for target in (best, worst))
    return [f"Seen best is {first}, worst {last}."]


def write_numbers(summary: Summary, path: str | Path, *, escape_formulas: bool = False) -> Path:
    """Write a row for each target and aspect, in the format that the name has."""
    path = check_table_name(path)
    if path.is_dir():
        raise OutputError(f"{path} is a folder; expected the name of a file")
    has_none = any(NONE in cell.tally.counts for cell in summary.cells.values())
    counts = {
        polarity: f"polarity {polarity}" if polarity in ("target", "aspect", *_FIGURES) else polarity
        for polarity in (*summary.polarities, *((NONE,) if has_none else ()))
    }
    types: dict[str, type] = {"target": str, "aspect": str, **dict.fromkeys(counts.values(), int), **_FIGURES}
    rows: list[Values] = []
    for target in summary.targets:
        for aspect in summary.aspects:
            if cell := summary.cells.get((target, aspect)):
                tally = cell.tally
                low, high = tally.interval or (None, None)
                shares = map(rounded, (tally.share, low, high, tally.net))
                figures = zip(_FIGURES, (tally.n, cell.unsure, tally.judged, *shares, tally.verdict), strict=True)
                numbers = {column: tally.counts.get(polarity, 0) for polarity, column in counts.items()}
                rows.append({"target": target or None, "aspect": aspect, **numbers, **dict(figures)})
    return write_table(path, types, rows, escape_formulas=escape_formulas)
