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
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, Final, NamedTuple

from tabsa.checkpoint.model_folder import PrecisionChoice
from tabsa.errors import ConfigError, DataError, DataNotFoundError, ModelError, OutputError, TabsaError
from tabsa.files import reason
from tabsa.inference.predictor import Predictor, load
from tabsa.scoring.request import Request
from tabsa.scoring.scorer import Scorer, chunks
from tabsa.scoring.single import rejects_file, request_identity, score_table
from tabsa.tables.outputs import Counts, is_finished, lock, read_record, working_files, write_record
from tabsa.tables.reading import INPUT_SUFFIXES, SUFFIXES, read_rows, suffix_of

FORMAT: Final = "tabsa score job 6"
_JOB: Final = "_job.json"
_DIED: Final = "its process died"
_NAMED: Final = 5  # of the tables that failed, in one line


class TablePair(NamedTuple):
    """One table of a job, and where its results go. Both are absolute."""

    source: Path
    out: Path


class ModelChoice(NamedTuple):
    """A model by its name or folder, and how it is run: what a process of the pool needs to load it."""

    name: str | None = None
    threads: int = 1
    precision: PrecisionChoice = "auto"

    def load(self) -> Predictor:
        """Load it."""
        return load(self.name, threads=self.threads, precision=self.precision)


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
    """Find the tables of a folder (with all below it) or a pattern (`**` is any number of folders), by name.

    Names that begin with `_`, `.` or `~$` are not tables, nor are files of rejects, nor what lies in `out`. `form` is
    the format of the results, such as "csv.gz"; each table's own by default, and of a workbook CSV.
    """
    if form is not None and f".{form}" not in SUFFIXES:
        known = ", ".join(suffix[1:] for suffix in SUFFIXES)
        raise ConfigError(f"there is no format '{form}'; expected one of {known}")
    out, root = out.resolve(), source.resolve()
    pattern = "**/*"
    if not source.is_dir():
        parts = source.absolute().parts
        first = next((n for n, part in enumerate(parts) if glob.has_magic(part)), len(parts) - 1)
        root, pattern = Path(*parts[:first]).resolve(), "/".join(parts[first:])
    if root.is_relative_to(out):
        raise OutputError(f"{out} holds the input; write to another folder")
    pairs: dict[Path, Path] = {}
    for path in sorted(root.glob(pattern)):
        name = path.relative_to(root)
        hidden = any(part.startswith(("_", ".", "~$")) for part in name.parts) or path.is_relative_to(out)
        table = name.name.lower().endswith(INPUT_SUFFIXES) and not name.name.endswith(".rejects.jsonl")
        if hidden or not table or not path.is_file():
            continue
        suffix = suffix_of(name, INPUT_SUFFIXES)
        ending = f".{form}" if form else ".csv" if suffix == ".xlsx" else path.name[-len(suffix) :]
        result = out / name.with_name(name.name[: -len(suffix)] + ending)
        for written in (result, rejects_file(result)):
            if written in pairs:
                raise ConfigError(f"{pairs[written]} and {path} would both be written to {written}; rename one")
            pairs[written] = path
    tables = [TablePair(path, result) for result, path in pairs.items() if not result.name.endswith(".rejects.jsonl")]
    if not tables:
        raise DataNotFoundError(f"no table in {source}; expected files ending in one of {', '.join(INPUT_SUFFIXES)}")
    return tables


def score_folder(
    source: Path,
    out: Path,
    model: ModelChoice,
    request: Request,
    *,
    predictor: Predictor | None = None,
    workers: int = 1,
    form: str | None = None,
    resume: bool = False,
    overwrite: bool = False,
    on_table: Callable[[JobResult, str, str], None] = lambda _, __, ___: None,
) -> JobResult:
    """Score all tables of a folder or a pattern.

    Args:
        source: the folder or pattern (see `find_tables`).
        out: the folder where the results go.
        model: the model, which each process of the pool loads.
        request: what to ask, and how to lay it out.
        predictor: the model of this process, where it is loaded.
        workers: how many processes; one is this process.
        form: the format of the results, such as "parquet"; each table's own by default.
        resume: go on with the job that is there, if there is one.
        overwrite: replace the job that is there, done or not.
        on_table: called when a table is done or failed, with the job so far, the table's name and why it failed.

    Raises:
        OutputError: some tables failed, and the others are done; or nothing can be written or resumed.
        DataError: no row of any table can be scored.
    """
    tables = find_tables(source, out, form)
    tables.sort(key=lambda pair: -pair.source.stat().st_size)  # so that no large one is waited for at the end
    predictor = predictor or model.load()
    identity = {**request_identity(predictor, request), "input": str(source.resolve()), "format": form}
    with _job_folder(out, identity, resume=resume, overwrite=overwrite):
        left = [pair for pair in tables if overwrite or not _is_done(pair)]
        result = JobResult(len(tables), len(tables) - len(left))
        work = _Work(_settled(tables[0], predictor, request), model, overwrite)
        for pair, done in _in_pool(left, work, workers) if workers > 1 else _in_turn(left, work, predictor):
            name = pair.out.relative_to(out.resolve()).as_posix()
            if isinstance(done, Counts):
                result.counts.add(done)
                result.done += 1
            else:
                result.failed[name] = done
            on_table(result, name, "" if isinstance(done, Counts) else done)
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
    if out.exists() and not out.is_dir():
        raise OutputError(f"{out} is a file; many tables are written to a folder")
    job, made = out / _JOB, not out.exists()
    if job.exists() and resume:
        read_record(job, FORMAT, identity, out)
    elif not overwrite and job.exists():
        raise OutputError(f"a job into {out} was begun", code="job_exists")
    elif not overwrite and not made and any(out.iterdir()):
        raise OutputError(f"{out} is not empty, and holds no job", code="output_exists")
    try:
        out.mkdir(parents=True, exist_ok=True)
        with lock(out):
            write_record(job, FORMAT, {"identity": identity})
            yield
    except OSError as e:
        raise OutputError(f"cannot write {out}: {reason(e)}") from e
    finally:
        if made and out.is_dir() and [path.name for path in out.iterdir()] == [_JOB]:  # nothing was begun
            job.unlink()
            out.rmdir()


def _is_done(pair: TablePair) -> bool:
    """Tell whether a table was scored after it was last changed; one that was not is scored again."""
    return is_finished(pair.out) and pair.out.stat().st_mtime_ns >= pair.source.stat().st_mtime_ns


def _settled(pair: TablePair, predictor: Predictor, request: Request) -> Request:
    """Try the first rows of a table, and return the request with its column of texts: all tables have the same.

    What is wrong with a request is better reported before there are workers.
    """
    scorer = Scorer(pair.source, ".jsonl", predictor, request)
    for chunk in chunks(read_rows(pair.source, separator=request.separator), scorer.chunk):
        scorer.settle(chunk)
        if scorer.settled:
            return dataclasses.replace(request, text_column=scorer.table_columns.text)
    return request


# ---- the tables, one after another or in a pool of processes


class _Work(NamedTuple):
    """What is done with each table."""

    request: Request
    model: ModelChoice
    overwrite: bool


def _in_turn(pairs: Sequence[TablePair], work: _Work, predictor: Predictor) -> Iterator[tuple[TablePair, Counts | str]]:
    return ((pair, _score(pair, work, predictor)) for pair in pairs)


def _in_pool(pairs: Sequence[TablePair], work: _Work, workers: int) -> Iterator[tuple[TablePair, Counts | str]]:
    """Score tables in processes. One that is killed breaks the pool: another takes up what is left.

    Tables that were being scored then are tried again alone at the end, so that one on which processes always die takes
    no other with it.
    """
    waiting, suspects = list(pairs), []
    while waiting:
        lost = []
        for pair, done in _one_pool(waiting, work, min(workers, len(waiting))):
            if done is None:
                lost.append(pair)
            else:
                yield pair, done
        begun = [pair for pair in lost if any(path.exists() for path in working_files(pair.out))] or lost
        suspects += begun
        waiting = [pair for pair in lost if pair not in begun]
    for suspect in suspects:
        for pair, done in _one_pool([suspect], work._replace(overwrite=False), 1):
            yield pair, _DIED if done is None else done


def _one_pool(pairs: Sequence[TablePair], work: _Work, workers: int) -> Iterator[tuple[TablePair, Counts | str | None]]:
    """Score tables in one pool; None of those that were left when it broke."""
    context = multiprocessing.get_context("spawn")  # a fork would copy the locks of onnxruntime's threads
    line, held = context.Pipe(duplex=False)  # whose other end closes with this process, however that ends
    with ProcessPoolExecutor(workers, context, _begin, (work, line)) as pool:
        futures: dict[Future[Counts | str], TablePair] = {}
        try:
            with suppress(BrokenProcessPool):
                futures.update((pool.submit(_score_here, pair), pair) for pair in pairs)
            for future in as_completed(futures):
                error = future.exception()
                if error is not None and not isinstance(error, BrokenProcessPool):
                    raise error
                yield futures[future], None if error else future.result()
            yield from ((pair, None) for pair in pairs[len(futures) :])
        finally:
            held.close()  # all is done, or whoever asked had enough: no process scores on


_here: tuple[_Work, Predictor] | None = None  # of a process of the pool, set once before anything is scored


def _begin(work: _Work, line: Connection) -> None:
    """Load the model in a process of the pool, which ends as soon as the other end of the line is closed."""

    def end() -> None:
        with suppress(OSError):
            line.poll(None)
        os._exit(1)

    global _here
    threading.Thread(target=end, daemon=True).start()
    _here = work, work.model.load()


def _score_here(pair: TablePair) -> Counts | str:
    if _here is None:
        raise RuntimeError("a process scores after it has begun")
    return _score(pair, *_here)


def _score(pair: TablePair, work: _Work, predictor: Predictor) -> Counts | str:
    """Score a table, going on with what an earlier run left of it; returns the counts, or why it failed."""
    finished = pair.out.exists() or rejects_file(pair.out).exists()
    begun = any(path.exists() for path in working_files(pair.out))
    again = work.overwrite or (finished and not begun)
    reached = Counts()

    def note(progress: Any) -> None:
        nonlocal reached
        reached = progress.counts

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the first table said how it is read
            score_table(
                pair.source, pair.out, predictor, work.request, resume=not again, overwrite=again, on_progress=note
            )
    except (ConfigError, ModelError):
        raise
    except DataError as e:  # programs that write many files write empty ones, too
        return reached if e.code in ("no_rows", "all_rejected") else str(e)
    except TabsaError as e:
        return str(e)
    except Exception as e:  # whatever it is, the other tables do not wait for it
        return f"{type(e).__name__}: {e}"
    return reached
