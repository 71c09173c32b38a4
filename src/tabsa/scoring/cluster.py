"""Parquet files scored on a Ray cluster, or on all cores of one machine, by Ray Data. Needs ray, and only when called.

    read_parquet (tasks)  ->  map_batches (workers with a model each, which write their parts)  ->  counts

A part is called by the hash of its first row (`row_hash`: of the file's name and the row's place in it, a column of the
results), so that one that is scored again has the same name, and `resume` passes over rows that are written. Text is
refused: Ray's CSV reader makes 7 of the id 007 and ends the job at a row with a field too many, its JSON reader at a
line that is no JSON. `write_parquet` is not used, because rejected rows, counts and names of parts come with each part.
"""

import dataclasses
import io
import json
import logging
import os
import platform
import re
import warnings
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any, Final, NamedTuple

from tabsa.errors import ConfigError, DataError, DataNotFoundError, OutputError, TabsaError, first_line
from tabsa.files import replacing
from tabsa.inference.predictor import Predictor
from tabsa.scoring.folders import ModelChoice
from tabsa.scoring.request import Request
from tabsa.scoring.scorer import Scorer, chunks, first_columns
from tabsa.scoring.single import request_identity
from tabsa.tables.outputs import JOB, JOB_FORMAT, Counts, check_job, lock
from tabsa.tables.reading import Row, parquet_rows
from tabsa.tables.writing import stream_to_parquet

ROW_HASH: Final = "row_hash"  # Ray's name for it
_REJECTS: Final = "_rejects"
# At a batch, when its worker is lost: of a lost node Ray learns after some seconds, and tries each second or oftener.
_TASK_RETRIES: Final = 200
_PARTS: Final = 2000  # that a job has at least, where it is large
_ROW_BYTES: Final = 100  # about; only the size of parts depends on it
_LARGEST: Final = 16  # chunks of a part
_QUIET: Final = {
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",  # or Ray warns of a change to come, about GPUs
    "RAY_BACKEND_LOG_LEVEL": "fatal",  # of what a user can mend, this program tells itself
    "RAY_DATA_LOG_LEVEL": "ERROR",
}


class Location(NamedTuple):
    """A folder or file of this machine or of an object store, by pyarrow's file systems."""

    system: Any
    path: str
    shown: str  # for messages, without credentials

    def entries(self) -> dict[str, int]:
        """Return all files below, or the file itself, by path: their sizes."""
        from pyarrow.fs import FileSelector, FileType

        with self.trouble(DataError, "read"):
            info = self.system.get_file_info(self.path)
            selector = FileSelector(self.path, recursive=True, allow_not_found=True)
            infos = [info] if info.type == FileType.File else self.system.get_file_info(selector)
        return {info.path: info.size for info in infos if info.type == FileType.File}

    def read(self, name: str) -> bytes:
        """Return a file's bytes."""
        with self.trouble(OutputError, "read"), self.system.open_input_stream(f"{self.path}/{name}") as stream:
            return bytes(stream.read())

    def write(self, name: str, content: bytes) -> None:
        """Write a file, all of it or nothing: an object store shows a file when it is whole."""
        path = f"{self.path}/{name}"
        if self.is_local:
            with replacing(Path(path), "wb") as file:
                file.write(content)
            return
        with self.trouble(OutputError, "write"), self.system.open_output_stream(path, compression=None) as stream:
            stream.write(content)

    @property
    def is_local(self) -> bool:
        """Whether it is of this machine."""
        return bool(self.system.type_name == "local")

    @contextmanager
    def trouble(self, kind: type[TabsaError], deed: str) -> Iterator[None]:
        """Make one clear line of what goes wrong with a file."""
        try:
            yield
        except OSError as e:  # Arrow's errors of files are such
            raise kind(f"cannot {deed} {self.shown}: {first_line(e)}") from e


def is_url(location: object) -> bool:
    """Tell whether this is a URL rather than a path."""
    return re.match(r"[a-z][a-z0-9+.-]+://", str(location)) is not None


def open_location(location: str) -> Location:
    """Return the store at a path or a URL, such as `s3://bucket/folder?region=eu-west-1`."""
    import pyarrow
    from pyarrow.fs import FileSystem

    shown = re.sub(r"(://)[^/@]*@", r"\1", location.partition("?")[0]) if is_url(location) else location
    try:
        system, path = FileSystem.from_uri(location if is_url(location) else str(Path(location).resolve()))
    except (pyarrow.ArrowException, OSError) as e:
        raise ConfigError(f"cannot use {shown}: {first_line(e)}") from e
    return Location(system, path.rstrip("/"), shown.rstrip("/"))


def score_cluster(
    source: str,
    out: str,
    model: ModelChoice,
    request: Request,
    *,
    address: str | None = None,
    workers: int | None = None,
    resume: bool = False,
    overwrite: bool = False,
    on_progress: Callable[[Counts], None] = lambda _: None,
) -> Counts:
    """Score a Parquet file, or all of a folder, on a Ray cluster; `source` and the folder `out` are here or at URLs.

    By default the cluster is that of $RAY_ADDRESS, or else this machine alone, and there are as many workers as it has
    CPUs for: each takes as many as its model has threads. `on_progress` is called each time a part is done.

    Raises:
        DataError: a table is not Parquet, or no row can be scored.
        OutputError: the results cannot be written or resumed, or Ray gave up.
    """
    ray = require_ray()
    out = out if is_url(out) else str(Path(out).resolve())  # a worker may run in another folder
    tables, target = open_location(source), open_location(out)
    files = _parquet_files(tables)
    predictor = model.load()
    request = _settled(tables, max(files, key=lambda path: files[path]), predictor, request)
    identity, counts = request_identity(predictor, request), Counts()
    with ExitStack() as held:
        if target.is_local:
            Path(target.path).mkdir(parents=True, exist_ok=True)
            held.enter_context(lock(Path(target.path)))
        done = _begin(target, identity | {"input": tables.shown}, resume=resume, overwrite=overwrite)
        chunk = Scorer(Path("table.parquet"), ".parquet", predictor, request).chunk
        rows = chunk * max(1, min(_LARGEST, sum(files.values()) // (_PARTS * chunk * _ROW_BYTES)))
        held.enter_context(_joined(ray, address))
        cpus = int(ray.cluster_resources().get("CPU", 1))
        options = {
            "fn_constructor_args": (model, request, identity, out, done),
            "batch_size": rows,
            "compute": ray.data.ActorPoolStrategy(size=workers or max(1, cpus // model.threads)),
            "num_cpus": model.threads,
        }
        for part in _parts(ray, tables, sorted(files), options):
            counts.add(part)
            on_progress(counts)
    if counts.rejected and not counts.scored and not len(done):
        raise DataError(f"all {counts.rows:,} rows were rejected, the first: {counts.first_reason}")
    return counts


def _parquet_files(tables: Location) -> dict[str, int]:
    """Return the files to read, with their sizes; those whose names begin with `_` or `.` are none."""
    entries = {
        path: size
        for path, size in tables.entries().items()
        if not any(part.startswith(("_", ".")) for part in path.removeprefix(tables.path).split("/"))
    }
    if not entries:
        raise DataNotFoundError(f"no file {tables.shown}; expected a Parquet file, or a folder of them")
    for path in entries:
        if not path.lower().endswith(".parquet"):
            why = "its readers of text lose rows; save it as Parquet, or leave the cluster out"
            raise DataError(f"{Path(path).name} is not a Parquet file, and Ray is given only these: {why}")
    return entries


def _settled(tables: Location, path: str, predictor: Predictor, request: Request) -> Request:
    """Try the first rows of a file, and return the request with its columns named and the hash of rows among them."""
    with tables.trouble(DataError, "read"), tables.system.open_input_file(path) as file:
        columns = first_columns(Path(tables.shown), parquet_rows(Path(path), file), predictor, request)
    if columns is None:
        raise DataError(f"{tables.shown} holds no rows; expected at least one text")
    keep = None if request.keep is None else [*request.keep, ROW_HASH]
    return dataclasses.replace(request, text_column=columns.text, id_column=columns.id or ROW_HASH, keep=keep)


def _begin(target: Location, identity: dict[str, Any], *, resume: bool, overwrite: bool) -> Any:
    """Write down what the job is, and return the hashes of the rows that are done, in order."""
    import numpy as np
    from pyarrow import parquet

    there = [path.removeprefix(f"{target.path}/") for path in target.entries()]
    record = target.read(JOB) if JOB in there else None
    check_job(record, identity, target.shown, empty=not there, resume=resume, overwrite=overwrite)
    target.write(JOB, json.dumps({"format": JOB_FORMAT, "identity": identity}, indent=2).encode())
    done = [np.empty(0, np.uint64)]
    for name in there:
        if not name.startswith(("part-", f"{_REJECTS}/part-")):
            continue
        if overwrite:
            target.system.delete_file(f"{target.path}/{name}")
        elif name.endswith(".parquet"):
            written = parquet.read_table(f"{target.path}/{name}", columns=[ROW_HASH], filesystem=target.system)
            done.append(written[ROW_HASH].to_numpy())
        else:
            lines = target.read(name).splitlines()
            done.append(np.array([json.loads(line)["content"][ROW_HASH] for line in lines], np.uint64))
    return np.unique(np.concatenate(done))


def _parts(ray: Any, tables: Location, paths: list[str], options: dict[str, Any]) -> Iterator[Counts]:
    context = ray.data.DataContext.get_current()
    context.enable_progress_bars = context.print_on_execution_start = False
    context.use_datasource_v2 = False  # which lists files in a task that waits for a CPU, and workers take all
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", module=r"ray\b")  # of its own settings
        warnings.filterwarnings("ignore", message="`ray_remote_args")  # `max_task_retries` has no other name
        # Reading takes no CPU of its own, so that the workers can have all: next to the scoring it is nothing.
        read = ray.data.read_parquet(paths, filesystem=tables.system, include_row_hash=True, num_cpus=0)
        # A batch on which workers die again and again ends the job at last.
        parts = read.map_batches(PartScorer, batch_format="pyarrow", max_task_retries=_TASK_RETRIES, **options)
        try:
            for part in parts.iter_rows():
                if part["error"]:
                    raise OutputError(part["error"], code="cluster_failed")
                yield Counts(**json.loads(part["counts"]))
        except ray.exceptions.RayError as e:
            message = f"Ray gave up, and what was scored is kept: {_line(e)}"
            raise OutputError(message, code="cluster_failed") from e


class PartScorer:
    """A worker: scores one batch of rows after another with one model, and writes each as a part.

    `done` are the hashes of rows that an earlier run did, in order.
    """

    def __init__(self, model: ModelChoice, request: Request, identity: dict[str, Any], out: str, done: Any) -> None:
        self._request, self._out, self._done, self._error = request, open_location(out), done, ""
        try:
            self._predictor = model.load()
            if request_identity(self._predictor, request) != identity:
                self._error = f"the model or the version of tabsa on {platform.node()} is not the command's"
        except TabsaError as e:  # were it raised, Ray would start the worker again and again
            self._error = str(e)

    def __call__(self, batch: Any) -> Any:
        """Score a batch; returns its counts, or why that cannot be done."""
        import pyarrow

        counts, error = Counts(), self._error
        try:
            counts = counts if error else self._score(batch)
        except TabsaError as e:
            error = str(e)
        return pyarrow.table({"counts": [json.dumps(dataclasses.asdict(counts))], "error": [error]})

    def _score(self, batch: Any) -> Counts:
        import numpy as np
        import pyarrow

        batch = batch.filter(pyarrow.array(~np.isin(batch[ROW_HASH].to_numpy(), self._done)))
        scorer = Scorer(Path("table.parquet"), ".parquet", self._predictor, self._request, schema=batch.schema)
        rows = (Row("row", values, n) for n, values in enumerate(batch.to_pylist(), start=1))
        counts, answers, rejects = Counts(), b"", b""
        for chunk in chunks(rows, scorer.chunk):
            answered, rejected, more = scorer.score(chunk)
            answers, rejects = answers + answered, rejects + rejected
            counts.add(more)
        name = f"part-{batch[ROW_HASH][0].as_py():016x}" if batch.num_rows else ""
        if counts.scored:
            stream_to_parquet(answers, sink := io.BytesIO())
            self._out.write(f"{name}.parquet", sink.getvalue())
        if rejects:
            self._out.write(f"{_REJECTS}/{name}.jsonl", rejects)
        return counts


# ---- joining a cluster


def require_ray() -> Any:
    """Return the ray module, which is to be quiet, or raise one clear line where it is not installed."""
    for name, value in _QUIET.items():
        os.environ.setdefault(name, value)
    try:
        import pyarrow.parquet  # noqa: F401
        import ray
        import ray.data
    except ImportError as e:
        advice = "install it with `pip install 'tabsa[scale]'`"
        raise ConfigError(f"a Ray cluster needs ray; {advice}", code="ray_missing") from e
    return ray


@contextmanager
def _joined(ray: Any, address: str | None) -> Iterator[None]:
    """Join a cluster, or start one on this machine, and leave it at the end; one that is joined already stays so."""
    if ray.is_initialized():
        yield
        return
    address = address or os.environ.get("RAY_ADDRESS") or "local"
    if address.startswith("ray://"):
        raise ConfigError(f"{address} is for Ray's client; run this on a node of the cluster", code="ray_client")
    options: dict[str, Any] = {"log_to_driver": False, "logging_level": logging.ERROR}
    if address == "local":
        options |= {"include_dashboard": False, "object_store_memory": 200_000_000}  # parts are small, and soon scored
    try:
        ray.init(address=address, **options)
    except (ray.exceptions.RayError, ConnectionError, RuntimeError, ValueError, OSError) as e:
        raise ConfigError(f"cannot join the Ray cluster at {address}: {_line(e)}") from e
    try:
        yield
    finally:
        with suppress(Exception):
            ray.shutdown()


def _line(error: Exception) -> str:
    """Return the first line of Ray's message, less its colours."""
    return re.sub(r"\x1b\[[0-9;]*m", "", first_line(error)).rstrip(".")[:500]
