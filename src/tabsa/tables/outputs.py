"""The output of a run while it grows, and how a run that was stopped goes on.

    OUT.part         the output so far                  REJECTS.part    the rejects so far
    OUT.state.json   the run's identity, and after which row how long those two were

After each chunk both parts reach the disk, and then the state does, by rename. Whatever happens in between, cutting
the parts back to the lengths in the state undoes it. A state that says `done` leaves only names to be given.
"""

import glob
import json
import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import IO, Any, BinaryIO, Final

from tabsa.errors import OutputError
from tabsa.files import read_text, reason, replacing
from tabsa.tables.writing import finish_file

FORMAT: Final = "tabsa score 5"
JOB: Final = "_job.json"  # in the folder of a job of many tables or parts: its identity
JOB_FORMAT: Final = "tabsa score job 6"


@dataclass(slots=True)
class Counts:
    """Rows read, scored and rejected, opinions found (`none` is not one), and scored rows that name a target."""

    rows: int = 0
    scored: int = 0
    rejected: int = 0
    opinions: int = 0
    named: int = 0
    first_reason: str = ""  # of the first row that was rejected

    def add(self, other: "Counts") -> None:
        """Count what was done in another chunk, too."""
        for name in ("rows", "scored", "rejected", "opinions", "named"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.first_reason = self.first_reason or other.first_reason


@dataclass(slots=True)
class State:
    """How far a run is."""

    row: int = 0  # the number of the last row that is done
    output: int = 0  # bytes
    rejects: int = 0  # bytes
    done: bool = False
    counts: Counts = field(default_factory=Counts)


class FileOutput(ExitStack):
    """An output and its rejects, which get their names when they are complete.

    `resume` goes on with the run that is there, if there is one; `overwrite` replaces what is there, finished or not.
    """

    def __init__(self, out: Path, rejects: Path, *, resume: bool = False, overwrite: bool = False) -> None:
        super().__init__()
        self.out, self.rejects, self.state, self._resume = out, rejects, State(), resume
        self._part, self._state_path = working_files(out)
        self._rejects_part = working_files(rejects)[0]
        self._identity: dict[str, Any] = {}
        self._files: tuple[BinaryIO, ...] = ()
        begun = is_begun(out)
        if begun and not (resume or overwrite):
            raise OutputError(f"a run into {out} was stopped before its end", code="job_exists")
        for path in (out, rejects):
            if path.exists() and not (begun or overwrite):
                found = "exists, and there is no stopped run to resume" if resume else "exists"
                raise OutputError(f"{path} {found}", code="output_exists")

    def begin(self, identity: dict[str, Any]) -> None:
        """Start, or take up a run of the same identity; `state` tells how far it is."""
        self._identity = identity | {"rejects": os.path.relpath(self.rejects, self.out.parent)}
        with _trouble(self.out):
            for folder in (self.out.parent, self.rejects.parent):
                folder.mkdir(parents=True, exist_ok=True)
            if self._resume and self._state_path.exists():
                found = read_record(read_text(self._state_path, OutputError), FORMAT, self._identity, self.out)
                self.state = State(**(found | {"counts": Counts(**found["counts"])}))
            if not self.state.done:
                self.callback(self._remove_unsaved)
                part = self.enter_context(self._part.open("ab"))
                _hold(part.fileno(), self.out)
                self._files = (part, self.enter_context(self._rejects_part.open("ab")))
            for path in (self._state_path, self.out):  # what a killed run was about to rename
                for left in path.parent.glob(f".{glob.escape(path.name)}.*.tmp"):
                    left.unlink(missing_ok=True)
            if not self._resume:
                self._state_path.unlink(missing_ok=True)
            for file, length in zip(self._files, (self.state.output, self.state.rejects), strict=False):
                if os.fstat(file.fileno()).st_size < length:
                    raise OutputError(f"{file.name} is shorter than its state says", code="job_unusable")
                file.truncate(length)

    def _remove_unsaved(self) -> None:
        """Remove the parts where nothing was saved that a run could go on from."""
        if self._files and not self._state_path.exists():
            for path in (self._part, self._rejects_part):
                path.unlink(missing_ok=True)

    def save(self, output: bytes, rejects: bytes) -> None:
        """Append the results of a chunk; `state` counts its rows already."""
        with _trouble(self.out):
            for file, data in zip(self._files, (output, rejects), strict=True):
                if data:
                    file.write(data)
                    file.flush()
                    os.fsync(file.fileno())
        self.state.output += len(output)
        self.state.rejects += len(rejects)
        self._write_state()

    def finish(self) -> None:
        """Give the files their names; where no row was scored, only the rejects are one.

        Can be done again, however far it came.
        """
        self.state.done = True
        self._write_state()
        for file in self._files:
            file.close()
        with _trouble(self.out):
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

    def _write_state(self) -> None:
        write_record(self._state_path, FORMAT, self._identity, **asdict(self.state))


class StandardOutput(ExitStack):
    """Standard output, which cannot be resumed; the rejects go to a file if one is named."""

    def __init__(self, rejects: Path | None, *, overwrite: bool) -> None:
        super().__init__()
        self.state = State()
        self._files: dict[str | Path, IO[bytes]] = {"to standard output": sys.stdout.buffer}
        if rejects is not None:
            if rejects.exists() and not overwrite:
                raise OutputError(f"{rejects} exists", code="output_exists")
            with _trouble(rejects):  # unbuffered: closing would write again what a full disk did not take
                self._files[rejects] = self.enter_context(rejects.open("wb", buffering=0))

    def begin(self, identity: dict[str, Any]) -> None:
        """Start."""

    def save(self, output: bytes, rejects: bytes) -> None:
        """Write the results of a chunk."""
        for (name, file), data in zip(self._files.items(), (output, rejects), strict=False):
            with _trouble(name):
                file.write(data)
                file.flush()

    def finish(self) -> None:
        """End."""


def is_begun(out: Path) -> bool:
    """Tell whether a run into an output was stopped before its end."""
    return any(path.exists() for path in working_files(out))


def is_finished(out: Path) -> bool:
    """Tell whether an output is there, and no run into it that was stopped."""
    return out.exists() and not is_begun(out)


def working_files(out: Path) -> tuple[Path, Path]:
    """Return what lies beside an output while it grows: its part and its state."""
    return out.with_name(f"{out.name}.part"), out.with_name(f"{out.name}.state.json")


def write_record(path: Path, form: str, identity: Mapping[str, Any], **content: Any) -> None:
    """Write what a run of this `form` needs to go on."""
    with replacing(path) as stream:
        json.dump({"format": form, "identity": identity, **content}, stream, indent=2)


def read_record(text: str | bytes, form: str, identity: Mapping[str, Any], out: object) -> dict[str, Any]:
    """Parse what `write_record` wrote, less its format and identity; one of another version or identity is refused."""
    try:
        content = dict(json.loads(text))
        found, before = content.pop("format"), dict(content.pop("identity"))
    except (ValueError, TypeError, KeyError) as e:
        raise OutputError(f"cannot resume {out}: its record is damaged", code="job_unusable") from e
    if found != form:
        raise OutputError(f"cannot resume {out}: it is of another version of tabsa", code="job_unusable")
    for name, value in identity.items():
        if before.get(name) != value:
            why = f"{name!r} is not what it was when the run began"
            raise OutputError(f"cannot resume {out}: {why}", code="job_differs")
    return content


def check_job(
    record: str | bytes | None, identity: Mapping[str, Any], out: object, *, empty: bool, resume: bool, overwrite: bool
) -> None:
    """Refuse to write a job into a folder that has something in it, such as the `record` of another job."""
    if record is not None and resume:
        read_record(record, JOB_FORMAT, identity, out)
    elif not (empty or overwrite):
        found, code = ("a job into it was begun", "job_exists") if record else ("it is not empty", "output_exists")
        raise OutputError(f"cannot write {out}: {found}", code=code)


@contextmanager
def lock(folder: Path) -> Iterator[None]:
    """Hold a folder, so that no other run writes into it."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        _hold(handle, folder)
        yield
    finally:
        os.close(handle)


def _hold(handle: int, out: Path) -> None:
    """Lock an open file until it is closed, where the system can: two runs must not write one output."""
    try:
        import fcntl

        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as e:
        raise OutputError(f"another run is writing {out}; wait for it, or choose another name") from e
    except (ImportError, OSError):
        pass  # a system, or a file system, without locks


@contextmanager
def _trouble(what: Path | str) -> Iterator[None]:
    """Make one clear line of what the system says, but of a pipe that nobody reads any more: who read had enough."""
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as e:
        raise OutputError(f"cannot write {what}: {reason(e)}") from e
