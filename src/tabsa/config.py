"""Typed configuration: frozen dataclasses, one documented option a field, read from TOML and checked.

A configuration is a dataclass whose fields come from `option`. `build` makes one from plain data; an unknown key, a
wrong type or a value out of range is one line that names the key and what was expected.
"""

import dataclasses
import difflib
import json
import math
import tomllib
import types
import typing
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, TypeVar

from tabsa.errors import ConfigError
from tabsa.files import read_text

T = TypeVar("T")


def option(default: T, help: str, *, low: float | None = None, high: float | None = None) -> T:  # noqa: A002
    """Return a field with its default, one line of documentation, and the least and the greatest value it may take."""
    metadata = {"help": help, "low": low, "high": high}
    field: T = dataclasses.field(default=default, metadata=metadata)
    return field


def build(cls: type[T], values: Mapping[str, Any], where: str = "") -> T:
    """Make a `cls` of `values`; `where` is the section's name, for messages."""
    fields = {field.name: field for field in dataclasses.fields(cls)}  # type: ignore[arg-type]
    hints = typing.get_type_hints(cls)
    if unknown := [key for key in values if key not in fields]:
        raise ConfigError(f"unknown key '{where}{unknown[0]}'{nearest(unknown[0], fields)}")
    return cls(**{key: _check(value, hints[key], fields[key], where + key) for key, value in values.items()})


def nearest(word: str, choices: Iterable[str]) -> str:
    """Return `; did you mean 'X'?`, or the list of choices where none is near."""
    choices = list(choices)
    match = difflib.get_close_matches(word, choices, n=1, cutoff=0.5)
    return f"; did you mean '{match[0]}'?" if match else f"; expected one of: {', '.join(choices)}"


def _check(value: Any, hint: Any, field: "dataclasses.Field[Any]", name: str) -> Any:
    """Return the value as the hint has it; a one-line ConfigError where it does not fit."""
    if dataclasses.is_dataclass(hint) and isinstance(hint, type):
        if isinstance(value, hint):
            return value
        if not isinstance(value, Mapping):
            raise ConfigError(f"'{name}' is a section: expected [{name}], got {value!r}")
        return build(typing.cast("type[Any]", hint), value, f"{name}.")
    origin, inner = typing.get_origin(hint), typing.get_args(hint)
    if origin is typing.Literal:
        if value not in inner:
            raise ConfigError(f"'{name}' is {value!r}{nearest(str(value), map(str, inner))}")
        return value
    if origin in (typing.Union, types.UnionType):
        for choice in inner:
            try:
                return _check(value, choice, field, name)
            except ConfigError:
                continue
        raise ConfigError(f"'{name}' is {value!r}; expected {_words(hint)}")
    if origin is tuple:
        if not isinstance(value, list | tuple):
            raise ConfigError(f"'{name}' is {value!r}; expected a list")
        return tuple(_check(item, inner[0], field, name) for item in value)
    if hint is float and type(value) is int and abs(value) < 1e300:
        value = float(value)
    if hint is type(None) or type(value) is not hint:
        raise ConfigError(f"'{name}' is {value!r}; expected {_words(hint)}")
    if hint is float and not math.isfinite(value):
        raise ConfigError(f"'{name}' is {value!r}; expected a finite number")
    low, high = field.metadata.get("low"), field.metadata.get("high")
    if (low is not None and value < low) or (high is not None and value > high):
        limits = ((low, f"at least {low}"), (high, f"at most {high}"))
        expected = " and ".join(words for limit, words in limits if limit is not None)
        raise ConfigError(f"'{name}' is {value!r}; expected {expected}")
    return value


def _words(hint: Any) -> str:
    if typing.get_origin(hint) in (typing.Union, types.UnionType):
        return " or ".join(_words(choice) for choice in typing.get_args(hint))
    if typing.get_origin(hint) is tuple:
        return f"a list of {_words(typing.get_args(hint)[0])}"
    names = {bool: "true or false", int: "a whole number", float: "a number", str: "a text"}
    return names.get(hint, str(hint))


def read_toml(path: Path) -> dict[str, Any]:
    """Read the file's tables as plain data, or raise one clear line."""
    try:
        return tomllib.loads(read_text(path, ConfigError))
    except tomllib.TOMLDecodeError as e:
        raise ConfigError(f"{path} is not valid TOML: {e}") from e


def override(values: dict[str, Any], settings: Iterable[str]) -> dict[str, Any]:
    """Apply `section.key=value` settings; a value is read as TOML, and as a text where it is not TOML."""
    for setting in settings:
        name, equals, text = setting.partition("=")
        if not equals or not name.strip():
            raise ConfigError(f"'{setting}' is not a setting; expected section.key=value, such as training.epochs=10")
        try:
            value = tomllib.loads(f"value = {text.strip()}")["value"]
        except tomllib.TOMLDecodeError:
            value = text.strip()
        *sections, key = name.strip().split(".")
        place = values
        for section in sections:
            place = place.setdefault(section, {})
            if not isinstance(place, dict):
                raise ConfigError(f"'{setting}': '{section}' is not a section")
        place[key] = value
    return values


def to_toml(config: object, where: str = "") -> str:
    """Return the configuration as TOML, every field written out, with its documentation as a comment.

    `where` is the section's name, with a point after it, for the sections in it.
    """
    lines: list[str] = []
    sections: list[str] = []
    for field in dataclasses.fields(config):  # type: ignore[arg-type]
        value = getattr(config, field.name)
        if dataclasses.is_dataclass(value):
            inner = to_toml(value, f"{where}{field.name}.").rstrip()
            sections.append(f"\n[{where}{field.name}]\n{inner}")
        else:
            text = json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")  # TOML but for this character
            lines.append(f"{field.name} = {text}  # {field.metadata.get('help', '')}".rstrip(" #"))
    return "\n".join([*lines, *sections]).lstrip("\n").rstrip("\n") + "\n"
