"""Parquet scored by Ray Data: the rows are those of scoring alone, whatever is killed."""

import dataclasses
import json
import os
import re
import shlex
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tabsa.errors import ConfigError, DataError, OutputError
from tabsa.inference.predictor import Predictor
from tabsa.scoring import cluster
from tabsa.scoring.cluster import PartScorer, score_cluster
from tabsa.scoring.request import Layout, Request
from tabsa.scoring.single import score_table

pytestmark = pytest.mark.ray
ray = pytest.importorskip("ray")
pyarrow = pytest.importorskip("pyarrow")
from pyarrow import fs, parquet  # noqa: E402

REQUEST = Request(targets={"Camden": (), "Brixton": ()}, probabilities=True, chunk=8)
TEXTS = ("Camden is nice, Brixton dear", "not cheap", "Brixton, far", "Camden is safe")
PAGE = (Path(__file__).parents[2] / "docs" / "cluster.md").read_text("utf-8")


@pytest.fixture(scope="module")
def started() -> Iterator[None]:
    options = {"include_dashboard": False, "log_to_driver": False, "object_store_memory": 100_000_000}
    with pytest.MonkeyPatch.context() as patch:
        for name, value in cluster._QUIET.items():
            patch.setenv(name, value)
        try:
            ray.init(address="local", num_cpus=2, logging_level="ERROR", **options)
        except (RuntimeError, OSError, ray.exceptions.RayError) as e:  # a sandbox without shared memory, or sockets
            pytest.skip(f"Ray does not start on this machine: {e}")
        ray.cloudpickle.register_pickle_by_value(sys.modules[__name__])  # workers know nothing of tests
        yield
        ray.shutdown()


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two tables, with rows that have no text."""
    root = tmp_path_factory.mktemp("in")
    (root / "sub").mkdir()
    for name, count in (("one.parquet", 200), ("sub/two.parquet", 40)):
        texts = [None if n == 7 else f"{TEXTS[n % 4]} {n}" for n in range(count)]
        ids = [f"{name}-{n:04}" for n in range(count)]
        parquet.write_table(pyarrow.table({"id": ids, "text": texts}), root / name, row_group_size=30)
    return root


def alone(source: Path, out: Path, predictor: Predictor, request: Request) -> tuple[list[dict], list[str]]:
    """The rows of scoring each table by itself, and the ids that were rejected."""
    for path in source.rglob("*.parquet"):
        score_table(path, out / path.name, predictor, request)
    return rows_of(out), rejected_of(out.glob("*.rejects.jsonl"))


def rows_of(out: Path) -> list[dict]:
    rows = [row for path in out.glob("*.parquet") for row in parquet.read_table(path).to_pylist()]
    rows = [{name: value for name, value in row.items() if name != "row_hash"} for row in rows]
    return sorted(rows, key=lambda row: (row["id"], str(row.get("target")), str(row.get("aspect"))))


def rejected_of(paths) -> list[str]:
    return sorted(json.loads(line)["content"]["id"] for path in paths for line in path.read_text().splitlines())


@pytest.mark.parametrize("layout", Layout)
def test_the_rows_are_those_of_each_table_alone(started, source, tmp_path, model, predictor, layout):
    request = dataclasses.replace(REQUEST, layout=layout)
    expected, rejected = alone(source, tmp_path / "alone", predictor, request)
    out, seen = tmp_path / "out", []
    counts = score_cluster(str(source), str(out), model, request, on_progress=lambda now: seen.append(now.rows))
    assert rows_of(out) == expected
    assert rejected_of((out / "_rejects").iterdir()) == rejected == ["one.parquet-0007", "sub/two.parquet-0007"]
    assert (counts.rows, counts.scored, counts.rejected, seen[-1]) == (240, 238, 2, 240)
    with pytest.raises(OutputError, match=r"cannot write .*out: a job into it was begun") as error:
        score_cluster(str(source), str(out), model, request)
    assert error.value.code == "job_exists"
    next(out.glob("part-*.parquet")).unlink()  # only its rows are scored again
    counts = score_cluster(str(source), str(out), model, request, resume=True)
    assert 0 < counts.scored < (30 if layout is Layout.WIDE else 240)
    assert rows_of(out) == expected
    assert len(rejected_of((out / "_rejects").iterdir())) == 2
    with pytest.raises(OutputError, match=r"cannot resume .*out: 'prefix' is not what it was when the run began"):
        score_cluster(str(source), str(out), model, dataclasses.replace(request, prefix="x"), resume=True)


class DeadlyScorer(PartScorer):
    """Dies on a batch, as often as there are files that say so."""

    def __call__(self, batch):
        marks = sorted(Path(self._out.path).parent.glob("death-*"))
        if marks and "one.parquet-0100" in batch["id"].to_pylist():
            marks[0].unlink()
            os.kill(os.getpid(), signal.SIGKILL)
        return super().__call__(batch)


def test_a_worker_that_is_killed_costs_nothing_but_time(started, source, tmp_path, model, predictor, monkeypatch):
    expected, _ = alone(source, tmp_path / "alone", predictor, REQUEST)
    (tmp_path / "death-0").touch()
    monkeypatch.setattr(cluster, "PartScorer", DeadlyScorer)
    assert score_cluster(str(source), str(tmp_path / "out"), model, REQUEST, workers=2).rows == 240
    assert not (tmp_path / "death-0").exists()
    assert rows_of(tmp_path / "out") == expected


def test_a_batch_on_which_workers_always_die_ends_the_job_which_can_be_resumed(
    started, source, tmp_path, model, predictor, monkeypatch
):
    expected, _ = alone(source, tmp_path / "alone", predictor, REQUEST)
    for number in range(9):
        (tmp_path / f"death-{number}").touch()
    monkeypatch.setattr(cluster, "_TASK_RETRIES", 1)
    with monkeypatch.context() as patch:
        patch.setattr(cluster, "PartScorer", DeadlyScorer)
        with pytest.raises(OutputError, match="Ray gave up, and what was scored is kept: ") as error:
            score_cluster(str(source), str(tmp_path / "out"), model, REQUEST, workers=2)
    assert error.value.code == "cluster_failed"
    score_cluster(str(source), str(tmp_path / "out"), model, REQUEST, resume=True)
    assert rows_of(tmp_path / "out") == expected


class OtherScorer(PartScorer):
    """A worker whose model is another than the command's."""

    def __init__(self, model, request, identity, *others):
        super().__init__(model, request, identity | {"model": "another"}, *others)


def test_a_worker_with_another_model_ends_the_job_with_one_line(started, source, tmp_path, model, monkeypatch):
    monkeypatch.setattr(cluster, "PartScorer", OtherScorer)
    with pytest.raises(OutputError, match=r"on .* is not the command's"):
        score_cluster(str(source), str(tmp_path / "out"), model, REQUEST, workers=1)


def test_readers_of_text_lose_rows_and_so_are_not_used(started, tmp_path, model):
    """Why text is refused: when this fails, Ray has mended its readers."""
    (tmp_path / "in.csv").write_text("id,text\n007,Camden\n")
    assert ray.data.read_csv(str(tmp_path / "in.csv")).take_all() == [{"id": 7, "text": "Camden"}]
    (tmp_path / "in.csv").write_text("id,text\n007,Camden\n008,one,too many\n")
    (tmp_path / "in.jsonl").write_text('{"text": "Camden"}\nno JSON\n')
    for read, name in ((ray.data.read_csv, "in.csv"), (ray.data.read_json, "in.jsonl")):
        with pytest.raises(ray.exceptions.RayTaskError):
            read(str(tmp_path / name)).take_all()
    line = (
        r"^in\.\w+ is not a Parquet file, and Ray is given only these: its readers of text lose rows; save it as Parq"
    )
    for table in (tmp_path, tmp_path / "in.csv"):
        with pytest.raises(DataError, match=line):
            score_cluster(str(table), str(tmp_path / "out"), model, REQUEST)
    parquet.write_table(pyarrow.table({"id": [1], "text": ["a"]}), tmp_path / "t.parquet")
    request = dataclasses.replace(REQUEST, text_column="body")
    with pytest.raises(DataError, match="has no column 'body'; it has id, text"):
        score_cluster(str(tmp_path / "t.parquet"), str(tmp_path / "out"), model, request)
    assert not (tmp_path / "out").exists()


@pytest.fixture(scope="module")
def store() -> Iterator[str]:
    """The end of a URL, of a server that speaks S3."""
    server = pytest.importorskip("moto.server", reason="needs moto: pip install 'moto[server]'")
    thread = server.ThreadedMotoServer(ip_address="127.0.0.1", port=0)
    thread.start()
    host, port = thread.get_host_and_port()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("AWS_EC2_METADATA_DISABLED", "true")
        yield f"?endpoint_override={host}:{port}&scheme=http&region=us-east-1&allow_bucket_creation=true"
    thread.stop()


def test_tables_and_results_of_an_object_store(started, store, source, tmp_path, model, predictor):
    expected, _ = alone(source, tmp_path / "alone", predictor, REQUEST)
    bucket, path = fs.FileSystem.from_uri(f"s3://key:secret@bucket{store}")
    bucket.create_dir(path)
    fs.copy_files(str(source), "bucket/in", destination_filesystem=bucket)
    where = [f"s3://key:secret@bucket/{name}{store}" for name in ("in", "out")]
    assert score_cluster(*where, model, REQUEST).rows == 240
    with pytest.raises(OutputError, match=r"cannot write s3://bucket/out: a job into it was begun"):
        score_cluster(*where, model, REQUEST)
    assert score_cluster(*where, model, REQUEST, resume=True).rows == 0
    fs.copy_files("bucket/out", str(tmp_path / "out"), source_filesystem=bucket)
    assert rows_of(tmp_path / "out") == expected


LINES = [line for block in re.findall(r"```sh\n(.*?)```", PAGE, re.DOTALL) for line in block.splitlines()]


@pytest.mark.parametrize("line", [line for line in LINES if line.startswith("tabsa")])
def test_documented_commands_run(started, command_line, tmp_path, monkeypatch, tiny_model, line):
    (tmp_path / "reviews").mkdir()
    (tmp_path / "reviews" / "2024-01.csv").write_text("text\nCamden is nice\n")
    parquet.write_table(pyarrow.table({"text": ["Camden is nice"]}), tmp_path / "reviews.parquet")
    (tmp_path / "places.txt").write_text("Camden\n")
    monkeypatch.chdir(tmp_path)
    code, _, stderr = command_line(*shlex.split(line)[1:], "--model", tiny_model)
    assert (code, "1 row: 1 scored" in stderr.splitlines()[-1]) == (0, True), stderr
    out = next(part for part in line.split() if part.startswith("opinions"))
    assert any(path.stat().st_size for path in (tmp_path / out).rglob("*") if not path.name.startswith("_"))


def test_addresses_where_no_cluster_is(monkeypatch):
    monkeypatch.setattr(ray, "is_initialized", lambda: False)
    for address, message in (
        ("ray://head:10001", "is for Ray's client; run this on a node of the cluster"),
        ("nonsense", "cannot join the Ray cluster at nonsense: "),
    ):
        with pytest.raises(ConfigError, match=message), cluster._joined(ray, address):
            pass
