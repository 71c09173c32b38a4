"""Many tables of this machine as one job: a folder or a pattern in, a folder out, in a pool of processes.

Each table is written as it is alone (`tabsa.scoring.single`), so that what a killed process left of one is taken up by
the next. `OUT/_job.json` has the job's identity; a table whose output is there is done.
"""

import dataclasses
import glob
import multiprocessing
import os
import threading
import warnings
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, Final, NamedTuple, TypeAlias

from tabsa.checkpoint.model_folder import PrecisionChoice
from tabsa.errors import ConfigError, DataError, ModelError, OutputError, TabsaError
from tabsa.files import read_text, reason
from tabsa.inference.predictor import Predictor, load
from tabsa.scoring.request import Request
from tabsa.scoring.scorer import first_columns
from tabsa.scoring.single import rejects_file, request_identity, score_table
from tabsa.tables.outputs import JOB, JOB_FORMAT, Counts, check_job, is_begun, is_finished, lock, write_record
from tabsa.tables.reading import INPUT_SUFFIXES, SUFFIXES, read_rows, suffix_of, tables_in

_NAMED: Final = 5  # of the tables that failed, in one line


class TablePair(NamedTuple):
    """One table of a job, and where its results go. Both are absolute."""

    source: Path
    out: Path


_Ended: TypeAlias = tuple[TablePair, Counts | str]  # a table, and what was done, or why it failed


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


def is_many(source: str | Path) -> bool:
    """Tell whether this names a folder, or is a pattern such as `reviews/*.csv`, rather than one table."""
    path = Path(source)
    return path.is_dir() or (glob.has_magic(str(source)) and not path.exists())


def find_tables(source: Path, out: Path, form: str | None = None) -> list[TablePair]:
    """Find the tables of a folder or a pattern (see `tables_in`), the largest first.

    `form` is the format of the results, such as "csv.gz"; each table's own by default, and of a workbook CSV.
    """
    if form is not None and f".{form}" not in SUFFIXES:
        known = ", ".join(suffix[1:] for suffix in SUFFIXES)
        raise ConfigError(f"there is no format '{form}'; expected one of {known}")
    source, out = source.resolve(), out.resolve()
    if source.is_relative_to(out):
        raise OutputError(f"{out} holds the input; write to another folder")
    root, tables = tables_in(source, besides=out)
    pairs: dict[Path, TablePair] = {}
    for path in tables:
        suffix = suffix_of(path, INPUT_SUFFIXES)
        ending = f".{form}" if form else ".csv" if suffix == ".xlsx" else path.name[-len(suffix) :]
        pair = TablePair(path, out / path.relative_to(root).with_name(path.name[: -len(suffix)] + ending))
        if pair.out in pairs:
            raise ConfigError(f"{pairs[pair.out].source} and {path} would both be written to {pair.out}; rename one")
        pairs[pair.out] = pair
    return sorted(pairs.values(), key=lambda pair: (-pair.source.stat().st_size, pair.source))


def score_folder(
    source: Path,
    out: Path,
    model: ModelChoice,
    request: Request,
    *,
    workers: int = 1,
    form: str | None = None,
    resume: bool = False,
    overwrite: bool = False,
    on_table: Callable[[JobResult, str, str], None] = lambda _, __, ___: None,
) -> JobResult:
    """Score all tables of a folder or a pattern (see `find_tables`) into a folder.

    Each of the `workers` is a process that loads the model; one is this process. `on_table` is called when a table is
    done or failed, with the job so far, the table's name and why it failed.

    Raises:
        OutputError: some tables failed, and the others are done; or nothing can be written or resumed.
        DataError: no row of any table can be scored.
    """
    tables = find_tables(source, out, form)
    predictor = model.load()
    identity = {**request_identity(predictor, request), "input": str(source.resolve()), "format": form}
    with _job_folder(out, identity, resume=resume, overwrite=overwrite):
        left = [pair for pair in tables if overwrite or not _is_done(pair)]
        result = JobResult(len(tables), len(tables) - len(left))
        first = tables[0].source
        columns = first_columns(first, read_rows(first, separator=request.separator), predictor, request)
        if columns is not None:  # all tables have the same
            request = dataclasses.replace(request, text_column=columns.text)
        work = TableWork(request, model, overwrite)
        alone = ((pair, _score(pair, work, predictor)) for pair in left)
        for pair, done in _in_pools(left, work, workers) if workers > 1 else alone:
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


@contextmanager
def _job_folder(out: Path, identity: dict[str, Any], *, resume: bool, overwrite: bool) -> Iterator[None]:
    """Hold the folder of a job, which is new, or that of a job with the same identity."""
    job, made = out / JOB, not out.exists()
    if not made and not out.is_dir():
        raise OutputError(f"{out} is a file; many tables are written to a folder")
    record = read_text(job, OutputError) if job.exists() else None
    check_job(record, identity, out, empty=made or not any(out.iterdir()), resume=resume, overwrite=overwrite)
    try:
        out.mkdir(parents=True, exist_ok=True)
        with lock(out):
            write_record(job, JOB_FORMAT, identity)
            yield
    except OSError as e:
        raise OutputError(f"cannot write {out}: {reason(e)}") from e
    finally:
        if made and out.is_dir() and list(out.iterdir()) == [job]:  # nothing was begun
            job.unlink()
            out.rmdir()


def _is_done(pair: TablePair) -> bool:
    """Tell whether a table was scored after it was last changed; one that was not is scored again."""
    return is_finished(pair.out) and pair.out.stat().st_mtime_ns >= pair.source.stat().st_mtime_ns


def _score(pair: TablePair, work: TableWork, predictor: Predictor) -> Counts | str:
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


def _in_pools(pairs: Sequence[TablePair], work: TableWork, workers: int) -> Iterator[_Ended]:
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


def _in_pool(pairs: Sequence[TablePair], work: TableWork, workers: int) -> Generator[_Ended, None, list[TablePair]]:
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
    return _score(pair, *_here)
