"""What one row of a user's table says, in either of its two shapes: flat (one opinion a row) or nested (one text)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from tabsa.config import option
from tabsa.errors import DataError
from tabsa.schema import NEGATIVE, NEUTRAL, NONE, POSITIVE, UNNAMED, Opinion, Span, Target
from tabsa.tables.fields import is_blank, member, members
from tabsa.text import mark_spans


@dataclass(frozen=True, slots=True)
class Columns:
    """What a user's file calls its columns (in JSON, its keys)."""

    text: str = option("text", "the text")
    id: str = option("id", "what rows of one text share, if there is such a column")
    target: str = option("target", "who or what is judged; empty: there is no such column, and no text names it")
    aspect: str = option("aspect", "on what")
    polarity: str = option("polarity", "how")
    start: str = option("start", "where a mention of the target starts, if it is marked")
    end: str = option("end", "and where it ends")
    targets: str = option("targets", "in a row for each text: its targets")
    opinions: str = option("opinions", "and its opinions")
    aspects: str = option("aspects", "the aspects asked of the text, if they are listed")
    domain: str = option("domain", "a tag, if there is one")
    kind: str = option("kind", "another")
    aliases: str = option("aliases", "other names of the target, if there are any")
    asked_only: str = option("asked_only", "whether nothing but the row's opinion was asked of the text")
    withdrawn: str = option("withdrawn", "whether earlier rows on the same do not count")


class Named(NamedTuple):
    """A target as a record names it; `mentions` is None where they are to be found in the text."""

    name: str
    mentions: tuple[Span, ...] | None = None
    aliases: tuple[str, ...] = ()


_UNNAMED = Named(UNNAMED, mentions=())  # what the text is about and does not name: there is nothing to find
_SHORT = {"pos": POSITIVE, "neg": NEGATIVE, "neu": NEUTRAL}  # of polarities
_FLAGS = {"yes": True, "true": True, "1": True, "no": False, "false": False, "0": False}


@dataclass(frozen=True, slots=True)
class Record:
    """What one row says. Opinions may repeat, and may have the polarity `none`; `id` is empty where there is none.

    `aspects` are those asked of the text, None where the row has no list of them. `unasked` are pairs of a target and
    an aspect that were left without a polarity. With `asked_only`, nothing but the row's opinions was asked of the
    text; with `withdrawn`, what earlier rows say of the `unasked` pairs does not count.
    """

    id: str
    text: str
    targets: tuple[Named, ...]
    opinions: tuple[Opinion, ...]
    aspects: tuple[str, ...] | None = None
    tags: Mapping[str, str] = field(default_factory=dict)
    unasked: tuple[tuple[str, str], ...] = ()
    asked_only: bool = False
    withdrawn: bool = False


def parse_row(values: Mapping[str, object], columns: Columns, where: str) -> Record:
    """What a row says: flat where it names one target, nested where it lists its targets or its opinions."""
    text = member(values, columns.text, str, where)
    if not text.strip():
        raise DataError(f"{where}: {columns.text!r} is empty; expected the text that is judged")
    name = _identifier(values.get(columns.id), columns.id, where)
    unasked: tuple[tuple[str, str], ...] = ()
    if columns.target not in values and (columns.targets in values or columns.opinions in values):
        targets, opinions = _nested(values, columns, where)
    else:
        targets, opinions, unasked = _flat(values, columns, where)
    given = {target.name: target.mentions for target in targets if target.mentions}
    if given:
        mark(text, given, where)  # refused here, where the row is known, rather than when its example is made
    return Record(
        name,
        text,
        targets,
        opinions,
        _asked(values, columns.aspects, where),
        _tags(values, columns, where),
        unasked,
        _flag(values, columns.asked_only, where),
        bool(unasked) and _flag(values, columns.withdrawn, where),
    )


def mark(text: str, mentions: Mapping[str, Sequence[Span]], where: str) -> tuple[Target, ...]:
    """The targets with their mentions, which must be in the text and apart from each other."""
    try:
        return mark_spans(text, mentions)
    except DataError as e:
        raise DataError(f"{where}: {e}") from e


def _flat(
    values: Mapping[str, object], columns: Columns, where: str
) -> tuple[tuple[Named, ...], tuple[Opinion, ...], tuple[tuple[str, str], ...]]:
    target = _optional(values, columns.target, where) if columns.target else UNNAMED
    aspect = _optional(values, columns.aspect, where)
    opinion = _opinion(values, target, columns, where)
    opinions = (opinion,) if opinion else ()
    unasked = ((target, aspect),) if aspect and not opinion else ()
    ends = [values.get(column) for column in (columns.start, columns.end)]
    mentions = None if all(map(is_blank, ends)) else (_span(ends, where),)
    if target:
        aliases = _listed(values, columns.aliases, where)
        return (Named(target, mentions, tuple(aliases)),), opinions, unasked
    if mentions:
        raise DataError(f"{where}: {columns.target!r} is empty; name the target that is mentioned")
    # Where no row has a target, each is about one thing; where some have, an empty one may only bring a text.
    return (_UNNAMED,) if aspect or not columns.target else (), opinions, unasked


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
    if is_blank(values.get(column)):
        return None
    names = _listed(values, column, where)
    if not names or not all(names):
        raise DataError(f"{where}: {column!r} has an empty name or none; name the aspects asked, or leave it out")
    for name in names:
        if names.count(name) > 1:
            raise DataError(f"{where}: {column!r} names {name!r} twice; name each aspect once")
    return tuple(names)


def _listed(values: Mapping[str, object], column: str, where: str) -> list[str]:
    """Names as a list, or in a table of text with `;` between them."""
    given = values.get(column)
    if is_blank(given):
        return []
    items = given.split(";") if isinstance(given, str) else member(values, column, list, where)
    return [member({column: item}, column, str, where).strip() for item in items]


def _flag(values: Mapping[str, object], column: str, where: str) -> bool:
    """True or false; in a table of text yes or no."""
    given = values.get(column)
    if is_blank(given):
        return False
    word = str(given).strip().lower()
    if word not in _FLAGS:
        raise DataError(f"{where}: {column!r} is {given!r}; expected yes or no")
    return _FLAGS[word]


def _tags(values: Mapping[str, object], columns: Columns, where: str) -> dict[str, str]:
    named = {"domain": columns.domain, "kind": columns.kind}
    found = {tag: _optional(values, column, where) for tag, column in named.items() if column in values}
    return {tag: value for tag, value in found.items() if value}


def _opinion(values: Mapping[str, object], target: str, columns: Columns, where: str) -> Opinion | None:
    """The opinion, `none` too; None where there is no aspect, or no polarity: then it was not asked."""
    aspect = _optional(values, columns.aspect, where)
    polarity = _optional(values, columns.polarity, where).lower()
    polarity = _SHORT.get(polarity, polarity)
    if aspect and polarity:
        return Opinion(target, aspect, polarity)
    if not aspect and polarity not in ("", NONE):
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
