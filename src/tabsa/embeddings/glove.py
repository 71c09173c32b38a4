"""Read word vectors from text: one word and its numbers a line, plain, gzipped or in a zip, with a header or without.

The file is scanned line by line through a buffer of constant size. A line's numbers are parsed only where its word is
asked for, so a small vocabulary costs about as much as reading the bytes.

What is checked: the first 1,000 lines, every line asked for, the last line and the header's count. A malformed one
raises `DataError` with its number. What is tolerated: a word that contains spaces (the numbers are the *last* N
fields), spaces and carriage returns at a line's end, blank lines, a byte-order mark, a repeated word (the first one
counts), a word that is not UTF-8 (it cannot be asked for, and is left out when all words are read).
"""

import gzip
import io
import math
import zipfile
import zlib
from array import array
from collections import Counter
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from itertools import chain, islice
from pathlib import Path
from typing import IO, BinaryIO, Final, cast

import numpy as np

from tabsa.embeddings.vectors import GLOVE_SCALE, VectorSource, WordVectors
from tabsa.errors import DataError, DataNotFoundError
from tabsa.files import reason, sha256

_LONGEST_LINE: Final = 1 << 20  # a file without line ends must not be read into memory as one line
_SAMPLE: Final = 1000  # lines always checked, from which the scale is taken
_LAYOUT_LINES: Final = 100  # of these, the ones that show how many numbers a line has


@dataclass(frozen=True, slots=True)
class _LineLayout:
    """What the first lines say about the file, and those lines."""

    dim: int
    scale: float
    declared_rows: int | None
    first_line: int  # number of the first line that is not the header
    lines: list[bytes]


def read_vectors(path: str | Path, words: Iterable[str] | None = None, *, first: int = 0) -> WordVectors:
    """The vectors of `words`, or of every word, in the order of the file; words that it does not have are left out.

    Args:
        path: a `.txt`, `.txt.gz` or `.zip` file; a zip that holds several files needs the file's name after its own,
            as in `glove.6B.zip/glove.6B.300d.txt`.
        words: the words to keep; None keeps all.
        first: how many words from the start of the file to keep besides; GloVe puts the frequent ones there.
    """
    path = Path(path)
    wanted = None if words is None else {word.encode("utf-8", "surrogatepass") for word in words}
    with errors_named(path):
        file, member = locate(path)
        with opened(file, member) as stream, ThreadPoolExecutor(1) as pool:
            lines = iter(partial(stream.readline, _LONGEST_LINE), b"")
            layout = _read_layout(lines, path)
            digest = pool.submit(sha256, file)  # beside the scan, because hashing takes as long
            tokens, values = _scan(chain(layout.lines, lines), layout, wanted, first, path)
            source = VectorSource(source_name(file, member), digest.result())
    matrix = np.asarray(values, dtype=np.float32).reshape(len(tokens), layout.dim)
    return WordVectors(tuple(token.decode("utf-8", "surrogatepass") for token in tokens), matrix, layout.scale, source)


def _read_layout(lines: Iterator[bytes], path: Path) -> _LineLayout:
    """Take the first lines and find out how many numbers a line has; raise where they are not word vectors."""
    head = list(islice(lines, _SAMPLE))
    if not head:
        raise DataError(f"{path} is empty; a word and its numbers were expected on each line")
    head[0] = head[0].removeprefix(b"\xef\xbb\xbf")
    header = head[0].split()
    declared = (int(header[0]), int(header[1])) if len(header) == 2 and all(map(bytes.isdigit, header)) else None
    first = 2 if declared else 1
    body = head[first - 1 :]
    counts = Counter(_trailing_numbers(line) for line in body[:_LAYOUT_LINES] if line.strip())
    # Most lines agree, whatever the few with a word that contains spaces, or a broken one, seem to have.
    dim = counts.most_common(1)[0][0] if counts else 0
    if dim == 0:
        raise DataError(f"{path} holds no word vectors; a word and its numbers, single spaces between, were expected")
    if declared and declared[1] != dim:
        raise DataError(f"{path}: its header says {declared[1]} numbers a line, but its lines have {dim}")
    sample = [
        _numbers(_fields(line, dim, number, path), number, path)
        for number, line in enumerate(body, first)
        if line.strip()
    ]
    scale = float(f"{np.sqrt(np.mean(np.square(sample, dtype=np.float64))):.3g}") or GLOVE_SCALE
    return _LineLayout(dim, scale, declared[0] if declared else None, first, body)


def _trailing_numbers(line: bytes) -> int:
    """How many fields at the end are numbers; the first field is always (part of) the word."""
    fields = line.rstrip().split(b" ")[1:]
    for count, text in enumerate(reversed(fields)):
        try:
            float(text)
        except ValueError:
            return count
    return len(fields)


def _scan(
    lines: Iterable[bytes], layout: _LineLayout, wanted: set[bytes] | None, first: int, path: Path
) -> tuple[list[bytes], "array[float]"]:
    """The tokens kept, and their numbers one after the other."""
    tokens: dict[bytes, None] = {}
    values = array("f")
    # A word's first field rules out nearly every line at hardly any cost; only then is the line split.
    firsts = None if wanted is None else {word.partition(b" ")[0] for word in wanted}
    number, line = layout.first_line - 1, b""
    kept_until = layout.first_line + first
    for number, line in enumerate(lines, layout.first_line):
        if (
            firsts is not None
            and line[: line.find(b" ")] not in firsts
            and number >= kept_until
            and len(line) < _LONGEST_LINE
        ):
            continue
        if not line.strip():
            continue
        fields = _fields(line, layout.dim, number, path)
        token = fields[0]
        keep = _is_utf8(token) if wanted is None or number < kept_until else token in wanted
        if keep and token not in tokens:
            values.extend(_numbers(fields, number, path))
            tokens[token] = None
    if line.strip():
        _fields(line, layout.dim, number, path)
    found = number - layout.first_line + 1
    if layout.declared_rows is not None and found < layout.declared_rows:
        raise DataError(f"{path} is cut short: its header says {layout.declared_rows} lines, but it has {found}")
    return list(tokens), values


def _fields(line: bytes, dim: int, number: int, path: Path) -> list[bytes]:
    """The word, which may contain spaces, and the `dim` fields after it."""
    if len(line) >= _LONGEST_LINE:
        raise DataError(f"{path}, line {number} is longer than {_LONGEST_LINE} bytes: not a text file of word vectors")
    fields = line.rstrip().rsplit(b" ", dim)
    if len(fields) <= dim:
        raise DataError(
            f"{path}, line {number} is cut short or malformed: a word and {dim} numbers were expected, "
            f"but it has {len(fields)} fields"
        )
    return fields


def _numbers(fields: list[bytes], number: int, path: Path) -> "array[float]":
    """The fields after the word, as numbers."""
    try:
        values = array("f", map(float, islice(fields, 1, None)))
    except ValueError as e:
        raise DataError(f"{path}, line {number}: {e}; {len(fields) - 1} numbers were expected after the word") from e
    if not math.isfinite(sum(values)):
        raise DataError(f"{path}, line {number} has a number that is not finite (nan, inf or too large)")
    return values


def _is_utf8(token: bytes) -> bool:
    try:
        token.decode()
    except UnicodeDecodeError:
        return False
    return True


_BUFFER: Final = 1 << 20


def locate(path: Path) -> tuple[Path, str | None]:
    """The file on disk that `path` means, and the file inside it, where `path` goes on into a zip."""
    if path.is_dir():
        raise DataError(f"{path} is a folder; give a file of word vectors (.txt, .txt.gz or .zip)")
    if path.exists():
        return path, None
    for parent in path.parents:
        if parent.suffix.lower() == ".zip" and parent.is_file():
            return parent, path.relative_to(parent).as_posix()
    raise DataNotFoundError(f"no word vectors at {path}; give the path of a GloVe file (.txt, .txt.gz or .zip)")


def source_name(file: Path, member: str | None) -> str:
    """What a source is called: no folders, but the zip's member where one was chosen."""
    return file.name if member is None else f"{file.name}/{member}"


@contextmanager
def errors_named(path: Path) -> Iterator[None]:
    """Turn what a broken file makes the standard library raise into one line that names the file."""
    try:
        yield
    except (EOFError, zlib.error, zipfile.BadZipFile, gzip.BadGzipFile) as e:
        raise DataError(f"{path} is damaged or cut short ({e}); fetch it again") from e
    except OSError as e:
        raise DataError(f"cannot read {path}: {reason(e)}") from e


@contextmanager
def opened(file: Path, member: str | None) -> Iterator[BinaryIO]:
    """The text inside the file, unpacked on the way."""
    suffix = file.suffix.lower()
    if suffix == ".zip":
        with zipfile.ZipFile(file) as archive:
            name = _member(archive, file, member)
            try:
                stream = archive.open(name)
            except RuntimeError as e:  # encrypted, or a compression that zipfile does not know
                raise DataError(f"cannot unpack {name} of {file} ({e}); unpack it first") from e
            with _buffered(stream) as lines:
                yield lines
    elif suffix == ".gz":
        with gzip.open(file) as unpacked, _buffered(unpacked) as lines:
            yield lines
    else:
        with file.open("rb", buffering=_BUFFER) as lines:
            yield lines


def _buffered(stream: IO[bytes] | gzip.GzipFile) -> io.BufferedReader:
    """Lines at the speed of C: the readers of zip and gzip find them in Python."""
    return io.BufferedReader(cast("io.RawIOBase", stream), _BUFFER)


def _member(archive: zipfile.ZipFile, file: Path, wanted: str | None) -> str:
    names = [n for n in archive.namelist() if not n.endswith("/") and not n.startswith("__MACOSX/")]
    if wanted is None and len(names) == 1:
        return names[0]
    if wanted in names:
        return str(wanted)
    if not names:
        raise DataError(f"{file} is an empty zip; a file of word vectors was expected in it")
    some = ", ".join(names[:4]) + (", ..." if len(names) > 4 else "")
    if wanted is None:
        raise DataError(f"{file} holds {len(names)} files ({some}); say which, as in {file / names[0]}")
    raise DataError(f"{file} has no file {wanted}; it holds {some}")
