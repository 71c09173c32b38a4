"""Rows of a user's table, one at a time and at constant memory: CSV, TSV, JSON Lines (each also .gz), Parquet, Excel.

    for row in read_rows(Path("reviews.csv")):    # Row, or BadRow where one cannot be read
        row.number, row.values

A file of text is UTF-8, UTF-16 with its mark, or else Windows-1252; its separator is the one that gives the rows as
many fields as the header has. What a file's name does not say is reported to `on_guess`, by default in a `DataWarning`.
"""

import codecs
import csv
import gzip
import io
import json
import math
import re
import warnings
import zlib
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from itertools import count
from pathlib import Path
from typing import IO, Any, Final, NamedTuple, TypeAlias

from tabsa.errors import DataError, DataWarning
from tabsa.files import reason
from tabsa.tables.fields import TORN, parse_json

TEXT_SUFFIXES: Final = (".csv", ".tsv", ".jsonl", ".ndjson")
SUFFIXES: Final = (*TEXT_SUFFIXES, *(f"{suffix}.gz" for suffix in TEXT_SUFFIXES), ".parquet")  # that are written
INPUT_SUFFIXES: Final = (*SUFFIXES, ".xlsx")  # that are read

Values: TypeAlias = dict[str, object]
Binary: TypeAlias = IO[bytes]

_SEPARATORS: Final = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "bars"}
_HEAD: Final = 1 << 16  # bytes by which a separator is found
_BLOCK: Final = 1 << 20
_SEARCHED: Final = 256  # blocks in which the first letter beyond ASCII is looked for
_LONGEST: Final = 10_000_000  # characters: no text is as long, but a quote left open or a file without line ends is
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


class _TextForm(NamedTuple):
    """How a file of text is read."""

    codec: str
    separator: str = ""
    skipped: int = 0  # characters of a first line that only names the separator

    @property
    def encoding(self) -> str:
        return {"utf-8-sig": "UTF-8", "utf-16": "UTF-16"}.get(self.codec, "Windows-1252")


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

    Args:
        path: the table, whose name tells its format.
        stream: its bytes, where they are open already (`path` is then only a name).
        separator: of a CSV's fields; found by the first rows where it is None.
        on_guess: called with a line on how the file is read, where its name does not tell.

    Raises:
        DataError: the file cannot be read at all: another kind of file, a broken archive, a header with a name twice.
    """
    suffix = suffix_of(path, INPUT_SUFFIXES)
    if suffix == ".parquet":
        from tabsa.tables.parquet import parquet_rows

        yield from parquet_rows(path, stream)
    elif suffix == ".xlsx":
        from tabsa.tables.workbooks import workbook_rows

        yield from workbook_rows(path, stream, on_guess)
    else:
        expected = {".csv": ",", ".tsv": "\t"}.get(suffix.removesuffix(".gz"))
        with _open_text(path, stream, suffix.endswith(".gz"), expected, separator) as (text, form):
            guessed = [form.encoding] if form.encoding != "UTF-8" else []
            if form.separator not in (expected or "", separator):
                named = _SEPARATORS.get(form.separator, f"'{form.separator}'")
                guessed.append(f"separated by {named}")
            if guessed:
                on_guess(f"{path}: read as {', '.join(guessed)}")
            yield from _json_rows(text, path) if expected is None else _csv_rows(text, path, form)


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


def opened(path: Path, stream: Binary | None) -> AbstractContextManager[Binary]:
    """Open the file, to be closed at the end, unless it is open."""
    return path.open("rb") if stream is None else nullcontext(stream)


def header_of(names: Iterable[str], path: Path) -> list[str]:
    """Return the names of columns without spaces around them; a name that is there twice is refused."""
    header = [name.strip() for name in names]
    if repeated := [name for name, times in Counter(header).items() if times > 1]:
        raise DataError(f"{path} has more than one column {repeated[0]!r}; give each column its own name")
    return header


# ---- files of text


@contextmanager
def _open_text(
    path: Path, stream: Binary | None, packed: bool, expected: str | None, separator: str | None
) -> Iterator[tuple[IO[str], _TextForm]]:
    """Open a file as text; bytes that are none leave a mark, and what goes wrong meanwhile becomes one clear line."""
    try:
        with opened(path, stream) as raw, _unpacked(raw, packed) as binary:
            form = _form_of(binary, path, expected, separator, seekable=raw.seekable())
            errors = "strict" if form.codec == "utf-16" else "surrogateescape"  # which UTF-16 does not know
            with io.TextIOWrapper(binary, encoding=form.codec, errors=errors, newline="") as text:
                yield text, form
    except UnicodeDecodeError as e:
        raise DataError(f"{path} is not UTF-16 text; save it as UTF-8") from e
    except (gzip.BadGzipFile, EOFError, zlib.error) as e:
        raise DataError(f"{path} is not a whole gzip file: {e}") from e
    except OSError as e:
        raise DataError(f"cannot read {path}: {reason(e)}") from e


def _unpacked(raw: Binary, packed: bool) -> AbstractContextManager[Any]:
    return gzip.GzipFile(fileobj=raw) if packed else nullcontext(raw)


def _form_of(binary: Binary, path: Path, expected: str | None, separator: str | None, *, seekable: bool) -> _TextForm:
    head = binary.read(_HEAD) if seekable else binary.peek(_HEAD)[:_HEAD]  # type: ignore[attr-defined]
    letters = head
    with suppress(EOFError, zlib.error):  # it breaks off further on, which its reader will find
        for _ in range(_SEARCHED if seekable and expected else 0):
            if not letters.isascii() or not letters:
                break
            letters = binary.read(_BLOCK)
    if seekable:
        binary.seek(0)
    if head.startswith(_OTHER_KINDS):
        raise DataError(f"{path} is not text, but another kind of file; save it as CSV UTF-8, a workbook as .xlsx")
    codec = "utf-8-sig"
    if head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        codec = "utf-16"
    elif expected and _is_windows(letters):
        codec = "cp1252"
    if expected is None:
        return _TextForm(codec)
    start = codecs.getincrementaldecoder(codec)("replace").decode(head)
    if written := _SEPARATOR_LINE.match(start):  # as spreadsheets write it
        return _TextForm(codec, written[1], written.end())
    return _TextForm(codec, separator or _find_separator(start, expected))


def _is_windows(letters: bytes) -> bool:
    """Tell whether bytes beyond ASCII are mostly not UTF-8: a few bad rows do not make a file Windows-1252."""
    text = codecs.getincrementaldecoder("utf-8")("surrogateescape").decode(letters)
    wrong = len(_UNDECODED.findall(text))
    return 2 * wrong > sum(not character.isascii() for character in text)


def _find_separator(head: str, expected: str) -> str:
    """Return the separator that gives most rows the header's number of fields, and of those the one with most fields.

    `csv.Sniffer` takes apostrophes for quotes, fails on 4% of random tables, and needs seconds for some 64 kB.
    """
    best = (0.5, 1, expected)
    for separator in dict.fromkeys((expected, *_SEPARATORS)):
        widths: list[int] = []
        try:
            for cells in csv.reader(io.StringIO(head, newline=""), delimiter=separator, strict=True):
                widths += [len(cells)] if cells else []
                if len(widths) > 100:
                    break
            else:
                widths = widths[:-1] if len(head) >= _HEAD else widths  # the last row may be cut
        except csv.Error:
            widths = widths if len(head) >= _HEAD else [*widths, 0]
        if widths and widths[0] > 1:
            share = sum(width == widths[0] for width in widths[1:]) / (len(widths) - 1) if len(widths) > 1 else 1.0
            best = max(best, (share, widths[0], separator), key=lambda fit: fit[:2])
    return best[2]


def _csv_rows(stream: IO[str], path: Path, form: _TextForm) -> Iterator[Row | BadRow]:
    csv.field_size_limit(max(csv.field_size_limit(), _LONGEST))
    stream.read(form.skipped)
    lines = _Lines(stream, 2 if form.skipped else 1)
    reader = csv.reader(lines, delimiter=form.separator, strict=True)
    header: list[str] = []
    for number in count(1):
        lines.start_row()
        try:
            cells = next(reader, None)
        except csv.Error as e:
            advice = 'put a text that holds quotes or line ends in quotes, and write "" for a quote in it'
            error = DataError(f"{path} line {lines.number}: {e}; {advice}")
            if not header:
                raise error from e
            yield BadRow(number, error, lines.keep_first())
            continue
        if cells is None:
            return
        if not cells:
            continue
        where = f"{path} row {number}"
        broken = _undecoded("".join(cells))  # one look at a row is cheaper than one at each cell
        if not header:
            if broken:
                raise DataError(f"{path} is not {form.encoding} text (in its header); save it as UTF-8")
            header = header_of(cells, path)
        elif broken:
            yield BadRow(number, DataError(f"{where} is not {form.encoding} text; save it as UTF-8"), cells)
        elif len(cells) != len(header):
            yield BadRow(number, DataError(f"{where} has {len(cells)} fields; the header has {len(header)}"), cells)
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
        """Count what is read from now on as another row's."""
        self.number += len(self._row)
        self._row.clear()

    def keep_first(self) -> str:
        """Return the row's first line; the others will be read again."""
        first, *others = self._row
        self._again.extendleft(reversed(others))
        self._row = [first]
        return first


def _json_rows(stream: IO[str], path: Path) -> Iterator[Row | BadRow]:
    for number, line in enumerate(iter(lambda: stream.readline(_LONGEST + 1), ""), start=1):
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
            row: Row | BadRow = Row(where, values, number)
        except DataError as e:
            row = BadRow(number, e, line)
        yield row


def _undecoded(text: str) -> bool:
    return not text.isascii() and _UNDECODED.search(text) is not None
