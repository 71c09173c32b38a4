"""What one row of a user's table says, in either of its two shapes: flat (one opinion a row) or nested (one text)."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from pathlib import Path
from typing import Final, NamedTuple

from tabsa.config import option
from tabsa.errors import DataError
from tabsa.schema import NEGATIVE, NEUTRAL, NONE, POSITIVE, UNNAMED, Opinion, Span
from tabsa.tables.fields import is_blank, member, members


@dataclass(frozen=True, slots=True)
class Columns:
    """Names of the columns of a user's file (in JSON, its keys)."""

    text: str = option("text", "the text")
    id: str = option("id", "what rows of one text share, if there is such a column")
    target: str = option("target", "who or what is judged; empty: there is no such column, and no text names it")
    aspect: str = option("aspect", "on what")
    polarity: str = option("polarity", "how")


DEFAULT_COLUMNS: Final = Columns()
# Other columns that a file may have: `targets` and `opinions` make a row nested.
_TAGS: Final = ("domain", "kind")
_SHORT: Final = {"pos": POSITIVE, "neg": NEGATIVE, "neu": NEUTRAL}  # of polarities
_FLAGS: Final = {"yes": True, "true": True, "1": True, "no": False, "false": False, "0": False}
# Words that a column's name has where it is not called as here.
_SYNONYMS: Final = {
    "id": ("id", "key", "number"),
    "text": ("text", "review", "comment", "sentence", "content", "body", "message", "tweet", "feedback", "post"),
    "target": ("target", "entity", "product", "brand", "place", "company", "item", "name"),
    "aspect": ("aspect", "topic", "category", "feature", "attribute", "theme"),
    "polarity": ("polarity", "sentiment", "label", "opinion", "class", "rating", "score"),
}
_SHOWN: Final = 12  # columns that a message names


class Named(NamedTuple):
    """A target as a record names it; `mentions` is None where they are to be found in the text."""

    name: str
    mentions: tuple[Span, ...] | None = None
    aliases: tuple[str, ...] = ()


_UNNAMED: Final = Named(UNNAMED, mentions=())  # what the text is about and does not name: there is nothing to find


@dataclass(frozen=True, slots=True)
class Record:
    """What one row says. Opinions may repeat, and may have the polarity `none`; `id` is empty where there is none."""

    id: str
    text: str
    targets: tuple[Named, ...]
    opinions: tuple[Opinion, ...]
    unlabelled: tuple[tuple[str, str], ...] = ()  # pairs of a target and an aspect that were left without a polarity
    aspects: tuple[str, ...] | None = None  # those asked of the text, where the row has a list of them
    tags: Mapping[str, str] = field(default_factory=dict)
    asked_only: bool = False  # nothing but the row's opinions was asked of the text
    withdrawn: bool = False  # earlier rows on the unlabelled pairs do not count


def parse_row(values: Mapping[str, object], columns: Columns, where: str) -> Record:
    """Read a row: flat where it names one target, nested where it lists its targets or its opinions."""
    text = member(values, columns.text, str, where)
    if not text.strip():
        raise DataError(f"{where}: {columns.text!r} is empty; expected the text that is judged")
    unlabelled: tuple[tuple[str, str], ...] = ()
    if _is_nested(values, columns):
        targets, opinions = _nested(values, columns, where)
    else:
        targets, opinions, unlabelled = _flat(values, columns, where)
    aspects = None
    if not is_blank(values.get("aspects")):
        aspects = _names(values, "aspects", where)
        if not aspects:
            raise DataError(f"{where}: 'aspects' has no name in it; name the aspects asked, or leave it out")
    tags = {tag: value for tag in _TAGS if tag in values and (value := _optional(values, tag, where))}
    asked_only = _flag(values, "asked_only", where)
    withdrawn = bool(unlabelled) and _flag(values, "withdrawn", where)
    name = _identifier(values, columns.id, where)
    return Record(name, text, targets, opinions, unlabelled, aspects, tags, asked_only, withdrawn)


def _is_nested(names: Collection[str], columns: Columns) -> bool:
    return columns.target not in names and ("targets" in names or "opinions" in names)


def _flat(
    values: Mapping[str, object], columns: Columns, where: str
) -> tuple[tuple[Named, ...], tuple[Opinion, ...], tuple[tuple[str, str], ...]]:
    target = _optional(values, columns.target, where) if columns.target else UNNAMED
    aspect = _optional(values, columns.aspect, where)
    opinion = _opinion(values, target, columns, where)
    opinions = (opinion,) if opinion else ()
    unlabelled = ((target, aspect),) if aspect and not opinion else ()
    ends = [values.get("start"), values.get("end")]
    mentions = None if all(map(is_blank, ends)) else (_span(ends, where),)
    if target:
        return (Named(target, mentions, _names(values, "aliases", where)),), opinions, unlabelled
    if mentions:
        raise DataError(f"{where}: {columns.target!r} is empty; name the target that is mentioned")
    # Where no row has a target, each is about one thing; where some have, an empty one may only bring a text.
    return (_UNNAMED,) if aspect or not columns.target else (), opinions, unlabelled


def _nested(
    values: Mapping[str, object], columns: Columns, where: str
) -> tuple[tuple[Named, ...], tuple[Opinion, ...]]:
    """Read a row a text: its opinions, and its targets with those that only opinions name."""
    opinions = []
    for number, item in enumerate(_items(values, "opinions", where), start=1):
        place = f"{where}, opinion {number}"
        fields = members(item, place)
        opinion = _opinion(fields, _optional(fields, columns.target, place), columns, place)
        if opinion is None:
            raise DataError(f"{place} is incomplete; expected a target, an aspect and a polarity")
        opinions.append(opinion)
    targets = [
        _UNNAMED if target is None else _named(target, f"{where}, target {number}")
        for number, target in enumerate(_items(values, "targets", where), start=1)
    ]
    names = {target.name for target in targets}
    judged = dict.fromkeys(opinion.target for opinion in opinions if opinion.target not in names)
    return (*targets, *(Named(name) if name else _UNNAMED for name in judged)), tuple(opinions)


def _named(target: object, where: str) -> Named:
    fields = {"name": target} if isinstance(target, str) else members(target, where)
    name = member(fields, "name", str, where).strip()
    if not name:
        raise DataError(f"{where} has an empty name; name the target, or write null where the text does not")
    mentions = None
    if fields.get("mentions") is not None:
        mentions = tuple(sorted({_span(pair, where) for pair in _items(fields, "mentions", where)}))
    return Named(name, mentions, _names(fields, "aliases", where))


def _opinion(values: Mapping[str, object], target: str, columns: Columns, where: str) -> Opinion | None:
    """Read an opinion, `none` too; None where there is no aspect, or no polarity: then it was not asked."""
    aspect = _optional(values, columns.aspect, where)
    polarity = _optional(values, columns.polarity, where).lower()
    if aspect and polarity:
        return Opinion(target, aspect, _SHORT.get(polarity, polarity))
    if not aspect and polarity not in ("", NONE):
        raise DataError(f"{where}: polarity {polarity!r} has no {columns.aspect!r}; name the aspect that is judged")
    return None


def _names(values: Mapping[str, object], column: str, where: str) -> tuple[str, ...]:
    """Read names, each once: a list, or in a table of text with `;` between them."""
    given = values.get(column)
    if is_blank(given):
        return ()
    items = given.split(";") if isinstance(given, str) else member(values, column, list, where)
    return tuple(dict.fromkeys(name for item in items if (name := member({column: item}, column, str, where).strip())))


def _flag(values: Mapping[str, object], column: str, where: str) -> bool:
    """Read true or false; in a table of text yes or no."""
    given = values.get(column)
    if not is_blank(given) and str(given).strip().lower() not in _FLAGS:
        raise DataError(f"{where}: {column!r} is {given!r}; expected yes or no")
    return not is_blank(given) and _FLAGS[str(given).strip().lower()]


def _span(pair: object, where: str) -> Span:
    """Read a mention from two numbers; a spreadsheet or a table with gaps writes them as text or as 3.0."""
    try:
        start, end = (float(number) for number in (pair if isinstance(pair, list) else ()))
        if not (start.is_integer() and end.is_integer()):
            raise ValueError(pair)
    except (TypeError, ValueError, OverflowError) as e:
        raise DataError(f"{where}: the mention {pair!r} is not two whole numbers, its start and its end") from e
    return Span(int(start), int(end))


def _identifier(values: Mapping[str, object], column: str, where: str) -> str:
    value = values.get(column)
    if is_blank(value):
        return ""
    if isinstance(value, float) and value.is_integer():
        value = int(value)  # a table with gaps in a column of numbers has 3.0 for 3
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    return member(values, column, str, where).strip()


def _optional(values: Mapping[str, object], column: str, where: str) -> str:
    return "" if column in values and is_blank(values[column]) else member(values, column, str, where).strip()


def _items(values: Mapping[str, object], key: str, where: str) -> list[object]:
    return [] if values.get(key) is None else member(values, key, list, where)


def settled_columns(path: Path | str, names: Collection[str], columns: Columns) -> Columns:
    """Return the columns as a file with these names has them: without a target, where none was named and none is there.

    Raises:
        DataError: the file has no such column; the message names those that it has, and the likeliest.
    """
    needed = {"text": columns.text}
    if columns.id != DEFAULT_COLUMNS.id:
        needed["id"] = columns.id
    if not _is_nested(names, columns):
        needed |= {"aspect": columns.aspect, "polarity": columns.polarity}
        if columns.target not in ("", DEFAULT_COLUMNS.target):
            needed["target"] = columns.target
    for role, name in needed.items():
        if name not in names:
            guess = _guess(names, role, name)
            perhaps = f"; perhaps it is {guess!r}" if guess else ""
            message = f"{path} has no column {name!r}; it has {_listed(names)}{perhaps}"
            raise DataError(message, code="no_column", role=role, columns=list(names))
    without = columns.target and columns.target not in names and not _is_nested(names, columns)
    return replace(columns, target="") if without else columns


def no_target_note(names: Collection[str]) -> str:
    """Return a note on a file without a column of targets."""
    guess = _guess([name for name in names if name != DEFAULT_COLUMNS.text], "target", "target")
    perhaps = f" (perhaps {guess!r})" if guess else ""
    return (
        f"no column 'target' (only {_listed(names)}): every text is taken to be about one thing that it does "
        f"not name; if a column does{perhaps}, name it with --target-column (in Python columns={{'target': ...}})"
    )


def _listed(names: Collection[str]) -> str:
    more = f" and {len(names) - _SHOWN:,} more" if len(names) > _SHOWN else ""
    return ", ".join(list(names)[:_SHOWN]) + more if names else "none"


def _guess(names: Collection[str], role: str, wanted: str) -> str | None:
    """Return the column that is likeliest meant: by its spelling, or by the words in its name."""
    folded = {name.casefold().strip(): name for name in names}
    near = get_close_matches(wanted.casefold(), folded, n=1, cutoff=0.75)
    if near:
        return folded[near[0]]
    return next((name for word in _SYNONYMS[role] for low, name in folded.items() if word in low), None)
