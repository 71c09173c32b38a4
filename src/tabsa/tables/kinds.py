"""What a file is, by its name and by its first bytes: a table that can be read, or something else that has a name."""

from pathlib import Path
from typing import Final

from tabsa.errors import DataError

TEXT_SUFFIXES: Final = (".csv", ".tsv", ".jsonl", ".ndjson")
SUFFIXES: Final = (*TEXT_SUFFIXES, *(f"{suffix}.gz" for suffix in TEXT_SUFFIXES), ".parquet")
WORKBOOK: Final = ".xlsx"
INPUT_SUFFIXES: Final = (*SUFFIXES, WORKBOOK)  # what is read, and not all of it written

_CSV: Final = "save it as CSV UTF-8"
_OTHER_NAMES: Final = {
    ".xls": f"an old Excel workbook; save it as .xlsx, or {_CSV}",
    ".xlsm": f"an Excel workbook with macros; save it as .xlsx, or {_CSV}",
    ".xlsb": f"a binary Excel workbook; save it as .xlsx, or {_CSV}",
    ".ods": f"an OpenDocument table; {_CSV}",
    ".numbers": "a Numbers table; export it as CSV",
    ".pdf": "a PDF file, not a table; expected rows, one text each",
    ".doc": "a Word document, not a table; expected rows, one text each",
    ".docx": "a Word document, not a table; expected rows, one text each",
    ".zip": "a zip archive; unpack it",
}
_OTHER_CONTENT: Final = {
    b"PK\x03\x04": f"a zip archive or an Excel workbook, not text; give a workbook the name .xlsx, or {_CSV}",
    b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1": f"an old or an encrypted Excel workbook, not text; {_CSV}",
    b"%PDF-": "a PDF file, not a table; expected rows, one text each",
    b"PAR1": "a Parquet file; give it the name .parquet",
    b"\x1f\x8b": "a packed file (gzip); give it a name that ends in .gz",
}


def suffix_of(path: Path) -> str:
    """The one of `SUFFIXES` that the file's name ends with."""
    return _suffix_of(path, SUFFIXES)


def input_suffix_of(path: Path) -> str:
    """The one of `INPUT_SUFFIXES` that the file's name ends with; other kinds of file get a word of their own."""
    if other := other_kind(path.name):
        raise DataError(f"{path} is {other}")
    return _suffix_of(path, INPUT_SUFFIXES)


def _suffix_of(path: Path, suffixes: tuple[str, ...]) -> str:
    name = path.name.lower()
    for suffix in suffixes:
        if name.endswith(suffix):
            return suffix
    raise DataError(f"cannot tell the format of {path} by its name; expected one of {', '.join(suffixes)}")


def other_kind(name: str) -> str | None:
    """What a file of this name is, and what to do about it, where it is a known kind that is no table to be read."""
    return _OTHER_NAMES.get(Path(name).suffix.lower())


def refuse_content(head: bytes, path: Path) -> None:
    """Raise a DataError where a file of text begins as something else does."""
    for start, other in _OTHER_CONTENT.items():
        if head.startswith(start):
            raise DataError(f"{path} is {other}")
