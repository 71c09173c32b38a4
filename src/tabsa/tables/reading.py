"""Rows of a user's table, one at a time and at constant memory: CSV, TSV, JSON Lines, Parquet, Excel.

    for row in read_rows(Path("reviews.csv")):    # Row, or BadRow where one cannot be read
        row.number, row.values

A file of text is UTF-8, or a CSV Windows-1252; its separator is the one that gives the rows as many fields as the
header has. What a file's name does not say is reported to `on_guess`, by default in a `DataWarning`.
"""

import codecs
import csv
import io
import json
import math
import re
import warnings
import zipfile
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, nullcontext
from datetime import date, datetime, time
from itertools import count
from pathlib import Path
from typing import IO, Any, Final, NamedTuple, TypeAlias

from tabsa.errors import DataError, DataNotFoundError, DataWarning, first_line
from tabsa.files import reason
from tabsa.tables.fields import parse_json

TEXT_SUFFIXES: Final = (".csv", ".tsv", ".jsonl", ".ndjson")
SUFFIXES: Final = (*TEXT_SUFFIXES, ".parquet")  # that are written
INPUT_SUFFIXES: Final = (*SUFFIXES, ".xlsx")  # that are read
REJECTS: Final = ".rejects.jsonl"  # after the name of a scored table: the rows that could not be scored

Values: TypeAlias = dict[str, object]
Binary: TypeAlias = IO[bytes]
OnGuess: TypeAlias = Callable[[str], None]

_SEPARATORS: Final = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "bars"}
_HEAD: Final = 1 << 18  # bytes by which encoding and separator are found
_LONGEST: Final = 10_000_000  # characters: no text is as long, but a quote left open or a file without line ends is
_LARGEST_WORKBOOK: Final = 1 << 30  # bytes, unpacked: a workbook is a zip archive
_MOST_ROWS: Final = 1 << 20  # as many as Excel has; a file may claim more
_BATCH: Final = 1024  # rows of Parquet that are read together
_OTHER_KINDS: Final = (b"PK\x03\x04", b"\xd0\xcf\x11\xe0", b"%PDF-", b"\x1f\x8b", b"\xff\xfe", b"\xfe\xff")
_UNDECODED: Final = re.compile("[\udc80-\udcff]")  # the mark of "surrogateescape" for bytes that are not text


class Row(NamedTuple):
    """One row, and where it stands ("reviews.csv row 3"). A spreadsheet's row 1 is the header."""

    where: str
    values: Values
    number: int


class BadRow(NamedTuple):
    """A row that cannot be read: why, and its fields or its line."""

    number: int
    error: DataError
    content: object


def warn_of_guess(note: str) -> None:
    """Say in a `DataWarning` how a table is read."""
    warnings.warn(note, DataWarning, stacklevel=3)


def read_rows(path: Path, stream: Binary | None = None, *, on_guess: OnGuess = warn_of_guess) -> Iterator[Row | BadRow]:
    """Read a table's rows; those that cannot be read come in their places as a `BadRow`.

    Where its bytes are open already, as `stream`, `path` is only a name. A DataError says that the file cannot be read
    at all: another kind of file, a header with a name twice.
    """
    suffix = suffix_of(path, INPUT_SUFFIXES)
    readers = {".csv": _csv_rows, ".tsv": _csv_rows, ".parquet": _parquet_rows, ".xlsx": _workbook_rows}
    try:
        with path.open("rb") if stream is None else nullcontext(stream) as file:
            yield from readers.get(suffix, _json_rows)(path, file, on_guess)
    except OSError as e:
        raise DataError(f"cannot read {path}: {reason(e)}") from e


def read_good_rows(path: Path) -> Iterator[Row]:
    """Read a table's rows, and raise the error of the first that cannot be read."""
    for row in read_rows(path):
        if isinstance(row, BadRow):
            raise row.error
        yield row


def tables_in(folder: Path, besides: Path | None = None) -> list[Path]:
    """Return the tables of a folder with all below it.

    Names that begin with `_`, `.` or `~$` are not tables, nor are files of rejects, nor is what lies in `besides`.
    """
    found = [
        path
        for path in sorted(folder.rglob("*"))
        if path.name.lower().endswith(INPUT_SUFFIXES)
        and not path.name.endswith(REJECTS)
        and not any(part.startswith(("_", ".", "~$")) for part in path.relative_to(folder).parts)
        and not (besides and path.is_relative_to(besides))
        and path.is_file()
    ]
    if not found:
        raise DataNotFoundError(f"no table in {folder}; expected files ending in one of {', '.join(INPUT_SUFFIXES)}")
    return found


def suffix_of(path: Path, suffixes: tuple[str, ...] = SUFFIXES) -> str:
    """Return the one of `suffixes` that the file's name ends with."""
    if path.suffix.lower() in suffixes:
        return path.suffix.lower()
    advice = "; save a spreadsheet as .xlsx, or as CSV UTF-8" if ".xlsx" in suffixes else ""
    raise DataError(f"cannot tell the format of {path} by its name; expected one of {', '.join(suffixes)}{advice}")


def as_text(value: object) -> str:
    """Return a value as a table of text has it."""
    if isinstance(value, str):
        return value
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return ""
    if isinstance(value, (bool, list, dict)):
        return json.dumps(value, ensure_ascii=False, default=str)
    return str(value)


def _header_of(names: Iterable[str], path: Path) -> list[str]:
    """Return the names of columns without spaces around them; a name that is there twice is refused."""
    header = [name.strip() for name in names]
    if repeated := [name for name, times in Counter(header).items() if times > 1]:
        raise DataError(f"{path} has more than one column {repeated[0]!r}; give each column its own name")
    return header


# ---- files of text


def _is_undecoded(text: str) -> bool:
    return not text.isascii() and _UNDECODED.search(text) is not None


def _find_separator(start: str, expected: str) -> str:
    """Return the separator that gives most rows the header's number of fields, and of those the one with most fields.

    `csv.Sniffer` takes apostrophes for quotes, fails on 4% of random tables, and needs seconds for some 64 kB.
    """

    def fit(separator: str) -> tuple[float, int]:
        rows = csv.reader(io.StringIO(start, newline=""), delimiter=separator)
        first, *others = [len(cells) for cells in rows if cells] or [0]
        return (others.count(first) / len(others) if others else 1.0, first) if first > 1 else (0.0, 0)

    fits = {separator: fit(separator) for separator in dict.fromkeys((expected, *_SEPARATORS))}
    best = max(fits, key=lambda separator: fits[separator])
    return best if fits[best] > (0.5, 1) else expected


def _csv_rows(path: Path, binary: Binary, on_guess: OnGuess) -> Iterator[Row | BadRow]:
    """Read rows of text; it is Windows-1252 where its bytes beyond ASCII are mostly not UTF-8."""
    csv.field_size_limit(max(csv.field_size_limit(), _LONGEST))
    head, expected = binary.read(_HEAD), "\t" if path.suffix.lower() == ".tsv" else ","
    if head.startswith(_OTHER_KINDS):
        raise DataError(f"{path} is not text, but another kind of file; save it as CSV UTF-8, a workbook as .xlsx")
    binary.seek(0)
    start = codecs.getincrementaldecoder("utf-8-sig")("surrogateescape").decode(head)
    western = 2 * len(_UNDECODED.findall(start)) > sum(not character.isascii() for character in start)
    codec, encoding = ("cp1252", "Windows-1252") if western else ("utf-8-sig", "UTF-8")
    separator = _find_separator(start, expected)
    guessed = [encoding] * western + [f"separated by {_SEPARATORS[separator]}"] * (separator != expected)
    if guessed:
        on_guess(f"{path}: read as {', '.join(guessed)}")
    header: list[str] = []
    with io.TextIOWrapper(binary, encoding=codec, errors="surrogateescape", newline="") as text:
        for number, (cells, broken) in enumerate(_records(text, separator), start=1):
            where = f"{path} row {number}"
            wrong = ""
            if broken:
                wrong = (
                    f': {broken}; put a text that holds quotes or line ends in quotes, and write "" for a quote in it'
                )
            elif not cells:
                continue
            elif _is_undecoded("".join(cells)):  # one look at a row is cheaper than one at each cell
                wrong = f" is not {encoding} text; save it as UTF-8"
            elif header and len(cells) != len(header):
                wrong = f" has {len(cells)} fields; the header has {len(header)}"
            if wrong and not header:
                raise DataError(where + wrong)
            if wrong:
                yield BadRow(number, DataError(where + wrong), cells[0] if broken else cells)
            elif not header:
                header = _header_of(cells, path)
            else:
                yield Row(where, dict(zip(header, cells, strict=True)), number)


def _records(text: IO[str], separator: str) -> Iterator[tuple[list[str], csv.Error | None]]:
    """Cut a CSV into rows of fields; of one that is no row, the first line and what is wrong with it.

    A quote that is left open takes in line after line until something gives it away: all but the first are read again.
    """
    lines: list[str] = []  # of a row
    again: deque[str] = deque()

    def next_lines() -> Iterator[str]:
        while line := again.popleft() if again else text.readline(_LONGEST + 1):
            lines.append(line)
            yield line

    while True:
        try:
            for cells in csv.reader(next_lines(), delimiter=separator, strict=True):
                lines.clear()
                yield cells, None
            return
        except csv.Error as e:
            again.extendleft(reversed(lines[1:]))
            first = lines[:1]
            lines.clear()
            yield first, e


def _json_rows(path: Path, binary: Binary, _: OnGuess) -> Iterator[Row | BadRow]:
    with io.TextIOWrapper(binary, encoding="utf-8-sig", errors="surrogateescape", newline="") as text:
        for number, line in enumerate(iter(lambda: text.readline(_LONGEST), ""), start=1):
            where = f"{path} line {number}"
            try:
                if not line.strip():
                    continue
                values = parse_json(line, where)
                if _is_undecoded(line) or not isinstance(values, dict):
                    raise DataError(f"{where} is not a JSON object in UTF-8; write one a line")
                yield Row(where, values, number)
            except DataError as e:
                yield BadRow(number, e, line)


# ---- Parquet, by pyarrow


def require_pyarrow(path: Path | str) -> Any:
    """Return the pyarrow module, or raise one clear line where it is not installed."""
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError as e:
        raise DataError(f"{path} needs pyarrow; install it with `pip install 'tabsa[tables]'`") from e
    return pyarrow


def arrow_schema(path: Path) -> Any:
    """Return the Arrow schema of a table, if it is Parquet."""
    require_pyarrow(path)
    if suffix_of(path, INPUT_SUFFIXES) == ".parquet":
        with _parquet_file(path, path) as table:
            return table.schema_arrow
    return None


def _parquet_rows(path: Path, file: Binary, _: OnGuess) -> Iterator[Row]:
    """Read the rows, with their values as Python has them."""
    with _parquet_file(path, file) as table:
        _header_of(table.schema_arrow.names, path)
        numbers = count(1)
        for batch in table.iter_batches(batch_size=_BATCH):
            for values in batch.to_pylist():
                number = next(numbers)
                yield Row(f"{path} row {number}", values, number)


@contextmanager
def _parquet_file(path: Path, source: Binary | Path) -> Iterator[Any]:
    """Open a Parquet file; what goes wrong with it becomes one clear line."""
    pyarrow = require_pyarrow(path)
    try:
        with pyarrow.parquet.ParquetFile(source) as table:
            yield table
    # ValueError: text that is not UTF-8, times in nanoseconds; OSError: a page that is cut or packed wrongly.
    except (pyarrow.ArrowException, ValueError, OSError) as e:
        raise DataError(f"{path} is not a readable Parquet file: {first_line(e)}") from e


# ---- workbooks, by openpyxl


def _workbook_rows(path: Path, file: Binary, on_guess: OnGuess) -> Iterator[Row]:
    """Read the rows of the first visible sheet, everything as text; columns without a name are left out."""
    try:
        import openpyxl  # type: ignore[import-untyped]
    except ImportError as e:
        raise DataError(f"reading {path} needs openpyxl; install it with `pip install 'tabsa[tables]'`") from e
    try:
        with zipfile.ZipFile(file) as archive:
            if sum(part.file_size for part in archive.infolist()) > _LARGEST_WORKBOOK:
                raise DataError(f"{path} would unpack to more than {_LARGEST_WORKBOOK:,} bytes; save it as CSV UTF-8")
        with warnings.catch_warnings(action="ignore"):  # of styles and extensions that it does not know
            book = openpyxl.load_workbook(file, read_only=True, data_only=True)
        sheets = [sheet for sheet in book.worksheets if sheet.sheet_state == "visible"]
        if len(sheets) > 1:
            on_guess(f"{path}: read its first sheet, '{sheets[0].title}'; it has {len(sheets)}")
        sheets[0].reset_dimensions()  # a sheet may claim others than it has
        header: dict[int, str] = {}
        for number, cells in enumerate(sheets[0].iter_rows(max_row=_MOST_ROWS, values_only=True), start=1):
            values = dict(enumerate(map(_cell_text, cells)))
            if header and any(values.values()):
                shown: Values = {name: values.get(place, "") for place, name in header.items()}
                yield Row(f"{path} row {number}", shown, number)
            elif not header:
                header = {place: name.strip() for place, name in values.items() if name.strip()}
                _header_of(header.values(), path)
    except (DataError, OSError):
        raise
    except Exception as e:  # a damaged file shows itself in whatever openpyxl does with it
        why = f"is not a whole Excel workbook ({first_line(e)}); save it again as .xlsx, or as CSV UTF-8"
        raise DataError(f"{path} {why}") from e


def _cell_text(value: object) -> str:
    """Return a cell as text: days as 2024-01-31, whole numbers without a point."""
    if isinstance(value, datetime):
        return value.isoformat(" ") if value.time() != time.min else value.date().isoformat()
    if isinstance(value, date | time):
        return value.isoformat()
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**53:
        value = int(value)
    return as_text(value).replace("\r\n", "\n")
