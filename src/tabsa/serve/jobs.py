"""Scoring that outlives a request.

A job is a folder, so that any worker can answer for it: `job.json` says how far it is, beside it lie the input, the
result and the rejects. The worker that took it scores it, in a thread of its own; should that worker be killed, the
others say so. Jobs are few and are removed when they are old; when the service stops, so do they.
"""

import json
import logging
import os
import re
import secrets
import shutil
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from tabsa.errors import OutputError, TabsaError
from tabsa.files import replacing
from tabsa.inference.predictor import Predictor
from tabsa.scoring import Progress, rejects_file, score
from tabsa.serve.findings import SUMMARY, AskedFile, write_findings
from tabsa.serve.metrics import Metrics, is_alive
from tabsa.serve.priority import Priority
from tabsa.serve.problems import Problem, busy
from tabsa.serve.schema import JobStatus
from tabsa.serve.settings import Settings
from tabsa.tables.writing import escape_file

_log = logging.getLogger("uvicorn.error")

_STATE: Final = "job.json"
_DELETED: Final = "deleted"  # a file that tells whoever scores a job that nobody wants it
# What the fields of a request can do about an error, by the error's code.
_HINTS: Final = {
    "column_taken": "tell the new ones apart with 'prefix'",
    "no_text_column": "say with 'text_column' which it is",
}
_SILENT: Final = "no text has an opinion on what was asked"
_ID: Final = re.compile(r"[A-Za-z0-9_-]{22}")
_RETRY_SECONDS: Final = 60


class _StoppedError(Exception):
    """The job was deleted, or the service stops."""


class Jobs:
    """The jobs of all workers, and the threads that score those of this one."""

    def __init__(
        self, folder: Path, predictor: Predictor, settings: Settings, metrics: Metrics, priority: Priority
    ) -> None:
        self._folder, self._predictor, self._settings, self._metrics = folder, predictor, settings, metrics
        self._threads = priority.threads(settings.max_scoring, "job")
        self._mine: set[str] = set()
        self._making = threading.Lock()
        self._closing = threading.Event()

    def make_folder(self) -> Path:
        """A folder for a new job, named by its id; raises a Problem where too many run, or take all the room."""
        self.sweep()
        with self._making:
            if self._running() >= self._settings.max_jobs:
                message = f"{self._settings.max_jobs} jobs are running already; delete one, or come again later"
                raise busy(message, _RETRY_SECONDS, status=429)
            if not self._make_room(1):
                raise busy("running jobs take all the room there is; come again later", _RETRY_SECONDS, status=429)
            folder = self._folder / secrets.token_urlsafe(16)
            folder.mkdir()
        self._mine.add(folder.name)
        self._save(folder, JobStatus(id=folder.name, state="running"))
        return folder

    def start(self, source: Path, form: str, asked: AskedFile) -> str:
        """Score a file that lies in a job's folder, soon; returns the job's id."""
        self._threads.submit(self._score, source, form, asked)
        return source.parent.name

    def discard(self, folder: Path) -> None:
        """Remove a job that was not started."""
        self._mine.discard(folder.name)
        shutil.rmtree(folder, ignore_errors=True)

    def _score(self, source: Path, form: str, asked: AskedFile) -> None:
        """In a thread: the whole job."""
        folder = source.parent
        result = _result(folder, form)
        status = JobStatus(id=folder.name, state="running")

        def go_on() -> None:
            if self._closing.is_set() or (folder / _DELETED).exists():
                raise _StoppedError

        def save(progress: Progress) -> None:
            go_on()
            if not self._make_room():
                raise OutputError("there is no room for the results; send the file again later, or less at a time")
            status.scored, status.rejected = progress.counts.scored, progress.counts.rejected
            status.share = progress.share
            self._save(folder, status, form)

        def note(told: str) -> None:
            status.note = told.removeprefix(f"{source}: ")

        try:
            go_on()
            ended = score(source, result, self._predictor, asked.request, on_progress=save, on_guess=note)
            status.no_summary = (
                self._find(folder, result, asked, lambda _: go_on()) if ended.counts.opinions else _SILENT
            )
            if asked.escape_formulas:
                escape_file(result)  # last: the summary is of what was there
            status.state, status.share, status.summary = "done", 1.0, status.no_summary is None
            self._metrics.rows.inc(ended.counts.rows)
        except _StoppedError:
            status.state, status.error = "failed", "the service was stopped; send the file again"
        except TabsaError as e:
            status.state, status.error = "failed", shown_error(e, source)
        except Exception:  # the job must not stay `running` for ever
            _log.exception("a job failed")
            status.state, status.error = "failed", "something went wrong in the service; its log says more"
        finally:
            self._save(folder, status, form)
            self._mine.discard(folder.name)
            if (folder / _DELETED).exists():
                shutil.rmtree(folder, ignore_errors=True)

    def _find(self, folder: Path, result: Path, asked: AskedFile, on_progress: Callable[[int], None]) -> str | None:
        """Sum the results up; gives why that cannot be done, if so. The results are there either way."""
        try:
            write_findings(folder, result, asked, on_progress)
        except TabsaError as e:
            return str(e).replace(str(result), "the table of results")
        return None

    def _save(self, folder: Path, status: JobStatus, form: str | None = None) -> None:
        with replacing(folder / _STATE) as stream:
            json.dump({"process": os.getpid(), "format": form, **status.model_dump()}, stream)

    def _read(self, identity: str) -> tuple[Path, dict[str, Any]]:
        folder = self._folder / identity
        try:
            if not _ID.fullmatch(identity) or (folder / _DELETED).exists():
                raise FileNotFoundError
            state = _loaded(folder)
            if state["state"] == "running" and not self._is_worked_on(identity, state["process"]):
                state = _loaded(folder)  # it may have ended in between
                if state["state"] == "running":
                    error = "the worker that scored it was stopped; send the file again"
                    state |= {"state": "failed", "error": error}
        except FileNotFoundError as e:
            raise Problem(404, "no_job", "there is no such job; it was deleted, or its time is over") from e
        return folder, state

    def _is_worked_on(self, identity: str, process: int) -> bool:
        return identity in self._mine if process == os.getpid() else is_alive(process)

    def status(self, identity: str) -> JobStatus:
        """How far a job is; raises a Problem where there is none."""
        _, state = self._read(identity)
        return JobStatus(**{name: state[name] for name in JobStatus.model_fields})

    def findings(self, identity: str) -> Path:
        """The folder of a finished job, with its summary in it."""
        self.result(identity)
        folder = self._folder / identity
        if not (folder / SUMMARY).exists():
            raise Problem(404, "no_summary", _loaded(folder)["no_summary"] or "there is no summary of the job")
        return folder

    def result(self, identity: str) -> tuple[Path, str]:
        """The finished result, and its format."""
        folder, state = self._read(identity)
        if state["state"] != "done":
            raise Problem(404, "no_result", "the job has no result yet" if not state["error"] else state["error"])
        return _result(folder, state["format"]), state["format"]

    def rejects(self, identity: str) -> Path | None:
        """The rejected rows of a job that has ended; None where there are none."""
        folder, state = self._read(identity)
        if state["state"] == "running":
            raise Problem(404, "no_result", "the job has not ended yet")
        path = rejects_file(_result(folder, state["format"] or ""))
        return path if path.exists() else None

    def delete(self, identity: str) -> None:
        """Remove a job; whoever is scoring it notices, stops, and removes what is left."""
        folder, state = self._read(identity)
        (folder / _DELETED).touch()
        if state["state"] != "running":
            shutil.rmtree(folder, ignore_errors=True)

    def sweep(self) -> None:
        """Remove jobs that ended long ago."""
        oldest = time.time() - 60 * self._settings.job_minutes
        for folder in self._folder.iterdir():
            try:
                running = self._read(folder.name)[1]["state"] == "running"
                changed = (folder / _STATE).stat().st_mtime
            except Problem:  # deleted
                running, changed = False, _changed(folder)
            except FileNotFoundError:  # another worker was faster
                continue
            if changed < oldest and not running:
                shutil.rmtree(folder, ignore_errors=True)

    def _running(self) -> int:
        return sum(self._state_of(folder)[0] for folder in self._folder.iterdir())

    def _state_of(self, folder: Path) -> tuple[bool, float]:
        """Whether a job is running, and when that was last written down."""
        try:
            running = self._read(folder.name)[1]["state"] == "running"
            return running, (folder / _STATE).stat().st_mtime
        except (Problem, FileNotFoundError):  # deleted, or another worker was faster
            return False, _changed(folder)

    def _make_room(self, more: int = 0) -> bool:
        """Remove finished jobs, the oldest first, as long as there are too many; tells whether there is room then."""
        sizes = {folder: _size(folder) for folder in self._folder.iterdir()}
        ended = sorted(
            (changed, folder) for folder in sizes for running, changed in [self._state_of(folder)] if not running
        )
        total, kept = sum(sizes.values()), len(ended)
        for _, folder in ended:
            if total <= self._settings.max_jobs_bytes and kept + more <= self._settings.max_kept_jobs:
                break
            shutil.rmtree(folder, ignore_errors=True)
            total, kept = total - sizes[folder], kept - 1
        return total <= self._settings.max_jobs_bytes

    def close(self) -> None:
        """Stop what is running, after its present chunk of rows."""
        self._closing.set()
        self._threads.shutdown()


def shown_error(error: TabsaError, source: Path) -> str:
    """An error as a client may read it: without the service's folders, and with what a field can do about it."""
    message = re.sub(rf"; see {re.escape(str(source.parent))}\S*", "; see the rejects", str(error))
    message = message.replace(str(source), "the file")
    hint = _HINTS.get(error.code)
    return f"{message}; {hint}" if hint else message


def _loaded(folder: Path) -> dict[str, Any]:
    state: dict[str, Any] = json.loads((folder / _STATE).read_text(encoding="utf-8"))
    return state


def _changed(folder: Path) -> float:
    try:
        return folder.stat().st_mtime
    except FileNotFoundError:
        return 0.0


def _size(folder: Path) -> int:
    total = 0
    with suppress(OSError):  # another worker removes it
        for entry in os.scandir(folder):
            with suppress(OSError):
                total += entry.stat(follow_symlinks=False).st_size
    return total


def _result(folder: Path, form: str) -> Path:
    return folder / f"result.{form}"
