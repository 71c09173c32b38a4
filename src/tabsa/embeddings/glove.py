"""Read word vectors from text: one word and its numbers a line, plain or in a zip, with a header or without.

The file is scanned line by line through a buffer of constant size. A line's numbers are parsed only where its word is
wanted, so a small vocabulary costs about as much as reading the bytes.

Checked are the first 1,000 lines, every line that is wanted, the last line and the header's count. A malformed one
raises `DataError` with its number. Tolerated are a word that contains spaces (the numbers are the *last* N fields),
spaces and carriage returns at a line's end, blank lines, a byte-order mark, a repeated word (the first one counts), a
word that is not UTF-8 (it cannot be wanted, and is left out when all words are read).
"""

import io
import math
import zipfile
import zlib
from array import array
from collections import Counter
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from itertools import chain, islice
from pathlib import Path
from typing import IO, Final, NamedTuple, cast

import numpy as np

from tabsa.embeddings.vectors import GLOVE_SCALE, VectorSource, WordVectors
from tabsa.errors import DataError, DataNotFoundError
from tabsa.files import reason, sha256

_BUFFER: Final = 1 << 20
_LONGEST_LINE: Final = 1 << 20  # a file without line ends must not be read into memory as one line
_SAMPLE: Final = 1000  # lines always checked, from which the scale is taken
_LAYOUT_LINES: Final = 100  # of these, the ones that show how many numbers a line has


class _Layout(NamedTuple):
    """The form of a file, by its first lines, and those lines."""

    dim: int
    scale: float
    rows: int | None  # as the header says, where there is one
    first_line: int  # number of the first line that is not the header
    lines: list[bytes]


def read_vectors(path: str | Path, words: Iterable[str] | None = None, *, first: int = 0) -> WordVectors:
    """Read the vectors of `words`, or of every word, in the order of the file; words that it lacks are left out.

    Args:
        path: a `.txt` file, or a `.zip` that holds one.
        words: the words to read; None reads all.
        first: how many words from the start of the file to read besides; GloVe puts the frequent ones there.
    """
    path = Path(path)
    wanted = None if words is None else {word.encode("utf-8", "surrogatepass") for word in words}
    if not path.is_file():
        raise DataNotFoundError(f"no word vectors at {path}; give the path of a GloVe file (.txt or .zip)")
    try:
        with _opened(path) as stream, ThreadPoolExecutor(1) as pool:
            lines = iter(partial(stream.readline, _LONGEST_LINE), b"")
            layout = _read_layout(lines, path)
            digest = pool.submit(sha256, path)  # beside the scan, because hashing takes as long
            tokens, values = _scan(chain(layout.lines, lines), layout, wanted, first, path)
            source = VectorSource(path.name, digest.result())
    except (EOFError, zlib.error, zipfile.BadZipFile) as e:
        raise DataError(f"{path} is damaged or cut short ({e}); fetch it again") from e
    except OSError as e:
        raise DataError(f"cannot read {path}: {reason(e)}") from e
    matrix = np.asarray(values, dtype=np.float32).reshape(len(tokens), layout.dim)
    return WordVectors(tuple(token.decode("utf-8", "surrogatepass") for token in tokens), matrix, layout.scale, source)


@contextmanager
def _opened(path: Path) -> Iterator[IO[bytes]]:
    """Open a text, or the one text inside a zip."""
    if path.suffix.lower() != ".zip":
        with path.open("rb", buffering=_BUFFER) as lines:
            yield lines
        return
    with zipfile.ZipFile(path) as archive:
        names = [n for n in archive.namelist() if not n.endswith("/") and not n.startswith("__MACOSX/")]
        if len(names) != 1:
            raise DataError(f"{path} holds {', '.join(names) or 'nothing'}; unpack the file of vectors that you want")
        try:
            stream = archive.open(names[0])
        except RuntimeError as e:  # encrypted, or a compression that zipfile does not know
            raise DataError(f"cannot unpack {path} ({e}); unpack it first") from e
        with io.BufferedReader(cast("io.RawIOBase", stream), _BUFFER) as lines:  # zipfile finds lines in Python, slowly
            yield lines


def _read_layout(lines: Iterator[bytes], path: Path) -> _Layout:
    """Take the first lines and find out how many numbers a line has; raise where they are not word vectors."""
    head = list(islice(lines, _SAMPLE)) or [b""]
    head[0] = head[0].removeprefix(b"\xef\xbb\xbf")
    header = head[0].split()
    declared = (int(header[0]), int(header[1])) if len(header) == 2 and all(map(bytes.isdigit, header)) else None
    first = 2 if declared else 1
    body = head[first - 1 :]
    counts = Counter(_trailing_numbers(line) for line in body[:_LAYOUT_LINES] if line.strip())
    # Most lines agree, whatever the few with a word that contains spaces, or a broken one, seem to have.
    dim = counts.most_common(1)[0][0] if counts else 0
    if dim == 0 or (declared and declared[1] != dim):
        raise DataError(f"{path} holds no word vectors; a word and its numbers, single spaces between, were expected")
    sample = [
        _numbers(_fields(line, dim, number, path), number, path)
        for number, line in enumerate(body, first)
        if line.strip()
    ]
    scale = float(f"{np.sqrt(np.mean(np.square(sample, dtype=np.float64))):.3g}") or GLOVE_SCALE
    return _Layout(dim, scale, declared[0] if declared else None, first, body)


def _trailing_numbers(line: bytes) -> int:
    """Count the fields at the end that are numbers; the first field is always (part of) the word."""
    fields = line.rstrip().split(b" ")[1:]
    for count, text in enumerate(reversed(fields)):
        try:
            float(text)
        except ValueError:
            return count
    return len(fields)


def _scan(
    lines: Iterable[bytes], layout: _Layout, wanted: set[bytes] | None, first: int, path: Path
) -> tuple[list[bytes], "array[float]"]:
    """Return the words that are wanted, and their numbers one after the other."""
    tokens: dict[bytes, None] = {}
    values = array("f")
    # A word's first field rules out nearly every line at hardly any cost; only then is the line split.
    firsts = None if wanted is None else {word.partition(b" ")[0] for word in wanted}
    number, line = layout.first_line - 1, b""
    first_until = layout.first_line + first
    for number, line in enumerate(lines, layout.first_line):
        rare = firsts is not None and line[: line.find(b" ")] not in firsts
        if (rare and number >= first_until and len(line) < _LONGEST_LINE) or not line.strip():
            continue
        fields = _fields(line, layout.dim, number, path)
        token = fields[0]
        taken = _is_utf8(token) if wanted is None or number < first_until else token in wanted
        if taken and token not in tokens:
            values.extend(_numbers(fields, number, path))
            tokens[token] = None
    if line.strip():
        _fields(line, layout.dim, number, path)
    if layout.rows is not None and number - layout.first_line + 1 < layout.rows:
        raise DataError(f"{path} is cut short: its header says {layout.rows} lines")
    return list(tokens), values


def _fields(line: bytes, dim: int, number: int, path: Path) -> list[bytes]:
    """Split a line into the word, which may contain spaces, and the `dim` fields after it."""
    fields = line.rstrip().rsplit(b" ", dim)
    if len(line) >= _LONGEST_LINE or len(fields) <= dim:
        raise DataError(f"{path}, line {number} is cut short or malformed; a word and {dim} numbers were expected")
    return fields


def _numbers(fields: list[bytes], number: int, path: Path) -> "array[float]":
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
