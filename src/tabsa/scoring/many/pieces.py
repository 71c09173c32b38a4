"""A table's rows on their way to workers: read once, cut into pieces, and carried as bytes.

Ray's own readers would lose what the rules for tables are about (`tabsa.tables`): they guess types, so that the id 007
becomes 7, know one encoding and one separator, and end the job at the first row that cannot be read. So a table is read
here just as it is read alone, and only the scoring of its pieces is spread.
"""

import io
import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from tabsa.errors import DataError
from tabsa.scoring.many.parts import Part
from tabsa.scoring.many.storage import open_file, path_of
from tabsa.scoring.reading import InputTable, cut
from tabsa.tables.kinds import input_suffix_of
from tabsa.tables.rows import BadRow, Row


@dataclass(frozen=True, slots=True)
class ReadPlan:
    """How a table is read: by one task, which is fast enough for many that score."""

    part: Part
    rows: int  # of a piece
    chunk: int  # rows that are scored together
    done: frozenset[int]  # pieces that an earlier run did


class TablePiece(NamedTuple):
    """Some rows of a table, or (without a number) that it was read to its end, or why it was not."""

    table: str
    source: str
    number: int
    head: bytes  # rows by which the table's columns are known
    rows: bytes
    bytes: int  # of the table
    total: int = 0  # at its end: how many pieces it has
    why: str = ""


def read_pieces(reading: ReadPlan) -> Iterator[TablePiece]:
    """The pieces of a table that are to be done, and at its end how many it has."""
    part = reading.part
    try:
        with open_file(part.source) as file:
            if input_suffix_of(path_of(part.source)) == ".parquet":
                yield from _parquet_pieces(reading, file)
            else:
                yield from _text_pieces(reading, file)
    except DataError as e:
        yield TablePiece(part.name, part.source, -1, b"", b"", part.bytes, why=str(e))
    except (OSError, ValueError) as e:  # Arrow's errors are one of these
        why = f"cannot read {path_of(part.source)}: {str(e).splitlines()[0]}"
        yield TablePiece(part.name, part.source, -1, b"", b"", part.bytes, why=why)


def _text_pieces(reading: ReadPlan, file: io.BufferedReader) -> Iterator[TablePiece]:
    part, head, number, reached = reading.part, b"", 0, 0
    with InputTable(path_of(part.source), file=file, on_guess=lambda _: None) as table:
        rows = table.rows()
        while some := list(islice(rows, reading.rows)):
            head = head or _head(some, reading.chunk)
            position = min(table.position(), part.bytes)
            if number not in reading.done:
                yield TablePiece(part.name, part.source, number, head, pack(some), position - reached)
            reached, number = position, number + 1
    yield TablePiece(part.name, part.source, -1, b"", b"", part.bytes - reached, total=number)


def _head(rows: Sequence[Row | BadRow], chunk: int) -> bytes:
    """Of the first chunk with a row: those rows that have a column, or a type in one, that none before them has."""
    for some in cut(rows, chunk):
        if any(isinstance(row, Row) for row in some):
            return pack([some[number] for number in _telling(some)])
    return b""


def _telling(rows: Iterable[Row | BadRow]) -> list[int]:
    seen: set[tuple[str, type]] = set()
    telling: list[int] = []
    for number, row in enumerate(rows):
        if isinstance(row, Row):
            kinds = {(name, type(value)) for name, value in row.values.items()}
            if not telling or kinds - seen:
                telling.append(number)
                seen |= kinds
    return telling


def pack(rows: Iterable[Row | BadRow]) -> bytes:
    """Rows of text, numbers, lists and objects as bytes."""
    content: list[list[Any]] = [
        [row.number, row.values] if isinstance(row, Row) else [row.number, None, str(row.error), row.content]
        for row in rows
    ]
    return json.dumps(content, separators=(",", ":")).encode()


def unpack(content: bytes, source: Path) -> list[Row | BadRow]:
    """The rows that `pack` was given, or those of a piece of a Parquet file."""
    if input_suffix_of(source) == ".parquet":
        table = _arrow_table(content)
        first = int(table.schema.metadata[b"row"])
        return [Row(f"{source} row {first + n}", row, first + n) for n, row in enumerate(table.to_pylist())]
    return [
        Row(f"{source} row {number}", values, number) if not rest else BadRow(number, DataError(rest[0]), rest[1])
        for number, values, *rest in json.loads(content)
    ]


def schema_of(content: bytes, source: Path) -> Any:
    """The Arrow schema of a piece, where it has one."""
    return _arrow_table(content).schema if content and input_suffix_of(source) == ".parquet" else None


def _parquet_pieces(reading: ReadPlan, file: io.BufferedReader) -> Iterator[TablePiece]:
    part, size = reading.part, reading.rows
    table = _parquet(file)
    total = -(-table.metadata.num_rows // size)
    share, head = part.bytes // max(1, total), b""
    for number, rows in enumerate(_sliced(table.iter_batches(batch_size=size), size)):
        if not head:
            telling = _telling(_as_rows(rows.slice(0, reading.chunk)))
            head = _arrow_bytes(rows.take(telling), 1)
        if number not in reading.done:
            yield TablePiece(part.name, part.source, number, head, _arrow_bytes(rows, number * size + 1), share)
    yield TablePiece(part.name, part.source, -1, b"", b"", part.bytes - share * total, total=total)


def _sliced(batches: Iterable[Any], size: int) -> Iterator[Any]:
    """Tables of `size` rows from batches of any."""
    import pyarrow

    held: list[Any] = []
    for batch in batches:
        held.append(batch)
        while sum(some.num_rows for some in held) >= size:
            table = pyarrow.Table.from_batches(held)
            yield table.slice(0, size)
            held = table.slice(size).to_batches()
    if sum(some.num_rows for some in held):
        yield pyarrow.Table.from_batches(held)


def _as_rows(table: Any) -> list[Row]:
    return [Row("", values, number) for number, values in enumerate(table.to_pylist(), start=1)]


def _parquet(file: io.BufferedReader) -> Any:
    from pyarrow.parquet import ParquetFile

    return ParquetFile(file)


def _arrow_bytes(table: Any, first: int) -> bytes:
    import pyarrow

    sink = pyarrow.BufferOutputStream()
    schema = table.schema.with_metadata({"row": str(first)})
    with pyarrow.ipc.new_stream(sink, schema) as stream:
        stream.write_table(table.replace_schema_metadata(schema.metadata))
    return bytes(sink.getvalue())


def _arrow_table(content: bytes) -> Any:
    import pyarrow

    with pyarrow.ipc.open_stream(content) as stream:
        return stream.read_all()
