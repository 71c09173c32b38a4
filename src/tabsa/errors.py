"""Errors a user can cause and mend; the command line prints one as a single line and exits with 1.

    TabsaError
    ├── DataError           a data file is malformed, or holds something unexpected
    │   └── DataNotFoundError   it is not where data is looked for, and cannot be fetched
    ├── ConfigError         a configuration names an unknown key or a wrong value
    ├── ModelError          a model folder cannot be read, or does not fit the request
    └── OutputError         a result cannot be written

A message says what was wrong, what was expected, and what to try, in words that hold for every caller. What only one
caller can do about it (an option of the command line, a field of a request) that caller adds, by the error's code.
"""

from collections.abc import Iterable
from difflib import get_close_matches


class TabsaError(Exception):
    """Base of all: one line for people; for programs a `code`, where they can do something, and `fields`."""

    def __init__(self, message: str, *, code: str = "", **fields: object) -> None:
        super().__init__(_one_line(message))
        self.code, self.fields = code, fields


def _one_line(message: str) -> str:
    """Return the message without line ends and without anything that a terminal would obey."""
    if message.isprintable():
        return message
    line = " ".join(message.splitlines()).strip()
    return "".join(f"\\x{ord(mark):02x}" if mark < " " or "\x7f" <= mark < "\xa0" else mark for mark in line)


class DataError(TabsaError):
    """A data file is malformed, or holds something unexpected."""


def nearest(word: str, choices: Iterable[str]) -> str:
    """Return what a message says after a word that is none of the choices: the nearest, and all."""
    names = list(choices)
    near = get_close_matches(word.lower(), names, n=1, cutoff=0.5)
    hint = f"; did you mean '{near[0]}'?" if near else ";"
    return f"{hint} expected one of {', '.join(names)}"


def unknown_name(what: str, name: str, known: Iterable[str], also: str = "") -> DataError:
    """Return the error for a name that is none of the known ones; `also` is what else would do."""
    return DataError(f"unknown {what} {name!r}{nearest(name, known)}{also}")


class DataNotFoundError(DataError):
    """A dataset is not where data is looked for, or cannot be fetched."""


class ConfigError(TabsaError):
    """A configuration names an unknown key or a wrong value."""


class ModelError(TabsaError):
    """A model folder cannot be read, or does not fit the request."""


class OutputError(TabsaError):
    """A result cannot be written."""


def first_line(error: Exception) -> str:
    """Return the first line of another library's error, for a message of ours; its class where it has none."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return lines[0] if lines else type(error).__name__


class DataWarning(UserWarning):
    """Something in the data was dropped or taken in a way its author may not expect; the message says what."""
