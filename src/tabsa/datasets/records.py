"""What one row of a user's table says, in either of its two shapes: flat (one opinion a row) or nested (one text)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from tabsa.errors import DataError
from tabsa.schema import NONE, UNNAMED, Opinion, Span, Target
from tabsa.tables.fields import is_blank, member, members
from tabsa.text import mark_spans


@dataclass(frozen=True, slots=True)
class Columns:
    """What a user's file calls its columns (in JSON, its keys)."""

    text: str = "text"
    id: str = "id"
    target: str = "target"
    aspect: str = "aspect"
    polarity: str = "polarity"
    start: str = "start"
    end: str = "end"
    targets: str = "targets"
    opinions: str = "opinions"
    aspects: str = "aspects"
    domain: str = "domain"
    kind: str = "kind"


class Named(NamedTuple):
    """A target as a record names it; `mentions` is None where they are to be found in the text."""

    name: str
    mentions: tuple[Span, ...] | None = None
    aliases: tuple[str, ...] = ()


_UNNAMED = Named(UNNAMED, mentions=())  # what the text is about and does not name: there is nothing to find


@dataclass(frozen=True, slots=True)
class Record:
    """What one row says. Opinions may repeat, and may have the polarity `none`; `id` is empty where there is none.

    `aspects` are those asked of the text, None where the row has no list of them.
    """

    id: str
    text: str
    targets: tuple[Named, ...]
    opinions: tuple[Opinion, ...]
    aspects: tuple[str, ...] | None = None
    tags: Mapping[str, str] = field(default_factory=dict)


def parse_row(values: Mapping[str, object], columns: Columns, where: str) -> Record:
    """What a row says: flat where it names one target, nested where it lists its targets or its opinions."""
    text = member(values, columns.text, str, where)
    if not text.strip():
        raise DataError(f"{where}: {columns.text!r} is empty; expected the text that is judged")
    name = _identifier(values.get(columns.id), columns.id, where)
    if columns.target not in values and (columns.targets in values or columns.opinions in values):
        targets, opinions = _nested(values, columns, where)
    else:
        targets, opinions = _flat(values, columns, where)
    given = {target.name: target.mentions for target in targets if target.mentions}
    if given:
        mark(text, given, where)  # refused here, where the row is known, rather than when its example is made
    return Record(name, text, targets, opinions, _asked(values, columns.aspects, where), _tags(values, columns, where))


def mark(text: str, mentions: Mapping[str, Sequence[Span]], where: str) -> tuple[Target, ...]:
    """The targets with their mentions, which must be in the text and apart from each other."""
    try:
        return mark_spans(text, mentions)
    except DataError as e:
        raise DataError(f"{where}: {e}") from e


def _flat(values: Mapping[str, object], columns: Columns, where: str) -> tuple[tuple[Named, ...], tuple[Opinion, ...]]:
    target = _optional(values, columns.target, where)
    opinion = _opinion(values, target, columns, where)
    ends = [values.get(column) for column in (columns.start, columns.end)]
    mentions = None if all(map(is_blank, ends)) else (_span(ends, where),)
    opinions = (opinion,) if opinion else ()
    if target:
        return (Named(target, mentions),), opinions
    if mentions:
        raise DataError(f"{where}: {columns.target!r} is empty; name the target that is mentioned")
    return (_UNNAMED,) if opinions else (), opinions


def _nested(
    values: Mapping[str, object], columns: Columns, where: str
) -> tuple[tuple[Named, ...], tuple[Opinion, ...]]:
    opinions = []
    for number, item in enumerate(_items(values, columns.opinions, where), start=1):
        place = f"{where}, opinion {number}"
        fields = members(item, place)
        opinion = _opinion(fields, _judged(fields, columns.target, place), columns, place)
        if opinion is None:
            raise DataError(f"{place} is incomplete; expected a target, an aspect and a polarity")
        opinions.append(opinion)
    judged = dict.fromkeys(opinion.target for opinion in opinions)
    if values.get(columns.targets) is None:
        return tuple(Named(name) if name else _UNNAMED for name in judged), tuple(opinions)
    targets = [
        _UNNAMED if target is None else _named(target, f"{where}, target {number}")
        for number, target in enumerate(_items(values, columns.targets, where), start=1)
    ]
    names = {target.name for target in targets}
    for name in judged:
        if name == UNNAMED and name not in names:
            targets.append(_UNNAMED)  # it has no name to be listed by
        elif name not in names:
            known = ", ".join(sorted(names - {UNNAMED})) or "nothing"
            raise DataError(f"{where} has an opinion about {name!r}, but its {columns.targets!r} are {known}")
    return tuple(targets), tuple(opinions)


def _judged(values: Mapping[str, object], column: str, where: str) -> str:
    """The target of an opinion: a name, or null for what the text is about and does not name."""
    if column in values and values[column] is None:
        return UNNAMED
    name = member(values, column, str, where).strip()
    if not name:
        raise DataError(f"{where}: {column!r} is empty; name the target, or write null where the text does not name it")
    return name


def _asked(values: Mapping[str, object], column: str, where: str) -> tuple[str, ...] | None:
    """The aspects asked of the text: a list of names, or in a table of text names with `;` between them."""
    given = values.get(column)
    if is_blank(given):
        return None
    items = given.split(";") if isinstance(given, str) else member(values, column, list, where)
    names = [member({column: item}, column, str, where).strip() for item in items]
    if not names or not all(names):
        raise DataError(f"{where}: {column!r} has an empty name or none; name the aspects asked, or leave it out")
    for name in names:
        if names.count(name) > 1:
            raise DataError(f"{where}: {column!r} names {name!r} twice; name each aspect once")
    return tuple(names)


def _tags(values: Mapping[str, object], columns: Columns, where: str) -> dict[str, str]:
    named = {"domain": columns.domain, "kind": columns.kind}
    found = {tag: _optional(values, column, where) for tag, column in named.items() if column in values}
    return {tag: value for tag, value in found.items() if value}


def _opinion(values: Mapping[str, object], target: str, columns: Columns, where: str) -> Opinion | None:
    aspect = _optional(values, columns.aspect, where)
    polarity = _optional(values, columns.polarity, where).lower()
    if aspect and polarity:
        return Opinion(target, aspect, polarity)
    if aspect:
        raise DataError(
            f"{where}: aspect {aspect!r} has no {columns.polarity!r}; write {NONE!r} where the text is silent"
        )
    if polarity not in ("", NONE):
        raise DataError(f"{where}: polarity {polarity!r} has no {columns.aspect!r}; name the aspect that is judged")
    return None


def _named(target: object, where: str) -> Named:
    fields = {"name": target} if isinstance(target, str) else members(target, where)
    name = member(fields, "name", str, where).strip()
    if not name:
        raise DataError(f"{where} has an empty name; name the target")
    mentions = None
    if fields.get("mentions") is not None:
        spans = {_span(pair, where) for pair in _items(fields, "mentions", where)}
        mentions = tuple(sorted(spans))
    aliases = _items(fields, "aliases", where)
    if not all(isinstance(alias, str) and alias.strip() for alias in aliases):
        raise DataError(f"{where}: 'aliases' holds something else than names; expected a list of text")
    return Named(name, mentions, tuple(str(alias).strip() for alias in aliases))


def _span(pair: object, where: str) -> Span:
    """A mention from two numbers; a spreadsheet or a table with gaps writes them as text or as 3.0."""
    try:
        start, end = map(_whole, pair if isinstance(pair, list) else ())
    except ValueError as e:
        raise DataError(f"{where}: the mention {pair!r} is not two whole numbers, its start and its end") from e
    return Span(start, end)


def _whole(number: object) -> int:
    if isinstance(number, str):
        number = float(number)
    if isinstance(number, float) and number.is_integer():
        number = int(number)
    if not isinstance(number, int) or isinstance(number, bool):
        raise ValueError(number)
    return number


def _identifier(value: object, column: str, where: str) -> str:
    if is_blank(value):
        return ""
    if isinstance(value, float) and value.is_integer():
        value = int(value)  # a table with gaps in a column of numbers has 3.0 for 3
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    return member({column: value}, column, str, where).strip()


def _optional(values: Mapping[str, object], column: str, where: str) -> str:
    return "" if column in values and is_blank(values[column]) else member(values, column, str, where).strip()


def _items(values: Mapping[str, object], key: str, where: str) -> list[object]:
    return [] if values.get(key) is None else member(values, key, list, where)
