"""The files of a model folder: regular files, each with the SHA-256 in `checksums.json`.

Every file that an answer comes from is named there. README.md, metrics.json and pictures are not: people edit them, and
no answer depends on them. A checksum tells of damage, not of who wrote a folder: who changes a file on purpose can
change its checksum too. A folder without `checksums.json`, which who changes one by hand deletes, is read unchecked.
"""

import json
import os
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from tabsa.errors import ModelError
from tabsa.files import read_text, reason, replacing, sha256

CHECKSUMS: Final = "checksums.json"
_MOST_JSON: Final = 64_000_000  # bytes of a JSON file: more than the largest tokeniser has
_KIND: Final = "sha256"


class FolderFiles:
    """The files of one model folder, each hashed once as long as it does not change."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._seen: dict[str, tuple[tuple[int, int, int], str]] = {}

    def checked(self, name: str) -> Path:
        """Return a file's path, after its checksum was compared; one that is not there is left to who reads it."""
        path, written = self.path / name, read_checksums(self.path)
        if not is_regular(path) or written is None:
            return path
        if self.digest(name) != written.get(name):
            wrong = "is damaged: its SHA-256 is not that in" if name in written else "is not among the files of"
            remedy = f"copy the folder again, or delete {CHECKSUMS} if the change is yours"
            if name.endswith(".onnx"):
                remedy = f"make it again with `{export_command(self.path, name)}`"
            raise ModelError(f"{path} {wrong} {CHECKSUMS}; {remedy}")
        return path

    def digest(self, name: str) -> str:
        """Compute the SHA-256 of a file."""
        path = self.path / name
        found = path.stat()
        key = (found.st_ino, found.st_size, found.st_mtime_ns)
        if name not in self._seen or self._seen[name][0] != key:
            self._seen[name] = key, sha256(path)
        return self._seen[name][1]


def export_command(folder: Path, graph: str) -> str:
    """Return the command that makes a folder's graph."""
    return f"tabsa export {folder}" + (" --precision int8" if ".int8." in graph else "")


def is_regular(path: Path) -> bool:
    """Return whether a file is there; refuse a link, which could name any file, and a pipe, which never ends."""
    try:
        mode = os.lstat(path).st_mode
    except FileNotFoundError:
        return False
    except OSError as e:
        raise ModelError(f"cannot read {path}: {reason(e)}") from e
    if not stat.S_ISREG(mode):
        what = "a link" if stat.S_ISLNK(mode) else "a folder" if stat.S_ISDIR(mode) else "no regular file"
        raise ModelError(f"{path} is {what}; a model folder holds its files themselves")
    return True


def read_json(path: Path) -> dict[str, Any]:
    """Read a JSON object of a model folder; a one-line ModelError for anything else."""
    if is_regular(path) and path.stat().st_size > _MOST_JSON:
        raise ModelError(f"{path} has {path.stat().st_size:,} bytes; expected at most {_MOST_JSON:,}")
    try:
        value = json.loads(read_text(path, ModelError))
    except (ValueError, RecursionError) as e:  # not JSON, a number of thousands of digits, or nested too deeply
        raise ModelError(f"{path} is not valid JSON: {e}") from e
    if not isinstance(value, dict):
        raise ModelError(f"{path} holds no JSON object")
    return value


def read_checksums(folder: Path) -> dict[str, str] | None:
    """Read the SHA-256 of each file as it was written; None where the folder has none."""
    path = folder / CHECKSUMS
    if not is_regular(path):
        return None
    found = read_json(path).get(_KIND)
    if not isinstance(found, dict) or not all(isinstance(value, str) for value in found.values()):
        raise ModelError(f"{path} is damaged: expected the {_KIND} of each file")
    return found


def write_checksums(folder: Path, written: Mapping[str, str]) -> None:
    """Write down the SHA-256 of files."""
    with replacing(folder / CHECKSUMS, "wb") as stream:
        stream.write((json.dumps({_KIND: dict(sorted(written.items()))}, indent=2) + "\n").encode("utf-8"))
