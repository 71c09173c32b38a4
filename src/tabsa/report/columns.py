"""Which columns of a scored table hold answers, and which the text, the id, the date."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from tabsa.errors import DataError, unknown_name
from tabsa.report.dates import is_day_first, looks_dated
from tabsa.schema import MIXED, NEGATIVE, NEUTRAL, NONE, POSITIVE, UNNAMED
from tabsa.tables.fields import is_blank
from tabsa.tables.rows import Row

LONG, WIDE, OWN = "long", "wide", "wide, a row's own targets"
KNOWN: Final = frozenset((NONE, POSITIVE, NEGATIVE, NEUTRAL, MIXED, "conflict"))
_DATE_NAMES: Final = ("date", "day", "when", "time", "timestamp", "datetime", "month", "created", "published", "posted")
_NO_SCORE: Final = "expected a table that `tabsa score` wrote, with answers such as positive, negative and none"


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnNames:
    """What columns are called, where it cannot be told from the table."""

    text: str | None = None
    id: str | None = None
    date: str | None = None
    target: str | None = None  # of a wide table whose rows name their own
    prefix: str | None = None  # what goes before the name of each column of answers
    day_first: bool | None = None  # 3/4/2024 is in April


@dataclass(frozen=True, slots=True)
class AnswerColumn:
    """A column of answers on a target's aspect, and those that go with it."""

    name: str
    target: str
    aspect: str
    shares: Mapping[str, str] = field(default_factory=dict)  # by label: the column with its probability
    evidence: str | None = None


@dataclass(frozen=True, slots=True)
class ScoredColumns:
    """A scored table's columns, by what they are for."""

    layout: str
    text: str | None
    id: str | None
    date: str | None
    day_first: bool
    prefix: str = ""  # of the long layout
    answers: tuple[AnswerColumn, ...] = ()  # of the wide ones
    targets: str | None = None  # of the wide layout with a row's own


def find_scored_columns(path: Path, rows: Sequence[Row], given: ColumnNames) -> ScoredColumns:
    """What a table's columns are, judged by its first rows.

    Raises:
        DataError: there are no answers among them, or a column that was named is not there.
    """
    names = tuple(dict.fromkeys(name for row in rows for name in row.values))
    for wanted in (given.text, given.id, given.date, given.target):
        if wanted is not None and wanted not in names:
            raise unknown_name(f"column of {path}", wanted, names)
    prefix = _long_prefix(path, names, given)
    if prefix is not None:
        own = {prefix + name for name in ("target", "aspect", "polarity", "confidence", "evidence", "row")}
        identity = given.id or _first(("id", f"{prefix}row"), names)
        day, day_first = _date(rows, [name for name in names if name not in own], given)
        text = given.text or _text(rows, [n for n in names if n not in own and n not in (identity, day)])
        return ScoredColumns(LONG, text, identity, day, day_first, prefix)
    answers, several = _wide(path, rows, names, given)
    taken = {name for one in answers for name in (one.name, *one.shares.values(), one.evidence)}
    free = [name for name in names if name not in taken]
    identity = given.id or _first(("id",), names)
    day, day_first = _date(rows, free, given)
    targets = None
    if all(one.target == UNNAMED for one in answers):
        targets = given.target or _own_targets(path, rows, free, answers[0].name, several=several)
    text = given.text or _text(rows, [name for name in free if name not in (identity, day, targets)])
    return ScoredColumns(OWN if targets else WIDE, text, identity, day, day_first, answers=answers, targets=targets)


def _first(wanted: Sequence[str], names: Sequence[str]) -> str | None:
    return next((name for name in wanted if name in names), None)


# ---- the long layout


def _long_prefix(path: Path, names: Sequence[str], given: ColumnNames) -> str | None:
    """What goes before `target`, `aspect` and `polarity`, where the table has all three; else None."""
    asked = [name.removesuffix("polarity") for name in names if name.endswith("polarity")]
    found = [p for p in asked if f"{p}target" in names and f"{p}aspect" in names]
    if given.prefix is not None:
        return given.prefix if given.prefix in found else None
    sure = [p for p in found if f"{p}confidence" in names]
    found = sure or found
    if len(found) > 1:
        listed = ", ".join(repr(f"{p}polarity") for p in found)
        raise DataError(f"{path} has more than one column of answers: {listed}", code="two_answers")
    return found[0] if found else None


# ---- the wide layouts


def _wide(
    path: Path, rows: Sequence[Row], names: Sequence[str], given: ColumnNames
) -> tuple[tuple[AnswerColumn, ...], bool]:
    """The columns of answers, and whether a cell holds several."""
    prefix = given.prefix or ""
    below = _below(names)
    found: dict[str, bool] = {}
    for name in names:
        if name.startswith(prefix) and (several := _answers(name, rows, below.get(name, {}))) is not None:
            found[name] = several
    stems = [name[len(prefix) :] for name in found]
    pairs = [stem for stem in stems if "/" in stem.strip("/")]
    if pairs and not any(found.values()):
        split = _split(pairs, told=given.prefix is not None)
        chosen = [(prefix + stem, *split[stem]) for stem in pairs]
    else:
        chosen = [(prefix + stem, UNNAMED, stem) for stem in stems]
    if not chosen:
        raise DataError(f"{path} holds no answers, only {_listed(names)}; {_NO_SCORE}", code="not_scored")
    answers = tuple(
        AnswerColumn(name, target, aspect, _shares(below.get(name, {})), below.get(name, {}).get("evidence"))
        for name, target, aspect in chosen
    )
    return answers, any(found.values())


def _answers(name: str, rows: Sequence[Row], below: Mapping[str, str]) -> bool | None:
    """Whether a column's cells hold several answers each; None where they are no answers."""
    labels = KNOWN | set(_shares(below))
    several, any_there = False, False
    for row in rows:
        value = row.values.get(name)
        if is_blank(value):
            continue
        if not isinstance(value, str):
            return None
        parts = value.split(";")
        if any(part not in labels for part in parts):
            return None
        several, any_there = several or len(parts) > 1, True
    return several if any_there else None


def _below(names: Sequence[str]) -> dict[str, dict[str, str]]:
    """The columns `name/label`, by name and label."""
    found: dict[str, dict[str, str]] = {}
    for column in names:
        name, stroke, label = column.rpartition("/")
        if stroke:
            found.setdefault(name, {})[label] = column
    return found


def _shares(below: Mapping[str, str]) -> dict[str, str]:
    """The columns with the probabilities of an answer's labels; there is always one of `none`."""
    return {label: column for label, column in below.items() if label != "evidence"} if NONE in below else {}


def _split(stems: Sequence[str], *, told: bool) -> dict[str, tuple[str, str]]:
    """Targets and aspects of columns `target/aspect`, where names may hold a stroke themselves.

    Every target has been asked every aspect, so of two ways to split the one that says so is right.
    """
    for split in (str.rpartition, str.partition):
        parts = {stem: split(stem, "/") for stem in stems}
        pairs = {(target, aspect) for target, _, aspect in parts.values()}
        if len(pairs) == len({t for t, _ in pairs}) * len({a for _, a in pairs}):
            break
    else:
        parts = {stem: stem.rpartition("/") for stem in stems}
    targets = list(dict.fromkeys(target for target, _, _ in parts.values()))
    heads = {target.partition("/")[0] for target in targets if "/" in target}
    # `tabsa/Camden` and `tabsa/Brixton`: what all share is no part of a name, but a prefix that columns were given.
    cut = (
        len(heads.pop()) + 1
        if not told and len(targets) > 1 and len(heads) == 1 and all("/" in t for t in targets)
        else 0
    )
    return {stem: (target[cut:], aspect) for stem, (target, _, aspect) in parts.items()}


def _own_targets(path: Path, rows: Sequence[Row], free: Sequence[str], answer: str, *, several: bool) -> str | None:
    """The column that names a row's own targets: one with as many names in each row as there are answers."""
    known = [name for name in free if name.lower() in ("target", "targets")]
    if not several:
        return known[0] if known else None
    fitting = [name for name in free if all(_fits(row, name, answer) for row in rows)]
    chosen = [name for name in known if name in fitting] or fitting
    if len(chosen) == 1:
        return chosen[0]
    raise DataError(f"{path} has several answers in a cell, and no column tells whose they are", code="whose_answers")


def _fits(row: Row, name: str, answer: str) -> bool:
    value = row.values.get(answer)
    return is_blank(value) or len(names_in(row.values.get(name))) == len(str(value).split(";"))


def names_in(value: object) -> list[str]:
    """The names of a cell: one, several with `;` between them, or a list."""
    if isinstance(value, str) and value.lstrip().startswith("["):
        try:
            value = json.loads(value)
        except ValueError:
            return []
    listed = value.split(";") if isinstance(value, str) else value if isinstance(value, list) else []
    return list(dict.fromkeys(name.strip() for name in listed if isinstance(name, str) and name.strip()))


# ---- the other columns


def _date(rows: Sequence[Row], names: Sequence[str], given: ColumnNames) -> tuple[str | None, bool]:
    """The column of dates: that which is called so, else the first that holds nothing else."""
    column = given.date
    if column is None:
        called = [name for name in names if _is_date_name(name)]
        column = next((name for name in called if looks_dated(_values(rows, name), strict=False)), None)
    if column is None:
        column = next((name for name in names if looks_dated(_values(rows, name), strict=True)), None)
    if column is None:
        return None, False
    told = is_day_first(_values(rows, column)) if given.day_first is None else given.day_first
    return column, bool(told)


def _is_date_name(name: str) -> bool:
    words = name.lower().replace("_", " ").replace("-", " ").split()
    return any(word in _DATE_NAMES or word.endswith(("date", "time")) for word in words)


def _values(rows: Sequence[Row], name: str) -> list[object]:
    return [row.values.get(name) for row in rows]


def _text(rows: Sequence[Row], names: Sequence[str]) -> str | None:
    """`text`, or the column with the longest texts."""
    if "text" in names:
        return "text"
    lengths = {
        name: sum(len(value) for value in _values(rows, name) if isinstance(value, str))
        for name in names
        if all(isinstance(value, str | None) for value in _values(rows, name))
    }
    longest = max(lengths, key=lambda name: lengths[name], default=None)
    return longest if longest is not None and lengths[longest] > 12 * len(rows) else None


def _listed(names: Sequence[str], most: int = 8) -> str:
    shown = ", ".join(map(repr, names[:most]))
    return shown + (f" and {len(names) - most:,} more" if len(names) > most else "") if names else "no column"
