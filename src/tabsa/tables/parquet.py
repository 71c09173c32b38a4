"""Parquet in and out. Needs pyarrow, and only when called.

A Parquet file has its table of contents at the end, so that one whose writer was killed is lost. So rows are appended
to an Arrow stream, which can be cut after any batch and goes on from there, and becomes a Parquet file at the end.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from tabsa.errors import DataError, OutputError, TabsaError, first_line
from tabsa.files import reason, replacing
from tabsa.tables.reading import Binary, Row, Values, as_text, header_of, opened

_BATCH: Final = 1024  # rows that are read together
_ROW_GROUP_BYTES: Final = 16_000_000  # in memory; a row group is written when it has as much
_WORDS: Final = {bool: "true or false", int: "a whole number", float: "a number", str: "text"}


def require_pyarrow(path: Path | str) -> Any:
    """Return the pyarrow module, or raise one clear line where it is not installed."""
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError as e:
        raise DataError(f"{path} needs pyarrow; install it with `pip install 'tabsa[tables]'`") from e
    return pyarrow


@contextmanager
def parquet_file(path: Path, stream: Binary | None = None) -> Iterator[Any]:
    """Open a Parquet file; what goes wrong with it becomes one clear line."""
    pyarrow = require_pyarrow(path)
    try:
        with opened(path, stream) as file, pyarrow.parquet.ParquetFile(file) as table:
            yield table
    except TabsaError:
        raise
    except (pyarrow.ArrowException, ValueError) as e:  # the second: text that is not UTF-8, times in nanoseconds
        raise DataError(f"{path} is not a readable Parquet file: {first_line(e)}") from e
    except OSError as e:
        raise DataError(f"cannot read {path}: {reason(e)}") from e


def parquet_rows(path: Path, stream: Binary | None = None) -> Iterator[Row]:
    """Read the rows, with their values as Python has them."""
    with parquet_file(path, stream) as table:
        header_of(table.schema_arrow.names, path)
        number = 0
        for batch in table.iter_batches(batch_size=_BATCH):
            for values in batch.to_pylist():
                number += 1
                yield Row(f"{path} row {number}", values, number)


class ArrowEncoder:
    """Rows as Arrow batches; the arguments are those of `tabsa.tables.writing.RowEncoder`."""

    def __init__(
        self, columns: Sequence[str], added: Mapping[str, type], *, schema: Any = None, rows: Sequence[Values] = ()
    ) -> None:
        import pyarrow

        self._kept = {name: _type(name, schema, rows) for name in columns if name not in added}
        types = {**self._kept, **added}
        arrow = {bool: pyarrow.bool_(), int: pyarrow.int64(), float: pyarrow.float64(), str: pyarrow.string()}
        self._types = {name: types[name] for name in columns}
        self._schema = pyarrow.schema([(name, arrow.get(kind, kind)) for name, kind in self._types.items()])

    def check(self, values: Values) -> None:
        """Raise a DataError where a value does not fit a type that was judged by other rows; anything fits text."""
        for name, value in values.items():
            kind = self._kept[name]
            if kind not in (bool, int, float) or value is None:
                continue
            fits = type(value) is kind or (kind is float and type(value) is int)
            if not fits or (type(value) is int and not -(2**63) <= value < 2**63):
                raise DataError(f"{name!r} is {as_text(value)[:40]!r}; expected {_WORDS[kind]}, as in the first rows")

    def batch(self, rows: Sequence[Values]) -> Any:
        """Return the rows as one record batch."""
        import pyarrow

        arrays = []
        for field in self._schema:
            values = [row.get(field.name) for row in rows]
            if self._types[field.name] is str:
                values = [None if value is None else as_text(value) for value in values]
            arrays.append(pyarrow.array(values, field.type))
        return pyarrow.RecordBatch.from_arrays(arrays, schema=self._schema)

    def encode(self, rows: Sequence[Values], *, first: bool) -> bytes:
        """Return the bytes to append to an Arrow stream for these rows."""
        import pyarrow

        head = self._schema.serialize().to_pybytes() if first else b""
        try:
            return bytes(head + self.batch(rows).serialize().to_pybytes()) if rows else bytes(head)
        except pyarrow.ArrowException as e:
            raise OutputError(f"cannot write the rows as Parquet: {first_line(e)}") from e


def _type(name: str, schema: Any, rows: Sequence[Values]) -> Any:
    """Return the type of a column: the schema's, or by the rows that of true or false, of numbers, or text."""
    if schema is not None:
        kind = schema.field(name).type
        return (
            getattr(kind, "value_type", kind) if str(kind).startswith("dictionary") else kind
        )  # a way to store values
    found = {type(value) for row in rows if (value := row.get(name)) is not None}
    found = {float} if found == {float, int} else found
    return found.pop() if len(found) == 1 and found <= {bool, int, float} else str


def stream_to_parquet(part: Path, out: Path) -> None:
    """Write the Parquet file that holds an Arrow stream's rows, and remove the stream."""
    pyarrow = require_pyarrow(out)
    try:
        with (
            pyarrow.OSFile(str(part), "rb") as source,
            pyarrow.ipc.open_stream(source) as batches,
            replacing(out, "wb") as stream,
            pyarrow.parquet.ParquetWriter(stream, batches.schema) as writer,
        ):
            while group := list(_row_group(batches)):
                writer.write_table(pyarrow.Table.from_batches(group), row_group_size=2**31 - 1)
        part.unlink()
    except pyarrow.ArrowException as e:
        raise OutputError(f"cannot write {out}: {first_line(e)}") from e
    except OSError as e:
        raise OutputError(f"cannot write {out}: {reason(e)}") from e


def _row_group(batches: Iterator[Any]) -> Iterator[Any]:
    size = 0
    for batch in batches:
        yield batch
        size += batch.nbytes
        if size >= _ROW_GROUP_BYTES:
            return
