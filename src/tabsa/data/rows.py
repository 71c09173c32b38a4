"""Rows of a user's table, one at a time and at constant memory: CSV, TSV, JSON Lines, Parquet."""

import csv
import gzip
import io
import json
import math
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, NamedTuple, TypeAlias

from tabsa.data.fields import parse_json
from tabsa.errors import DataError
from tabsa.files import reason

Values: TypeAlias = dict[str, object]

TEXT_SUFFIXES = (".csv", ".tsv", ".jsonl", ".ndjson")
SUFFIXES = (*TEXT_SUFFIXES, *(f"{suffix}.gz" for suffix in TEXT_SUFFIXES), ".parquet")
_DELIMITERS = {".csv": ",", ".tsv": "\t"}
# No text is as long as this; a quote that is left open, or a file without line ends, is.
_LONGEST = 10_000_000
_PARQUET_BATCH = 1024


class Row(NamedTuple):
    """One row, and where it stands ("reviews.csv row 3"). A spreadsheet's row 1 is the header."""

    where: str
    values: Values


def suffix_of(path: Path) -> str:
    """The one of `SUFFIXES` that the file's name ends with."""
    name = path.name.lower()
    for suffix in SUFFIXES:
        if name.endswith(suffix):
            return suffix
    raise DataError(f"cannot tell the format of {path} by its name; expected one of {', '.join(SUFFIXES)}")


def typed_rows(path: Path) -> Iterator[Row]:
    """The file's rows with their values as the format has them: text, and numbers, lists, objects, null."""
    suffix = suffix_of(path)
    if suffix == ".parquet":
        yield from _parquet_rows(path)
        return
    with _open_text(path, compressed=suffix.endswith(".gz")) as stream:
        delimiter = _DELIMITERS.get(suffix.removesuffix(".gz"))
        yield from _json_rows(stream, path) if delimiter is None else _csv_rows(stream, path, delimiter)


def read_rows(path: Path) -> Iterator[dict[str, str]]:
    """The file's rows with every value as text: an absent one is empty, a list or an object is JSON."""
    for row in typed_rows(path):
        yield {name: _as_text(value) for name, value in row.values.items()}


def _as_text(value: object) -> str:
    if isinstance(value, str):
        return value
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return ""
    if isinstance(value, (bool, list, dict)):
        return json.dumps(value, ensure_ascii=False, default=str)
    return str(value)


@contextmanager
def _open_text(path: Path, *, compressed: bool) -> Iterator[IO[str]]:
    """The file as text; what goes wrong while it is read becomes one clear line."""
    try:
        with gzip.open(path) if compressed else path.open("rb") as binary:
            # UTF-16 without a mark would pass for UTF-8 with a NUL beside every letter.
            head = binary.peek(4)[:4]
            if head[:2] in (b"\xff\xfe", b"\xfe\xff") or b"\0" in head:
                raise DataError(f"{path} is not UTF-8 text (it looks like UTF-16); save it as UTF-8")
            try:
                yield io.TextIOWrapper(binary, encoding="utf-8-sig", newline="")
            except UnicodeDecodeError as e:
                # The decoder holds only a piece of the file, which ends where the file stands now.
                byte = binary.tell() - len(e.object) + e.start
                raise DataError(f"{path} is not UTF-8 text (byte {byte}); save it as UTF-8") from e
    except (gzip.BadGzipFile, EOFError, zlib.error) as e:
        raise DataError(f"{path} is not a whole gzip file: {e}") from e
    except OSError as e:
        raise DataError(f"cannot read {path}: {reason(e)}") from e


def _csv_rows(stream: IO[str], path: Path, delimiter: str) -> Iterator[Row]:
    csv.field_size_limit(max(csv.field_size_limit(), _LONGEST))
    reader = csv.reader(stream, delimiter=delimiter, strict=True)
    header: list[str] | None = None
    try:
        for number, cells in enumerate(reader, start=1):
            if not cells:
                continue
            if header is None:
                header = _header(cells, path)
                continue
            where = f"{path} row {number}"
            if len(cells) != len(header):
                raise DataError(f"{where} has {len(cells)} fields; the header has {len(header)}")
            yield Row(where, dict(zip(header, cells, strict=True)))
    except csv.Error as e:
        advice = 'put a text that holds quotes or line ends in quotes, and write "" for a quote in it'
        raise DataError(f"{path} line {reader.line_num}: {e}; {advice}") from e


def _header(cells: Sequence[str], path: Path) -> list[str]:
    names = [cell.strip() for cell in cells]
    _refuse_repeated(names, path)
    if len(names) == 1 and any(mark in names[0] for mark in ";\t|"):
        raise DataError(f"{path} has one column, {names[0]!r}; separate fields with commas (or with tabs in a .tsv)")
    return names


def _refuse_repeated(names: Iterable[str], path: Path) -> None:
    repeated = [name for name, count in Counter(names).items() if count > 1]
    if repeated:
        raise DataError(f"{path} has more than one column {repeated[0]!r}; give each column its own name")


def _json_rows(stream: IO[str], path: Path) -> Iterator[Row]:
    lines = iter(lambda: stream.readline(_LONGEST + 1), "")
    for number, line in enumerate(lines, start=1):
        where = f"{path} line {number}"
        if len(line) > _LONGEST:
            raise DataError(f"{where} is longer than {_LONGEST:,} characters; write one JSON object a line")
        if not line.strip():
            continue
        values = parse_json(line, where)
        if not isinstance(values, dict):
            raise DataError(f"{where} is not a JSON object; write one JSON object a line")
        yield Row(where, values)


def _parquet_rows(path: Path) -> Iterator[Row]:
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError as e:
        raise DataError(f"reading {path} needs pyarrow; install it with `pip install 'tabsa[tables]'`") from e
    try:
        with path.open("rb") as stream, parquet.ParquetFile(stream) as file:
            _refuse_repeated(file.schema_arrow.names, path)
            number = 0
            for batch in file.iter_batches(batch_size=_PARQUET_BATCH):
                for values in batch.to_pylist():
                    number += 1
                    yield Row(f"{path} row {number}", values)
    except pyarrow.ArrowException as e:
        raise DataError(f"{path} is not a readable Parquet file: {str(e).splitlines()[0]}") from e
    except OSError as e:
        raise DataError(f"cannot read {path}: {reason(e)}") from e
