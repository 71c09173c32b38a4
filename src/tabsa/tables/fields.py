"""Checked values of a record that came out of JSON or a table, and the columns of a table."""

import json
import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Final, TypeVar

from tabsa.errors import DataError

_Kind = TypeVar("_Kind")
_WORDS: Final[dict[type, str]] = {str: "text", list: "a list", dict: "an object", int: "a number"}


def parse_json(text: str, where: str) -> object:
    """Return the JSON value, or raise one clear line saying where it is broken."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as e:  # also a number of thousands of digits, and lists in lists in lists
        raise DataError(f"{where} is not JSON: {e}") from e


def is_whole(value: object) -> bool:
    """Tell whether no half of a character (a lone surrogate), which no file or page can hold, is in a text or a row."""
    written = json.dumps(value, ensure_ascii=False, default=str)
    try:
        return written.isascii() or bool(written.encode())
    except UnicodeEncodeError:
        return False


def is_blank(value: object) -> bool:
    """Tell whether a field says nothing: absent, null, NaN or only spaces."""
    if isinstance(value, str):
        return not value.strip()
    return value is None or (isinstance(value, float) and math.isnan(value))


def members(record: object, where: str) -> Mapping[str, object]:
    """Return the record, which must be an object."""
    if not isinstance(record, Mapping):
        raise DataError(f"{where} is {record!r:.60}; expected an object")
    return record


def member(record: object, key: str, kind: type[_Kind], where: str) -> _Kind:
    """Return `record[key]`, which must be of that kind; `record` must be an object."""
    fields = members(record, where)
    if key not in fields:
        raise DataError(f"{where} has no {key!r}; it has {', '.join(map(repr, fields)) or 'nothing'}")
    value = fields[key]
    if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
        raise DataError(f"{where}: {key!r} is {value!r:.60}; expected {_WORDS[kind]}")
    if not is_whole(value):
        raise DataError(f"{where}: {key!r} holds half a character (a lone surrogate); write it as UTF-8 or as a pair")
    return value


def require_columns(path: Path | str, names: Collection[str], wanted: Iterable[str | None]) -> None:
    """Raise one DataError that names all columns that a table was said to have and has not, with the nearest."""
    folded = {name.casefold().strip(): name for name in names}
    missing = []
    for name in dict.fromkeys(wanted):
        if name is not None and name not in names:
            near = get_close_matches(name.casefold(), folded, n=1)
            missing.append(f"{name!r} (did you mean {folded[near[0]]!r}?)" if near else repr(name))
    if missing:
        listed = f"column{'s' * (len(missing) > 1)} {', '.join(missing)}"
        raise DataError(f"{path} has no {listed}; it has {list_columns(names)}", code="no_column")


def guess_text_column(rows: Sequence[Mapping[str, object]], taken: Collection[str | None] = ()) -> str | None:
    """Return the column of a table that holds its texts, judged by its first rows: `text`, or that with most words.

    None where several columns hold text and none of them more than single words. `taken` are columns for other things.
    """
    names = [name for name in dict.fromkeys(name for row in rows for name in row) if name not in taken]
    if called := [name for name in names if name.strip().casefold() == "text"]:
        return "text" if "text" in called else called[0]
    words = {
        name: sum(len(str(row.get(name) or "").split()) for row in rows)
        for name in names
        if all(isinstance(row.get(name), str | None) for row in rows)
    }
    best = max(words, key=lambda name: words[name], default=None)
    return best if best is not None and (len(words) == 1 or words[best] >= 2 * len(rows)) else None


def list_columns(names: Collection[str], most: int = 12) -> str:
    """Return the first names, and how many more there are."""
    more = f" and {len(names) - most:,} more" if len(names) > most else ""
    return ", ".join(list(names)[:most]) + more if names else "none"
