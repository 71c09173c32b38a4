"""The file of corrections, which is training data: one line a correction, and none is ever half there.

A line is a row of one's own data (`tabsa.datasets.own`) with `asked_only`: nothing is known of the text's other aspects
and targets. A later line on the same text, target and aspect counts instead of an earlier one.
"""

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from tabsa.errors import ConfigError, OutputError
from tabsa.files import reason
from tabsa.serve.schema import CorrectionRequest

_SUFFIXES: Final = (".jsonl", ".ndjson")
_MOST_BYTES: Final = 104_857_600
_BINARY: Final[int] = getattr(os, "O_BINARY", 0)  # Windows would write other line ends


class CorrectionsFile:
    """A file that lines are added to, by several processes and whatever happened to the one that wrote before.

    What cannot be written is an OutputError, and nothing of it is there.
    """

    def __init__(self, path: Path) -> None:
        if not path.name.lower().endswith(_SUFFIXES):
            raise ConfigError(f"corrections go to a file of JSON Lines; '{path}' does not end in .jsonl")
        self.path, self._most = path, _MOST_BYTES
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            with self._opened():
                pass
        except OSError as e:
            raise OutputError(f"cannot write {path}: {reason(e)}") from e

    def add(self, request: CorrectionRequest, aspect: str) -> None:
        """Append a correction, and come back when it is on the disk."""
        line = _line(request, aspect)
        try:
            with self._opened() as file:
                size = os.fstat(file).st_size
                # A process that died while it wrote left a line without its end.
                torn = size > 0 and os.lseek(file, -1, os.SEEK_END) >= 0 and os.read(file, 1) != b"\n"
                data = b"\n" * torn + line.encode() + b"\n"
                if size + len(data) > self._most:
                    raise OutputError(f"{self.path.name} is full: it may have {self._most:,} bytes")
                try:
                    if os.write(file, data) < len(data):
                        raise OSError(None, "the disk is full")
                    os.fsync(file)
                except OSError:
                    os.ftruncate(file, size)
                    raise
        except OSError as e:
            raise OutputError(f"cannot write {self.path.name}: {reason(e)}") from e

    @contextmanager
    def _opened(self) -> Iterator[int]:
        """The file, locked against other workers where the system can; only its owner may read it."""
        file = os.open(self.path, os.O_RDWR | os.O_APPEND | os.O_CREAT | _BINARY, 0o600)
        try:
            try:
                import fcntl

                fcntl.flock(file, fcntl.LOCK_EX)
            except (ImportError, OSError):
                pass  # a system, or a file system, without locks
            yield file
        finally:
            os.close(file)  # gives the lock back


def _line(request: CorrectionRequest, aspect: str) -> str:
    row: dict[str, Any] = {"text": request.text, "target": request.target}
    if request.target is not None and request.aliases:
        row["aliases"] = request.aliases
    row |= {"aspect": aspect, "polarity": request.polarity, "asked_only": True}
    if request.polarity is None:
        row["withdrawn"] = True
    row |= request.model_dump(include={"predicted", "probability", "model", "time"}, exclude_none=True, by_alias=True)
    if row.get("probability") in (0, 1):  # as a browser writes it, which knows no 1.0
        row["probability"] = int(row["probability"])
    return json.dumps(row, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
