"""What stands between the fields of a table: commas, or what spreadsheets of other countries write."""

import csv
import io
import re
from pathlib import Path
from typing import Final, NamedTuple

from tabsa.errors import DataError

NAMES: Final = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "bars"}
_ROWS: Final = 100  # that are looked at
_SAID: Final = re.compile(r'"?sep=([^\w\s"]|\t)"?[ \t;,]*(\r\n|\r|\n|$)', re.IGNORECASE)


class Separator(NamedTuple):
    """What separates a table's fields, and how many characters a first line that only says so has."""

    character: str
    said: int = 0

    @property
    def name(self) -> str:
        """For people."""
        return NAMES.get(self.character, f"'{self.character}'")


def find_separator(head: str, expected: str, path: Path, *, whole: bool) -> Separator:
    """The separator of the table that begins so: `expected`, unless the rows have the header's fields with another.

    Args:
        head: the table's first characters.
        expected: what files of this name have.
        path: for messages.
        whole: whether that is all of the table.

    Raises:
        DataError: two separators fit equally well.
    """
    if said := _SAID.match(head):
        return Separator(said[1], said.end())
    fits = {
        character: fit
        for character in dict.fromkeys((expected, *NAMES))
        if character == expected or character in head
        if (fit := _fit(head, character, whole=whole)) is not None
    }
    best = max(fits.values(), default=_Fit(0.0, 0))
    likely = [character for character, fit in fits.items() if fit == best]
    if best.share <= 0.5:
        return Separator(expected)
    if len(likely) > 1:
        names = " or by ".join(NAMES[character] for character in likely)
        raise DataError(f"{path} may be separated by {names}; say which in a first line, such as 'sep={likely[0]}'")
    return Separator(likely[0])


class _Fit(NamedTuple):
    """The share of rows with as many fields as the header has, and how many these are; the greater fits better."""

    share: float
    fields: int


def _fit(head: str, character: str, *, whole: bool) -> _Fit | None:
    """How well a separator fits; None where the header is one field, or none. A header without rows fits."""
    rows: list[int] = []
    reader = csv.reader(io.StringIO(head, newline=""), delimiter=character, strict=True)
    try:
        for cells in reader:
            if cells:
                rows.append(len(cells))
            if len(rows) > _ROWS:
                break
        else:
            if not whole and len(rows) > 1:
                rows.pop()  # it may be cut
    except csv.Error:
        if whole or not rows:
            rows.append(0)
    if not rows or rows[0] < 2:
        return None
    share = sum(row == rows[0] for row in rows[1:]) / len(rows[1:]) if len(rows) > 1 else 1.0
    return _Fit(share, rows[0])
