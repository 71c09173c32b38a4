"""Wrong answers as a table: to be sorted, read and mended in a spreadsheet, or to be counted by a program."""

from collections.abc import Sequence
from pathlib import Path

from tabsa.evaluation.answers import Mistake
from tabsa.schema import UNNAMED
from tabsa.tables.rows import Values
from tabsa.tables.writing import write_table

_COLUMNS = ("id", "text", "target", "aspect", "gold", "said")


def write_errors(errors: Sequence[Mistake], labels: Sequence[str], path: str | Path) -> Path:
    """One row a mistake: what was asked, what is right, what was said, and the probability of each label.

    The target that a text is about and does not name is null, or an empty field.
    """
    column = {label: f"p_{label}" if label in (*_COLUMNS, "probability") else label for label in labels}
    types: dict[str, type] = {**dict.fromkeys(_COLUMNS, str), **dict.fromkeys(("probability", *column.values()), float)}
    rows = [_row(mistake, column) for mistake in errors]
    return write_table(path, types, rows)


def _row(mistake: Mistake, column: dict[str, str]) -> Values:
    target = None if mistake.target.name == UNNAMED else mistake.target.name
    values = (mistake.id, mistake.text, target, mistake.aspect, mistake.gold, mistake.said)
    shares = {column[label]: round(share, 6) for label, share in mistake.probabilities.items()}
    return {**dict(zip(_COLUMNS, values, strict=True)), "probability": round(mistake.probability, 6), **shares}
