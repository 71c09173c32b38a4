"""Rows to bytes. What a chunk of rows becomes is appended to a file, which can be cut back to the end of any chunk."""

import csv
import gzip
import json
import math
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

from tabsa.errors import DataError
from tabsa.tables import parquet
from tabsa.tables.formulas import escape_formula
from tabsa.tables.kinds import input_suffix_of, suffix_of
from tabsa.tables.rows import Row, Values, as_text


class Format(Protocol):
    """One way to write rows."""

    def check(self, values: Values) -> None:
        """Raise a DataError where an input row's values cannot be written."""

    def encode(self, rows: Sequence[Values], *, first: bool) -> bytes:
        """What to append for these rows; `first` where nothing has been written."""


class OutputColumns(Protocol):
    """What the columns of an output are."""

    columns: tuple[str, ...]  # in order
    added: dict[str, type]  # those that are not the input's, and what they hold


def make_format(
    suffix: str,
    source: Path,
    rows: Sequence[Row],
    maker: OutputColumns,
    *,
    escape_formulas: bool = False,
    schema: Any = None,
) -> Format:
    """The format of files whose names end so; `rows` are the input's first, `schema` its Arrow schema, where known.

    With `escape_formulas`, a CSV's or TSV's text that a spreadsheet would take for a formula has an apostrophe first.
    """
    plain, compressed = suffix.removesuffix(".gz"), suffix.endswith(".gz")
    if plain == ".parquet":
        kept = _kept(maker)
        values = [row.values for row in rows]
        if schema is None and input_suffix_of(source) == ".parquet":
            schema = parquet.schema_of(source)
        types = parquet.types_of_values(kept, values) if schema is None else parquet.types_of_schema(schema, kept)
        return ParquetFormat(types, maker)
    if plain in (".csv", ".tsv"):
        separator = "," if plain == ".csv" else "\t"
        return CsvFormat(maker, separator, compressed=compressed, escape_formulas=escape_formulas)
    return JsonFormat(maker.added, compressed=compressed)


class _TextFormat:
    """Lines of UTF-8 text; each chunk of a gzip file is a member of its own, so that the file can be cut after it."""

    def __init__(self, *, compressed: bool) -> None:
        self._compressed = compressed

    def _bytes(self, text: str, *, first: bool) -> bytes:
        data = text.encode()
        return gzip.compress(data, mtime=0) if self._compressed and (data or first) else data


class JsonFormat(_TextFormat):
    """JSON Lines; each row has the columns it has."""

    def __init__(self, added: Mapping[str, type], *, compressed: bool = False) -> None:
        super().__init__(compressed=compressed)
        self._added = added

    def check(self, values: Values) -> None:
        """See `Format`."""
        for name in values.keys() & self._added.keys():
            raise DataError(f"the row has a column {name!r} already; tell the new one apart by a prefix")

    def encode(self, rows: Sequence[Values], *, first: bool) -> bytes:
        """See `Format`."""
        return self._bytes("".join(f"{dump_json(row)}\n" for row in rows), first=first)


class CsvFormat(_TextFormat):
    """A header, then the same columns in each row."""

    def __init__(
        self, maker: OutputColumns, delimiter: str, *, compressed: bool, escape_formulas: bool = False
    ) -> None:
        super().__init__(compressed=compressed)
        self._text = _escaped_text if escape_formulas else as_text
        self._columns, self._kept, self._delimiter = maker.columns, frozenset(_kept(maker)), delimiter

    def check(self, values: Values) -> None:
        """See `Format`."""
        _refuse_unknown(values, self._kept)

    def encode(self, rows: Sequence[Values], *, first: bool) -> bytes:
        """See `Format`."""
        lines = WrittenLines()
        writer = csv.writer(lines, delimiter=self._delimiter)
        if first:
            writer.writerow([self._text(name) for name in self._columns])
        writer.writerows([self._text(row.get(name)) for name in self._columns] for row in rows)
        return self._bytes("".join(lines.written), first=first)


def _escaped_text(value: object) -> str:
    text = as_text(value)
    return text if isinstance(value, int | float) else escape_formula(text)


class WrittenLines:
    """Takes a CSV writer's lines and ends them in one character.

    Were the writer told to end them so, Python 3.11 would leave a field with the other one without quotes.
    """

    def __init__(self) -> None:
        self.written: list[str] = []

    def write(self, line: str) -> None:
        """Take a line."""
        self.written.append(line.removesuffix("\r\n") + "\n")


class ParquetFormat:
    """Appended as an Arrow stream, which can be cut, and turned into Parquet, which cannot, when all is there."""

    def __init__(self, kept: Mapping[str, Any], maker: OutputColumns) -> None:
        types = {**kept, **maker.added}
        self._kept = kept
        self._stream = parquet.Stream({name: types[name] for name in maker.columns})

    def check(self, values: Values) -> None:
        """See `Format`."""
        _refuse_unknown(values, self._kept)
        for name, value in values.items():
            parquet.check_type(name, value, self._kept[name])

    def encode(self, rows: Sequence[Values], *, first: bool) -> bytes:
        """See `Format`."""
        return self._stream.encode(rows, first=first)


def _kept(maker: OutputColumns) -> list[str]:
    """The input's columns that are the output's, too."""
    return [name for name in maker.columns if name not in maker.added]


def _refuse_unknown(values: Values, kept: Collection[str]) -> None:
    for name in values:
        if name not in kept:
            raise DataError(f"the row has a column {name!r}, which the first rows have not; write a .jsonl")


def finish_file(part: Path, out: Path) -> None:
    """Make the output of all that was appended."""
    if suffix_of(out) == ".parquet":
        parquet.from_stream(part, out)
    else:
        part.replace(out)


def dump_json(value: object) -> str:
    """One line of JSON; a number that JSON has no word for (NaN, infinity) is null."""
    try:
        return json.dumps(value, ensure_ascii=False, allow_nan=False, default=str)
    except ValueError:
        return json.dumps(_finite(value), ensure_ascii=False, default=str)


def _finite(value: object) -> object:
    if isinstance(value, dict):
        return {key: _finite(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(inner) for inner in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
