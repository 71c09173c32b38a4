"""Reading and writing files so that a user gets one clear line and never half a file."""

import hashlib
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any

from tabsa.errors import DataError, OutputError, TabsaError


def reason(error: OSError) -> str:
    """Return the system's message without the errno ("No such file or directory")."""
    return error.strerror or str(error)


def read_text(path: Path, error: type[TabsaError] = DataError) -> str:
    """Read the UTF-8 text of a file (a byte-order mark is dropped), or raise one clear line."""
    try:
        return path.read_bytes().decode("utf-8-sig")
    except OSError as e:
        raise error(f"cannot read {path}: {reason(e)}") from e
    except UnicodeDecodeError as e:
        raise error(f"{path} is not UTF-8 text (byte {e.start}); save it as UTF-8") from e


def sha256(path: Path) -> str:
    """Return the file's SHA-256, in hexadecimal, at constant memory."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


@contextmanager
def replacing(path: Path, mode: str = "w") -> Iterator[IO[Any]]:
    """Open a temporary file beside `path`; it takes `path`'s name when the block ends well, and is gone otherwise."""
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(4)}.tmp")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with temporary.open(mode.replace("w", "x"), encoding=None if "b" in mode else "utf-8") as stream:
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
        temporary.replace(path)
    except OSError as e:
        raise OutputError(f"cannot write {path}: {reason(e)}") from e
    finally:
        with suppress(OSError):
            temporary.unlink()
