"""The files that word vectors come in, opened as one stream of bytes: plain text, gzip, or a file of a zip."""

import gzip
import io
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, BinaryIO, Final, cast

from tabsa.errors import DataError, DataNotFoundError
from tabsa.files import reason

_BUFFER: Final = 1 << 20


@dataclass(frozen=True, slots=True)
class VectorSource:
    """Where vectors come from: a file's name (`archive.zip/member.txt` where one was chosen) and the file's SHA-256."""

    name: str
    sha256: str


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
