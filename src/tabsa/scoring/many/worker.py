"""What scores a part: the same here and on a cluster. Plain data goes in and comes out."""

import dataclasses
import platform
import time
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import Any

from tabsa.checkpoint import AskedPrecision
from tabsa.errors import ConfigError, DataError, ModelError, TabsaError
from tabsa.inference import Predictor, load
from tabsa.scoring import Counts, Layout, Progress, Request, rejects_file, request_identity, score
from tabsa.scoring.many.parts import Part
from tabsa.scoring.reading import InputTable


@dataclass(frozen=True, slots=True)
class Job:
    """What every part is scored with."""

    request: Request
    identity: Mapping[str, Any]  # what `tabsa.scoring.request_identity` gave where the job was started
    model: str | None = None  # a folder, or the name of a model in the package
    precision: AskedPrecision = "auto"
    threads: int = 1  # of the model, in each worker

    def plain(self) -> dict[str, Any]:
        """The job as dictionaries, lists, text and numbers."""
        data = dataclasses.asdict(self)
        data["request"]["layout"] = str(self.request.layout)
        return data

    @classmethod
    def from_plain(cls, data: Mapping[str, Any]) -> "Job":
        """The job that `plain` gave."""
        request = Request(**(data["request"] | {"layout": Layout(data["request"]["layout"])}))
        return cls(**{**data, "request": request})


class Kind(StrEnum):
    """How the work on a part ended."""

    DONE = "done"
    FAILED = "failed"  # trying again may help
    REFUSED = "refused"  # it will not: the table is at fault
    STOP = "stop"  # it will not, for any part


@dataclass(frozen=True, slots=True)
class Outcome:
    """How the work on a part ended, why, and what was done."""

    part: Part
    kind: Kind
    why: str = ""
    counts: Counts = dataclasses.field(default_factory=Counts)
    seconds: float = 0.0


class Worker:
    """Scores one part after another with one model.

    Args:
        job: what to score with, as `Job.plain` gives it.
        predictor: the model, where it is loaded already; `prepare` is to be called otherwise.
    """

    def __init__(self, job: Mapping[str, Any], predictor: Predictor | None = None) -> None:
        self._job = Job.from_plain(job)
        self._predictor = predictor

    def prepare(self) -> str:
        """Load the model; gives what is wrong with it, or nothing."""
        try:
            predictor = load(self._job.model, threads=self._job.threads, precision=self._job.precision)
            here = request_identity(predictor, self._job.request)
            for name, value in self._job.identity.items():
                if here.get(name) != value:
                    raise ModelError(f"{name} is not the same on {platform.node()} as where the job was started")
        except TabsaError as e:
            return str(e)
        self._predictor = predictor
        return ""

    def score(self, data: Mapping[str, Any]) -> dict[str, Any]:
        """Score a part, going on with what an earlier worker left of it."""
        started = time.perf_counter()
        kind, why, counts = self._try(Part(**data))
        seconds = time.perf_counter() - started
        return {"kind": str(kind), "why": why, "counts": dataclasses.asdict(counts), "seconds": seconds}

    def _try(self, part: Part) -> tuple[Kind, str, Counts]:
        try:
            return Kind.DONE, "", self._score(Path(part.source), Path(part.out))
        except DataError as e:
            return Kind.REFUSED, str(e), Counts()
        except (ConfigError, ModelError) as e:
            return Kind.STOP, str(e), Counts()
        except TabsaError as e:
            return Kind.FAILED, str(e), Counts()
        except Exception as e:  # whatever it is, the other parts do not wait for it
            return Kind.FAILED, f"{type(e).__name__}: {e}", Counts()

    def _score(self, source: Path, out: Path) -> Counts:
        if self._predictor is None:
            raise RuntimeError("prepare() comes before score()")
        reached = Counts()

        def note(progress: Progress) -> None:
            nonlocal reached
            reached = progress.counts

        begun = any(path.exists() for path in unfinished_files(out))
        # A whole output that the job has no record of: it was killed between the two. Nothing tells its counts.
        unrecorded = not begun and any(path.exists() for path in finished_files(out))
        run = partial(score, source, out, self._predictor, self._job.request, on_progress=note, on_guess=_say_nothing)
        try:
            return run(resume=not unrecorded, overwrite=unrecorded).counts
        except DataError:
            if _is_empty(source):
                return Counts()
            if reached.rows and not reached.scored and not any(path.exists() for path in unfinished_files(out)):
                return reached  # every row was rejected, and is in the rejects file
            raise


def finished_files(out: Path) -> tuple[Path, Path]:
    """What a part leaves when it is done."""
    return out, rejects_file(out)


def unfinished_files(out: Path) -> tuple[Path, ...]:
    """What a part leaves when it is not."""
    names = (f"{out.name}.part", f"{out.name}.state.json", f"{rejects_file(out).name}.part")
    return tuple(out.with_name(name) for name in names)


def _say_nothing(_: str) -> None:
    """How the first table is read has been said; thousands of others need not say it again."""


def _is_empty(source: Path) -> bool:
    """Whether a table can be read and has no row: programs that write many files write such ones, too."""
    try:
        with InputTable(source, on_guess=_say_nothing) as table:
            return next(table.chunks(1), None) is None
    except DataError:
        return False
