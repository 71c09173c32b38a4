"""Errors a user can cause and mend; the command line prints one as a single line and exits with 1.

    TabsaError
    ├── DataError           a data file is malformed, or holds something unexpected
    │   └── DataNotFoundError   it is not where data is looked for
    ├── FetchError          a download failed, or gave other bytes than expected
    ├── ConfigError         a configuration names an unknown key or a wrong value
    ├── ModelError          a model folder cannot be read, or does not fit the request
    └── OutputError         a result cannot be written

A message says what was wrong, what was expected, and what to try, in words that hold for every caller. What only one
caller can do about it (an option of the command line, a field of a request) that caller adds, by the error's code.
"""

from collections.abc import Iterable
from difflib import get_close_matches


class TabsaError(Exception):
    """Base of all: one line for people; for programs a `code`, by default its kind, and `fields` such as a path."""

    kind = "error"

    def __init_subclass__(cls, *, kind: str = "") -> None:
        cls.kind = kind or cls.kind

    def __init__(self, message: str, *, code: str = "", **fields: object) -> None:
        super().__init__(_one_line(message))
        self.code, self.fields = code or self.kind, fields


def _one_line(message: str) -> str:
    """Return the message without line ends and without anything that a terminal would obey."""
    if message.isprintable():
        return message
    line = " ".join(message.splitlines()).strip()
    return "".join(f"\\x{ord(mark):02x}" if mark < " " or "\x7f" <= mark < "\xa0" else mark for mark in line)


class DataError(TabsaError, kind="bad_data"):
    """A data file is malformed, or holds something unexpected."""


def unknown_name(what: str, name: str, known: Iterable[str], also: str = "") -> DataError:
    """Return the error for a name that is none of the known ones: the nearest, then all, and what else would do."""
    names = list(known)
    near = get_close_matches(name.lower(), names, n=1)
    hint = f"; did you mean {near[0]!r}?" if near else ";"
    return DataError(f"unknown {what} {name!r}{hint} expected one of {', '.join(names)}{also}")


class DataNotFoundError(DataError, kind="data_not_found"):
    """A dataset is not where data is looked for."""


class FetchError(TabsaError, kind="fetch_failed"):
    """A download failed, or gave other bytes than expected."""


class ConfigError(TabsaError, kind="bad_config"):
    """A configuration names an unknown key or a wrong value."""


class ModelError(TabsaError, kind="bad_model"):
    """A model folder cannot be read, or does not fit the request."""


class OutputError(TabsaError, kind="bad_output"):
    """A result cannot be written."""


def first_line(error: Exception) -> str:
    """Return the first line of another library's error, for a message of ours; its class where it has none."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return lines[0] if lines else type(error).__name__


class DataWarning(UserWarning):
    """Something in the data was dropped or taken in a way its author may not expect; the message says what."""
