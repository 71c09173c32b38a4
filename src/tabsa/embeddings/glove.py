"""Read word vectors from text: one word and its numbers a line, plain or in a zip, with a header or without.

A line's numbers are parsed only where its word is wanted, so a small vocabulary costs about as much as reading the
bytes. Checked are the first 1,000 lines, every line that is wanted and the last line. A word may contain spaces (the
numbers are the *last* N fields); the first of a repeated word counts; one that is not UTF-8 is left out.
"""

import io
import math
import zipfile
import zlib
from array import array
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from itertools import chain, islice
from pathlib import Path
from typing import IO, Final, cast

import numpy as np

from tabsa.embeddings.vectors import GLOVE_SCALE, VectorSource, WordVectors
from tabsa.errors import DataError, DataNotFoundError
from tabsa.files import reason, sha256

_BUFFER: Final = 1 << 20
_LONGEST_LINE: Final = 1 << 20  # a file without line ends must not be read into memory as one line
_SAMPLE: Final = 1000  # lines always checked, from which the scale is taken


def read_vectors(path: str | Path, words: Iterable[str] | None = None, *, first: int = 0) -> WordVectors:
    """Read the vectors of `words`, or of every word, in the order of the file; words that it lacks are left out.

    `first` is how many words from the start of the file to read besides; GloVe puts the frequent ones there.
    """
    path = Path(path)
    wanted = None if words is None else {word.encode("utf-8", "surrogatepass") for word in words}
    if not path.is_file():
        raise DataNotFoundError(f"no word vectors at {path}; give the path of a GloVe file (.txt or .zip)")
    try:
        with _opened(path) as stream, ThreadPoolExecutor(1) as pool:
            lines = iter(partial(stream.readline, _LONGEST_LINE), b"")
            head = list(islice(lines, _SAMPLE))
            start = 2 if head and len(head[0].split()) == 2 and head[0].replace(b" ", b"").strip().isdigit() else 1
            sample = [(number, line) for number, line in enumerate(head, 1) if number >= start and line.strip()]
            # The first word has no space in it, whatever later ones have.
            dim = len(sample[0][1].rstrip().split(b" ")) - 1 if sample else 0
            if dim == 0:
                raise DataError(f"{path} holds no word vectors; expected a word and its numbers, single spaces between")
            numbers = [_numbers(_fields(line, dim, number, path), number, path) for number, line in sample]
            scale = float(f"{np.sqrt(np.mean(np.square(numbers, dtype=np.float64))):.3g}") or GLOVE_SCALE
            digest = pool.submit(sha256, path)  # beside the scan, because hashing takes as long
            numbered = enumerate(chain(head[start - 1 :], lines), start)
            tokens, values = _scan(numbered, dim, start + first, wanted, path)
            source = VectorSource(path.name, digest.result())
    except (EOFError, zlib.error, zipfile.BadZipFile) as e:
        raise DataError(f"{path} is damaged or cut short ({e}); fetch it again") from e
    except OSError as e:
        raise DataError(f"cannot read {path}: {reason(e)}") from e
    matrix = np.asarray(values, dtype=np.float32).reshape(len(tokens), dim)
    return WordVectors(tuple(token.decode("utf-8", "surrogatepass") for token in tokens), matrix, scale, source)


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
        # zipfile finds lines in Python, slowly
        with archive.open(names[0]) as stream, io.BufferedReader(cast("io.RawIOBase", stream), _BUFFER) as lines:
            yield lines


def _scan(
    lines: Iterable[tuple[int, bytes]], dim: int, taken_until: int, wanted: set[bytes] | None, path: Path
) -> tuple[list[bytes], "array[float]"]:
    """Return the words of the lines before `taken_until` and those that are wanted, and their numbers in a row."""
    tokens: dict[bytes, None] = {}
    values = array("f")
    # A word's first field rules out nearly every line at hardly any cost; only then is the line split.
    firsts = None if wanted is None else {word.partition(b" ")[0] for word in wanted}
    number, line = 0, b""
    for number, line in lines:
        rare = firsts is not None and line[: line.find(b" ")] not in firsts
        if (rare and number >= taken_until and len(line) < _LONGEST_LINE) or not line.strip():
            continue
        token, *_ = fields = _fields(line, dim, number, path)
        is_utf8 = token.decode(errors="ignore").encode() == token
        taken = is_utf8 if wanted is None or number < taken_until else token in wanted
        if taken and token not in tokens:
            values.extend(_numbers(fields, number, path))
            tokens[token] = None
    if line.strip():
        _fields(line, dim, number, path)
    return list(tokens), values


def _fields(line: bytes, dim: int, number: int, path: Path) -> list[bytes]:
    """Split a line into the word, which may contain spaces, and the `dim` fields after it."""
    fields = line.rstrip().rsplit(b" ", dim)
    if len(line) >= _LONGEST_LINE or len(fields) <= dim:
        raise DataError(f"{path}, line {number} is cut short or malformed; a word and {dim} numbers were expected")
    return fields


def _numbers(fields: list[bytes], number: int, path: Path) -> "array[float]":
    try:
        values = array("f", map(float, fields[1:]))
    except ValueError as e:
        raise DataError(f"{path}, line {number}: {e}; {len(fields) - 1} numbers were expected after the word") from e
    if not math.isfinite(sum(values)):
        raise DataError(f"{path}, line {number} has a number that is not finite (nan, inf or too large)")
    return values
