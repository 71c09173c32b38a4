"""Tables scored on this machine: one after another, or in a pool of processes with a model each."""

import multiprocessing
import os
import threading
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import suppress
from functools import partial
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Final

from tabsa.errors import ConfigError, DataError, ModelError, TabsaError
from tabsa.inference.predictor import Predictor
from tabsa.scoring import Counts, Progress, rejects_file, score
from tabsa.scoring.many.parts import Part
from tabsa.scoring.many.worker import Job, Kind, Outcome
from tabsa.scoring.reading import InputTable

ATTEMPTS: Final = 3  # at a part beside others, before it is tried alone, and then given up
_DIED: Final = "its process died"


class LocalEngine:
    """This machine: one table after another in this process, or several at a time in a pool of processes.

    Args:
        job: what they are scored with.
        predictor: the model of this process.
        workers: how many processes there are; a pool's have a model each, with as many threads as the job says.
    """

    def __init__(self, job: Job, predictor: Predictor, workers: int = 1) -> None:
        self._job, self._predictor, self._workers = job, predictor, workers

    def part_rows(self, parts: Sequence[Part]) -> int:  # noqa: ARG002
        """See `ScoringEngine`."""
        return 0

    def run(self, left: Sequence[Part], records: object) -> Iterator[Outcome]:  # noqa: ARG002
        """See `ScoringEngine`: the largest goes first, so that none is waited for alone at the end.

        Who kills a process breaks its pool. Another pool goes on, with what was begun where it stopped. A table on
        which processes die again and again is at last tried alone, so that no other one is blamed for it.
        """
        waiting = sorted(left, key=lambda part: (-part.bytes, part.name))
        attempts: Counter[str] = Counter()
        while waiting:
            shy = [part for part in waiting if attempts[part.name] == ATTEMPTS]
            bold = [part for part in waiting if attempts[part.name] < ATTEMPTS]
            failed: dict[str, Outcome] = {}
            for outcome in self._round(bold or shy[:1]):
                if outcome.kind is Kind.FAILED:
                    failed[outcome.name] = outcome
                else:
                    yield outcome
            again = [part for part in bold or shy[:1] if part.name in failed]
            for part in _blamed(again, failed):
                attempts[part.name] += 1
                given_up = attempts[part.name] > ATTEMPTS
                kind = Kind.FAILED if given_up else Kind.RETRIED
                yield Outcome(part.name, part.name, kind, failed[part.name].why, bytes=part.bytes * given_up)
            again = [part for part in again if attempts[part.name] <= ATTEMPTS]
            waiting = again + (shy if bold else shy[1:])

    def _round(self, parts: Sequence[Part]) -> Iterator[Outcome]:
        if self._workers > 1:
            return _pooled(parts, self._job, min(self._workers, len(parts)))
        return (_score(part, self._job, self._predictor) for part in parts)


def _blamed(failed: Sequence[Part], outcomes: Mapping[str, Outcome]) -> list[Part]:
    """Of the parts that failed, those that may be at fault: not such as only waited in a pool that broke."""
    lost = [part for part in failed if outcomes[part.name].why == _DIED]
    begun = [part for part in lost if any(path.exists() for path in unfinished_files(Path(part.out)))]
    return [part for part in failed if part not in lost or part in (begun or lost)]


def _pooled(parts: Sequence[Part], job: Job, workers: int) -> Iterator[Outcome]:
    """The outcomes in a pool, until it breaks: then what is left failed."""
    context = multiprocessing.get_context("spawn")  # a fork would copy the locks of onnxruntime's threads
    line, held = context.Pipe(duplex=False)  # whose other end closes with this process, however that ends
    with ProcessPoolExecutor(workers, context, _begin, (job, line)) as pool:
        futures: dict[Future[Outcome], Part] = {}
        try:
            with suppress(BrokenProcessPool):
                futures.update((pool.submit(_score, part), part) for part in parts)
            left = {part.name: part for part in parts}
            for future in as_completed(futures):
                with suppress(BrokenProcessPool):
                    yield future.result()
                    left.pop(futures[future].name)
            for part in left.values():
                yield Outcome(part.name, part.name, Kind.FAILED, _DIED, bytes=part.bytes)
        finally:
            held.close()  # all is done, or whoever asked had enough: no process scores on


_job: Job | None = None  # of a process of the pool; these two are set once, before anything is scored
_predictor: Predictor | TabsaError | None = None


def _begin(job: Job, line: Connection) -> None:
    """Load the model in a process of the pool, which ends as soon as the other end of the line is closed."""
    global _job, _predictor
    threading.Thread(target=_end_with, args=(line,), daemon=True).start()
    try:
        _job, _predictor = job, job.load()
    except TabsaError as e:
        _predictor = e


def _end_with(line: Connection) -> None:
    with suppress(OSError):
        line.poll(None)
    os._exit(1)


def _score(part: Part, job: Job | None = None, predictor: Predictor | None = None) -> Outcome:
    """Score a table, going on with what an earlier run left of it."""
    job, model = job or _job, predictor or _predictor
    started = time.perf_counter()
    done = partial(Outcome, part.name, part.name, bytes=part.bytes)
    try:
        if isinstance(model, TabsaError):
            return done(Kind.STOP, str(model))
        if job is None or model is None:
            raise RuntimeError("a process scores after it has begun")
        counts = _counted(Path(part.source), Path(part.out), job, model)
    except DataError as e:
        return done(Kind.REFUSED, str(e))
    except (ConfigError, ModelError) as e:
        return done(Kind.STOP, str(e))
    except TabsaError as e:
        return done(Kind.FAILED, str(e))
    except Exception as e:  # whatever it is, the other parts do not wait for it
        return done(Kind.FAILED, f"{type(e).__name__}: {e}")
    return done(Kind.DONE, counts=counts, seconds=time.perf_counter() - started)


def _counted(source: Path, out: Path, job: Job, predictor: Predictor) -> Counts:
    reached = Counts()

    def note(progress: Progress) -> None:
        nonlocal reached
        reached = progress.counts

    begun = any(path.exists() for path in unfinished_files(out))
    # A whole output that the job has no record of: it was killed between the two. Nothing tells its counts.
    unrecorded = not begun and any(path.exists() for path in finished_files(out))
    run = partial(score, source, out, predictor, job.request, on_progress=note, on_guess=say_nothing)
    try:
        return run(resume=not unrecorded, overwrite=unrecorded).counts
    except DataError:
        if _is_empty(source):
            return Counts()
        if reached.rows and not reached.scored and not any(path.exists() for path in unfinished_files(out)):
            return reached  # every row was rejected, and is in the rejects file
        raise


def finished_files(out: Path) -> tuple[Path, Path]:
    """What a table leaves when it is done."""
    return out, rejects_file(out)


def unfinished_files(out: Path) -> tuple[Path, ...]:
    """What a table leaves when it is not."""
    names = (f"{out.name}.part", f"{out.name}.state.json", f"{rejects_file(out).name}.part")
    return tuple(out.with_name(name) for name in names)


def say_nothing(_: str) -> None:
    """How the first table is read has been said; thousands of others need not say it again."""


def _is_empty(source: Path) -> bool:
    """Whether a table can be read and has no row: programs that write many files write such ones, too."""
    try:
        with InputTable(source, on_guess=say_nothing) as table:
            return next(table.chunks(1), None) is None
    except DataError:
        return False
