"""Parts scored by real Ray workers, which are killed."""

import csv
import dataclasses
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
from tabsa.inference import Predictor, load
from tabsa.scoring import Request, request_identity, score
from tabsa.scoring.many import Job, LocalPool, RayPool, score_parts
from tabsa.scoring.many.cluster import connect
from tabsa.scoring.many.parts import Part

pytestmark = pytest.mark.ray
ray = pytest.importorskip("ray")

REQUEST = Request(targets={"Camden": (), "Brixton": ()}, probabilities=True, chunk=8)
TEXTS = ("Camden is nice, Brixton dear", "not cheap", "Brixton, far", "Camden is safe")
LARGE = 4000  # rows: some seconds, in chunks as small as these


@pytest.fixture(scope="module")
def cluster() -> Iterator[None]:
    options = {"include_dashboard": False, "log_to_driver": False, "object_store_memory": 100_000_000}
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    try:
        ray.init(address="local", num_cpus=2, logging_level="ERROR", **options)
    except (RuntimeError, OSError, ray.exceptions.RayError) as e:  # a sandbox without shared memory, or sockets
        pytest.skip(f"Ray does not start on this machine: {e}")
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
    root = tmp_path_factory.mktemp("in")
    (root / "sub").mkdir()
    for name, count in (("large.csv", LARGE), ("sub/a.csv", 300), ("b.csv", 100), ("c.csv", 50)):
        with (root / name).open("w", newline="") as stream:
            rows = ([n, "" if n == 7 else f"{TEXTS[n % 4]} {n}"] for n in range(count))
            csv.writer(stream).writerows([["id", "text"], *rows])
    return root


@pytest.fixture(scope="module")
def expected(folder: Path, model: Predictor, job: Job, tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    out = tmp_path_factory.mktemp("expected") / "out"
    score_parts(folder, out, job, model, lambda _: LocalPool(job, model))
    return files(out)


def files(out: Path) -> dict[str, bytes]:
    found = (path for path in out.rglob("*") if path.is_file() and not path.name.startswith("_"))
    return {path.relative_to(out).as_posix(): path.read_bytes() for path in found}


class DeadlyPool(RayPool):
    """Kills the worker on the large part, once it has saved something, the first `kills` times."""

    def __init__(self, job: Job, out: Path, kills: int, **options: int) -> None:
        super().__init__(job, **options)
        self.kills, self._state = kills, out / "large.csv.state.json"
        self._victim, self._before = 0, 0
        self.attempts: list[int] = []  # rows that were done when the large part was begun

    def start(self, part: Part) -> None:
        if part.name == "large.csv":
            self._victim = ray.get(self._idle[-1].__ray_call__.remote(lambda _: os.getpid()))
            self.attempts.append(self._rows())
        super().start(part)

    def wait(self):
        if self._victim and self.kills and self._rows() > self.attempts[-1] + 16:
            os.kill(self._victim, signal.SIGKILL)
            self._victim, self.kills = 0, self.kills - 1
        return super().wait()

    def _rows(self) -> int:
        return json.loads(self._state.read_text())["row"] if self._state.exists() else 0


@pytest.fixture
def brisk(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tabsa.scoring.many.cluster._TICK", 0.05)
    monkeypatch.setattr("tabsa.scoring.many.dispatch.PAUSE", 0.2)


@pytest.mark.parametrize("workers", [1, 2])
def test_the_results_are_those_of_one_process(cluster, folder, tmp_path, model, job, expected, workers):
    ended = score_parts(folder, tmp_path / "out", job, model, lambda _: RayPool(job, workers=workers))
    assert files(tmp_path / "out") == expected
    assert (ended.parts, ended.counts.rows, ended.counts.rejected) == (4, LARGE + 450, 4)
    assert (tmp_path / "out" / "_SUCCESS").exists()


def test_what_texts_imply_is_read_by_workers(cluster, folder, tmp_path, model):
    request = dataclasses.replace(REQUEST, implied=True)
    job = Job(request, request_identity(model, request), str(model.folder.path), threads=1)
    ended = score_parts(folder / "c.csv", tmp_path / "out", job, model, lambda _: RayPool(job, workers=1))
    score(folder / "c.csv", tmp_path / "alone.csv", model, request)
    assert (tmp_path / "out" / "c.csv").read_bytes() == (tmp_path / "alone.csv").read_bytes()
    assert (ended.counts.scored, ended.counts.named) == (49, 49 - 13)  # every fourth from the second on names nobody


def test_a_worker_that_is_killed_costs_nothing_but_time(cluster, folder, tmp_path, model, job, expected, brisk):
    out = tmp_path / "out"
    pool = DeadlyPool(job, out, kills=1, workers=2)
    reasons: list[str] = []
    score_parts(folder, out, job, model, lambda _: pool, on_change=lambda _, outcome: reasons.append(outcome.why))
    assert files(out) == expected
    assert len(pool.attempts) == 2
    assert pool.attempts[1] > 16  # it went on from there
    assert [why for why in reasons if why] == ["its worker died (ActorDiedError)"]


def test_a_part_that_always_dies_is_given_up_and_can_be_resumed(cluster, folder, tmp_path, model, job, expected, brisk):
    out = tmp_path / "out"
    pool = DeadlyPool(job, out, kills=3, workers=2)
    with pytest.raises(OutputError, match=r"^1 of 4 parts failed, .* done: large\.csv: its worker died") as error:
        score_parts(folder, out, job, model, lambda _: pool)
    assert error.value.code == "parts_failed"
    assert len(pool.attempts) == 3
    assert {name: data for name, data in expected.items() if "large" not in name}.items() <= files(out).items()
    score_parts(folder, out, job, model, lambda most: RayPool(job, most=most), resume=True)
    assert files(out) == expected


def test_there_are_no_more_workers_than_parts_or_cpus(cluster, job):
    for most, workers in ((1, 1), (9, 2)):
        pool = RayPool(job, most=most)
        pool.close()
        assert pool.workers == workers


def test_workers_that_do_not_start(cluster, folder, tmp_path, model, job, monkeypatch):
    class Stillborn:
        def __init__(self, _: object) -> None: ...

        def prepare(self) -> str:
            os._exit(1)

    monkeypatch.setattr("tabsa.scoring.many.cluster.Worker", Stillborn)
    with pytest.raises(ConfigError, match=r"no worker starts on the cluster; is tabsa on every node\? Ray says: "):
        score_parts(folder, tmp_path / "out", job, model, lambda _: RayPool(job, workers=1))
    assert not (tmp_path / "out").exists()


def test_a_model_that_workers_cannot_load_is_one_line(cluster, folder, tmp_path, model, job):
    elsewhere = Job(REQUEST, job.identity, str(tmp_path / "model"), threads=1)
    with pytest.raises(ConfigError, match="there is no model"):
        score_parts(folder, tmp_path / "out", elsewhere, model, lambda _: RayPool(elsewhere, workers=1))
    assert not (tmp_path / "out").exists()


def test_the_command_starts_ray_and_is_quiet(cluster, folder, tmp_path, tiny_model, expected):
    options = ["-t", "Camden", "-t", "Brixton", "--probabilities", "--chunk", "8", "--model", tiny_model]
    command = [sys.executable, "-m", "tabsa", "score", folder, tmp_path / "out", "--engine", "ray", *options]
    environment = {name: value for name, value in os.environ.items() if name != "RAY_ADDRESS"}
    run = subprocess.run(list(map(str, command)), capture_output=True, text=True, timeout=300, env=environment)
    assert (run.returncode, run.stdout) == (0, ""), run.stderr
    *progress, last = run.stderr.splitlines()
    assert all(re.fullmatch(r"\d of 4 parts, [\d,]+ rows", line) for line in progress)
    assert last.startswith(f"4 parts, {LARGE + 450:,} rows: {LARGE + 446:,} scored, ")
    assert files(tmp_path / "out") == expected


PAGE = Path(__file__).parents[2] / "docs" / "cluster.md"
BLOCKS = re.findall(r"```sh\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL)


@pytest.mark.parametrize("line", [line for block in BLOCKS for line in block.splitlines() if line.startswith("tabsa")])
def test_documented_commands_run(cluster, command_line, tmp_path, monkeypatch, tiny_model, line):
    if "parquet" in line:
        pytest.importorskip("pyarrow")
    (tmp_path / "reviews").mkdir()
    (tmp_path / "reviews" / "2024-01.csv").write_text("text\nCamden is nice\n")
    (tmp_path / "places.txt").write_text("Camden\n")
    monkeypatch.chdir(tmp_path)
    code, _, stderr = command_line(*shlex.split(line)[1:], "--model", tiny_model)
    assert (code, stderr.split(":")[0]) == (0, "1 part, 1 rows")


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
