"""The numbers of every cell as a table."""

from pathlib import Path

from tabsa.errors import OutputError
from tabsa.report.summary import Summary
from tabsa.report.tally import Tally
from tabsa.schema import NONE
from tabsa.tables.rows import Values
from tabsa.tables.writing import check_table_name, write_table

_FIGURES: dict[str, type] = {
    "opinions": int,
    "judged": int,
    "share_positive": float,
    "low": float,
    "high": float,
    "net": float,
    "verdict": str,
}
_DIGITS = 6


def write_numbers(summary: Summary, path: str | Path, *, escape_formulas: bool = False) -> Path:
    """Write a row for each target and aspect, in the format that the name tells.

    With `escape_formulas`, text of a CSV that a spreadsheet would take for a formula has an apostrophe before it.
    """
    path = check_table_name(path)
    if path.is_dir():
        raise OutputError(f"{path} is a folder; expected the name of a file")
    told = any(NONE in cell.tally.counts for cell in summary.cells.values())
    polarities = (*summary.polarities, *((NONE,) if told else ()))
    counts = {polarity: _column(polarity) for polarity in polarities}
    types: dict[str, type] = {"target": str, "aspect": str, **dict.fromkeys(counts.values(), int), **_FIGURES}
    rows: list[Values] = []
    for target in summary.targets:
        for aspect in summary.aspects:
            if (target, aspect) in summary.cells:
                tally = summary.cells[target, aspect].tally
                numbers: Values = {column: tally.counts.get(polarity, 0) for polarity, column in counts.items()}
                rows.append({"target": target or None, "aspect": aspect, **numbers, **_figures(tally)})
    return write_table(path, types, rows, escape_formulas=escape_formulas)


def _column(polarity: str) -> str:
    """What the column of a polarity is called: as it is, unless another has that name."""
    return f"polarity {polarity}" if polarity in ("target", "aspect", *_FIGURES) else polarity


def _figures(tally: Tally) -> Values:
    low, high = tally.interval or (None, None)
    figures = (tally.n, tally.judged, tally.share, low, high, tally.net, tally.verdict)
    return {
        name: round(figure, _DIGITS) if isinstance(figure, float) else figure
        for name, figure in zip(_FIGURES, figures, strict=True)
    }
