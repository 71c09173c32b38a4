"""Scored tables: which columns hold answers, text, id and date, and the opinions of each row, in any layout."""

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path
from typing import Final, NamedTuple, TypeAlias

from tabsa.errors import DataError, DataNotFoundError
from tabsa.pages.dates import is_day_first, looks_dated
from tabsa.schema import MIXED, NEGATIVE, NEUTRAL, NONE, POSITIVE, UNNAMED
from tabsa.tables.fields import guess_text_column, is_blank, is_whole, list_columns, require_columns
from tabsa.tables.reading import INPUT_SUFFIXES, Row, Values, as_text, read_rows, suffix_of, tables_in

LONG, WIDE, OWN = "long", "wide", "wide, a row's own targets"
_KNOWN: Final = frozenset((NONE, POSITIVE, NEGATIVE, NEUTRAL, MIXED, "conflict"))
_DATE_NAMES: Final = ("date", "day", "when", "time", "timestamp", "datetime", "month", "created", "published", "posted")
_NO_SCORE: Final = "expected a table that `tabsa score` wrote, with answers such as positive, negative and none"
_FIRST: Final = 200  # rows that tell what the columns are
# Target, aspect, polarity, the probability of that polarity, and the sentence that carries it, as far as known.
TableAnswer: TypeAlias = tuple[str, str, str, float | None, str | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnNames:
    """Names of columns, where they cannot be found in the table."""

    text: str | None = None
    id: str | None = None
    date: str | None = None
    target: str | None = None  # of a wide table whose rows name their own
    day_first: bool | None = None  # 3/4/2024 is in April


@dataclass(frozen=True, slots=True)
class AnswerColumn:
    """A column of answers on a target's aspect, and those that go with it."""

    name: str
    target: str
    aspect: str
    shares: Mapping[str, str]  # by label: the column with its probability
    evidence: str | None


@dataclass(frozen=True, slots=True)
class ScoredColumns:
    """A scored table's columns, by what they are for."""

    layout: str
    text: str | None
    id: str | None
    date: str | None
    day_first: bool
    answers: tuple[AnswerColumn, ...] = ()  # of the wide ones
    targets: str | None = None  # of the wide layout with a row's own


def find_scored_columns(path: Path, rows: Sequence[Row], given: ColumnNames) -> ScoredColumns:
    """Find what a table's columns are by its first rows; a DataError says that it has no answers, or no such column."""
    names = tuple(dict.fromkeys(name for row in rows for name in row.values))
    require_columns(path, names, (given.text, given.id, given.date, given.target))
    is_long = {"target", "aspect", "polarity"} <= set(names)
    answers: tuple[AnswerColumn, ...] = ()
    several = False
    if is_long:
        taken = {"target", "aspect", "polarity", "confidence", "evidence", "row"}
    else:
        answers, several = _answer_columns(path, rows, names)
        taken = {name for one in answers for name in (one.name, *one.shares.values(), one.evidence) if name}
    free = [name for name in names if name not in taken]
    identity = given.id or next((name for name in ("id", "row") if name in names), None)
    day, day_first = _date(rows, free, given)
    targets = None
    if answers and all(one.target == UNNAMED for one in answers):
        targets = given.target or _own_targets(path, rows, free, answers[0].name, several=several)
    text = given.text or guess_text_column([row.values for row in rows], (*taken, identity, day, targets))
    layout = LONG if is_long else OWN if targets else WIDE
    return ScoredColumns(layout, text, identity, day, day_first, answers, targets)


# ---- the wide layouts


def _answer_columns(path: Path, rows: Sequence[Row], names: Sequence[str]) -> tuple[tuple[AnswerColumn, ...], bool]:
    """Find the columns of answers, and if a cell holds several."""
    below: dict[str, dict[str, str]] = {}  # the columns `name/label`, by name and label
    for column in names:
        name, stroke, label = column.rpartition("/")
        if stroke:
            below.setdefault(name, {})[label] = column
    shares = {
        name: {label: column for label, column in found.items() if label != "evidence"} if NONE in found else {}
        for name, found in below.items()
    }
    sizes = {n: _answers_a_cell(n, rows, _KNOWN | set(shares.get(n, {}))) for n in names}
    stems = [name for name, size in sizes.items() if size]
    if not stems:
        raise DataError(
            f"{path} holds no answers, only {list_columns([*map(repr, names)])}; {_NO_SCORE}", code="not_scored"
        )
    several = max(sizes.values()) > 1
    pairs = [stem for stem in stems if "/" in stem.strip("/")]
    split = _split(pairs) if pairs and not several else {}
    return tuple(
        AnswerColumn(stem, *split.get(stem, (UNNAMED, stem)), shares.get(stem, {}), below.get(stem, {}).get("evidence"))
        for stem in (split or stems)
    ), several


def _answers_a_cell(name: str, rows: Sequence[Row], labels: frozenset[str]) -> int:
    """Count the answers in a cell of a column, at most; 0 where they are no answers."""
    most = 0
    for value in _values(rows, name):
        if is_blank(value):
            continue
        parts = value.split(";") if isinstance(value, str) else [""]
        if any(part not in labels for part in parts):
            return 0
        most = max(most, len(parts))
    return most


def _split(stems: Sequence[str]) -> dict[str, tuple[str, str]]:
    """Split columns `target/aspect`, where names may hold a stroke themselves.

    Every target has every aspect, so of two ways to split the one in which that holds is right.
    """
    ways = [{stem: split(stem, "/") for stem in stems} for split in (str.rpartition, str.partition)]
    parts = ways[0]
    for way in ways:
        pairs = {(target, aspect) for target, _, aspect in way.values()}
        if len(pairs) == len({t for t, _ in pairs}) * len({a for _, a in pairs}):
            parts = way
            break
    return {stem: (target, aspect) for stem, (target, _, aspect) in parts.items()}


def _own_targets(path: Path, rows: Sequence[Row], free: Sequence[str], answer: str, *, several: bool) -> str | None:
    """Find the column that names a row's own targets: one with as many names in each row as there are answers."""
    known = [name for name in free if name.lower() in ("target", "targets")]
    if not several:
        return known[0] if known else None
    given = [(row.values, str(row.values[answer]).split(";")) for row in rows if not is_blank(row.values.get(answer))]
    fitting = [name for name in free if all(len(names_in(row.get(name))) == len(found) for row, found in given)]
    chosen = [name for name in known if name in fitting] or fitting
    if len(chosen) != 1:
        raise DataError(
            f"{path} has several answers in a cell, and no column tells whose they are", code="whose_answers"
        )
    return chosen[0]


def names_in(value: object) -> list[str]:
    """List the names in a cell: one, several with `;` between them, or a list."""
    if isinstance(value, str) and value.lstrip().startswith("["):
        try:
            value = json.loads(value)
        except ValueError:
            return []
    listed = value.split(";") if isinstance(value, str) else value if isinstance(value, list) else []
    return list(dict.fromkeys(name.strip() for name in listed if isinstance(name, str) and name.strip()))


def _date(rows: Sequence[Row], names: Sequence[str], given: ColumnNames) -> tuple[str | None, bool]:
    """Find the column of dates: one that is called so, else the first that holds nothing else."""
    called = [name for name in names if _is_date_name(name) and looks_dated(_values(rows, name), strict=False)]
    column = given.date or next(iter(called), None)
    if column is None:
        column = next((name for name in names if looks_dated(_values(rows, name), strict=True)), None)
    if column is None:
        return None, False
    return column, bool(is_day_first(_values(rows, column)) if given.day_first is None else given.day_first)


def _is_date_name(name: str) -> bool:
    words = name.lower().replace("_", " ").replace("-", " ").split()
    return any(word in _DATE_NAMES or word.endswith(("date", "time")) for word in words)


def _values(rows: Sequence[Row], name: str) -> list[object]:
    return [row.values.get(name) for row in rows]


# ---- rows


class ScoredRow(NamedTuple):
    """A row of a scored table."""

    id: str
    text: str
    date: object
    answers: Sequence[TableAnswer]


class ScoredFile:
    """One scored table; `given` are names of its columns, where they cannot be found."""

    def __init__(self, path: Path, given: ColumnNames) -> None:
        self.path = path
        self.unreadable = 0
        rows = read_rows(path)
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


def _long(values: Values, _: ScoredColumns) -> list[TableAnswer]:
    target, aspect, polarity, sure, evidence = (
        values.get(name) for name in ("target", "aspect", "polarity", "confidence", "evidence")
    )
    if is_blank(polarity) or is_blank(aspect):
        return []
    named = UNNAMED if is_blank(target) else as_text(target)
    return [(named, as_text(aspect), as_text(polarity), _number(sure), evidence if isinstance(evidence, str) else None)]


def _wide(values: Values, columns: ScoredColumns) -> list[TableAnswer]:
    found: list[TableAnswer] = []
    for column in columns.answers:
        polarity = values.get(column.name)
        if polarity == NONE:
            found.append((column.target, column.aspect, NONE, None, None))
        elif isinstance(polarity, str) and polarity:
            sure = _number(values.get(column.shares.get(polarity, "")))
            evidence = values.get(column.evidence or "")
            sentence = evidence if isinstance(evidence, str) else None
            found.append((column.target, column.aspect, polarity, sure, sentence))
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
                found.append((name, column.aspect, polarity, sure, None))
    return found


def _number(value: object) -> float | None:
    try:
        number = float(value) if isinstance(value, str | int | float) else math.nan
    except (ValueError, OverflowError):
        return None
    return number if math.isfinite(number) else None


def find_scored_files(source: Path) -> list[Path]:
    """List the tables of a file, or of a folder with all below it; not files of rejects and hidden ones."""
    if source.is_file():
        suffix_of(source, INPUT_SUFFIXES)
        return [source]
    if not source.is_dir():
        raise DataNotFoundError(f"no file {source}; expected a scored table, or a folder of them")
    return tables_in(source)
