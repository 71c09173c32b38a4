"""What is asked of a table, and which of its columns and targets that means."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import NamedTuple

from tabsa.errors import ConfigError, DataError
from tabsa.files import read_text
from tabsa.inference.predictor import Predictor
from tabsa.schema import UNNAMED, Target
from tabsa.tables.fields import guess_text_column, is_blank, is_whole, list_columns, parse_json, require_columns
from tabsa.tables.reading import Row, Values
from tabsa.text.aspects import without_comment
from tabsa.text.targets import TargetFinder


class Layout(StrEnum):
    """How answers are laid out: a column for each target-aspect pair, or a row for each opinion."""

    WIDE = "wide"
    LONG = "long"


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What to ask of every row, and how to lay out the answers; either `targets` or `target_column` is given."""

    # Names, each with its aliases, to look for in every row; with `implied` it may be empty: what no text names.
    targets: Mapping[str, Sequence[str]] | None = None
    target_column: str | None = None  # the column that names a row's own targets
    # A text that does not name a target is taken to be about it; None: as the model was trained.
    implied: bool | None = None
    aspects: Sequence[str] | None = None  # as for `Predictor.predict`; the model's own by default
    exclusive: bool = False  # the aspects exclude each other, as for `Predictor.predict`
    text_column: str | None = None  # by default `text`, or the column with most words
    id_column: str | None = None  # "id" by default, if there is one
    layout: Layout = Layout.WIDE
    probabilities: bool = False  # the wide layout has them only on request, the long one always
    every: bool = False  # the long layout has a row for `none`, too
    evidence: bool = False  # beside each opinion, the sentence that carries it
    escape_formulas: bool = False  # in a CSV, text that a spreadsheet would take for a formula has an apostrophe first
    chunk: int = 1024  # rows that are read, scored and saved together
    longest_text: int = 1_000_000  # characters; a row with more is rejected
    most_targets: int | None = None  # of a row's own; one with more is rejected

    def __post_init__(self) -> None:
        object.__setattr__(self, "layout", Layout(self.layout))
        if (self.targets is None) == (self.target_column is None):
            raise ConfigError("expected either targets to look for in every row, or the column that names a row's own")
        if self.targets is not None and not self.targets and self.implied is False:
            raise ConfigError("no target is named; name at least one")
        if self.chunk < 1:
            raise ConfigError(f"a chunk is {self.chunk} rows; expected at least 1")
        named = [*(self.targets or ()), *(self.aspects or ())]
        if not is_whole(named):
            raise ConfigError("half a character (a lone surrogate) is in a name; write it as UTF-8")


class TableColumns(NamedTuple):
    """The table's columns, and which of them are for what."""

    names: tuple[str, ...]
    text: str
    id: str | None


def find_columns(path: Path, rows: Sequence[Row], request: Request) -> TableColumns:
    """Return the columns of a table, judged by its first rows.

    Raises:
        DataError: columns that the request names are not there, or none looks like the texts.
    """
    names = tuple(dict.fromkeys(name for row in rows for name in row.values))
    others = (request.id_column, request.target_column)
    require_columns(path, names, (request.text_column, *others))
    identity = request.id_column or ("id" if "id" in names else None)
    text = request.text_column or guess_text_column([row.values for row in rows], (identity, *others))
    if text is None:
        raise DataError(f"{path} has no column 'text', only: {list_columns(names)}", code="no_text_column")
    return TableColumns(names, text, identity)


def guessed_text(path: Path, columns: TableColumns, request: Request) -> str:
    """Return a line on the column of texts where it was guessed; otherwise ""."""
    named = columns.text in ("text", request.text_column)
    return "" if named else f"{path}: texts are taken from the column {columns.text!r}"


class RowQuestion(NamedTuple):
    """What is asked of a row: its text, the targets by name, and those to read it for, mentioned or implied."""

    text: str
    names: tuple[str, ...]
    read_for: Sequence[Target]


class RowQuestions:
    """What is asked of each row, of the request's targets or of the row's own from one of its columns."""

    def __init__(self, predictor: Predictor, request: Request) -> None:
        self._predictor, self._request = predictor, request
        self._implied = is_implied(predictor, request)
        self._shared = None if request.targets is None else TargetFinder(request.targets)
        # Of every row; without any, what a text is about and does not name. None where each row has its own.
        self.names = None if self._shared is None else self._shared.names or (UNNAMED,)

    def of(self, values: Values, text_column: str) -> RowQuestion:
        """Return what is asked of a row; raises a DataError where it has no text, or no target."""
        text, longest = values.get(text_column), self._request.longest_text
        if is_blank(text):
            raise DataError(f"no text in {text_column!r}")
        if not isinstance(text, str):
            raise DataError(f"{text_column!r} is not text")
        if len(text) > longest:
            raise DataError(f"the text is longer than {longest:,} characters")
        names, found = self._targets(values, text)
        return RowQuestion(text, names, self._predictor.implied_targets(names, found) if self._implied else found)

    def _targets(self, values: Values, text: str) -> tuple[tuple[str, ...], tuple[Target, ...]]:
        """Return the names, and those of them that the text mentions, with their mentions."""
        if self._shared is not None and self.names is not None:
            return self.names, self._shared.find(text)
        column, most = self._request.target_column or "", self._request.most_targets
        value = values.get(column)
        if self._implied and is_blank(value):
            return (UNNAMED,), ()
        if isinstance(value, str):  # one name, several with `;` between them, or a list
            listed = parse_json(value, repr(column)) if value.lstrip().startswith("[") else value.split(";")
        else:
            listed = [] if is_blank(value) else value
        if not isinstance(listed, list) or not all(isinstance(name, str) for name in listed):
            raise DataError(f"{column!r} is neither a name nor a list of names")
        names = tuple(dict.fromkeys(name.strip() for name in listed if name.strip()))
        if not names:
            raise DataError(f"no target in {column!r}")
        if most is not None and len(names) > most:
            raise DataError(f"{len(names):,} targets in {column!r}; at most {most:,} are allowed")
        return names, TargetFinder(names).find(text)


def is_implied(predictor: Predictor, request: Request) -> bool:
    """Tell whether a text that does not name a target is taken to be about it.

    Raises:
        ConfigError: the request names no target, and the model was not trained to do without.
    """
    implied = predictor.implied if request.implied is None else request.implied
    if not implied and request.targets is not None and not request.targets:
        raise ConfigError("no target is named; name at least one", code="no_target")
    return implied


def read_targets(path: Path) -> dict[str, tuple[str, ...]]:
    """Read the targets of a file, each with its aliases.

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
    return targets
