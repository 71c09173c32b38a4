"""Which rows are behind a number of a job's summary: the opinions of its results in a small database beside them."""

import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from itertools import groupby
from pathlib import Path
from typing import Final, NamedTuple

from tabsa.errors import DataError
from tabsa.report.columns import ColumnNames
from tabsa.report.reading import ScoredFile, ScoredRow
from tabsa.schema import NONE, UNNAMED, Span
from tabsa.text import TargetFinder

_TABLES: Final = """
    CREATE TABLE texts (number INTEGER PRIMARY KEY, id TEXT, day TEXT, text TEXT);
    CREATE TABLE opinions (target TEXT, aspect TEXT, polarity TEXT, probability REAL, evidence TEXT, text INTEGER);
    CREATE TABLE aliases (target TEXT, alias TEXT);
"""
_INDEX: Final = "CREATE INDEX cells ON opinions (target, aspect, polarity)"
_LONGEST: Final = 5000  # characters of a text that are sent


class FoundRow(NamedTuple):
    """An opinion, and the text that holds it: its beginning, where it is very long."""

    id: str
    date: str | None
    text: str
    target: str
    aspect: str
    polarity: str
    probability: float | None
    evidence: str | None
    mentions: tuple[Span, ...]


class Wanted(NamedTuple):
    """Which rows are asked for; None is any."""

    target: str | None = None
    aspect: str | None = None
    polarity: str | None = None
    words: str = ""  # that the text holds


def write_index(
    path: Path, result: Path, columns: ColumnNames, aliases: Mapping[str, Sequence[str]] | None = None
) -> None:
    """Read a table of results, and write its opinions down; `none` is not one."""
    file = ScoredFile(result, columns)
    with closing(sqlite3.connect(path)) as base:
        base.execute("PRAGMA journal_mode = OFF")  # a file that is not whole is never read
        base.executescript(_TABLES)
        rows = groupby(file.rows(), key=lambda row: (row.id, row.text))  # of the long layout, several a text
        for number, (_, group) in enumerate(rows):
            _write_text(base, number, list(group))
        pairs = [(name, alias) for name, others in (aliases or {}).items() for alias in others]
        base.executemany("INSERT INTO aliases VALUES (?, ?)", pairs)
        base.execute(_INDEX)
        base.commit()


def _write_text(base: sqlite3.Connection, number: int, rows: Sequence[ScoredRow]) -> None:
    said = [(*one, number) for row in rows for one in row.said if one[2] != NONE]
    if said:
        first = rows[0]
        day = None if first.date is None else str(first.date)
        base.execute("INSERT INTO texts VALUES (?, ?, ?, ?)", (number, first.id, day, first.text))
        base.executemany("INSERT INTO opinions VALUES (?, ?, ?, ?, ?, ?)", said)


def find_rows(path: Path, wanted: Wanted, *, offset: int, limit: int) -> tuple[int, list[FoundRow]]:
    """How many opinions there are of that kind, and some of them, in the order of the table."""
    where, values = _condition(wanted)
    found = f"FROM opinions JOIN texts ON texts.number = opinions.text WHERE {where}"
    columns = "id, day, texts.text, target, aspect, polarity, probability, evidence"
    with _reading(path) as base:
        (total,) = base.execute(f"SELECT count(*) {found}", values).fetchone()
        rows = base.execute(
            f"SELECT {columns} {found} ORDER BY opinions.rowid LIMIT ? OFFSET ?",
            (*values, limit, offset),
        ).fetchall()
        finders = {target: _finder(base, target) for target in {row[3] for row in rows}}
    return total, [_found(row, finders[row[3]]) for row in rows]


def _condition(wanted: Wanted) -> tuple[str, list[str]]:
    """SQL of our own, with a place for each value."""
    parts = {
        f"{column} = ?": value
        for column, value in (("target", wanted.target), ("aspect", wanted.aspect), ("polarity", wanted.polarity))
        if value is not None
    }
    if wanted.words:
        parts["instr(folded(texts.text), ?)"] = wanted.words.casefold()
    return " AND ".join(parts) or "1", list(parts.values())


@contextmanager
def _reading(path: Path) -> Iterator[sqlite3.Connection]:
    with closing(sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True)) as base:
        base.create_function("folded", 1, str.casefold, deterministic=True)
        yield base


def _finder(base: sqlite3.Connection, target: str) -> TargetFinder | None:
    if target == UNNAMED:
        return None
    aliases = [alias for (alias,) in base.execute("SELECT alias FROM aliases WHERE target = ?", (target,))]
    try:
        return TargetFinder({target: aliases})
    except DataError:  # a name of punctuation alone
        return None


def _found(
    row: tuple[str, str | None, str, str, str, str, float | None, str | None], finder: TargetFinder | None
) -> FoundRow:
    identity, day, text, target, aspect, polarity, probability, evidence = row
    shown = text[:_LONGEST]
    mentions = tuple(span for one in (finder.find(shown) if finder else ()) for span in one.mentions)
    return FoundRow(identity, day, shown, target, aspect, polarity, probability, evidence, mentions)
