"""Rows of a user's table, one at a time and at constant memory: CSV, TSV, JSON Lines, Parquet."""

import csv
import io
import json
import math
import warnings
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from itertools import count
from pathlib import Path
from typing import IO, NamedTuple, TypeAlias

from tabsa.errors import DataError, DataWarning
from tabsa.files import reason
from tabsa.tables.encodings import undecoded
from tabsa.tables.fields import TORN, parse_json
from tabsa.tables.kinds import WORKBOOK, input_suffix_of
from tabsa.tables.opening import TextForm, open_text, opened
from tabsa.tables.workbook import Workbook, column_name, workbook_header

Values: TypeAlias = dict[str, object]

_DELIMITERS = {".csv": ",", ".tsv": "\t"}
# No text is as long as this; a quote that is left open, or a file without line ends, is.
_LONGEST = 10_000_000
_PARQUET_BATCH = 1024


class Row(NamedTuple):
    """One row, and where it stands ("reviews.csv row 3"). A spreadsheet's row 1 is the header."""

    where: str
    values: Values
    number: int


class BadRow(NamedTuple):
    """A row that cannot be read: why, and what there is of it (fields, or a line)."""

    number: int
    error: DataError
    content: object


def typed_rows(path: Path, *, on_torn: Callable[[str], None] | None = None) -> Iterator[Row]:
    """The file's rows with their values as the format has them: text, and numbers, lists, objects, null.

    A line of JSON that breaks off, as where a program died while it wrote, is left out where there is `on_torn`, which
    is told where it stands. What was guessed of the file is a `DataWarning`.
    """
    # A line may break off within a character, which must not make the whole file unreadable.
    by_line = on_torn is not None and input_suffix_of(path).startswith((".jsonl", ".ndjson"))
    for row in _rows(path, None, warn_of_guess, strict=not by_line):
        if isinstance(row, Row):
            yield row
        elif on_torn is not None and row.error.code == TORN:
            on_torn(f"{path} line {row.number}")
        else:
            raise row.error


def warn_of_guess(note: str) -> None:
    """Say in a `DataWarning` how a file is read, where its name does not tell."""
    warnings.warn(note, DataWarning, stacklevel=3)


def every_row(
    path: Path, file: io.BufferedReader | None = None, *, on_guess: Callable[[str], None] = warn_of_guess
) -> Iterator[Row | BadRow]:
    """The same, with the rows that cannot be read in their places: one of them does not end the reading.

    `file` is `path`, opened: whoever opened it can see how far it has been read. `on_guess` is told how the file is
    read, where its name does not tell.
    """
    return _rows(path, file, on_guess, strict=False)


def _rows(
    path: Path, file: io.BufferedReader | None, on_guess: Callable[[str], None], *, strict: bool
) -> Iterator[Row | BadRow]:
    suffix = input_suffix_of(path)
    if suffix == ".parquet":
        yield from _parquet_rows(path, file)
    elif suffix == WORKBOOK:
        yield from _workbook_rows(path, file, on_guess)
    else:
        expected = _DELIMITERS.get(suffix.removesuffix(".gz"))
        with open_text(path, file, packed=suffix.endswith(".gz"), expected=expected, strict=strict) as (text, form):
            if form.note:
                on_guess(f"{path}: {form.note}")
            yield from _json_rows(text, path, form) if expected is None else _csv_rows(text, path, form)


def as_text(value: object) -> str:
    """A value as a table of text has it."""
    if isinstance(value, str):
        return value
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return ""
    if isinstance(value, (bool, list, dict)):
        return json.dumps(value, ensure_ascii=False, default=str)
    return str(value)


def _csv_rows(stream: IO[str], path: Path, form: TextForm) -> Iterator[Row | BadRow]:
    csv.field_size_limit(max(csv.field_size_limit(), _LONGEST))
    stream.read(form.separator.said)
    lines = _Lines(stream, 2 if form.separator.said else 1)
    reader = csv.reader(lines, delimiter=form.separator.character, strict=True)
    header: list[str] | None = None
    for number in count(1):
        lines.start_row()
        try:
            cells = next(reader, None)
        except csv.Error as e:
            advice = 'put a text that holds quotes or line ends in quotes, and write "" for a quote in it'
            error = DataError(f"{path} line {lines.number}: {e}; {advice}")
            if header is None:
                raise error from e
            yield BadRow(number, error, lines.keep_first())
            continue
        if cells is None:
            return
        if not cells:
            continue
        where = f"{path} row {number}"
        broken = undecoded("".join(cells))  # one look at a row is cheaper than one at each cell
        if header is None:
            if broken:
                raise DataError(f"{path} is not {form.encoding.name} text (in its header); save it as UTF-8")
            header = _header(cells, path)
        elif broken:
            yield BadRow(number, DataError(f"{where} is not {form.encoding.name} text; save it as UTF-8"), cells)
        elif len(cells) != len(header):
            error = DataError(f"{where} has {len(cells)} fields; the header has {len(header)}")
            yield BadRow(number, error, cells)
        else:
            yield Row(where, dict(zip(header, cells, strict=True)), number)


class _Lines:
    """The lines of a file, for a CSV reader that may have to give some back.

    A quote that is left open takes in line after line until something gives it away. Then only its first line is bad.
    """

    def __init__(self, stream: IO[str], first: int) -> None:
        self.number = first  # of the row's first line
        self._stream = stream
        self._row: list[str] = []
        self._again: deque[str] = deque()

    def __iter__(self) -> "_Lines":
        return self

    def __next__(self) -> str:
        line = self._again.popleft() if self._again else self._stream.readline(_LONGEST + 1)
        if not line:
            raise StopIteration
        self._row.append(line)
        return line

    def start_row(self) -> None:
        """What is read from now on belongs to another row."""
        self.number += len(self._row)
        self._row.clear()

    def keep_first(self) -> str:
        """The row's first line; the others will be read again."""
        first, *others = self._row
        self._again.extendleft(reversed(others))
        self._row = [first]
        return first


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


def _json_rows(stream: IO[str], path: Path, form: TextForm) -> Iterator[Row | BadRow]:
    lines = iter(lambda: stream.readline(_LONGEST + 1), "")
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        where = f"{path} line {number}"
        try:
            row: Row | BadRow = Row(where, _json_object(line, where, form), number)
        except DataError as e:
            row = BadRow(number, e, line)
        yield row


def _json_object(line: str, where: str, form: TextForm) -> Values:
    if len(line) > _LONGEST:
        raise DataError(f"{where} is longer than {_LONGEST:,} characters; write one JSON object a line")
    values = parse_json(line, where)
    if undecoded(line):
        raise DataError(f"{where} is not {form.encoding.name} text; save it as UTF-8")
    if not isinstance(values, dict):
        raise DataError(f"{where} is not a JSON object; write one JSON object a line")
    return values


def _parquet_rows(path: Path, file: io.BufferedReader | None) -> Iterator[Row]:
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError as e:
        raise DataError(f"reading {path} needs pyarrow; install it with `pip install 'tabsa[tables]'`") from e
    try:
        with opened(path, file) as stream, parquet.ParquetFile(stream) as table:
            _refuse_repeated(table.schema_arrow.names, path)
            number = 0
            for batch in table.iter_batches(batch_size=_PARQUET_BATCH):
                for values in batch.to_pylist():
                    number += 1
                    yield Row(f"{path} row {number}", values, number)
    except (pyarrow.ArrowException, ValueError) as e:  # the second: text that is not UTF-8, times in nanoseconds
        raise DataError(f"{path} is not a readable Parquet file: {str(e).splitlines()[0]}") from e
    except OSError as e:
        raise DataError(f"cannot read {path}: {reason(e)}") from e


def _workbook_rows(
    path: Path, file: io.BufferedReader | None, on_guess: Callable[[str], None]
) -> Iterator[Row | BadRow]:
    with opened(path, file) as stream, closing(Workbook(stream, path)) as book:
        if book.note:
            on_guess(f"{path}: {book.note}")
        names: list[str] = []
        for number, cells in book.rows():
            if not names:
                names = _header(workbook_header(cells), path)
            elif max(cells) >= len(names):
                where = f"{path} row {number}"
                error = DataError(f"{where} has a value in column {column_name(max(cells))}, which has no name")
                yield BadRow(number, error, list(map(as_text, cells.values())))
            else:
                values = {name: as_text(cells.get(place)) for place, name in enumerate(names)}
                yield Row(f"{path} row {number}", dict(values), number)
