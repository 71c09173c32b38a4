"""Tables scored by Ray Data: the rows are those of scoring alone, whatever is killed."""

import csv
import dataclasses
import gzip
import json
import os
import re
import shlex
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tabsa.errors import ConfigError, OutputError
from tabsa.inference.predictor import Predictor, load
from tabsa.scoring import Request, request_identity, score
from tabsa.scoring.many import Job, Kind, Outcome, score_parts
from tabsa.scoring.many.cluster import PieceScorer, RayEngine
from tabsa.scoring.many.joining import connect

pytestmark = pytest.mark.ray
ray = pytest.importorskip("ray")
pyarrow = pytest.importorskip("pyarrow")

REQUEST = Request(targets={"Camden": (), "Brixton": ()}, probabilities=True, chunk=8)
TEXTS = ("Camden is nice, Brixton dear", "not cheap", "Brixton, far", "Camden is safe")


@pytest.fixture(scope="module")
def cluster() -> Iterator[None]:
    quiet = {"RAY_USAGE_STATS_ENABLED": "0", "RAY_DATA_LOG_LEVEL": "ERROR", "RAY_BACKEND_LOG_LEVEL": "fatal"}
    options = {"include_dashboard": False, "log_to_driver": False, "object_store_memory": 100_000_000}
    with pytest.MonkeyPatch.context() as patch:
        for name, value in quiet.items():
            patch.setenv(name, value)
        try:
            ray.init(address="local", num_cpus=2, logging_level="ERROR", **options)
        except (RuntimeError, OSError, ray.exceptions.RayError) as e:  # a sandbox without shared memory, or sockets
            pytest.skip(f"Ray does not start on this machine: {e}")
        ray.cloudpickle.register_pickle_by_value(sys.modules[__name__])  # workers know nothing of tests
        yield
        ray.shutdown()


@pytest.fixture(scope="module")
def model(tiny_model) -> Predictor:
    return load(tiny_model, threads=1)


@pytest.fixture(scope="module")
def job(model: Predictor) -> Job:
    return Job(REQUEST, request_identity(model, REQUEST), str(model.folder.path), threads=1)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Tables of several kinds, with rows that cannot be read or have no text."""
    from pyarrow import parquet

    root = tmp_path_factory.mktemp("in")
    (root / "sub").mkdir()
    with (root / "one.csv").open("w", newline="") as stream:
        rows = [[f"{n:04}", "" if n == 7 else f"{TEXTS[n % 4]} {n}"] for n in range(200)]
        csv.writer(stream).writerows([["id", "text"], *rows[:90], ["a", "row", "too long"], *rows[90:]])
    lines = "".join(json.dumps({"text": f"{TEXTS[n % 4]} {n}", "n": n}) + "\n" for n in range(30))
    (root / "sub" / "two.jsonl.gz").write_bytes(gzip.compress((lines + "no JSON\n").encode()))
    table = pyarrow.table({"text": [f"{TEXTS[n % 4]} {n}" for n in range(40)], "n": list(range(40))})
    parquet.write_table(table, root / "three.parquet", row_group_size=10)
    (root / "empty.csv").write_text("id,text\n")
    return root


def engine(job: Job, model: Predictor, out: str | Path, form: str = "csv", workers: int = 2) -> RayEngine:
    return RayEngine(job, model, out, form, workers=workers)


def tables(out: Path) -> dict[str, list[list[str]]]:
    """The rows of each table, by its name, from its parts in their order; with the rejects."""
    found: dict[str, list[list[str]]] = {}
    for path in sorted(out.rglob("*.csv")):
        name = re.sub(r"-\d{5}", "", path.relative_to(out).as_posix())
        with path.open(newline="") as stream:
            rows = list(csv.reader(stream))
        found.setdefault(name, rows[:1]).extend(rows[1:])
    return found


def rejects(out: Path) -> list[dict]:
    paths = sorted((*out.rglob("*.rejects.jsonl"), *out.glob("_rejects/**/*.jsonl")), key=lambda path: path.name)
    return [json.loads(line) for path in paths for line in path.read_text().splitlines()]


@pytest.fixture(scope="module")
def alone(folder: Path, model: Predictor, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("alone")
    for name in ("one.csv", "sub/two.jsonl.gz", "three.parquet"):
        score(folder / name, (out / name.split(".")[0]).with_suffix(".csv"), model, REQUEST)
    return out


def test_the_rows_are_those_of_each_table_alone(cluster, folder, tmp_path, model, job, alone):
    out = tmp_path / "out"
    seen: list[float] = []
    ended = score_parts(
        folder,
        out,
        job,
        model,
        engine(job, model, out),
        form="csv",
        on_change=lambda standing, _: seen.append(standing.share),
    )
    assert tables(out) == tables(alone)
    assert rejects(out) == rejects(alone)
    assert len(rejects(out)) == 3
    assert (ended.counts.rows, ended.counts.scored) == (201 + 31 + 40, 199 + 30 + 40)
    assert ended.parts == len(list(out.rglob("*-0*.csv"))) == 26 + 4 + 5
    assert (out / "_SUCCESS").exists()
    assert seen[-1] == 1.0
    # Where it is done, nothing is done again; where a part is gone, only that.
    (out / "one-00003.csv").unlink()
    tried: list[Outcome] = []
    options = {"form": "csv", "resume": True, "on_change": lambda _, outcome: tried.append(outcome)}
    ended = score_parts(folder, out, job, model, engine(job, model, out), **options)
    assert [one.name for one in tried if one.kind is Kind.DONE] == ["one-00003.csv"]
    assert (ended.counts.rows, ended.resumed) == (272, 264)
    assert tables(out) == tables(alone)


class DeadlyScorer(PieceScorer):
    """Dies on a piece, the first so many times."""

    kills = 1

    def _score(self, piece):
        marks = list(Path(self._folder.location).parent.glob("died-*"))
        if piece.number == 9 and piece.table == "one.parquet" and len(marks) < self.kills:
            (Path(self._folder.location).parent / f"died-{len(marks)}").touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return super()._score(piece)


def test_a_worker_that_is_killed_costs_nothing_but_time(cluster, folder, tmp_path, model, job, alone, monkeypatch):
    from pyarrow import parquet

    monkeypatch.setattr("tabsa.scoring.many.cluster.PieceScorer", DeadlyScorer)
    out = tmp_path / "out"
    ended = score_parts(folder / "one.csv", out, job, model, engine(job, model, out, "parquet"), form="parquet")
    assert (tmp_path / "died-0").exists()
    assert ended.counts.rows == 201
    rows = [row for path in sorted(out.glob("*.parquet")) for row in parquet.read_table(path).to_pylist()]
    header, *expected = tables(alone)["one.csv"]
    assert [[str(row[name]) for name in header] for row in rows] == expected


def test_a_part_on_which_workers_always_die_ends_the_job_which_can_be_resumed(
    cluster, folder, tmp_path, model, job, alone, monkeypatch
):
    out = tmp_path / "out"
    monkeypatch.setattr(DeadlyScorer, "kills", 99)
    monkeypatch.setattr("tabsa.scoring.many.cluster._TASK_RETRIES", 1)
    with monkeypatch.context() as patch:
        patch.setattr("tabsa.scoring.many.cluster.PieceScorer", DeadlyScorer)
        with pytest.raises(OutputError, match="Ray gave up, and what was scored is kept: ") as error:
            score_parts(folder / "one.csv", out, job, model, engine(job, model, out, "parquet"), form="parquet")
    assert error.value.code == "cluster_failed"
    kept = len(list(out.glob("one-*.parquet")))
    assert kept
    ended = score_parts(
        folder / "one.csv", out, job, model, engine(job, model, out, "parquet"), form="parquet", resume=True
    )
    assert (ended.counts.rows, ended.parts) == (201, 26)
    assert ended.resumed > 0


def test_bad_tables_and_what_cannot_be_resumed(cluster, tmp_path, model, job):
    source, out = tmp_path / "in", tmp_path / "out"
    source.mkdir()
    (source / "good.csv").write_text("text\nCamden\n")
    lines = "".join(f'{{"text": "Camden {n}"}}\n' for n in range(20)).encode()
    (source / "torn.jsonl.gz").write_bytes(gzip.compress(lines)[:-9])
    run = lambda **options: score_parts(  # noqa: E731
        source, out, job, model, engine(job, model, out), form="csv", **options
    )
    with pytest.raises(OutputError, match=r"^1 of 2 tables failed, .*: torn\.csv: .* is not a whole gzip file"):
        run()
    assert not (out / "_SUCCESS").exists()
    (source / "torn.jsonl.gz").write_bytes(gzip.compress(lines + b'{"text": "one more"}\n'))
    assert run(resume=True).counts.rows == 22  # it was not done, and so may change
    (source / "good.csv").write_text("text\nCamden and Brixton\n")
    with pytest.raises(OutputError, match=r"cannot resume .*good\.csv has changed since it was scored"):
        run(resume=True)
    (source / "torn.jsonl.gz").unlink()
    assert run(overwrite=True).counts.rows == 1
    assert [path.name for path in out.rglob("*-0*")] == ["good-00000.csv"]


def test_a_model_that_workers_cannot_load_is_one_line(cluster, folder, tmp_path, model, job):
    elsewhere = dataclasses.replace(job, model=str(tmp_path / "model"))
    out = tmp_path / "out"
    with pytest.raises(ConfigError, match="there is no model"):
        score_parts(folder, out, elsewhere, model, engine(elsewhere, model, out), form="csv")
    assert not out.exists()


def test_the_command_starts_ray_and_is_quiet(folder, tmp_path, tiny_model, alone):
    options = ["-t", "Camden", "-t", "Brixton", "--probabilities", "--chunk", "64", "--model", tiny_model]
    source, out = f"file://{folder}/one.csv", tmp_path / "out"
    command = [sys.executable, "-m", "tabsa", "score", source, out, "--engine", "ray", "--format", "csv", *options]
    environment = {name: value for name, value in os.environ.items() if name != "RAY_ADDRESS"}
    run = subprocess.run(list(map(str, command)), capture_output=True, text=True, timeout=300, env=environment)
    assert (run.returncode, run.stdout) == (0, ""), run.stderr
    *progress, last = run.stderr.splitlines()
    assert all(re.fullmatch(r"\d parts?, [\d,]+ rows? \(\d+%\)", line) for line in progress), run.stderr
    assert last.startswith("4 parts, 201 rows: 199 scored, ")
    assert tables(out)["one.csv"] == tables(alone)["one.csv"]


@pytest.fixture(scope="module")
def store() -> Iterator[str]:
    """The URL's end of a server that speaks S3."""
    server = pytest.importorskip("moto.server", reason="needs moto: pip install 'moto[server]'")
    thread = server.ThreadedMotoServer(ip_address="127.0.0.1", port=0)
    thread.start()
    host, port = thread.get_host_and_port()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("AWS_EC2_METADATA_DISABLED", "true")
        yield f"?endpoint_override={host}:{port}&scheme=http&region=us-east-1&allow_bucket_creation=true"
    thread.stop()


def test_tables_and_results_of_an_object_store(cluster, store, folder, tmp_path, model, job, alone):
    from pyarrow import fs

    bucket, path = fs.FileSystem.from_uri(f"s3://key:secret@bucket{store}")
    bucket.create_dir(path)
    fs.copy_files(str(folder), "bucket/in", destination_filesystem=bucket)
    source, out = f"s3://key:secret@bucket/in{store}", f"s3://key:secret@bucket/out{store}"
    run = lambda **options: score_parts(  # noqa: E731
        source, out, job, model, engine(job, model, out), form="csv", **options
    )
    assert run().counts.rows == 201 + 31 + 40
    with pytest.raises(OutputError, match=r"a job into s3://bucket/out is done"):
        run()
    assert run(resume=True).resumed == 272
    fs.copy_files("bucket/out", str(tmp_path / "out"), source_filesystem=bucket)
    assert tables(tmp_path / "out") == tables(alone)
    assert rejects(tmp_path / "out") == rejects(alone)
    assert (tmp_path / "out" / "_SUCCESS").exists()


PAGE = Path(__file__).parents[2] / "docs" / "cluster.md"
BLOCKS = re.findall(r"```sh\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL)


@pytest.mark.parametrize("line", [line for block in BLOCKS for line in block.splitlines() if line.startswith("tabsa")])
def test_documented_commands_run(cluster, command_line, tmp_path, monkeypatch, tiny_model, line):
    (tmp_path / "reviews").mkdir()
    (tmp_path / "reviews" / "2024-01.csv").write_text("text\nCamden is nice\n")
    (tmp_path / "reviews.csv").write_text("text\nCamden is nice\n")
    (tmp_path / "places.txt").write_text("Camden\n")
    monkeypatch.chdir(tmp_path)
    code, _, stderr = command_line(*shlex.split(line)[1:], "--model", tiny_model)
    assert (code, stderr.splitlines()[-1].split(":")[0]) == (0, "1 part, 1 row"), stderr


@pytest.mark.parametrize(
    ("address", "message", "code"),
    [
        ("127.0.0.1:1", r"the Ray cluster at 127\.0\.0\.1:1: Connection refused; start it with", "bad_config"),
        ("ray://head:10001", "is for Ray's client; run this on a node of the cluster", "ray_client"),
        ("nonsense", "cannot join the Ray cluster at nonsense: Invalid address", "bad_config"),
    ],
)
def test_addresses_where_no_cluster_is(address, message, code, monkeypatch):
    monkeypatch.setattr(ray, "is_initialized", lambda: False)
    with pytest.raises(ConfigError, match=message) as error:
        connect(address)
    assert error.value.code == code
