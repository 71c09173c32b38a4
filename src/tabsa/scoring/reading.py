"""The table to score: its rows in chunks, and what its columns are for."""

import io
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from types import TracebackType

from tabsa.errors import DataError, DataNotFoundError, unknown_name
from tabsa.files import reason
from tabsa.scoring.request import Request
from tabsa.tables import parquet
from tabsa.tables.fields import is_blank
from tabsa.tables.kinds import input_suffix_of
from tabsa.tables.rows import BadRow, Row, Values, every_row, warn_of_guess

_CHUNK_CHARACTERS = 4_000_000  # ends a chunk before its rows do, so that long texts and names do not fill the memory


class InputTable:
    """The input, read once from start to end; `on_guess` is told how, where the file's name does not tell.

    `file` is the input, opened, where it is no file of this machine.
    """

    def __init__(
        self,
        path: Path,
        *,
        file: io.BufferedReader | None = None,
        on_guess: Callable[[str], None] = warn_of_guess,
    ) -> None:
        self.path, self._on_guess = path, on_guess
        self._suffix = input_suffix_of(path)
        self._reached = 0
        if file is not None:
            self._file, self._size = file, file.seek(0, os.SEEK_END)
            file.seek(0)
            return
        if path.is_dir():
            raise DataError(f"{path} is a folder; expected a file")
        try:
            self._file = path.open("rb")
        except FileNotFoundError as e:
            raise DataNotFoundError(f"no file {path}; expected the table to score") from e
        except OSError as e:
            raise DataError(f"cannot read {path}: {reason(e)}") from e
        self._size = os.fstat(self._file.fileno()).st_size

    def __enter__(self) -> "InputTable":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._file.close()

    def identity(self) -> dict[str, int]:
        """What tells this file from another, or from itself after a change."""
        return {"bytes": self._size, "changed": os.fstat(self._file.fileno()).st_mtime_ns}

    def chunks(self, size: int) -> Iterator[list[Row | BadRow]]:
        """The rows, at most `size` at a time; the same chunks each time the file is read."""
        for chunk in cut(self.rows(), size):
            self._reached = chunk[-1].number
            yield chunk

    def rows(self) -> Iterator[Row | BadRow]:
        """The rows, one by one."""
        return every_row(self.path, self._file, on_guess=self._on_guess)

    def position(self) -> int:
        """How many bytes of the file have been read."""
        return self._size if self._file.closed else self._file.tell()

    @cached_property
    def _rows(self) -> int:
        return parquet.count_rows(self.path)

    def share(self) -> float:
        """How much has been read, from 0 to 1."""
        if self._suffix == ".parquet":
            return self._reached / max(1, self._rows)
        return self.position() / max(1, self._size)


def cut(rows: Iterable[Row | BadRow], size: int) -> Iterator[list[Row | BadRow]]:
    """The rows in chunks of at most `size`; the same chunks each time."""
    chunk: list[Row | BadRow] = []
    characters = 0
    for row in rows:
        chunk.append(row)
        values = row.values.items() if isinstance(row, Row) else ()
        characters += sum(len(name) + (len(value) if isinstance(value, str) else 0) for name, value in values)
        if len(chunk) == size or characters > _CHUNK_CHARACTERS:
            yield chunk
            chunk, characters = [], 0
    if chunk:
        yield chunk


@dataclass(frozen=True, slots=True)
class TableColumns:
    """The table's columns, and which of them are asked for what."""

    names: tuple[str, ...]
    text: str
    id: str | None
    kept: frozenset[str] | None = None  # those that go to the output; None is all, of later rows too
    longest: int = 1_000_000  # characters of a text

    def keep(self, values: Values) -> Values:
        """The part of a row that goes to the output."""
        return values if self.kept is None else {name: v for name, v in values.items() if name in self.kept}

    @property
    def kept_names(self) -> tuple[str, ...]:
        """The columns that go to the output, in the table's order."""
        return tuple(name for name in self.names if self.kept is None or name in self.kept)

    def text_of(self, values: Values) -> str:
        """The row's text; raises a DataError where there is none."""
        text = values.get(self.text)
        if is_blank(text):
            raise DataError(f"no text in {self.text!r}")
        if not isinstance(text, str):
            raise DataError(f"{self.text!r} is not text")
        if len(text) > self.longest:
            raise DataError(f"the text is longer than {self.longest:,} characters")
        return text


def find_columns(path: Path, rows: Sequence[Row], request: Request) -> TableColumns:
    """The columns of a table, judged by its first rows."""
    names = tuple(dict.fromkeys(name for row in rows for name in row.values))
    asked = (request.text_column, request.id_column, request.target_column, request.implied_column)
    for wanted in (*asked, *(request.keep or ())):
        if wanted is not None and wanted not in names:
            raise unknown_name(f"column of {path}", wanted, names)
    identity = request.id_column or ("id" if "id" in names else None)
    text = request.text_column or _text_column(path, rows, names, identity, request)
    kept = None if request.keep is None else frozenset((text, *request.keep, *([identity] if identity else ())))
    return TableColumns(names, text, identity, kept, request.longest_text)


def _text_column(path: Path, rows: Sequence[Row], names: Sequence[str], identity: str | None, request: Request) -> str:
    if "text" in names:
        return "text"
    others = [name for name in names if name not in (identity, request.target_column, request.implied_column)]
    texts = [name for name in others if all(isinstance(row.values.get(name), str | None) for row in rows)]
    if len(texts) == 1:
        return texts[0]
    raise DataError(f"{path} has no column 'text', only: {', '.join(names)}", code="no_text_column")
