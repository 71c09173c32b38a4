"""What a job writes about itself, beside its results.

    OUT/_job.json       what was asked
    OUT/_parts.jsonl    a line for each part that is done; held by the run that writes it
    OUT/_summary.json   what it came to, and which parts failed and why
    OUT/_SUCCESS        is there when every part is done

A part is done when its line has reached the disk. Until then, its own files tell how far it is (`tabsa.tables.saving`).
"""

import json
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO, Final

from tabsa.errors import OutputError
from tabsa.files import reason, replacing
from tabsa.scoring import Counts
from tabsa.scoring.many.parts import Part
from tabsa.scoring.many.worker import Outcome, finished_files, unfinished_files
from tabsa.tables.saving import open_locked, read_record, refuse_other

FORMAT: Final = "tabsa score job 4"


class Records:
    """The folder of a job that is being run; `done` has what was done of each part by its name.

    Args:
        folder: where the results go.
        identity: what is asked of the parts.
        parts: all of the job's parts.
        resume: go on with the job that is there, if there is one.
        overwrite: replace the job that is there, done or not.
    """

    def __init__(
        self, folder: Path, identity: Mapping[str, Any], parts: Iterable[Part], *, resume: bool, overwrite: bool
    ) -> None:
        self._folder, self._identity = folder, dict(identity)
        self._job, self._lines = folder / "_job.json", folder / "_parts.jsonl"
        self._summary, self._success = folder / "_summary.json", folder / "_SUCCESS"
        self.done: dict[str, Counts] = {}
        self._file = self._open(list(parts), resume=resume, overwrite=overwrite)

    def __enter__(self) -> "Records":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._file.close()
        names = {path.name for path in self._folder.iterdir()}
        if error and names <= {self._job.name, self._lines.name}:  # no part was begun: there is nothing to go on with
            self._job.unlink(missing_ok=True)
            self._lines.unlink()
            if self._made:
                self._folder.rmdir()

    def _open(self, parts: list[Part], *, resume: bool, overwrite: bool) -> BinaryIO:
        self._refuse_existing(resume=resume, overwrite=overwrite)
        self._made = not self._folder.exists()
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            file = open_locked(self._lines, self._folder)
        except OSError as e:
            raise OutputError(f"cannot write {self._folder}: {reason(e)}") from e
        try:
            if overwrite:
                self._clear(parts, file)
            elif self._job.exists():
                self._compare()
                self._read(parts, file)
            self._success.unlink(missing_ok=True)
            self._summary.unlink(missing_ok=True)
        except OSError as e:
            file.close()
            raise OutputError(f"cannot write {self._folder}: {reason(e)}") from e
        except OutputError:
            file.close()
            raise
        _write(self._job, {"format": FORMAT, "identity": self._identity})
        return file

    def _refuse_existing(self, *, resume: bool, overwrite: bool) -> None:
        if overwrite or not self._folder.exists():
            return
        if not self._folder.is_dir():
            raise OutputError(f"{self._folder} is a file; many tables are written to a folder")
        if self._job.exists():
            if not resume:
                state = "is done" if self._success.exists() else "was begun"
                raise OutputError(f"a job into {self._folder} {state}", code="job_exists")
        elif not all(
            path.name.startswith((self._lines.name, f".{self._job.name}.")) for path in self._folder.iterdir()
        ):
            raise OutputError(f"{self._folder} is not empty, and holds no job", code="output_exists")

    def _clear(self, parts: list[Part], file: BinaryIO) -> None:
        """Remove what earlier jobs left of these parts, and of those that they had a record of."""
        names = {part.name for part in parts}
        names |= {str(line.get("part")) for line in _lines(self._lines)}
        self._job.unlink(missing_ok=True)
        file.truncate(0)
        for name in names:
            out = self._folder / name
            if out.resolve().is_relative_to(self._folder.resolve()):
                for path in (*finished_files(out), *unfinished_files(out)):
                    path.unlink(missing_ok=True)

    def _compare(self) -> None:
        content = read_record(self._job, FORMAT)
        try:
            before = dict(content["identity"])
        except (ValueError, TypeError, KeyError) as e:
            raise OutputError(f"{self._job} is damaged", code="job_unusable") from e
        refuse_other(self._folder, "job", before, self._identity)

    def _read(self, parts: list[Part], file: BinaryIO) -> None:
        """Learn what is done; a line that a kill left unfinished is cut off."""
        content = self._lines.read_bytes()
        file.truncate(content.rfind(b"\n") + 1)
        known = {part.name: part for part in parts}
        for line in _lines(self._lines):
            part = known.get(str(line.get("part")))
            counts = _counts(line)
            if part is None or counts is None:
                continue
            if line.get("input") != part.identity():
                why = f"{part.source} has changed since it was scored"
                raise OutputError(f"cannot resume {self._folder}: {why}", code="job_unusable")
            if Path(part.out).exists() or not counts.scored:
                self.done[part.name] = counts

    def add(self, outcome: Outcome) -> None:
        """A part is done."""
        counts = {name: getattr(outcome.counts, name) for name in ("rows", "scored", "rejected", "opinions", "named")}
        line: dict[str, Any] = {"part": outcome.part.name, "input": outcome.part.identity(), "counts": counts}
        line["seconds"] = round(outcome.seconds, 3)
        try:
            self._file.write(json.dumps(line, ensure_ascii=False).encode() + b"\n")
            self._file.flush()
            os.fsync(self._file.fileno())
        except OSError as e:
            raise OutputError(f"cannot write {self._lines}: {reason(e)}") from e
        self.done[outcome.part.name] = outcome.counts

    def finish(self, summary: Mapping[str, Any], *, success: bool) -> None:
        """Write what the job came to."""
        _write(self._summary, summary)
        if success:
            with replacing(self._success):
                pass


def _write(path: Path, content: Mapping[str, Any]) -> None:
    with replacing(path) as stream:
        json.dump(content, stream, indent=2, ensure_ascii=False)
        stream.write("\n")


def _counts(line: Mapping[str, Any]) -> Counts | None:
    try:
        return Counts(**line["counts"])
    except (KeyError, TypeError):
        return None


def _lines(path: Path) -> list[dict[str, Any]]:
    """The records; what a disk left of others is not one, and the part is done again."""
    records = []
    for line in path.read_bytes().splitlines():
        try:
            record = json.loads(line)
        except ValueError:
            continue
        if isinstance(record, dict):
            records.append(record)
    return records
