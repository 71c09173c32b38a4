"""Parquet out: rows as an Arrow stream, and the stream as a Parquet file. Needs pyarrow, and only when called.

A Parquet file has its table of contents at the end, so that one whose writer was killed is lost. An Arrow stream has
none: it can be cut after any batch, and goes on from there.
"""

import io
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from tabsa.errors import DataError, OutputError
from tabsa.files import reason, replacing
from tabsa.tables.rows import Values, as_text

_ROW_GROUP_BYTES = 16_000_000  # in memory; a row group is written when it has as much
_WORDS = {bool: "true or false", int: "a whole number", float: "a number", str: "text"}


def require(path: Path) -> Any:
    """The pyarrow module, or one clear line where it is not installed."""
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError as e:
        raise DataError(f"{path} needs pyarrow; install it with `pip install 'tabsa[tables]'`") from e
    return pyarrow


def count_rows(path: Path) -> int:
    """How many rows a Parquet file has."""
    return int(_read(path, "read_metadata").num_rows)


def schema_of(path: Path, file: io.BufferedReader | None = None) -> Any:
    """The Arrow schema of a Parquet file; `file` is the file itself, where it is open."""
    return _read(path, "read_schema", file)


def types_of_schema(schema: Any, names: Sequence[str]) -> dict[str, Any]:
    """The Arrow types of the columns of these names."""
    import pyarrow

    types = {name: schema.field(name).type for name in names}
    # A dictionary is a way to store values; a stream would have to store it with every batch.
    return {name: kind.value_type if pyarrow.types.is_dictionary(kind) else kind for name, kind in types.items()}


def _read(path: Path, what: str, file: io.BufferedReader | None = None) -> Any:
    pyarrow = require(path)
    try:
        return getattr(pyarrow.parquet, what)(file or path)
    except pyarrow.ArrowException as e:
        raise DataError(f"{path} is not a readable Parquet file: {str(e).splitlines()[0]}") from e
    except OSError as e:
        raise DataError(f"cannot read {path}: {reason(e)}") from e


def types_of_values(names: Sequence[str], rows: Sequence[Values]) -> dict[str, type]:
    """The type of each column, judged by some rows: true or false, numbers, or else text."""
    types: dict[str, type] = {}
    for name in names:
        found = {type(value) for row in rows if (value := row.get(name)) is not None}
        if found == {float, int}:
            found = {float}
        types[name] = found.pop() if len(found) == 1 and found <= {bool, int, float} else str
    return types


def check_type(name: str, value: object, kind: Any) -> None:
    """Raise a DataError where a value does not fit a type that was judged by other rows; anything fits text."""
    if kind not in (bool, int, float) or value is None:
        return
    fits = type(value) is kind or (kind is float and type(value) is int)
    if not fits or (type(value) is int and not -(2**63) <= value < 2**63):
        shown = as_text(value)
        raise DataError(f"{name!r} is {shown[:40]!r}; expected {_WORDS[kind]}, as in the first rows")


class Stream:
    """Rows with these columns as the bytes of an Arrow stream. A type is Arrow's, or Python's for plain values."""

    def __init__(self, types: Mapping[str, Any]) -> None:
        import pyarrow

        arrow = {bool: pyarrow.bool_(), int: pyarrow.int64(), float: pyarrow.float64(), str: pyarrow.string()}
        self._types = types
        self._schema = pyarrow.schema([(name, arrow.get(kind, kind)) for name, kind in types.items()])

    def encode(self, rows: Sequence[Values], *, first: bool) -> bytes:
        """The bytes to append for these rows."""
        import pyarrow

        head = self._schema.serialize().to_pybytes() if first else b""
        if not rows:
            return bytes(head)
        try:
            arrays = [
                pyarrow.array(_values(rows, field.name, self._types[field.name]), field.type) for field in self._schema
            ]
            batch = pyarrow.RecordBatch.from_arrays(arrays, schema=self._schema)
            return bytes(head + batch.serialize().to_pybytes())
        except pyarrow.ArrowException as e:
            raise OutputError(f"cannot write the rows as Parquet: {str(e).splitlines()[0]}") from e


def _values(rows: Sequence[Values], name: str, kind: Any) -> list[object]:
    values = [row.get(name) for row in rows]
    if kind is str:
        return [None if value is None else as_text(value) for value in values]
    return values


def from_bytes(stream: bytes) -> bytes:
    """The Parquet file that holds a stream's rows, both in memory."""
    import pyarrow
    from pyarrow import parquet

    with pyarrow.ipc.open_stream(stream) as batches:
        sink = pyarrow.BufferOutputStream()
        parquet.write_table(batches.read_all(), sink)
    return bytes(sink.getvalue())


def from_stream(part: Path, out: Path) -> None:
    """Write the Parquet file that holds a stream's rows, and remove the stream."""
    pyarrow = require(out)
    try:
        with (
            pyarrow.OSFile(str(part), "rb") as source,
            pyarrow.ipc.open_stream(source) as batches,
            replacing(out, "wb") as stream,
            pyarrow.parquet.ParquetWriter(stream, batches.schema) as writer,
        ):
            for group in _groups(batches):
                writer.write_table(pyarrow.Table.from_batches(group), row_group_size=2**31 - 1)
        part.unlink()
    except pyarrow.ArrowException as e:
        raise OutputError(f"cannot write {out}: {str(e).splitlines()[0]}") from e
    except OSError as e:
        raise OutputError(f"cannot write {out}: {reason(e)}") from e


def _groups(batches: Any) -> Iterator[list[Any]]:
    group, size = [], 0
    for batch in batches:
        group.append(batch)
        size += batch.nbytes
        if size >= _ROW_GROUP_BYTES:
            yield group
            group, size = [], 0
    if group:
        yield group
