"""Typed configuration: frozen dataclasses, one documented option a field, read from TOML and checked.

A configuration is a dataclass whose fields come from `option`. `build` makes one from plain data; an unknown key, a
wrong type or a value out of range is one line that names the key and what was expected.
"""

import dataclasses
import json
import math
import tomllib
import types
import typing
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, TypeVar

from tabsa.errors import ConfigError, nearest
from tabsa.files import read_text

T = TypeVar("T")
_WORDS = {bool: "true or false", int: "a whole number", float: "a finite number", str: "a text"}


def option(default: T, help: str, *, low: float | None = None, high: float | None = None) -> T:  # noqa: A002
    """Return a field with its default, one line of documentation, and the least and the greatest value it may take."""
    return dataclasses.field(default=default, metadata={"help": help, "low": low, "high": high})


def build(cls: type[T], values: Mapping[str, Any], where: str = "") -> T:
    """Make a `cls` of `values`; `where` is the section's name, for messages."""
    fields = {field.name: field for field in dataclasses.fields(cls)}  # type: ignore[arg-type]
    hints = typing.get_type_hints(cls)
    if unknown := [key for key in values if key not in fields]:
        raise ConfigError(f"unknown key '{where}{unknown[0]}'{nearest(unknown[0], fields)}")
    return cls(**{key: _check(value, hints[key], fields[key], where + key) for key, value in values.items()})


def _check(value: Any, hint: Any, field: "dataclasses.Field[Any]", name: str) -> Any:
    """Return the value as the hint has it; a one-line ConfigError where it does not fit."""
    if dataclasses.is_dataclass(hint) and isinstance(hint, type):
        if isinstance(value, hint):
            return value
        if isinstance(value, Mapping):
            return build(typing.cast("type[Any]", hint), value, f"{name}.")
        raise ConfigError(f"'{name}' is a section: expected [{name}], got {value!r}")
    inner = typing.get_args(hint)
    if typing.get_origin(hint) is types.UnionType:  # X | None
        return None if value is None else _check(value, inner[0], field, name)
    if typing.get_origin(hint) is typing.Literal:
        if value not in inner:
            raise ConfigError(f"'{name}' is {value!r}{nearest(str(value), inner)}")
        return value
    if typing.get_origin(hint) is tuple:
        if not isinstance(value, list | tuple):
            raise ConfigError(f"'{name}' is {value!r}; expected a list")
        return tuple(_check(item, inner[0], field, name) for item in value)
    if typing.get_origin(hint) is dict and isinstance(value, dict):
        return value
    if hint is float and type(value) is int and abs(value) < 1e300:
        value = float(value)
    if type(value) is not hint or (hint is float and not math.isfinite(value)):
        raise ConfigError(f"'{name}' is {value!r}; expected {_WORDS.get(hint, hint)}")
    low, high = field.metadata.get("low"), field.metadata.get("high")
    if (low is not None and value < low) or (high is not None and value > high):
        limits = [f"at least {low}"] * (low is not None) + [f"at most {high}"] * (high is not None)
        raise ConfigError(f"'{name}' is {value!r}; expected {' and '.join(limits)}")
    return value


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
        *sections, key = name.strip().split(".")
        place: Any = values
        for section in sections:
            place = place.setdefault(section, {}) if isinstance(place, dict) else None
        if not (equals and key and isinstance(place, dict)):
            raise ConfigError(f"'{setting}' is not a setting; expected section.key=value, such as training.epochs=10")
        try:
            place[key] = tomllib.loads(f"value = {text.strip()}")["value"]
        except tomllib.TOMLDecodeError:
            place[key] = text.strip()
    return values


def to_toml(config: object, where: str = "") -> str:
    """Return the configuration as TOML, every field with its documentation; `where` goes before sections' names."""
    lines: list[str] = []
    sections: list[str] = []
    for field in dataclasses.fields(config):  # type: ignore[arg-type]
        value = getattr(config, field.name)
        if dataclasses.is_dataclass(value):
            sections.append(f"\n[{where}{field.name}]\n{to_toml(value, f'{where}{field.name}.')}")
        else:
            text = json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")  # TOML but for this character
            lines.append(f"{field.name} = {text}  # {field.metadata.get('help', '')}".rstrip(" #"))
    return "\n".join([*lines, *sections])
