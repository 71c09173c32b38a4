"""The rows of an Excel workbook's first visible sheet. Needs openpyxl, and only when called."""

import warnings
import zipfile
from collections.abc import Callable, Iterator
from datetime import date, datetime, time
from pathlib import Path
from typing import Final

from tabsa.errors import DataError, first_line
from tabsa.files import reason
from tabsa.tables.reading import BadRow, Binary, Row, as_text, header_of, opened

LARGEST: Final = 1 << 30  # bytes, unpacked: a workbook is a zip archive
_MOST_ROWS: Final = 1 << 20  # as many as Excel has; a file may claim more


def workbook_rows(path: Path, stream: Binary | None, on_guess: Callable[[str], None]) -> Iterator[Row | BadRow]:
    """Read the rows, everything as text; a column without a name has its letters."""
    try:
        import openpyxl  # type: ignore[import-untyped]
        from openpyxl.utils import get_column_letter  # type: ignore[import-untyped]
    except ImportError as e:
        raise DataError(f"reading {path} needs openpyxl; install it with `pip install 'tabsa[tables]'`") from e
    try:
        with opened(path, stream) as file:
            _refuse_bomb(file, path)
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
                values = [_text(cell) for cell in cells]
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
    except DataError:
        raise
    except OSError as e:
        raise DataError(f"cannot read {path}: {reason(e)}") from e
    except Exception as e:  # a damaged file shows itself in whatever openpyxl does with it
        why = f"is not a whole Excel workbook ({first_line(e)}); save it again as .xlsx, or as CSV UTF-8"
        raise DataError(f"{path} {why}") from e


def _refuse_bomb(file: Binary, path: Path) -> None:
    with zipfile.ZipFile(file) as archive:
        size = sum(part.file_size for part in archive.infolist())
    if size > LARGEST:
        raise DataError(f"{path} would unpack to more than {LARGEST:,} bytes; save it as CSV UTF-8")
    file.seek(0)


def _text(value: object) -> str:
    """Return a cell as text: days as 2024-01-31, whole numbers without a point."""
    if isinstance(value, datetime):
        return value.isoformat(" ") if value.time() != time.min else value.date().isoformat()
    if isinstance(value, date | time):
        return value.isoformat()
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**53:
        value = int(value)
    return as_text(value).replace("\r\n", "\n")
