"""The job: parts in, parts out, and a record of each."""

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tabsa.errors import DataError, OutputError
from tabsa.inference import Predictor
from tabsa.scoring import Counts
from tabsa.scoring.many.dispatch import Pool, Standing, dispatch
from tabsa.scoring.many.parts import Part, find_parts
from tabsa.scoring.many.records import Records
from tabsa.scoring.many.worker import Job, Kind, Outcome
from tabsa.scoring.reading import InputTable
from tabsa.scoring.scorer import Scorer
from tabsa.tables import parquet as parquet_out
from tabsa.tables.kinds import input_suffix_of, suffix_of

_NAMED = 5  # of the parts that failed, in one line


@dataclass(frozen=True, slots=True)
class Ended:
    """What a job came to."""

    parts: int
    counts: Counts
    resumed: int  # of the rows, those that an earlier run did
    seconds: float  # of this run


def score_parts(
    source: Path,
    folder: Path,
    job: Job,
    predictor: Predictor,
    make_pool: Callable[[int], Pool],
    *,
    form: str | None = None,
    resume: bool = False,
    overwrite: bool = False,
    on_change: Callable[[Standing, Outcome], None] = lambda _, __: None,
) -> Ended:
    """Score all parts of a job, in whatever order and wherever the pool does.

    Each part's output is that of `tabsa.scoring.score`, byte for byte.

    Args:
        source: the tables: a folder, a pattern, or one file (see `find_parts`).
        folder: where the results go.
        job: what they are scored with.
        predictor: the model, to see that what is asked makes sense before any worker is.
        make_pool: makes the workers, given how many can be of use; not called where nothing is left to do.
        form: the format of the results, such as "parquet"; each table's own by default.
        resume: go on with the job that is there, if there is one.
        overwrite: replace the job that is there, done or not.
        on_change: called with how far the job is, each time a part ended or is to be tried again.

    Raises:
        OutputError: some parts failed, and the others are done; or nothing can be written or resumed.
        DataError: no row of any part can be scored.
    """
    started = time.perf_counter()
    parts = find_parts(source, folder, form)
    identity = {**job.identity, "the input": str(source.resolve()), "the format": form}
    with Records(folder, identity, parts, resume=resume, overwrite=overwrite) as records:
        resumed = _sum(records.done.values()).rows
        left = [part for part in parts if part.name not in records.done]
        failed = _run(parts, left, job, predictor, make_pool, records, on_change) if left else {}
        ended = Ended(len(parts), _sum(records.done.values()), resumed, time.perf_counter() - started)
        records.finish(_summary(ended, failed), success=not failed and bool(ended.counts.scored))
    if failed:
        raise OutputError(_complaint(failed, len(parts), folder), code="parts_failed")
    if not ended.counts.scored:
        raise DataError(f"no row was scored; {ended.counts.rejected:,} were rejected")
    return ended


def _run(
    parts: Sequence[Part],
    left: Sequence[Part],
    job: Job,
    predictor: Predictor,
    make_pool: Callable[[int], Pool],
    records: Records,
    on_change: Callable[[Standing, Outcome], None],
) -> dict[str, str]:
    """Score the parts that are left; gives those that failed, and why."""
    _check(max(left, key=lambda part: part.bytes), predictor, job)
    failed: dict[str, str] = {}
    rows = _sum(records.done.values()).rows
    total = max(1, sum(part.bytes for part in parts))
    ended_bytes = total - sum(part.bytes for part in left)

    def standing() -> Standing:
        return Standing(len(parts), len(records.done), len(failed), rows, min(1.0, ended_bytes / total))

    def end(outcome: Outcome) -> None:
        nonlocal rows, ended_bytes
        if outcome.kind is Kind.DONE:
            records.add(outcome)
            rows += outcome.counts.rows
        else:
            failed[outcome.part.name] = outcome.why
        ended_bytes += outcome.part.bytes
        on_change(standing(), outcome)

    pool = make_pool(len(left))
    try:
        dispatch(left, pool, end, lambda outcome: on_change(standing(), outcome))
    finally:
        pool.close()
    return failed


def _check(part: Part, predictor: Predictor, job: Job) -> None:
    """Try the first rows of a part: a wrong column or aspect is better told before there are workers."""
    source, suffix = Path(part.source), suffix_of(Path(part.out))
    if ".parquet" in (suffix, input_suffix_of(source)):
        parquet_out.require(source)
    scorer = Scorer(source, suffix, predictor, job.request)
    with InputTable(source) as table:
        for chunk in table.chunks(scorer.chunk):
            scorer.settle(chunk)
            return


def _sum(counts: Iterable[Counts]) -> Counts:
    total = Counts()
    for one in counts:
        total.add(one)
    return total


def _summary(ended: Ended, failed: dict[str, str]) -> dict[str, Any]:
    counts = ended.counts
    return {
        "parts": ended.parts,
        "rows": counts.rows,
        "scored": counts.scored,
        "rejected": counts.rejected,
        "opinions": counts.opinions,
        "named": counts.named,
        "seconds": round(ended.seconds, 3),
        "failed": failed,
    }


def _complaint(failed: dict[str, str], parts: int, folder: Path) -> str:
    shown = "; ".join(f"{name}: {failed[name]}" for name in sorted(failed)[:_NAMED])
    more = f"; and {len(failed) - _NAMED:,} more, in {folder / '_summary.json'}" if len(failed) > _NAMED else ""
    return f"{len(failed):,} of {parts:,} parts failed, the others are done: {shown}{more}"
