"""Tables scored on a Ray cluster, or on all cores of one machine, by Ray Data. Needs ray, and only when called."""

import json
import threading
import time
import warnings
from collections.abc import Iterator
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any, Final

from tabsa.errors import DataError, OutputError, TabsaError
from tabsa.inference.predictor import Predictor
from tabsa.scoring import Counts
from tabsa.scoring.many.joining import connect, require, said
from tabsa.scoring.many.parts import Part, piece_name
from tabsa.scoring.many.pieces import ReadPlan, TablePiece, read_pieces, schema_of, unpack
from tabsa.scoring.many.records import Records
from tabsa.scoring.many.storage import folder_at, is_url, path_of
from tabsa.scoring.many.worker import Job, Kind, Outcome
from tabsa.scoring.reading import cut
from tabsa.scoring.scorer import Scorer
from tabsa.tables.parquet import from_bytes

_PATIENCE: Final = 60.0  # seconds before a cluster that scores nothing is worth a line
# At a part, when its worker is lost; of a lost node Ray learns after some seconds, and tries each second or oftener.
_TASK_RETRIES: Final = 200
_PARTS: Final = 2000  # that a job has at least, where it is large
_ROW_BYTES: Final = 100  # about; only the size of parts depends on it
_LARGEST: Final = 16  # chunks of a part
_ATTEMPTS: Final = 3  # to write a part
_READ_TOGETHER: Final = 4_000_000  # bytes of small tables that one task reads


class RayEngine:
    """Reads tables in tasks, and scores their pieces in actors that have a model each and write what they score.

    Args:
        job: what parts are scored with; each worker takes as many CPUs as the model has threads.
        predictor: the model, to know how many rows are scored together.
        out: the folder for the results, here or at a URL.
        form: the format of the results, such as "parquet".
        address: of the cluster; by default that in $RAY_ADDRESS, or else this machine alone.
        workers: how many there are; by default as many as the CPUs are for.
    """

    def __init__(
        self,
        job: Job,
        predictor: Predictor,
        out: str | Path,
        form: str,
        *,
        address: str | None = None,
        workers: int | None = None,
    ) -> None:
        self.job, self.form, self.address, self.workers = job, form, address, workers
        self.out = str(out) if is_url(out) else str(Path(out).resolve())
        self.chunk = Scorer(Path("any.jsonl"), f".{form}", predictor, job.request).chunk

    def part_rows(self, parts: list[Part]) -> int:
        """See `ScoringEngine`: more where there is more to do, so that there are neither few parts nor very many."""
        chunks = sum(part.bytes for part in parts) // (_PARTS * self.chunk * _ROW_BYTES)
        return self.chunk * max(1, min(_LARGEST, chunks))

    def run(self, left: list[Part], records: Records) -> Iterator[Outcome]:
        """See `ScoringEngine`."""
        ray = require()
        joined = connect(self.address)
        waiting = threading.Timer(_PATIENCE, self._warn_of_waiting)
        waiting.daemon = True
        waiting.start()
        try:
            with warnings.catch_warnings():
                warnings.filterwarnings("ignore", module=r"ray\b")  # of its own settings
                warnings.filterwarnings("ignore", message="`ray_remote_args")  # `max_task_retries` has no other name
                for outcome in _outcomes(ray, self, left, records):
                    waiting.cancel()
                    yield outcome
        except ray.exceptions.RayError as e:
            raise OutputError(f"Ray gave up, and what was scored is kept: {said(e)}", code="cluster_failed") from e
        finally:
            waiting.cancel()
            if joined:
                ray.shutdown()

    def _warn_of_waiting(self) -> None:
        """Tell once that nothing is scored: a cluster without free CPUs looks just like work otherwise."""
        needed = f"each worker needs {self.job.threads} free CPU"
        warnings.warn(f"no part was scored in {_PATIENCE:.0f} s: {needed}; still waiting", RuntimeWarning, stacklevel=2)


def _outcomes(ray: Any, engine: RayEngine, left: list[Part], records: Records) -> Iterator[Outcome]:
    from ray.data import ActorPoolStrategy, DataContext, read_datasource

    cpus = int(ray.cluster_resources().get("CPU", 1))
    plans = _plans(engine, left, records)
    useful = max(1, sum(part.bytes for part in left) // (records.part_rows * _ROW_BYTES // 2), len(left))
    workers = engine.workers or max(1, min(cpus // engine.job.threads, useful))
    context = DataContext.get_current()
    context.target_max_block_size = 1  # a row of the dataset is a piece, and a block of its own
    context.enable_progress_bars = False
    context.print_on_execution_start = False
    # Reading takes no CPU of its own, so that the workers can have all: next to the scoring it is nothing.
    pieces = read_datasource(
        _datasource(plans),
        num_cpus=0,
        concurrency=min(len(plans), max(2, workers // 4)),
        override_num_blocks=len(plans),  # or Ray would split blocks further, by the size of the tables
    )
    scored = pieces.map_batches(
        PieceScorer,
        fn_constructor_args=(engine.job, engine.out, engine.form),
        batch_size=1,
        batch_format="pyarrow",
        compute=ActorPoolStrategy(size=workers),
        num_cpus=engine.job.threads,
        max_task_retries=_TASK_RETRIES,  # a part on which workers die again and again ends the job at last
    )
    for batch in scored.iter_batches(batch_size=None, prefetch_batches=0, batch_format="pyarrow"):
        for line in batch["outcome"].to_pylist():
            content = json.loads(line)
            yield Outcome(**content | {"kind": Kind(content["kind"]), "counts": Counts(**content["counts"])})


def _plans(engine: RayEngine, left: list[Part], records: Records) -> list[list[ReadPlan]]:
    """What each task reads, the largest tables first; small tables are read together."""
    plans: list[list[ReadPlan]] = []
    room = 0
    for part in sorted(left, key=lambda part: (-part.bytes, part.name)):
        if part.bytes > room or not plans:
            plans.append([])
            room = _READ_TOGETHER
        plans[-1].append(ReadPlan(part, records.part_rows, engine.chunk, frozenset(records.pieces[part.name])))
        room -= part.bytes
    return plans


def _datasource(plans: list[list[ReadPlan]]) -> Any:
    """The tables as Ray Data reads them: a task for each plan, whose blocks come one by one."""
    from ray.data import Datasource, ReadTask
    from ray.data.block import BlockMetadata

    class Tables(Datasource):
        def estimate_inmemory_data_size(self) -> int:
            return sum(reading.part.bytes for plan in plans for reading in plan)

        def get_read_tasks(self, parallelism: int, *_: Any, **__: Any) -> list[Any]:  # noqa: ARG002
            metadata = BlockMetadata(num_rows=None, size_bytes=None, exec_stats=None, input_files=None)
            return [ReadTask(partial(_blocks, plan), metadata) for plan in plans]

    return Tables()  # type: ignore[no-untyped-call]


def _blocks(plan: list[ReadPlan]) -> Iterator[Any]:
    import pyarrow

    for reading in plan:
        for piece in read_pieces(reading):
            yield pyarrow.table({name: [value] for name, value in piece._asdict().items()})


class PieceScorer:
    """Scores one piece after another with one model, and writes what it scores."""

    def __init__(self, job: Job, out: str, form: str) -> None:
        self._job, self._suffix, self._folder = job, f".{form}", folder_at(out)
        self._scorers: dict[str, Scorer] = {}
        try:
            self._predictor, self._why = job.load(), ""
        except TabsaError as e:
            self._why = str(e)

    def __call__(self, batch: Any) -> Any:
        """The outcomes of a batch of pieces."""
        import pyarrow

        outcomes = [asdict(self._outcome(TablePiece(**piece))) for piece in batch.to_pylist()]
        return pyarrow.table({"outcome": [json.dumps(outcome) for outcome in outcomes]})

    def _outcome(self, piece: TablePiece) -> Outcome:
        if self._why:
            return Outcome(piece.table, piece.table, Kind.STOP, self._why)
        if piece.number < 0:
            kind = Kind.REFUSED if piece.why else Kind.READ
            return Outcome(piece.table, piece.table, kind, piece.why, bytes=piece.bytes, parts=piece.total)
        started = time.perf_counter()
        done = partial(Outcome, piece_name(piece.table, piece.number), piece.table, bytes=piece.bytes)
        try:
            counts = self._score(piece)
        except DataError as e:
            return done(Kind.REFUSED, str(e))
        except Exception as e:  # whatever it is, the other parts do not wait for it
            return done(Kind.FAILED, str(e) if isinstance(e, TabsaError) else f"{type(e).__name__}: {e}")
        return done(Kind.DONE, counts=counts, seconds=time.perf_counter() - started)

    def _score(self, piece: TablePiece) -> Counts:
        source = path_of(piece.source)
        scorer = self._scorer(piece, source)
        output, rejects, counts = bytearray(), bytearray(), Counts()
        for chunk in cut(unpack(piece.rows, source), scorer.chunk):
            scored = scorer.score(chunk, first=not output)
            output += scored.output
            rejects += scored.rejects
            counts.add(scored.counts)
        name = piece_name(piece.table, piece.number)
        if rejects:
            self._write(f"_rejects/{name}.jsonl", bytes(rejects))
        if counts.scored:
            self._write(name, from_bytes(bytes(output)) if self._suffix == ".parquet" else bytes(output))
        return counts

    def _scorer(self, piece: TablePiece, source: Path) -> Scorer:
        """The table's, whose columns are known by its head."""
        if (scorer := self._scorers.get(piece.table)) is None:
            schema = schema_of(piece.head, source)
            scorer = Scorer(source, self._suffix, self._predictor, self._job.request, schema=schema)
            if not piece.head:
                return scorer
            scorer.settle(unpack(piece.head, source))
            self._scorers = {piece.table: scorer}  # the others are done with, or nearly
        return scorer

    def _write(self, name: str, content: bytes) -> None:
        for attempt in range(_ATTEMPTS):
            try:
                return self._folder.write(name, content)
            except OutputError:
                if attempt == _ATTEMPTS - 1:
                    raise
                time.sleep(2.0**attempt)
        return None
