"""The output of a run while it grows, and how a run that was stopped goes on.

    OUT.part         the output so far                  OUT.rejects.jsonl.part    the rejects so far
    OUT.state.json   the run's identity, and after which row how long those two were

After each chunk both parts reach the disk, and then the state does, by rename. Whatever happens in between, cutting
the parts back to the lengths in the state undoes it. A state that says `done` leaves only names to be given.
"""

import glob
import json
import os
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, BinaryIO, Final

from tabsa.errors import OutputError
from tabsa.files import read_text, reason, replacing
from tabsa.tables.reading import REJECTS
from tabsa.tables.writing import finish_file

FORMAT: Final = "tabsa score 6"


@dataclass(slots=True)
class Counts:
    """Rows read, scored and rejected, opinions found (`none` is not one), and scored rows of two kinds."""

    rows: int = 0
    scored: int = 0
    rejected: int = 0
    opinions: int = 0
    unsure: int = 0  # of the opinions
    named: int = 0  # that name a target
    foreign: int = 0  # that are in a language that the model does not read
    first_reason: str = ""  # of the first row that was rejected

    def add(self, other: "Counts") -> None:
        """Count what was done in another chunk, too."""
        for name in ("rows", "scored", "rejected", "opinions", "unsure", "named", "foreign"):
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
    """An output and its rejects, which get their names when they are complete; `state` tells how far it is.

    `resume` goes on with a run of the same identity, if there is one; `overwrite` replaces what is there.
    """

    def __init__(self, out: Path, identity: dict[str, Any], *, resume: bool, overwrite: bool) -> None:
        super().__init__()
        self.out, self.rejects, self.state = out, rejects_file(out), State()
        self._identity, self._resume = identity, resume
        self._part, self._state_path = _working_files(out)
        self._rejects_part = _working_files(self.rejects)[0]
        self._files: tuple[BinaryIO, ...] = ()
        begun = is_begun(out)
        if begun and not (resume or overwrite):
            raise OutputError(f"a run into {out} was stopped before its end", code="job_exists")
        for path in (out, self.rejects):
            if path.exists() and not (begun or overwrite):
                why = "exists, and there is no stopped run to resume" if resume else "exists"
                raise OutputError(f"{path} {why}", code="output_exists")
        if resume and self._state_path.exists():
            found = read_record(self._state_path, FORMAT, identity, self.out)
            self.state = State(**(found | {"counts": Counts(**found["counts"])}))

    def _open(self) -> None:
        """Open the parts as the state has them, at the first use: where nothing is saved, nobody gets empty ones."""
        if self._files or self.state.done:
            return
        with _trouble(self.out):
            self.out.parent.mkdir(parents=True, exist_ok=True)
            part = self.enter_context(self._part.open("ab"))
            _hold(part.fileno(), self.out)
            self._files = (part, self.enter_context(self._rejects_part.open("ab")))
            if not self._resume:
                self._state_path.unlink(missing_ok=True)
            for path in (self._state_path, self.out):  # what a killed run was about to rename
                for left in path.parent.glob(f".{glob.escape(path.name)}.*.tmp"):
                    left.unlink(missing_ok=True)
            for file, length in zip(self._files, (self.state.output, self.state.rejects), strict=True):
                if os.fstat(file.fileno()).st_size < length:
                    raise OutputError(f"{file.name} is shorter than its state says", code="job_unusable")
                file.truncate(length)

    def save(self, output: bytes, rejects: bytes) -> None:
        """Append the results of a chunk; `state` counts its rows already."""
        self._open()
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
        self._open()
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


def rejects_file(out: Path) -> Path:
    """Return where an output's rejected rows go."""
    return out.with_name(out.name + REJECTS)


def is_begun(out: Path) -> bool:
    """Tell whether a run into an output was stopped before its end."""
    return any(path.exists() for path in _working_files(out))


def is_finished(out: Path) -> bool:
    """Tell whether an output is there, and no run into it that was stopped."""
    return out.exists() and not is_begun(out)


def _working_files(out: Path) -> tuple[Path, Path]:
    """Return what lies beside an output while it grows: its part and its state."""
    return out.with_name(f"{out.name}.part"), out.with_name(f"{out.name}.state.json")


def write_record(path: Path, form: str, identity: Mapping[str, Any], **content: Any) -> None:
    """Write what a run of this `form` needs to go on."""
    with replacing(path) as stream:
        json.dump({"format": form, "identity": identity, **content}, stream, indent=2)


def read_record(path: Path, form: str, identity: Mapping[str, Any], out: Path) -> dict[str, Any]:
    """Read what `write_record` wrote, less its format and identity; one of another version or identity is refused."""
    try:
        content = dict(json.loads(read_text(path, OutputError)))
        found, before = content.pop("format"), dict(content.pop("identity"))
    except (ValueError, TypeError, KeyError):
        found, before = None, {}
    if found != form:
        raise OutputError(f"cannot resume {out}: its record is of another version, or damaged", code="job_unusable")
    for name, value in identity.items():
        if before.get(name) != value:
            why = f"{name!r} is not what it was when the run began"
            raise OutputError(f"cannot resume {out}: {why}", code="job_differs")
    return content


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
def _trouble(out: Path) -> Iterator[None]:
    """Make one clear line of what the system says."""
    try:
        yield
    except OSError as e:
        raise OutputError(f"cannot write {out}: {reason(e)}") from e
