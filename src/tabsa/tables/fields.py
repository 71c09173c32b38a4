"""Checked values of a record that came out of JSON or a table."""

import json
import math
from collections.abc import Mapping
from typing import Final, TypeVar

from tabsa.errors import DataError

_Kind = TypeVar("_Kind")
TORN: Final = "torn_line"  # the code of an error: an object begins, and breaks off
_WORDS = {str: "text", list: "a list", dict: "an object", bool: "true or false", int: "a number", float: "a number"}


def parse_json(text: str, where: str) -> object:
    """The JSON value, or one clear line saying where it is broken."""
    try:
        return json.loads(text)
    except json.JSONDecodeError as e:
        line = f"line {e.lineno} " if "\n" in text.strip() else ""
        torn = e.pos >= len(text.rstrip()) or e.msg.startswith("Unterminated string")
        code = TORN if torn and text.lstrip().startswith("{") else ""
        raise DataError(f"{where} is not JSON: {e.msg} ({line}column {e.colno})", code=code) from e
    except (ValueError, RecursionError) as e:  # a number of thousands of digits; lists in lists in lists
        raise DataError(f"{where} is not usable JSON: {e}") from e


def is_whole(values: Mapping[str, object]) -> bool:
    """Whether no half of a character (a lone surrogate) is in a row, which no file or page can hold."""
    for piece in (*values, *values.values()):
        written = json.dumps(piece, ensure_ascii=False, default=str) if isinstance(piece, list | dict) else piece
        if isinstance(written, str) and not written.isascii():
            try:
                written.encode()
            except UnicodeEncodeError:
                return False
    return True


def members(record: object, where: str) -> Mapping[str, object]:
    """The record, which must be an object."""
    if not isinstance(record, Mapping):
        raise DataError(f"{where} is {_word(record)}; expected an object")
    return record


def member(record: object, key: str, kind: type[_Kind], where: str) -> _Kind:
    """`record[key]`, which must be of that kind; `record` must be an object."""
    fields = members(record, where)
    if key not in fields:
        raise DataError(f"{where} has no {key!r}; it has {', '.join(map(repr, fields)) or 'nothing'}")
    value = fields[key]
    if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
        raise DataError(f"{where}: {key!r} is {_word(value)}; expected {_WORDS[kind]}")
    if isinstance(value, str) and not _is_unicode(value):
        raise DataError(f"{where}: {key!r} holds half a character (a lone surrogate); write it as UTF-8 or as a pair")
    return value


def is_blank(value: object) -> bool:
    """Whether a field says nothing: absent, null, NaN or only spaces."""
    return (
        value is None
        or (isinstance(value, float) and math.isnan(value))
        or (isinstance(value, str) and not value.strip())
    )


def _is_unicode(value: str) -> bool:
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True


def _word(value: object) -> str:
    return "null" if value is None else _WORDS.get(type(value), f"a {type(value).__name__}")
