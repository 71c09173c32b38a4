"""Scored tables, row by row: the opinions of each, in whatever layout it was written."""

import glob
import math
import os
from collections.abc import Iterator, Sequence
from itertools import chain, islice
from pathlib import Path
from typing import Final, NamedTuple

from tabsa.errors import DataError, DataNotFoundError
from tabsa.pages.scored_columns import LONG, ColumnNames, ScoredColumns, find_scored_columns, names_in
from tabsa.schema import NONE, UNNAMED
from tabsa.tables.fields import is_blank, is_whole
from tabsa.tables.kinds import INPUT_SUFFIXES, input_suffix_of
from tabsa.tables.rows import Row, Values, as_text, every_row

_FIRST: Final = 200  # rows that tell what the columns are
_REJECTS: Final = ".rejects.jsonl"


class TableAnswer(NamedTuple):
    """An answer in a table, with its probability and the sentence that carries it, as far as known."""

    target: str
    aspect: str
    polarity: str
    probability: float | None
    evidence: str | None


class ScoredRow(NamedTuple):
    """A row of a scored table."""

    id: str
    text: str
    date: object
    answers: Sequence[TableAnswer]


class ScoredFile:
    """One scored table.

    Args:
        path: the file.
        given: names of its columns, where they cannot be found.
    """

    def __init__(self, path: Path, given: ColumnNames) -> None:
        self.path = path
        self.unreadable = 0
        rows = every_row(path)
        self._first = list(islice(rows, _FIRST))
        self._rest = rows
        readable = [row for row in self._first if isinstance(row, Row) and is_whole(row.values)]
        if not readable and self._first:
            why = getattr(self._first[0], "error", "half a character (a lone surrogate) is in it")
            raise DataError(f"no row of {path} can be read, the first: {why}")
        self.columns: ScoredColumns | None = find_scored_columns(path, readable, given) if readable else None

    def pairs(self) -> Iterator[tuple[str, str]]:
        """The targets and aspects that are in the columns' names."""
        if self.columns and not self.columns.targets:
            yield from ((one.target, one.aspect) for one in self.columns.answers)

    def rows(self) -> Iterator[ScoredRow]:
        """Every row that can be read; the others are counted in `unreadable`. To be called once."""
        columns = self.columns
        if columns is None:
            return
        answers = _long if columns.layout == LONG else _own if columns.targets else _wide
        for row in chain(self._first, self._rest):
            if not isinstance(row, Row) or not is_whole(row.values):
                self.unreadable += 1
                continue
            values = row.values
            text = values.get(columns.text) if columns.text else None
            identity = values.get(columns.id) if columns.id else row.number
            day = values.get(columns.date) if columns.date else None
            yield ScoredRow(as_text(identity), text if isinstance(text, str) else "", day, answers(values, columns))


def _long(values: Values, columns: ScoredColumns) -> list[TableAnswer]:
    target, aspect, polarity, sure, evidence = (
        values.get(columns.prefix + name) for name in ("target", "aspect", "polarity", "confidence", "evidence")
    )
    if is_blank(polarity) or is_blank(aspect):
        return []
    named = UNNAMED if is_blank(target) else as_text(target)
    return [TableAnswer(named, as_text(aspect), as_text(polarity), _number(sure), _text(evidence))]


def _wide(values: Values, columns: ScoredColumns) -> list[TableAnswer]:
    found: list[TableAnswer] = []
    for column in columns.answers:
        polarity = values.get(column.name)
        if polarity == NONE:
            found.append(TableAnswer(column.target, column.aspect, NONE, None, None))
        elif isinstance(polarity, str) and polarity:
            sure = _number(values.get(column.shares.get(polarity, "")))
            evidence = _text(values.get(column.evidence or ""))
            found.append(TableAnswer(column.target, column.aspect, polarity, sure, evidence))
    return found


def _own(values: Values, columns: ScoredColumns) -> list[TableAnswer]:
    names = names_in(values.get(columns.targets or "")) or [UNNAMED]
    found: list[TableAnswer] = []
    for column in columns.answers:
        polarities = as_text(values.get(column.name)).split(";")
        for place, (name, polarity) in enumerate(zip(names, polarities, strict=False)):
            if polarity:
                shares = as_text(values.get(column.shares.get(polarity, ""))).split(";")
                sure = _number(shares[place]) if place < len(shares) else None
                found.append(TableAnswer(name, column.aspect, polarity, sure, None))
    return found


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None


def _number(value: object) -> float | None:
    try:
        number = float(value) if isinstance(value, str | int | float) else math.nan
    except (ValueError, OverflowError):
        return None
    return number if math.isfinite(number) else None


# ---- files


def find_scored_files(source: Path) -> list[Path]:
    """List the tables of a file, a folder with all below it, or a pattern; not files of rejects and hidden ones."""
    if source.is_file():
        input_suffix_of(source)
        return [source]
    if source.is_dir():
        root, found = source, [Path(folder) / name for folder, _, names in os.walk(source) for name in names]
    elif glob.has_magic(str(source)):
        pieces = source.absolute().parts
        first = next(place for place, piece in enumerate(pieces) if glob.has_magic(piece))
        root = Path(*pieces[:first])
        found = list(root.glob("/".join(pieces[first:])))
    else:
        raise DataNotFoundError(f"no file {source}; expected a scored table, or a folder of them")
    tables = sorted(path for path in found if _is_table(path, root))
    if not tables:
        raise DataNotFoundError(f"no table in {source}; expected files ending in one of {', '.join(INPUT_SUFFIXES)}")
    return tables


def _is_table(path: Path, root: Path) -> bool:
    hidden = any(piece.startswith(("_", ".")) for piece in path.relative_to(root).parts)
    fits = path.name.lower().endswith(INPUT_SUFFIXES) and not path.name.endswith(_REJECTS)
    return fits and not hidden and path.is_file()


def rejects_beside(path: Path) -> Path:
    """Return where `tabsa score` puts the rows that it could not score."""
    return path.with_name(path.name + _REJECTS)
