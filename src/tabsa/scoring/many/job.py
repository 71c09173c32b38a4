"""The job: tables in, parts out, and a record of each."""

import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Protocol

from tabsa.errors import ConfigError, DataError, OutputError
from tabsa.inference.predictor import Predictor
from tabsa.scoring import Counts
from tabsa.scoring.many.parts import Part, find_parts
from tabsa.scoring.many.records import Records
from tabsa.scoring.many.storage import folder_at, is_url, open_file, path_of, shown
from tabsa.scoring.many.worker import Job, Kind, Outcome
from tabsa.scoring.reading import InputTable
from tabsa.scoring.scorer import Scorer
from tabsa.tables import parquet as parquet_out
from tabsa.tables.kinds import input_suffix_of, suffix_of

_NAMED: Final = 5  # of what failed, in one line


@dataclass(frozen=True, slots=True)
class Ended:
    """What a job came to."""

    parts: int
    counts: Counts
    resumed: int  # of the rows, those that an earlier run did
    seconds: float  # of this run


@dataclass(frozen=True, slots=True)
class Standing:
    """How far a job is."""

    parts: int  # that are done
    tables: int  # of the job
    rows: int  # of the parts that are done
    share: float  # of the input's bytes, from 0 to 1


class ScoringEngine(Protocol):
    """Who scores: this machine, or a cluster."""

    def part_rows(self, parts: list[Part]) -> int:
        """How many rows of a table are a part, which is written at once; 0 where a table is one part."""

    def run(self, left: list[Part], records: Records) -> Iterator[Outcome]:
        """Score what is left of the tables; gives what ended, in whatever order."""


def score_parts(
    source: str | Path,
    out: str | Path,
    job: Job,
    predictor: Predictor,
    engine: ScoringEngine,
    *,
    form: str | None = None,
    resume: bool = False,
    overwrite: bool = False,
    on_change: Callable[[Standing, Outcome], None] = lambda _, __: None,
) -> Ended:
    """Score all tables of a job, in whatever order and wherever the engine does.

    Args:
        source: the tables: a folder, a pattern, or one file, here or at a URL (see `find_parts`).
        out: the folder where the results go, here or at a URL.
        job: what they are scored with.
        predictor: the model, to see that what is asked makes sense before any worker is.
        engine: who scores; not asked to where nothing is left to do.
        form: the format of the results, such as "parquet"; each table's own by default.
        resume: go on with the job that is there, if there is one.
        overwrite: replace the job that is there, done or not.
        on_change: called with how far the job is, each time something ended or is to be tried again.

    Raises:
        OutputError: some parts failed, and the others are done; or nothing can be written or resumed.
        DataError: no row of any part can be scored.
    """
    started = time.perf_counter()
    parts = find_parts(source, out, form)
    where = shown(str(source)) if is_url(source) else str(Path(source).resolve())
    identity = {**job.identity, "the input": where, "the format": form}
    size = engine.part_rows(parts)
    identity["whether tables are cut into parts"] = bool(size)
    folder = folder_at(str(out))
    with Records(folder, identity, parts, part_rows=size, resume=resume, overwrite=overwrite) as records:
        resumed = _sum(records.done.values()).rows
        left = [part for part in parts if not records.is_done(part)]
        failed = _run(parts, left, job, predictor, engine, records, on_change) if left else {}
        ended = Ended(len(records.done), _sum(records.done.values()), resumed, time.perf_counter() - started)
        records.finish(_summary(ended, len(parts), failed), success=not failed and bool(ended.counts.scored))
    if failed:
        raise OutputError(
            _complaint(failed, len(parts), shown(folder.location_of("_summary.json"))), code="parts_failed"
        )
    if not ended.counts.scored:
        raise DataError(f"no row was scored; {ended.counts.rejected:,} were rejected")
    return ended


def _run(
    parts: list[Part],
    left: list[Part],
    job: Job,
    predictor: Predictor,
    engine: ScoringEngine,
    records: Records,
    on_change: Callable[[Standing, Outcome], None],
) -> dict[str, str]:
    """Score what is left; gives what failed, and why."""
    _check(max(left, key=lambda part: part.bytes), predictor, job)
    failed: dict[str, str] = {}
    rows = _sum(records.done.values()).rows
    total = max(1, sum(part.bytes for part in parts))
    ended = total - sum(part.bytes for part in left)
    with closing(engine.run(left, records)) as outcomes:  # type: ignore[type-var]
        for outcome in outcomes:
            if outcome.kind is Kind.STOP:
                raise ConfigError(outcome.why)
            if outcome.kind in (Kind.DONE, Kind.READ):
                records.add(outcome)
                rows += outcome.counts.rows
            elif outcome.kind is not Kind.RETRIED:
                failed[outcome.name] = outcome.why
            ended += outcome.bytes
            on_change(Standing(len(records.done), len(parts), rows, min(1.0, ended / total)), outcome)
    missing = (part for part in left if not records.is_done(part) and part.name not in failed)
    return failed | {part.name: "not all of it was scored" for part in missing}


def _check(part: Part, predictor: Predictor, job: Job) -> None:
    """Try the first rows of a table: a wrong column or aspect is better told before there are workers."""
    source, suffix = path_of(part.source), suffix_of(Path(part.name))
    if ".parquet" in (suffix, input_suffix_of(source)):
        parquet_out.require(source)
    with open_file(part.source) as file, InputTable(source, file=file) as table:
        schema = parquet_out.schema_of(source, file) if input_suffix_of(source) == ".parquet" else None
        scorer = Scorer(source, suffix, predictor, job.request, schema=schema)
        for chunk in table.chunks(scorer.chunk):
            scorer.settle(chunk)
            return


def _sum(counts: Iterable[Counts]) -> Counts:
    total = Counts()
    for one in counts:
        total.add(one)
    return total


def _summary(ended: Ended, tables: int, failed: dict[str, str]) -> dict[str, Any]:
    counts = ended.counts
    return {
        "tables": tables,
        "parts": ended.parts,
        "rows": counts.rows,
        "scored": counts.scored,
        "rejected": counts.rejected,
        "opinions": counts.opinions,
        "named": counts.named,
        "seconds": round(ended.seconds, 3),
        "failed": failed,
    }


def _complaint(failed: dict[str, str], tables: int, summary: str) -> str:
    shown = "; ".join(f"{name}: {failed[name]}" for name in sorted(failed)[:_NAMED])
    more = f"; and {len(failed) - _NAMED:,} more, in {summary}" if len(failed) > _NAMED else ""
    return f"{len(failed):,} of {tables:,} tables failed, the others are done: {shown}{more}"
