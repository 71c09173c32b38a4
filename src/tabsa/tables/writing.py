"""Rows to bytes, and small tables to files. What a chunk of rows becomes is appended, and can be cut off again.

A spreadsheet takes a cell of a CSV for a formula where it begins with `=`, `+`, `-`, `@`, a tab or a carriage return,
and what a stranger wrote may be one (CSV injection). With `escape_formulas` such text has an apostrophe before it;
numbers stay numbers.
"""

import csv
import json
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Final

from tabsa.errors import DataError, OutputError, first_line
from tabsa.files import replacing
from tabsa.tables.reading import TEXT_SUFFIXES, Values, as_text, suffix_of

_FORMULA_STARTS: Final = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")
_ROW_GROUP_BYTES: Final = 16_000_000  # in memory; a row group of Parquet is written when it has as much
_NUMBER: Final = re.compile(r"[+-]?(?:\d[\d,]*(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d{1,4})?%?")


class RowEncoder:
    """Encodes rows as CSV, TSV or JSON Lines; `added` are those columns that are not the input's."""

    def __init__(
        self, suffix: str, columns: Sequence[str], added: Collection[str], *, escape_formulas: bool = False
    ) -> None:
        self._separator, self._escape = {".csv": ",", ".tsv": "\t"}.get(suffix), escape_formulas
        self._columns, self._added = tuple(columns), frozenset(added)
        # Those that an input row may have; None is any, of JSON Lines.
        self._own = None if suffix in (".jsonl", ".ndjson") else frozenset(columns) - self._added

    def check(self, values: Values) -> None:
        """Raise a DataError where an input row has a column that cannot be written."""
        for name in values:
            if name in self._added or (self._own is not None and name not in self._own):
                raise DataError(f"the row has a column {name!r}, which the first rows have not")

    def encode(self, rows: Sequence[Values], *, first: bool) -> bytes:
        """Return the bytes to append for these rows; `first` where nothing has been written."""
        if not self._separator:
            return "".join(f"{dump_json(row)}\n" for row in rows).encode()
        # Were the writer told to end lines in \n, Python 3.11 would leave a field with \r in it without quotes.
        lines: list[str] = []
        sink: Any = SimpleNamespace(write=lambda line: lines.append(line.removesuffix("\r\n") + "\n"))
        writer = csv.writer(sink, delimiter=self._separator)
        if first:
            writer.writerow([self._cell(name) for name in self._columns])
        writer.writerows([self._cell(row.get(name)) for name in self._columns] for row in rows)
        return "".join(lines).encode()

    def _cell(self, value: object) -> str:
        text = as_text(value)
        return escape_formula(text) if self._escape and not isinstance(value, int | float) else text


class ArrowEncoder(RowEncoder):
    """Encodes rows as batches of an Arrow stream, which can be cut after any batch, and becomes Parquet at the end.

    A Parquet file has its table of contents at the end, so that one whose writer was killed is lost. Types are those of
    the input's Arrow schema, where it has one, or else text.
    """

    def __init__(self, columns: Sequence[str], added: Mapping[str, type], schema: Any = None) -> None:
        import pyarrow

        super().__init__(".parquet", columns, added)
        arrow = {int: pyarrow.int64(), float: pyarrow.float64(), str: pyarrow.string()}
        types = {name: arrow[added[name]] if name in added else _type(name, schema) for name in columns}
        self._schema = pyarrow.schema([(name, kind or pyarrow.string()) for name, kind in types.items()])
        self._texts = frozenset(name for name, kind in types.items() if kind is None)

    def encode(self, rows: Sequence[Values], *, first: bool) -> bytes:
        """Return the bytes to append to an Arrow stream for these rows."""
        import pyarrow

        cells = [{n: as_text(v) if n in self._texts and v is not None else v for n, v in row.items()} for row in rows]
        try:
            batch = pyarrow.RecordBatch.from_pylist(cells, schema=self._schema).serialize() if rows else b""
        except pyarrow.ArrowException as e:
            raise OutputError(f"cannot write the rows as Parquet: {first_line(e)}") from e
        return bytes(self._schema.serialize() if first else b"") + bytes(batch)


def _type(name: str, schema: Any) -> Any:
    """Return the type of a column of the input, less the way to store it; None where it is of text."""
    kind = None if schema is None else schema.field(name).type
    return getattr(kind, "value_type", kind) if str(kind).startswith("dictionary") else kind


def escape_formula(text: str) -> str:
    """Return the text, with an apostrophe before it where a spreadsheet would take it for a formula."""
    return f"'{text}" if text.startswith(_FORMULA_STARTS) and not _NUMBER.fullmatch(text) else text


def dump_json(value: object) -> str:
    """Return one line of JSON; a number that JSON has no word for (NaN, infinity) is null."""
    try:
        return json.dumps(value, ensure_ascii=False, allow_nan=False, default=str)
    except ValueError:
        plain = json.loads(json.dumps(value, default=str), parse_constant=lambda _: None)
        return json.dumps(plain, ensure_ascii=False)


def finish_file(part: Path, out: Path) -> None:
    """Make the output of all that was appended to `part`: of an Arrow stream a Parquet file."""
    if suffix_of(out) != ".parquet":
        part.replace(out)
        return
    import pyarrow.parquet

    try:
        with (
            part.open("rb") as source,
            pyarrow.ipc.open_stream(source) as batches,
            replacing(out, "wb") as sink,
            pyarrow.parquet.ParquetWriter(sink, batches.schema) as writer,
        ):
            while group := list(_row_group(batches)):
                writer.write_table(pyarrow.Table.from_batches(group), row_group_size=2**31 - 1)
    except pyarrow.ArrowException as e:
        raise OutputError(f"cannot write Parquet: {first_line(e)}") from e
    part.unlink()


def _row_group(batches: Iterator[Any]) -> Iterator[Any]:
    size = 0
    for batch in batches:
        yield batch
        size += batch.nbytes
        if size >= _ROW_GROUP_BYTES:
            return


def check_table_name(path: str | Path) -> Path:
    """Return the path, if `write_table` can write it: worth asking before a long computation."""
    path = Path(path)
    if path.suffix.lower() not in TEXT_SUFFIXES:
        raise OutputError(f"cannot write '{path}'; expected a name that ends in {', '.join(TEXT_SUFFIXES)}")
    return path


def write_table(
    path: str | Path, columns: Iterable[str], rows: Sequence[Values], *, escape_formulas: bool = False
) -> Path:
    """Write a small table with these columns, all of it or nothing, in the format of text that its name tells."""
    path = check_table_name(path)
    encoder = RowEncoder(suffix_of(path), tuple(columns), (), escape_formulas=escape_formulas)
    with replacing(path, "wb") as sink:
        sink.write(encoder.encode(rows, first=True))
    return path
