"""What the columns of a user's file are for: found, missed, or guessed."""

from collections.abc import Collection
from dataclasses import replace
from difflib import get_close_matches
from pathlib import Path
from typing import Final

from tabsa.datasets.records import Columns
from tabsa.errors import DataError

# Words that a column's name has where it is not called as here.
_ALSO: Final = {
    "id": ("id", "key", "number"),
    "text": ("text", "review", "comment", "sentence", "content", "body", "message", "tweet", "feedback", "post"),
    "target": ("target", "entity", "product", "brand", "place", "company", "item", "name"),
    "aspect": ("aspect", "topic", "category", "feature", "attribute", "theme"),
    "polarity": ("polarity", "sentiment", "label", "opinion", "class", "rating", "score"),
}
_SHOWN: Final = 12  # columns that a message names


def settled_columns(path: Path | str, names: Collection[str], columns: Columns) -> Columns:
    """The columns as a file with these names has them: without a target, where nobody named one and there is none.

    Raises:
        DataError: the file has no such column; the message names those that it has, and the likeliest.
    """
    if columns.text not in names:
        raise missing_column(path, names, "text", columns.text)
    if columns.id not in names and columns.id != Columns().id:
        raise missing_column(path, names, "id", columns.id)
    if columns.target not in names and (columns.targets in names or columns.opinions in names):
        return columns  # one text a row
    for role, name in (("aspect", columns.aspect), ("polarity", columns.polarity)):
        if name not in names:
            raise missing_column(path, names, role, name)
    if not columns.target or columns.target in names:
        return columns
    if columns.target != Columns().target:
        raise missing_column(path, names, "target", columns.target)
    return replace(columns, target="")


def missing_column(path: Path | str, names: Collection[str], role: str, wanted: str) -> DataError:
    """The error for a column that a file does not have."""
    guess = _guess(names, role, wanted)
    perhaps = f"; perhaps it is {guess!r}" if guess else ""
    message = f"{path} has no column {wanted!r}; it has {listed_columns(names)}{perhaps}"
    return DataError(message, code="no_column", role=role, columns=list(names))


def no_target_note(names: Collection[str]) -> str:
    """What is said of a file without a column of targets."""
    guess = _guess([name for name in names if name != Columns().text], "target", "target")
    perhaps = f" (perhaps {guess!r})" if guess else ""
    return (
        f"no column 'target' (only {listed_columns(names)}): every text is taken to be about one thing that it does "
        f"not name; if a column does{perhaps}, name it with --target-column (in Python columns={{'target': ...}})"
    )


def listed_columns(names: Collection[str]) -> str:
    """The names, and how many more there are."""
    shown = list(names)[:_SHOWN]
    more = f" and {len(names) - _SHOWN:,} more" if len(names) > _SHOWN else ""
    return ", ".join(shown) + more if shown else "none"


def _guess(names: Collection[str], role: str, wanted: str) -> str | None:
    """The column that is likeliest meant: by its spelling, or by the words in its name."""
    folded = {name.casefold().strip(): name for name in names}
    near = get_close_matches(wanted.casefold(), folded, n=1, cutoff=0.75)
    if near:
        return folded[near[0]]
    return next((name for word in _ALSO[role] for low, name in folded.items() if word in low), None)
