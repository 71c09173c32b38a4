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
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Final

from tabsa.errors import DataError, OutputError, first_line
from tabsa.files import replacing
from tabsa.tables.reading import SUFFIXES, Binary, Values, as_text, require_pyarrow, suffix_of

_FORMULA_STARTS: Final = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")
_ROW_GROUP_BYTES: Final = 16_000_000  # in memory; a row group of Parquet is written when it has as much
_WORDS: Final = {bool: "true or false", int: "a whole number", float: "a number"}
_NUMBER: Final = re.compile(r"[+-]?(?:\d[\d,]*(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d{1,4})?%?")


class RowEncoder:
    """Encodes rows as CSV, TSV or JSON Lines, also packed; `added` are those columns that are not the input's."""

    def __init__(
        self, suffix: str, columns: Sequence[str], added: Mapping[str, type], *, escape_formulas: bool = False
    ) -> None:
        self._kind, self._packed, self._escape = suffix.removesuffix(".gz"), suffix.endswith(".gz"), escape_formulas
        self._columns, self._added, self._own = tuple(columns), added, frozenset(columns) - added.keys()

    def check(self, values: Values) -> None:
        """Raise a DataError where an input row's values cannot be written."""
        lines = self._kind in (".jsonl", ".ndjson")  # in which each row has the columns it has
        for name in values:
            if lines and name in self._added:
                raise DataError(f"the row has a column {name!r} already; tell the new one apart by a prefix")
            if not lines and name not in self._own:
                raise DataError(f"the row has a column {name!r}, which the first rows have not; write a .jsonl")

    def encode(self, rows: Sequence[Values], *, first: bool) -> bytes:
        """Return the bytes to append for these rows; `first` where nothing has been written."""
        lines: list[str] = []
        if self._kind in (".csv", ".tsv"):
            # Were the writer told to end lines in \n, Python 3.11 would leave a field with \r in it without quotes.
            sink: Any = SimpleNamespace(write=lambda line: lines.append(line.removesuffix("\r\n") + "\n"))
            writer = csv.writer(sink, delimiter="," if self._kind == ".csv" else "\t")
            if first:
                writer.writerow([self._cell(name) for name in self._columns])
            writer.writerows([self._cell(row.get(name)) for name in self._columns] for row in rows)
        else:
            lines += [f"{dump_json(row)}\n" for row in rows]
        data = "".join(lines).encode()
        # Each chunk of a gzip file is a member of its own, so that the file can be cut after it.
        return gzip.compress(data, mtime=0) if self._packed and (data or first) else data

    def _cell(self, value: object) -> str:
        text = as_text(value)
        return escape_formula(text) if self._escape and not isinstance(value, int | float) else text


class ArrowEncoder(RowEncoder):
    """Encodes rows as batches of an Arrow stream, which can be cut after any batch, and becomes Parquet at the end.

    A Parquet file has its table of contents at the end, so that one whose writer was killed is lost. Types are those of
    the input's Arrow schema, where it has one, or else told by its first rows.
    """

    def __init__(
        self, columns: Sequence[str], added: Mapping[str, type], rows: Sequence[Values] = (), schema: Any = None
    ) -> None:
        import pyarrow

        super().__init__(".parquet", columns, added)
        self._types = {name: added.get(name) or _type(name, rows, schema) for name in columns}
        arrow = {bool: pyarrow.bool_(), int: pyarrow.int64(), float: pyarrow.float64(), str: pyarrow.string()}
        self._schema = pyarrow.schema([(name, arrow.get(kind, kind)) for name, kind in self._types.items()])

    def check(self, values: Values) -> None:
        """Raise a DataError where a value does not fit a type that was judged by other rows; anything fits text."""
        super().check(values)
        for name, value in values.items():
            kind = self._types[name]
            if kind not in _WORDS or value is None:
                continue
            fits = type(value) is kind or (kind is float and type(value) is int)
            if not fits or (type(value) is int and not -(2**63) <= value < 2**63):
                raise DataError(f"{name!r} is {as_text(value)[:40]!r}; expected {_WORDS[kind]}, as in the first rows")

    def encode(self, rows: Sequence[Values], *, first: bool) -> bytes:
        """Return the bytes to append to an Arrow stream for these rows."""
        import pyarrow

        texts = {name for name, kind in self._types.items() if kind is str}
        cells = [{n: as_text(v) if n in texts and v is not None else v for n, v in row.items()} for row in rows]
        try:
            batch = pyarrow.RecordBatch.from_pylist(cells, schema=self._schema).serialize() if rows else b""
        except pyarrow.ArrowException as e:
            raise OutputError(f"cannot write the rows as Parquet: {first_line(e)}") from e
        return bytes(self._schema.serialize() if first else b"") + bytes(batch)


def _type(name: str, rows: Sequence[Values], schema: Any) -> Any:
    """Return the type of a column: the schema's, or by the rows that of true or false, of numbers, or text."""
    if schema is not None:
        kind = schema.field(name).type
        return getattr(kind, "value_type", kind) if str(kind).startswith("dictionary") else kind  # a way to store them
    found = {type(value) for row in rows if (value := row.get(name)) is not None}
    found = {float} if found == {float, int} else found
    return found.pop() if len(found) == 1 and found <= _WORDS.keys() else str


def stream_to_parquet(source: Binary | bytes, sink: Binary) -> None:
    """Write an Arrow stream's rows as a Parquet file."""
    import pyarrow.parquet

    try:
        with (
            pyarrow.ipc.open_stream(source) as batches,
            pyarrow.parquet.ParquetWriter(sink, batches.schema) as writer,
        ):
            while group := list(_row_group(batches)):
                writer.write_table(pyarrow.Table.from_batches(group), row_group_size=2**31 - 1)
    except pyarrow.ArrowException as e:
        raise OutputError(f"cannot write Parquet: {first_line(e)}") from e


def _row_group(batches: Iterator[Any]) -> Iterator[Any]:
    size = 0
    for batch in batches:
        yield batch
        size += batch.nbytes
        if size >= _ROW_GROUP_BYTES:
            return


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
    if suffix_of(out) != ".parquet":
        part.replace(out)
        return
    with part.open("rb") as source, replacing(out, "wb") as sink:
        stream_to_parquet(source, sink)
    part.unlink()


def check_table_name(path: str | Path) -> Path:
    """Return the path, if `write_table` can write it: worth asking before a long computation."""
    path = Path(path)
    if not path.name.lower().endswith(SUFFIXES):
        raise OutputError(f"cannot write '{path}'; expected a name that ends in {', '.join(SUFFIXES)}")
    if suffix_of(path) == ".parquet":
        require_pyarrow(path)
    return path


def write_table(
    path: str | Path, types: Mapping[str, type], rows: Sequence[Values], *, escape_formulas: bool = False
) -> Path:
    """Write a small table with these columns, all of it or nothing, in the format that its name tells."""
    path = check_table_name(path)
    with replacing(path, "wb") as sink:
        if suffix_of(path) == ".parquet":
            stream_to_parquet(ArrowEncoder(list(types), types).encode(rows, first=True), sink)
        else:
            encoder = RowEncoder(suffix_of(path), list(types), types, escape_formulas=escape_formulas)
            sink.write(encoder.encode(rows, first=True))
    return path
