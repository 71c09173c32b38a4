"""Rows to bytes, and small tables to files. What a chunk of rows becomes is appended, and can be cut off again.

A spreadsheet takes a cell of a CSV for a formula where it begins with `=`, `+`, `-`, `@`, a tab or a carriage return,
and what a stranger wrote may be one (CSV injection). With `escape_formulas` such text has an apostrophe before it;
numbers stay numbers.
"""

import csv
import gzip
import json
import math
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from tabsa.errors import DataError, OutputError
from tabsa.files import replacing
from tabsa.tables.reading import SUFFIXES, Values, as_text, suffix_of

_FORMULA_STARTS: Final = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")
_NUMBER: Final = re.compile(r"[+-]?(?:\d[\d,]*(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d{1,4})?%?")


class RowEncoder:
    """Encodes rows in one format.

    Args:
        suffix: the format, such as ".csv.gz".
        columns: the output's, in order.
        added: those of them that are not the input's, and what they hold.
        rows: the input's first rows, which tell Parquet its types.
        schema: the input's Arrow schema, where it has one.
        escape_formulas: in a CSV or TSV.
    """

    def __init__(
        self,
        suffix: str,
        columns: Sequence[str],
        added: Mapping[str, type],
        *,
        rows: Sequence[Values] = (),
        schema: Any = None,
        escape_formulas: bool = False,
    ) -> None:
        self._kind, self._packed, self._escape = suffix.removesuffix(".gz"), suffix.endswith(".gz"), escape_formulas
        self._columns, self._added, self._own = tuple(columns), added, frozenset(columns) - added.keys()
        if self._kind == ".parquet":
            from tabsa.tables.parquet import ArrowEncoder

            self.arrow = ArrowEncoder(columns, added, rows=rows, schema=schema)

    def check(self, values: Values) -> None:
        """Raise a DataError where an input row's values cannot be written."""
        lines = self._kind in (".jsonl", ".ndjson")  # in which each row has the columns it has
        for name in values:
            if lines and name in self._added:
                raise DataError(f"the row has a column {name!r} already; tell the new one apart by a prefix")
            if not lines and name not in self._own:
                raise DataError(f"the row has a column {name!r}, which the first rows have not; write a .jsonl")
        if self._kind == ".parquet":
            self.arrow.check(values)

    def encode(self, rows: Sequence[Values], *, first: bool) -> bytes:
        """Return the bytes to append for these rows; `first` where nothing has been written."""
        if self._kind == ".parquet":
            return self.arrow.encode(rows, first=first)
        if self._kind in (".csv", ".tsv"):
            lines = _CsvLines()
            writer = csv.writer(lines, delimiter="," if self._kind == ".csv" else "\t")
            if first:
                writer.writerow([self._cell(name) for name in self._columns])
            writer.writerows([self._cell(row.get(name)) for name in self._columns] for row in rows)
            data = "".join(lines.written).encode()
        else:
            data = "".join(f"{dump_json(row)}\n" for row in rows).encode()
        # Each chunk of a gzip file is a member of its own, so that the file can be cut after it.
        return gzip.compress(data, mtime=0) if self._packed and (data or first) else data

    def _cell(self, value: object) -> str:
        text = as_text(value)
        return escape_formula(text) if self._escape and not isinstance(value, int | float) else text


class _CsvLines:
    """Takes a CSV writer's lines and ends them in one character.

    Were the writer told to end them so, Python 3.11 would leave a field with the other one without quotes.
    """

    def __init__(self) -> None:
        self.written: list[str] = []

    def write(self, line: str) -> None:
        self.written.append(line.removesuffix("\r\n") + "\n")


def escape_formula(text: str) -> str:
    """Return the text, with an apostrophe before it where a spreadsheet would take it for a formula."""
    return f"'{text}" if text.startswith(_FORMULA_STARTS) and not _NUMBER.fullmatch(text) else text


def dump_json(value: object) -> str:
    """Return one line of JSON; a number that JSON has no word for (NaN, infinity) is null."""
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


def finish_file(part: Path, out: Path) -> None:
    """Make the output of all that was appended to `part`."""
    if suffix_of(out) == ".parquet":
        from tabsa.tables.parquet import stream_to_parquet

        stream_to_parquet(part, out)
    else:
        part.replace(out)


def check_table_name(path: str | Path) -> Path:
    """Return the path, if `write_table` can write it: worth asking before a long computation."""
    path = Path(path)
    if not path.name.lower().endswith(SUFFIXES):
        raise OutputError(f"cannot write '{path}'; expected a name that ends in {', '.join(SUFFIXES)}")
    if suffix_of(path) == ".parquet":
        from tabsa.tables.parquet import require_pyarrow

        require_pyarrow(path)
    return path


def write_table(
    path: str | Path, types: Mapping[str, type], rows: Sequence[Values], *, escape_formulas: bool = False
) -> Path:
    """Write a small table with these columns, all of it or nothing, in the format that its name tells.

    Raises:
        OutputError: the extension is another, or the file cannot be written.
    """
    path = check_table_name(path)
    encoder = RowEncoder(suffix_of(path), list(types), types, escape_formulas=escape_formulas)
    with replacing(path, "wb") as stream:
        if suffix_of(path) == ".parquet":
            from pyarrow import Table, parquet

            parquet.write_table(Table.from_batches([encoder.arrow.batch(rows)]), stream)
        else:
            stream.write(encoder.encode(rows, first=True))
    return path
