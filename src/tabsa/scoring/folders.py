"""Many tables as one job: a folder in, a folder out, in a pool of processes or on a Ray cluster.

Each table is written as it is alone (`tabsa.scoring.single`), so that what a killed process left of one is taken up by
the next. `OUT/_job.json` has the job's identity; a table whose output is there is done.
"""

import dataclasses
import multiprocessing
import os
import threading
import warnings
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import suppress
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, Final, NamedTuple, TypeAlias

from tabsa.checkpoint.model_folder import PrecisionChoice
from tabsa.errors import ConfigError, DataError, ModelError, OutputError, TabsaError
from tabsa.inference.predictor import Predictor, load
from tabsa.scoring.request import Request
from tabsa.scoring.scorer import first_columns
from tabsa.scoring.single import request_identity, score_table
from tabsa.tables.outputs import Counts, is_begun, is_finished, read_record, rejects_file, write_record
from tabsa.tables.reading import read_rows, tables_in

_JOB: Final = "_job.json"  # in the folder of a job: its identity
_JOB_FORMAT: Final = "tabsa score job 7"
_NAMED: Final = 5  # of the tables that failed, in one line


class TablePair(NamedTuple):
    """One table of a job, and where its results go. Both are absolute."""

    source: Path
    out: Path


Ended: TypeAlias = tuple[TablePair, Counts | str]  # a table, and what was done, or why it failed


class ModelChoice(NamedTuple):
    """A model by its name or folder, and how it is run: what a worker needs to load it."""

    name: str | None = None
    threads: int = 1
    precision: PrecisionChoice = "auto"

    def load(self) -> Predictor:
        """Load it."""
        return load(self.name, threads=self.threads, precision=self.precision)


class TableWork(NamedTuple):
    """What is done with each table."""

    request: Request
    model: ModelChoice
    overwrite: bool


@dataclass(slots=True)
class JobResult:
    """What a run of a job came to."""

    tables: int = 0  # of the job
    skipped: int = 0  # those that an earlier run did
    done: int = 0  # those that this run did
    counts: Counts = field(default_factory=Counts)  # of this run
    failed: dict[str, str] = field(default_factory=dict)  # by table: why


def find_tables(source: Path, out: Path) -> list[TablePair]:
    """Find the tables of a folder (see `tables_in`), the largest first; a workbook's results are CSV."""
    source, out = source.resolve(), out.resolve()
    if source.is_relative_to(out):
        raise OutputError(f"{out} holds the input; write to another folder")
    found = sorted(tables_in(source, besides=out), key=lambda path: (-path.stat().st_size, path))
    ends = [".csv" if path.suffix.lower() == ".xlsx" else "" for path in found]  # after its name
    return [
        TablePair(path, out / path.relative_to(source).with_name(path.name + end))
        for path, end in zip(found, ends, strict=True)
    ]


def score_folder(
    source: Path,
    out: Path,
    model: ModelChoice,
    request: Request,
    *,
    workers: int = 1,
    ray: bool = False,
    address: str | None = None,
    resume: bool = False,
    overwrite: bool = False,
    on_table: Callable[[JobResult, str, str], None] = lambda _, __, ___: None,
) -> JobResult:
    """Score all tables of a folder (see `find_tables`) into a folder.

    Each of the `workers` is a process that loads the model; one is this process. With `ray` they are those of the
    cluster at an `address`. `on_table` is called when a table is done or failed, with the job so far, the table's name
    and why it failed.

    Raises:
        OutputError: some tables failed, and the others are done; or nothing can be written or resumed.
        DataError: no row of any table can be scored.
    """
    tables = find_tables(source, out)
    predictor = model.load()
    identity = {**request_identity(predictor, request), "input": str(source.resolve())}
    columns = first_columns(tables[0].source, read_rows(tables[0].source), predictor, request)
    if columns is not None:  # all tables have the same
        request = dataclasses.replace(request, text_column=columns.text)
    _begin_job(out, identity, resume=resume, overwrite=overwrite)
    left = [pair for pair in tables if overwrite or not _is_done(pair)]
    result = JobResult(len(tables), len(tables) - len(left))
    work = TableWork(request, model, overwrite)
    if ray:
        from tabsa.scoring.cluster import score_on_ray

        ended = score_on_ray(left, work, request_identity(predictor, request), address)
    elif workers > 1:
        ended = _in_pools(left, work, workers)
    else:
        ended = ((pair, score_pair(pair, work, predictor)) for pair in left)
    for pair, done in ended:
        name = pair.out.relative_to(out.resolve()).as_posix()
        if isinstance(done, Counts):
            result.counts.add(done)
            result.done += 1
        else:
            result.failed[name] = done
        on_table(result, name, result.failed.get(name, ""))
    if result.failed:
        shown = "; ".join(f"{name}: {why}" for name, why in sorted(result.failed.items())[:_NAMED])
        more = f"; and {len(result.failed) - _NAMED:,} more" if len(result.failed) > _NAMED else ""
        message = f"{len(result.failed):,} of {len(tables):,} tables failed, the others are done: {shown}{more}"
        raise OutputError(message, code="parts_failed")
    if not result.counts.scored and not result.skipped:
        raise DataError(f"no row was scored; {result.counts.rejected:,} were rejected")
    return result


def _begin_job(out: Path, identity: dict[str, Any], *, resume: bool, overwrite: bool) -> None:
    """Write down in its folder what a job is; the folder is new, or that of a job with the same identity."""
    job = out / _JOB
    if out.exists() and not out.is_dir():
        raise OutputError(f"{out} is a file; many tables are written to a folder")
    if resume and job.exists():
        read_record(job, _JOB_FORMAT, identity, out)
    elif not overwrite and out.exists() and any(out.iterdir()):
        found, code = (
            ("a job into it was begun", "job_exists") if job.exists() else ("it is not empty", "output_exists")
        )
        raise OutputError(f"cannot write {out}: {found}", code=code)
    write_record(job, _JOB_FORMAT, identity)


def _is_done(pair: TablePair) -> bool:
    """Tell whether a table was scored after it was last changed; one that was not is scored again."""
    return is_finished(pair.out) and pair.out.stat().st_mtime_ns >= pair.source.stat().st_mtime_ns


def score_pair(pair: TablePair, work: TableWork, predictor: Predictor) -> Counts | str:
    """Score a table, going on with what an earlier run left of it; returns the counts, or why it failed."""
    finished = pair.out.exists() or rejects_file(pair.out).exists()
    again = work.overwrite or (finished and not is_begun(pair.out))
    try:
        with warnings.catch_warnings(action="ignore"):  # the first table said how it is read
            return score_table(pair.source, pair.out, predictor, work.request, resume=not again, overwrite=again).counts
    except (ConfigError, ModelError):
        raise
    except TabsaError as e:
        counts = e.fields.get("counts")  # it has no row that can be scored, and programs write empty tables, too
        return counts if isinstance(counts, Counts) else str(e)
    except Exception as e:  # whatever it is, the other tables do not wait for it
        return f"{type(e).__name__}: {e}"


# ---- a pool of processes


def _in_pools(pairs: Sequence[TablePair], work: TableWork, workers: int) -> Iterator[Ended]:
    """Score tables in processes. One that is killed breaks the pool: another takes up what is left.

    Tables that were being scored then are tried again alone at the end, so that one on which processes always die takes
    no other with it.
    """
    waiting, suspects = list(pairs), []
    while waiting:
        lost = yield from _in_pool(waiting, work, min(workers, len(waiting)))
        begun = [pair for pair in lost if is_begun(pair.out)] or lost
        suspects += begun
        waiting = [pair for pair in lost if pair not in begun]
    for suspect in suspects:
        for pair in (yield from _in_pool([suspect], work._replace(overwrite=False), 1)):
            yield pair, "its process died"


def _in_pool(pairs: Sequence[TablePair], work: TableWork, workers: int) -> Generator[Ended, None, list[TablePair]]:
    """Score tables in one pool; returns those that were left when it broke."""
    context = multiprocessing.get_context("spawn")  # a fork would copy the locks of onnxruntime's threads
    line, held = context.Pipe(duplex=False)  # whose other end closes with this process, however that ends
    lost = list(pairs)
    with ProcessPoolExecutor(workers, context, _begin, (work, line)) as pool:
        try:
            futures = {pool.submit(_score_here, pair): pair for pair in pairs}
            for future in as_completed(futures):
                with suppress(BrokenProcessPool):
                    done = future.result()
                    lost.remove(futures[future])
                    yield futures[future], done
        finally:
            held.close()  # all is done, or whoever called had enough: no process scores on
    return lost


_here: tuple[TableWork, Predictor]  # of a process of the pool, set once before anything is scored


def _begin(work: TableWork, line: Connection) -> None:
    """Load the model in a process of the pool, which ends as soon as the other end of the line is closed."""

    def end() -> None:
        with suppress(OSError):
            line.poll(None)
        os._exit(1)

    global _here
    threading.Thread(target=end, daemon=True).start()
    _here = work, work.model.load()


def _score_here(pair: TablePair) -> Counts | str:
    return score_pair(pair, *_here)
