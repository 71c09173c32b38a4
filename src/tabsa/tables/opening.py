"""A file of text, opened as what it is."""

import codecs
import gzip
import io
import zlib
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from typing import IO, NamedTuple

from tabsa.errors import DataError
from tabsa.files import reason
from tabsa.tables.encodings import HEAD, UTF8, Binary, Encoding, find_encoding
from tabsa.tables.kinds import refuse_content
from tabsa.tables.separators import Separator, find_separator


class TextForm(NamedTuple):
    """How a file of text is read, and a word on it where its name does not tell."""

    encoding: Encoding
    separator: Separator
    note: str


def opened(path: Path, file: io.BufferedReader | None) -> AbstractContextManager[io.BufferedReader]:
    """The file, opened here and closed at the end, unless it is open."""
    return path.open("rb") if file is None else nullcontext(file)


@contextmanager
def open_text(
    path: Path, file: io.BufferedReader | None, *, packed: bool, expected: str | None, strict: bool
) -> Iterator[tuple[IO[str], TextForm]]:
    """The file as text, and how it is read; what goes wrong meanwhile becomes one clear line.

    Args:
        path: the file's name.
        file: the file itself, where it is open.
        packed: whether it is a gzip file.
        expected: what separates fields in files of this name; None where they have none.
        strict: raise where bytes are not text, rather than leave a mark (`tabsa.tables.encodings.undecoded`).
    """
    try:
        with opened(path, file) as raw, gzip.open(raw) if packed else nullcontext(raw) as binary:
            form = _form_of(binary, path, seekable=raw.seekable(), expected=expected)
            encoding = form.encoding
            errors = "strict" if strict else encoding.lenient
            with io.TextIOWrapper(binary, encoding=encoding.codec, errors=errors, newline="") as text:
                try:
                    yield text, form
                except UnicodeDecodeError as e:
                    # The decoder holds only a piece of the file, which ends where the file stands now.
                    byte = binary.tell() - len(e.object) + e.start
                    raise DataError(f"{path} is not {encoding.name} text (byte {byte}); save it as UTF-8") from e
    except (gzip.BadGzipFile, EOFError, zlib.error) as e:
        raise DataError(f"{path} is not a whole gzip file: {e}") from e
    except OSError as e:
        raise DataError(f"cannot read {path}: {reason(e)}") from e


def _form_of(binary: Binary, path: Path, *, seekable: bool, expected: str | None) -> TextForm:
    head = _head(binary, seekable=seekable)
    refuse_content(head, path)
    encoding = find_encoding(binary, head, path, seekable=seekable, legacy=expected is not None)
    if expected is None:
        return TextForm(encoding, Separator(""), "" if encoding is UTF8 else f"read as {encoding.name}")
    text = codecs.getincrementaldecoder(encoding.codec)(encoding.lenient).decode(head)
    separator = find_separator(text, expected, path, whole=len(head) < HEAD and seekable)
    guessed = [encoding.name] if encoding is not UTF8 else []
    if separator.character != expected:
        guessed.append(f"separated by {separator.name}")
    return TextForm(encoding, separator, f"read as {', '.join(guessed)}" if guessed else "")


def _head(binary: Binary, *, seekable: bool) -> bytes:
    """The first bytes, still to be read; of what cannot be read twice, those that are at hand."""
    if not seekable:
        return binary.peek(HEAD)
    start = binary.tell()
    head = b""
    try:
        while len(head) < HEAD and (piece := binary.read1(HEAD - len(head))):
            head += piece
    except (OSError, EOFError, zlib.error):  # it breaks off, which will be told when what comes before has been read
        if not head:
            raise
    finally:
        binary.seek(start)
    return head
