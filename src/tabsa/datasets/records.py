"""One row of a user's table, in either of its two shapes: flat (one opinion a row) or nested (one text)."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final, NamedTuple

from tabsa.config import option
from tabsa.errors import DataError
from tabsa.schema import NEGATIVE, NEUTRAL, NONE, POSITIVE, UNNAMED, Opinion, Span
from tabsa.tables.fields import guess_text_column, is_blank, list_columns, member, members, require_columns


@dataclass(frozen=True, slots=True)
class Columns:
    """Names of the columns of a user's file (in JSON, its keys)."""

    text: str = option("text", "the text")
    id: str = option("id", "what rows of one text share, if there is such a column")
    target: str = option("target", "who or what is judged; empty: there is no such column, and no text names it")
    aspect: str = option("aspect", "on what")
    polarity: str = option("polarity", "how")


DEFAULT_COLUMNS: Final = Columns()
_TAGS: Final = ("domain", "kind")  # columns
_SHORT: Final = {"pos": POSITIVE, "neg": NEGATIVE, "neu": NEUTRAL}  # of polarities


class Named(NamedTuple):
    """A target as a record names it; `mentions` is None where they are to be found in the text."""

    name: str
    mentions: tuple[Span, ...] | None = None
    aliases: tuple[str, ...] = ()


_UNNAMED: Final = Named(UNNAMED, mentions=())  # what the text is about and does not name: there is nothing to find


@dataclass(frozen=True, slots=True)
class Record:
    """One row. Opinions may repeat, and may have the polarity `none`; `id` is empty where there is none."""

    id: str
    text: str
    targets: tuple[Named, ...]
    opinions: tuple[Opinion, ...]
    unlabelled: tuple[tuple[str, str], ...] = ()  # pairs of a target and an aspect that were left without a polarity
    aspects: tuple[str, ...] | None = None  # those asked of the text, where the row has a list of them
    tags: Mapping[str, str] = field(default_factory=dict)
    single_questions: bool = False  # `asked_only`: the row's pairs are all that is known of the text
    withdrawn: bool = False  # earlier rows on the unlabelled pairs do not count


def parse_row(values: Mapping[str, object], columns: Columns, where: str) -> Record:
    """Read a row: flat where it names one target, nested where it lists its targets or its opinions."""
    text = member(values, columns.text, str, where)
    if not text.strip():
        raise DataError(f"{where}: {columns.text!r} is empty; expected the text that is judged")
    targets: list[Named] = []
    labels = [(values, where)]
    if _is_nested(values, columns):
        listed = enumerate(_items(values, "targets", where), start=1)
        targets = [_named(target, f"{where}, target {number}") for number, target in listed]
        judged = [(item, f"{where}, opinion {n}") for n, item in enumerate(_items(values, "opinions", where), start=1)]
        labels = [(members(item, place), place) for item, place in judged]
    opinions, unlabelled = [], []
    for fields, place in labels:
        target = _optional(fields, columns.target, place) if columns.target else UNNAMED
        aspect = _optional(fields, columns.aspect, place)
        polarity = _optional(fields, columns.polarity, place).lower()
        if aspect and polarity:
            opinions.append(Opinion(target, aspect, _SHORT.get(polarity, polarity)))
        elif aspect:
            unlabelled.append((target, aspect))
        elif polarity not in ("", NONE):
            raise DataError(f"{place}: polarity {polarity!r} has no {columns.aspect!r}; name the aspect that is judged")
        # Where no row has a target, each is about one thing; where some have, an empty one may only bring a text.
        if (target or aspect or not columns.target) and target not in {one.name for one in targets}:
            targets.append(Named(target, None, _names(fields, "aliases", place)) if target else _UNNAMED)
    return Record(
        _identifier(values, columns.id, where),
        text,
        targets=tuple(targets),
        opinions=tuple(opinions),
        unlabelled=tuple(unlabelled),
        aspects=_names(values, "aspects", where) or None,
        tags={tag: value for tag in _TAGS if tag in values and (value := _optional(values, tag, where))},
        single_questions=_flag(values, "asked_only"),
        withdrawn=bool(unlabelled) and _flag(values, "withdrawn"),
    )


def _is_nested(names: Collection[str], columns: Columns) -> bool:
    return columns.target not in names and ("targets" in names or "opinions" in names)


def _named(target: object, where: str) -> Named:
    """Read a target of a nested row: a name, an object with its mentions or aliases, or null where it has no name."""
    if target is None:
        return _UNNAMED
    fields = {"name": target} if isinstance(target, str) else members(target, where)
    name = member(fields, "name", str, where).strip()
    if not name:
        raise DataError(f"{where} has an empty name; name the target, or write null where the text does not")
    mentions = None
    if fields.get("mentions") is not None:
        mentions = tuple(sorted({_span(pair, where) for pair in _items(fields, "mentions", where)}))
    return Named(name, mentions, _names(fields, "aliases", where))


def _span(pair: object, where: str) -> Span:
    """Read a mention from two numbers; a table with gaps in a column of numbers has 3.0 for 3."""
    if isinstance(pair, list) and len(pair) == 2 and all(map(_is_whole, pair)):
        return Span(int(pair[0]), int(pair[1]))
    raise DataError(f"{where}: the mention {pair!r} is not two whole numbers, its start and its end")


def _is_whole(number: object) -> bool:
    return isinstance(number, int) or (isinstance(number, float) and number.is_integer())


def _identifier(values: Mapping[str, object], column: str, where: str) -> str:
    value = values.get(column)
    if _is_whole(value) and not isinstance(value, bool):
        return f"{value:.0f}"
    return "" if is_blank(value) else member(values, column, str, where).strip()


def _names(values: Mapping[str, object], column: str, where: str) -> tuple[str, ...]:
    """Read names, each once: a list, or in a table of text with `;` between them."""
    given = values.get(column)
    if is_blank(given):
        return ()
    items = given.split(";") if isinstance(given, str) else member(values, column, list, where)
    return tuple(dict.fromkeys(name for item in items if (name := member({column: item}, column, str, where).strip())))


def _flag(values: Mapping[str, object], column: str) -> bool:
    """Read true or false; in a table of text yes or no."""
    return str(values.get(column)).strip().lower() in ("yes", "true", "1")


def _optional(values: Mapping[str, object], column: str, where: str) -> str:
    return "" if column in values and is_blank(values[column]) else member(values, column, str, where).strip()


def _items(values: Mapping[str, object], key: str, where: str) -> list[object]:
    return [] if values.get(key) is None else member(values, key, list, where)


def settled_columns(path: Path | str, values: Mapping[str, object], columns: Columns) -> tuple[Columns, dict[str, str]]:
    """Return the columns as a file has them, by its first row, and notes on what was not as named, by their codes.

    Where none was named, texts are in the column with most words, and a file may be without a column of targets.
    """
    notes = {}
    roles = [columns.id, columns.target, columns.aspect, columns.polarity]
    if columns.text == DEFAULT_COLUMNS.text not in values and (guess := guess_text_column([values], roles)):
        columns = replace(columns, text=guess)
        notes["guessed_text_column"] = f"no column 'text': texts are taken from {guess!r}"
    wanted = [columns.text, None if columns.id == DEFAULT_COLUMNS.id else columns.id]
    if not _is_nested(values, columns):
        labels = {columns.aspect, columns.polarity} <= {*values}  # without these, it is a column of another name
        if columns.target == DEFAULT_COLUMNS.target not in values and labels:
            columns = replace(columns, target="")
            notes["no_target_column"] = (
                f"no column 'target' (only {list_columns(values)}): every text is taken to be about one thing that it "
                "does not name; if a column does, name it with --target-column (in Python columns={'target': ...})"
            )
        wanted += [columns.target or None, columns.aspect, columns.polarity]
    require_columns(path, values, wanted)
    return columns, notes
