"""Whose opinions are asked for: the same names of every row, or each row's own."""

from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Final, Protocol

from tabsa.errors import DataError
from tabsa.files import read_text
from tabsa.schema import UNNAMED, Target
from tabsa.tables.fields import is_blank, parse_json
from tabsa.tables.rows import Values
from tabsa.text.aspects import without_comment
from tabsa.text.targets import TargetFinder

_REMEMBERED: Final = 200  # characters of names whose finder is kept for the next row


class Targets(Protocol):
    """Says which targets are asked of a row."""

    def of(self, values: Values, text: str, *, implied: bool = False) -> tuple[tuple[str, ...], tuple[Target, ...]]:
        """The names asked of the row, and those of them that its text mentions, with their mentions.

        With `implied`, a row that names nobody asks about what its text is about and does not name.
        """


class SharedTargets:
    """The same names for every row; where there are none, what a text is about and does not name."""

    def __init__(self, names: Mapping[str, Sequence[str]]) -> None:
        self._finder = TargetFinder(names)
        self.names = self._finder.names or (UNNAMED,)

    def of(
        self,
        values: Values,  # noqa: ARG002
        text: str,
        *,
        implied: bool = False,  # noqa: ARG002
    ) -> tuple[tuple[str, ...], tuple[Target, ...]]:
        """See `Targets`."""
        return self.names, self._finder.find(text)


class OwnTargets:
    """Each row's own, from one of its columns: one name, several with `;` between them, or a list."""

    def __init__(self, column: str, *, most: int | None = None, longest: int | None = None) -> None:
        self.column, self._most, self._longest = column, most, longest

    def of(self, values: Values, text: str, *, implied: bool = False) -> tuple[tuple[str, ...], tuple[Target, ...]]:
        """See `Targets`."""
        given = values.get(self.column)
        if implied and is_blank(given):
            return (UNNAMED,), ()
        finder = _finder(self._names(given))
        return finder.names, finder.find(text)

    def _names(self, value: object) -> tuple[str, ...]:
        if isinstance(value, str) and value.lstrip().startswith("["):
            value = parse_json(value, repr(self.column))
        listed = value.split(";") if isinstance(value, str) else value
        if is_blank(listed):
            listed = []
        if not isinstance(listed, list) or not all(isinstance(name, str) for name in listed):
            raise DataError(f"{self.column!r} is neither a name nor a list of names")
        names = tuple(dict.fromkeys(name.strip() for name in listed if name.strip()))
        if not names:
            raise DataError(f"no target in {self.column!r}")
        if self._most is not None and len(names) > self._most:
            raise DataError(f"{len(names):,} targets in {self.column!r}; at most {self._most:,} are allowed")
        if self._longest is not None and (longest := max(map(len, names))) > self._longest:
            raise DataError(f"a target in {self.column!r} has {longest:,} characters; at most {self._longest:,}")
        return names


def _finder(names: tuple[str, ...]) -> TargetFinder:
    """What finds the names; that of many or long ones is not kept."""
    return _remembered_finder(names) if sum(map(len, names)) <= _REMEMBERED else TargetFinder(names)


@lru_cache(maxsize=256)
def _remembered_finder(names: tuple[str, ...]) -> TargetFinder:
    return TargetFinder(names)


def read_targets(path: Path) -> dict[str, tuple[str, ...]]:
    """The targets of a file, each with its aliases.

    A line is a name and its aliases, with tabs between them or else commas. A `#` starts a comment, at the start of a
    line or where there is white space on both sides.
    """
    targets: dict[str, tuple[str, ...]] = {}
    for number, line in enumerate(read_text(path).splitlines(), start=1):
        bare = without_comment(line)
        names = [name for part in bare.split("\t" if "\t" in bare.strip() else ",") if (name := part.strip())]
        if not names:
            continue
        if names[0] in targets:
            raise DataError(f"{path} line {number}: the target {names[0]!r} is given twice; give it once")
        targets[names[0]] = tuple(dict.fromkeys(names[1:]))
    if not targets:
        raise DataError(f"{path} names no target; expected one name a line")
    try:
        TargetFinder(targets)
    except DataError as e:
        raise DataError(f"{path}: {e}") from e
    return targets
