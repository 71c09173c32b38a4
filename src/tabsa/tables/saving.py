"""The output while it grows, and how a run that was stopped goes on.

    OUT.part         the output so far                  REJECTS.part    the rejects so far
    OUT.state.json   what was asked, and after which row how long those two were

After each chunk both parts reach the disk, and then the state does, by rename. Whatever happens in between, cutting
the parts back to the lengths in the state undoes it. A state that says `done` leaves only names to be given.
"""

import dataclasses
import glob
import json
import os
import sys
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO, Final

from tabsa.errors import OutputError
from tabsa.files import read_text, reason, replacing
from tabsa.tables.formats import finish_file

FORMAT: Final = "tabsa score 4"


@dataclass(slots=True)
class Counts:
    """What has been done: rows read, scored and rejected, and opinions found (`none` is not one).

    `named` are those of the scored rows whose text names a target that was asked of it.
    """

    rows: int = 0
    scored: int = 0
    rejected: int = 0
    opinions: int = 0
    named: int = 0
    first_reason: str = ""  # why the first row that was rejected was

    def add(self, other: "Counts") -> None:
        """Count what was done in another chunk, too."""
        self.rows += other.rows
        self.scored += other.scored
        self.rejected += other.rejected
        self.opinions += other.opinions
        self.named += other.named
        self.first_reason = self.first_reason or other.first_reason


@dataclass(slots=True)
class State:
    """How far a run is."""

    row: int = 0  # the number of the last row that is done
    output: int = 0  # bytes
    rejects: int = 0  # bytes
    done: bool = False
    counts: Counts = field(default_factory=Counts)


class FileOutput:
    """Files that get their names when they are complete.

    Args:
        out: the output's name.
        rejects: the rejects file's name.
        resume: go on with the run that is there, if there is one.
        overwrite: replace what is there, finished or not.
    """

    def __init__(self, out: Path, rejects: Path, *, resume: bool = False, overwrite: bool = False) -> None:
        self.out, self.rejects = out, rejects
        self._part, self._rejects_part = _beside(out, ".part"), _beside(rejects, ".part")
        self._state_path = _beside(out, ".state.json")
        self._resume, self._overwrite = resume, overwrite
        self._identity: dict[str, Any] = {}
        self._files: tuple[BinaryIO, ...] = ()
        self.state = State()
        self._refuse_existing()

    def _refuse_existing(self) -> None:
        if self._overwrite:
            return
        if self._state_path.exists() or self._part.exists():
            if not self._resume:
                raise OutputError(f"a run into {self.out} was stopped before its end", code="job_exists")
            return
        for path in (self.out, self.rejects):
            if path.exists():
                found = "exists, and there is no stopped run to resume" if self._resume else "exists"
                raise OutputError(f"{path} {found}", code="output_exists")

    def __enter__(self) -> "FileOutput":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        opened = bool(self._files)
        self._close()
        if opened and not self._state_path.exists():  # nothing was saved that a run could go on from
            for path in (self._part, self._rejects_part):
                path.unlink(missing_ok=True)

    def begin(self, identity: dict[str, Any]) -> None:
        """Start, or take up a run that was asked the same; `state` tells how far it is."""
        self._identity = identity | {"the rejects file": os.path.relpath(self.rejects, self.out.parent)}
        try:
            for folder in (self.out.parent, self.rejects.parent):
                folder.mkdir(parents=True, exist_ok=True)
            if self._resume and self._state_path.exists():
                self.state = self._read_state()
            if not self.state.done:
                self._files = (open_locked(self._part, self.out),)
                self._files += (self._rejects_part.open("ab"),)
            self._sweep()
            if not self._resume:
                self._state_path.unlink(missing_ok=True)
            for file, length in zip(self._files, (self.state.output, self.state.rejects), strict=False):
                _cut(file, length)
        except OSError as e:
            raise OutputError(f"cannot write {self.out}: {reason(e)}") from e

    def _sweep(self) -> None:
        """Remove temporary files that a killed run was about to rename."""
        for path in (self._state_path, self.out):
            for left in path.parent.glob(f".{glob.escape(path.name)}.*.tmp"):
                left.unlink(missing_ok=True)

    def save(self, output: bytes, rejects: bytes) -> None:
        """Keep the results of a chunk; `state` tells already what is done with it."""
        try:
            for file, data in zip(self._files, (output, rejects), strict=True):
                if data:
                    file.write(data)
                    file.flush()
                    os.fsync(file.fileno())
        except OSError as e:
            raise OutputError(f"cannot write {self.out}: {reason(e)}") from e
        self.state.output += len(output)
        self.state.rejects += len(rejects)
        self._write_state()

    def finish(self) -> None:
        """All rows are done: give the files their names; where no row was scored, only the rejects are one.

        Can be done again, however far it came.
        """
        self.state.done = True
        self._write_state()
        self._close()
        try:
            if self._rejects_part.exists():
                if self.state.rejects:
                    self._rejects_part.replace(self.rejects)
                else:
                    self._rejects_part.unlink()
                    self.rejects.unlink(missing_ok=True)
            if not self.state.counts.scored:
                self._part.unlink(missing_ok=True)
            elif self._part.exists():
                finish_file(self._part, self.out)
            self._state_path.unlink(missing_ok=True)
        except OSError as e:
            raise OutputError(f"cannot write {self.out}: {reason(e)}") from e

    def _write_state(self) -> None:
        content = {"format": FORMAT, "identity": self._identity, **dataclasses.asdict(self.state)}
        with replacing(self._state_path) as stream:
            json.dump(content, stream, indent=2)

    def _read_state(self) -> State:
        path = self._state_path
        content = read_record(path, FORMAT)
        try:
            before = dict(content.pop("identity"))
            state = State(**(content | {"counts": Counts(**content["counts"])}))
        except (ValueError, TypeError, KeyError, AttributeError) as e:
            raise OutputError(f"{path} is damaged", code="job_unusable") from e
        refuse_other(self.out, "run", before, self._identity)
        return state

    def _close(self) -> None:
        for file in self._files:
            file.close()
        self._files = ()


class StandardOutput:
    """Standard output, which cannot be resumed; the rejects go to a file if one is named."""

    def __init__(self, rejects: Path | None, *, overwrite: bool = False) -> None:
        self.state = State()
        try:
            self._rejects = rejects.open("wb" if overwrite else "xb") if rejects else None
        except FileExistsError as e:
            raise OutputError(f"{rejects} exists", code="output_exists") from e
        except OSError as e:
            raise OutputError(f"cannot write {rejects}: {reason(e)}") from e

    def __enter__(self) -> "StandardOutput":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._rejects:
            with suppress(OSError):  # what could not be written was told of when it was
                self._rejects.close()

    def begin(self, identity: dict[str, Any]) -> None:
        """Start."""

    def save(self, output: bytes, rejects: bytes) -> None:
        """Write the results of a chunk."""
        try:
            sys.stdout.buffer.write(output)
            sys.stdout.buffer.flush()
        except BrokenPipeError:  # who reads has enough: no error
            raise
        except OSError as e:
            raise OutputError(f"cannot write to standard output: {reason(e)}") from e
        if self._rejects:
            try:
                self._rejects.write(rejects)
                self._rejects.flush()
            except OSError as e:
                raise OutputError(f"cannot write {self._rejects.name}: {reason(e)}") from e

    def finish(self) -> None:
        """All rows are done."""


def is_finished(out: Path) -> bool:
    """Whether an output is there, and no run into it that was stopped."""
    return out.exists() and not any(path.exists() for path in working_files(out))


def working_files(out: Path) -> tuple[Path, Path]:
    """What lies beside an output while it grows: its part and its state."""
    return _beside(out, ".part"), _beside(out, ".state.json")


def _beside(path: Path, suffix: str) -> Path:
    return path.with_name(path.name + suffix)


def read_record(path: Path, form: str) -> dict[str, Any]:
    """What a run of this `form` wrote down, less its format; another version's is refused."""
    return parse_record(read_text(path, OutputError), str(path), form)


def parse_record(text: str | bytes, path: str, form: str) -> dict[str, Any]:
    """The same of a record's text, which was at `path`."""
    try:
        content = dict(json.loads(text))
        found = content.pop("format")
    except (ValueError, TypeError, KeyError) as e:
        raise OutputError(f"{path} is damaged", code="job_unusable") from e
    if found != form:
        raise OutputError(f"{path} is of another version of tabsa", code="job_unusable")
    return content


def refuse_other(out: Path | str, what: str, before: Mapping[str, Any], identity: Mapping[str, Any]) -> None:
    """Raise where a run or a job is resumed with something else than it began with."""
    for name, value in identity.items():
        if before.get(name) != value:
            why = f"{name} is not what it was when the {what} began"
            raise OutputError(f"cannot resume {out}: {why}", code="job_differs")


def open_locked(path: Path, out: Path) -> BinaryIO:
    """The file to append to, held until it is closed, where the system can: two runs must not write one output."""
    file = path.open("ab")
    try:
        import fcntl

        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as e:
        file.close()
        raise OutputError(f"another run is writing {out}; wait for it, or choose another name") from e
    except (ImportError, OSError):
        pass  # a system, or a file system, without locks
    return file


def _cut(file: BinaryIO, length: int) -> None:
    if os.fstat(file.fileno()).st_size < length:
        raise OutputError(f"{file.name} is shorter than its state says", code="job_unusable")
    file.truncate(length)
