"""Rows of a user's table, one at a time and at constant memory: CSV, TSV, JSON Lines (each also .gz), Parquet, Excel.

    for row in read_rows(Path("reviews.csv")):    # Row, or BadRow where one cannot be read
        row.number, row.values

A file of text is UTF-8, UTF-16 with its mark, or else Windows-1252; its separator is the one that gives the rows as
many fields as the header has. What a file's name does not say is reported to `on_guess`, by default in a `DataWarning`.
"""

import codecs
import csv
import glob
import gzip
import io
import json
import math
import re
import warnings
import zipfile
import zlib
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, nullcontext, suppress
from datetime import date, datetime, time
from itertools import count
from pathlib import Path
from typing import IO, Any, Final, NamedTuple, TypeAlias

from tabsa.errors import DataError, DataNotFoundError, DataWarning, first_line
from tabsa.files import reason
from tabsa.tables.fields import TORN, parse_json

TEXT_SUFFIXES: Final = (".csv", ".tsv", ".jsonl", ".ndjson")
SUFFIXES: Final = (*TEXT_SUFFIXES, *(f"{suffix}.gz" for suffix in TEXT_SUFFIXES), ".parquet")  # that are written
INPUT_SUFFIXES: Final = (*SUFFIXES, ".xlsx")  # that are read
REJECTS: Final = ".rejects.jsonl"  # after the name of a scored table: the rows that could not be scored

Values: TypeAlias = dict[str, object]
Binary: TypeAlias = IO[bytes]

_ENCODINGS: Final = {"utf-8-sig": "UTF-8", "utf-16": "UTF-16", "cp1252": "Windows-1252"}
_SEPARATORS: Final = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "bars"}
_HEAD: Final = 1 << 16  # bytes by which a separator is found
_BLOCK: Final = 1 << 20
_SEARCHED: Final = 256  # blocks in which the first letter beyond ASCII is looked for
_LONGEST: Final = 10_000_000  # characters: no text is as long, but a quote left open or a file without line ends is
_LARGEST_WORKBOOK: Final = 1 << 30  # bytes, unpacked: a workbook is a zip archive
_MOST_ROWS: Final = 1 << 20  # as many as Excel has; a file may claim more
_BATCH: Final = 1024  # rows of Parquet that are read together
_OTHER_KINDS: Final = (b"PK\x03\x04", b"\xd0\xcf\x11\xe0", b"%PDF-", b"PAR1", b"\x1f\x8b", b"\xff\xfe\0\0", b"\0\0")
_UNDECODED: Final = re.compile("[\udc80-\udcff]")  # the mark of "surrogateescape" for bytes that are not text
_SEPARATOR_LINE: Final = re.compile(r'"?sep=([^\w\s"]|\t)"?[ \t;,]*(\r\n|\r|\n|$)', re.IGNORECASE)


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


def read_rows(
    path: Path,
    stream: Binary | None = None,
    *,
    separator: str | None = None,
    on_guess: Callable[[str], None] = warn_of_guess,
) -> Iterator[Row | BadRow]:
    """Read a table's rows; those that cannot be read come in their places as a `BadRow`.

    Where its bytes are open already, as `stream`, `path` is only a name. A DataError says that the file cannot be read
    at all: another kind of file, a broken archive, a header with a name twice.
    """
    suffix = suffix_of(path, INPUT_SUFFIXES)
    try:
        with path.open("rb") if stream is None else nullcontext(stream) as file:
            if suffix == ".parquet":
                yield from parquet_rows(path, file)
            elif suffix == ".xlsx":
                yield from _workbook_rows(path, file, on_guess)
            else:
                unpacked: Any = gzip.GzipFile(fileobj=file) if suffix.endswith(".gz") else nullcontext(file)
                with unpacked as binary:
                    yield from _text_rows(path, binary, suffix.removesuffix(".gz"), separator, on_guess)
    except UnicodeDecodeError as e:
        raise DataError(f"{path} is not UTF-16 text; save it as UTF-8") from e
    except (gzip.BadGzipFile, EOFError, zlib.error) as e:
        raise DataError(f"{path} is not a whole gzip file: {e}") from e
    except OSError as e:
        raise DataError(f"cannot read {path}: {reason(e)}") from e


def read_good_rows(path: Path, *, on_torn: Callable[[str], None] | None = None) -> Iterator[Row]:
    """Read a table's rows, and raise the error of the first that cannot be read.

    A line of JSON that breaks off, as where a program died while it wrote, is reported to `on_torn` and left out.
    """
    for row in read_rows(path):
        if isinstance(row, Row):
            yield row
        elif on_torn is not None and row.error.code == TORN:
            on_torn(f"{path} line {row.number}")
        else:
            raise row.error


def tables_in(source: Path, besides: Path | None = None) -> tuple[Path, list[Path]]:
    """Return a folder and its tables with all below it, or the tables of a pattern (`**` is any number of folders).

    Names that begin with `_`, `.` or `~$` are not tables, nor are files of rejects, nor is what lies in `besides`.
    """
    root, pattern = source, "**/*"
    if not source.is_dir():
        parts = source.absolute().parts
        first = next((n for n, part in enumerate(parts) if glob.has_magic(part)), len(parts) - 1)
        root, pattern = Path(*parts[:first]), "/".join(parts[first:])
    found = [
        path
        for path in sorted(root.glob(pattern))
        if path.name.lower().endswith(INPUT_SUFFIXES)
        and not path.name.endswith(REJECTS)
        and not any(part.startswith(("_", ".", "~$")) for part in path.relative_to(root).parts)
        and not (besides and path.is_relative_to(besides))
        and path.is_file()
    ]
    if not found:
        raise DataNotFoundError(f"no table in {source}; expected files ending in one of {', '.join(INPUT_SUFFIXES)}")
    return root, found


def suffix_of(path: Path, suffixes: tuple[str, ...] = SUFFIXES) -> str:
    """Return the one of `suffixes` that the file's name ends with."""
    for suffix in suffixes:
        if path.name.lower().endswith(suffix):
            return suffix
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


def header_of(names: Iterable[str], path: Path) -> list[str]:
    """Return the names of columns without spaces around them; a name that is there twice is refused."""
    header = [name.strip() for name in names]
    if repeated := [name for name, times in Counter(header).items() if times > 1]:
        raise DataError(f"{path} has more than one column {repeated[0]!r}; give each column its own name")
    return header


# ---- files of text


def _text_rows(
    path: Path, binary: Binary, suffix: str, separator: str | None, on_guess: Callable[[str], None]
) -> Iterator[Row | BadRow]:
    """Read a file as text; bytes that are none leave a mark, of "surrogateescape", which UTF-16 does not know."""
    expected = {".csv": ",", ".tsv": "\t"}.get(suffix)
    head = binary.read(_HEAD)
    codec = _find_codec(path, head, binary, western=expected is not None)
    binary.seek(0)
    guessed = [_ENCODINGS[codec]] if codec != "utf-8-sig" else []
    errors = "strict" if codec == "utf-16" else "surrogateescape"
    with io.TextIOWrapper(binary, encoding=codec, errors=errors, newline="") as text:
        if expected is None:
            rows = _json_rows(text, path)
        else:
            start = codecs.getincrementaldecoder(codec)("replace").decode(head)
            written = _SEPARATOR_LINE.match(start)  # as spreadsheets write it
            found = written[1] if written else separator or _find_separator(start, expected, whole=len(head) < _HEAD)
            if found not in (expected, separator):
                guessed.append(f"separated by {_SEPARATORS.get(found, repr(found))}")
            text.read(written.end() if written else 0)
            rows = _csv_rows(text, path, found, _ENCODINGS[codec], first=2 if written else 1)
        if guessed:
            on_guess(f"{path}: read as {', '.join(guessed)}")
        yield from rows


def _find_codec(path: Path, head: bytes, binary: Binary, *, western: bool) -> str:
    """Return the encoding of a file by its first letters beyond ASCII; with `western` it may be Windows-1252.

    It is where these bytes are mostly not UTF-8: a few bad rows do not make a file Windows-1252.
    """
    if head.startswith(_OTHER_KINDS):
        raise DataError(f"{path} is not text, but another kind of file; save it as CSV UTF-8, a workbook as .xlsx")
    if head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "utf-16"
    letters, searched = head, 0
    with suppress(EOFError, zlib.error):  # it breaks off further on, which its reader will find
        while western and letters and letters.isascii() and searched < _SEARCHED:
            letters, searched = binary.read(_BLOCK), searched + 1
    text = codecs.getincrementaldecoder("utf-8")("surrogateescape").decode(letters)
    wrong = len(_UNDECODED.findall(text))
    windows = western and 2 * wrong > sum(not character.isascii() for character in text)
    return "cp1252" if windows else "utf-8-sig"


def _find_separator(head: str, expected: str, *, whole: bool) -> str:
    """Return the separator that gives most rows the header's number of fields, and of those the one with most fields.

    `csv.Sniffer` takes apostrophes for quotes, fails on 4% of random tables, and needs seconds for some 64 kB.
    """

    def fit(separator: str) -> tuple[float, int]:
        widths: list[int] = []
        try:
            reader = csv.reader(io.StringIO(head, newline=""), delimiter=separator, strict=True)
            for cells in reader:
                widths += [len(cells)] if cells else []
            widths = widths if whole else widths[:-1]  # the last row may be cut
        except csv.Error:
            widths += [0] if whole else []
        if not widths or widths[0] < 2:
            return 0, 0
        first, *others = widths
        return (others.count(first) / len(others) if others else 1.0), first

    fits = {separator: fit(separator) for separator in dict.fromkeys((expected, *_SEPARATORS))}
    best = max(fits, key=lambda separator: fits[separator])
    return best if fits[best] > (0.5, 1) else expected


def _csv_rows(text: IO[str], path: Path, separator: str, encoding: str, *, first: int) -> Iterator[Row | BadRow]:
    csv.field_size_limit(max(csv.field_size_limit(), _LONGEST))
    lines: list[str] = []  # of a row
    again: deque[str] = deque()  # those that are to be read once more
    line_number, header = first, list[str]()

    def next_lines() -> Iterator[str]:
        while line := again.popleft() if again else text.readline(_LONGEST + 1):
            lines.append(line)
            yield line

    reader = csv.reader(next_lines(), delimiter=separator, strict=True)
    for number in count(1):
        line_number += len(lines)
        lines.clear()
        try:
            cells = next(reader, None)
        except csv.Error as e:
            advice = 'put a text that holds quotes or line ends in quotes, and write "" for a quote in it'
            error = DataError(f"{path} line {line_number}: {e}; {advice}")
            if not header:
                raise error from e
            # A quote that is left open takes in line after line until something gives it away: only its first is bad.
            again.extendleft(reversed(lines[1:]))
            del lines[1:]
            reader = csv.reader(next_lines(), delimiter=separator, strict=True)
            yield BadRow(number, error, lines[0])
            continue
        if cells is None:
            return
        if not cells:
            continue
        where = f"{path} row {number}"
        broken = _undecoded("".join(cells))  # one look at a row is cheaper than one at each cell
        if not header:
            if broken:
                raise DataError(f"{path} is not {encoding} text (in its header); save it as UTF-8")
            header = header_of(cells, path)
        elif broken:
            yield BadRow(number, DataError(f"{where} is not {encoding} text; save it as UTF-8"), cells)
        elif len(cells) != len(header):
            yield BadRow(number, DataError(f"{where} has {len(cells)} fields; the header has {len(header)}"), cells)
        else:
            yield Row(where, dict(zip(header, cells, strict=True)), number)


def _json_rows(text: IO[str], path: Path) -> Iterator[Row | BadRow]:
    for number, line in enumerate(iter(lambda: text.readline(_LONGEST + 1), ""), start=1):
        if not line.strip():
            continue
        where = f"{path} line {number}"
        try:
            if len(line) > _LONGEST:
                raise DataError(f"{where} is longer than {_LONGEST:,} characters; write one JSON object a line")
            values = parse_json(line, where)
            if _undecoded(line):
                raise DataError(f"{where} is not UTF-8 text; save it as UTF-8")
            if not isinstance(values, dict):
                raise DataError(f"{where} is not a JSON object; write one JSON object a line")
        except DataError as e:
            yield BadRow(number, e, line)
        else:
            yield Row(where, values, number)


def _undecoded(text: str) -> bool:
    return not text.isascii() and _UNDECODED.search(text) is not None


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


def parquet_rows(path: Path, file: Binary) -> Iterator[Row]:
    """Read the rows, with their values as Python has them."""
    with _parquet_file(path, file) as table:
        header_of(table.schema_arrow.names, path)
        number = 0
        for batch in table.iter_batches(batch_size=_BATCH):
            for values in batch.to_pylist():
                number += 1
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


def _workbook_rows(path: Path, file: Binary, on_guess: Callable[[str], None]) -> Iterator[Row | BadRow]:
    """Read the rows of the first visible sheet, everything as text; a column without a name has its letters."""
    try:
        import openpyxl  # type: ignore[import-untyped]
        from openpyxl.utils import get_column_letter  # type: ignore[import-untyped]
    except ImportError as e:
        raise DataError(f"reading {path} needs openpyxl; install it with `pip install 'tabsa[tables]'`") from e
    try:
        with zipfile.ZipFile(file) as archive:
            if sum(part.file_size for part in archive.infolist()) > _LARGEST_WORKBOOK:
                raise DataError(f"{path} would unpack to more than {_LARGEST_WORKBOOK:,} bytes; save it as CSV UTF-8")
        with warnings.catch_warnings(action="ignore"):  # of styles and extensions that it does not know
            book = openpyxl.load_workbook(file, read_only=True, data_only=True)
        sheets = [sheet for sheet in book.worksheets if sheet.sheet_state == "visible"]
        if not sheets:
            raise DataError(f"{path} has no sheet with rows")
        if len(sheets) > 1:
            on_guess(f"{path}: read its first sheet, '{sheets[0].title}'; it has {len(sheets)}")
        sheets[0].reset_dimensions()  # a sheet may claim others than it has
        header: list[str] = []
        for number, cells in enumerate(sheets[0].iter_rows(max_row=_MOST_ROWS, values_only=True), start=1):
            values = [_cell_text(cell) for cell in cells]
            while values and not values[-1]:
                values.pop()
            if not values:
                continue
            if not header:
                names = [name.strip() or f"column {get_column_letter(n)}" for n, name in enumerate(values, start=1)]
                header = header_of(names, path)
            elif len(values) > len(header):
                column = get_column_letter(len(values))
                error = DataError(f"{path} row {number} has a value in column {column}, which has no name")
                yield BadRow(number, error, values)
            else:
                values += [""] * (len(header) - len(values))
                yield Row(f"{path} row {number}", dict(zip(header, values, strict=True)), number)
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
