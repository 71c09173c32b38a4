"""Many tables as one job: their bytes are those of each table alone, whatever is killed, in a pool and on Ray."""

import csv
import os
import re
import shlex
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tabsa.errors import ConfigError, DataError, DataNotFoundError, OutputError
from tabsa.inference.predictor import Predictor
from tabsa.scoring import cluster, folders
from tabsa.scoring.folders import ModelChoice, find_tables, score_folder
from tabsa.scoring.request import Layout, Request
from tabsa.scoring.single import Progress, score_table

REQUEST = Request(targets={"Camden": (), "Brixton": ()}, probabilities=True, chunk=8)
TEXTS = ("Camden is nice, Brixton dear", "not cheap", "Brixton, far", "Camden is safe")
ROWS = {"large.csv": 300, "a.csv": 60, "sub/b.csv": 50}
PAGE = (Path(__file__).parents[2] / "docs" / "cluster.md").read_text("utf-8")


@pytest.fixture
def source(tmp_path) -> Path:
    root = tmp_path / "in"
    for name, count in ROWS.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        with (root / name).open("w", newline="") as stream:
            rows = ([n, "" if n == 7 else f"{TEXTS[n % 4]} {n}"] for n in range(count))
            csv.writer(stream).writerows([["id", "text"], *rows])
    return root


@pytest.fixture
def expected(source, predictor, tmp_path) -> dict[str, bytes]:
    for name in ROWS:
        score_table(source / name, tmp_path / "alone" / name, predictor, REQUEST)
    return files(tmp_path / "alone")


def files(out: Path) -> dict[str, bytes]:
    paths = (path for path in out.rglob("*") if path.is_file() and path.name != "_job.json")
    return {path.relative_to(out).as_posix(): path.read_bytes() for path in paths}


def test_tables_of_a_folder(tmp_path):
    root = tmp_path / "in"
    (root / "sub").mkdir(parents=True)
    for name in [
        "a.csv",
        "b.JSONL",
        "c.xlsx",
        "sub/g.csv",
        "~$c.xlsx",
        "d.xls",
        "_e.csv",
        ".f.csv",
        "a.csv.rejects.jsonl",
    ]:
        (root / name).touch()
    found = [pair.out.relative_to(tmp_path / "out").as_posix() for pair in find_tables(root, tmp_path / "out")]
    assert found == ["a.csv", "b.JSONL", "c.xlsx.csv", "sub/g.csv"]
    (tmp_path / "empty").mkdir()
    with pytest.raises(DataNotFoundError, match=r"no table in .*empty; expected files ending in one of \.csv"):
        find_tables(tmp_path / "empty", tmp_path / "out")
    with pytest.raises(OutputError, match="holds the input; write to another folder"):
        find_tables(root / "sub", root)


# ---- the job


@pytest.mark.parametrize("workers", [1, 2])
def test_the_bytes_are_those_of_each_table_alone(source, tmp_path, model, expected, workers):
    (source / "empty.csv").write_text("id,text\n")
    (source / "bad.csv").write_text("id,text\n1\n")
    out, seen = tmp_path / "out", []
    result = score_folder(source, out, model, REQUEST, workers=workers, on_table=lambda _, *one: seen.append(one))
    assert {name: data for name, data in files(out).items() if name != "bad.csv.rejects.jsonl"} == expected
    assert (result.tables, result.done, result.counts.rows, result.counts.rejected) == (5, 5, 411, 4)
    assert sorted(seen) == [(name, "") for name in ("a.csv", "bad.csv", "empty.csv", "large.csv", "sub/b.csv")]


def test_going_on(source, tmp_path, model, expected):
    out = tmp_path / "out"

    def run(request: Request = REQUEST, **options: bool) -> folders.JobResult:
        return score_folder(source, out, model, request, **options)

    assert run().skipped == 0
    with pytest.raises(OutputError, match=r"cannot write .*out: a job into it was begun") as error:
        run()
    assert error.value.code == "job_exists"
    with pytest.raises(OutputError, match=r"cannot resume .*out: 'layout' is not what it was when the run began"):
        run(Request(targets=REQUEST.targets, probabilities=True, chunk=8, layout=Layout.LONG), resume=True)
    (out / "a.csv").unlink()  # is scored again, and so is a table that is new or has changed
    (source / "new.csv").write_text("id,text\n1,Camden\n")
    os.utime(source / "sub" / "b.csv", ns=(2**62, 2**62))
    result = run(resume=True)
    assert (result.tables, result.skipped, result.counts.rows) == (4, 1, 60 + 50 + 1)
    assert {name: data for name, data in files(out).items() if name != "new.csv"} == expected
    assert run(overwrite=True).counts.rows == 411
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "precious").touch()
    with pytest.raises(OutputError, match="other: it is not empty") as error:
        score_folder(source, tmp_path / "other", model, REQUEST)
    assert error.value.code == "output_exists"


def test_tables_that_fail_do_not_stop_the_others(source, tmp_path, model, expected):
    (source / "pdf.csv").write_bytes(b"%PDF-1.7")
    (source / "other.csv").write_text("id,words\n1,x\n2,y\n")
    why = r"^2 of 5 tables failed, .*: other\.csv: .* no column 'text'.*; pdf\.csv: .* is not text"
    with pytest.raises(OutputError, match=why) as error:
        score_folder(source, tmp_path / "out", model, REQUEST)
    assert error.value.code == "parts_failed"
    assert files(tmp_path / "out") == expected


def test_what_is_wrong_with_the_request_is_found_before_anything_is_written(source, tmp_path, model):
    with pytest.raises(DataError, match="has no column 'body'; it has id, text"):
        score_folder(source, tmp_path / "out", model, Request(targets={"A": ()}, text_column="body"))
    with pytest.raises(DataError, match="does not know the aspect 'prices'"):
        score_folder(source, tmp_path / "out", model, Request(targets={"A": ()}, aspects=["prices"]))
    assert not (tmp_path / "out").exists()


# ---- processes that are killed: those of others are told to by files, and kill themselves at a counted row


class Deadly(ModelChoice):
    """A model whose process dies when the large table has come so far, while there is a file that says so."""

    def load(self) -> Predictor:
        plain, marks = folders.score_table, Path(os.environ["DEATHS"])

        def die(progress: Progress) -> None:
            if progress.counts.rows > 100 and (mark := next(marks.iterdir(), None)):
                mark.unlink()
                os.kill(os.getpid(), signal.SIGKILL)

        def deadly(source: Path, *arguments: object, **options: object) -> Progress:
            return plain(source, *arguments, **options | ({"on_progress": die} if source.name == "large.csv" else {}))

        if os.getpid() != int(os.environ["ALIVE"]):
            folders.score_table = deadly
        return super().load()


@pytest.fixture(scope="module")
def deaths(tmp_path_factory) -> Iterator[Path]:
    """A folder in which each file is a death that somebody will die; other processes know of it and of this module."""
    folder = tmp_path_factory.mktemp("deaths")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DEATHS", str(folder))
        patch.setenv("ALIVE", str(os.getpid()))
        patch.setenv("PYTHONPATH", os.pathsep.join([str(Path(__file__).parent), os.environ.get("PYTHONPATH", "")]))
        yield folder


def test_a_process_that_is_killed_costs_nothing_but_time(source, tmp_path, model, expected, deaths):
    (deaths / "1").touch()
    result = score_folder(source, tmp_path / "out", Deadly(*model), REQUEST, workers=2)
    assert files(tmp_path / "out") == expected
    assert (result.done, result.failed) == (3, {})
    assert not list(deaths.iterdir())


def test_a_table_that_is_always_killed_is_given_up_and_can_be_resumed(source, tmp_path, model, expected, deaths):
    (deaths / "1").touch()
    (deaths / "2").touch()
    with pytest.raises(OutputError, match=r"^1 of 3 tables failed, .*: large\.csv: its process died$"):
        score_folder(source, tmp_path / "out", Deadly(*model), REQUEST, workers=2)
    assert score_folder(source, tmp_path / "out", model, REQUEST, resume=True).skipped == 2
    assert files(tmp_path / "out") == expected


# ---- Ray


@pytest.mark.ray
def test_an_address_where_no_cluster_is(tmp_path, model):
    pytest.importorskip("ray")
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.csv").write_text("text\nCamden\n")
    with pytest.raises(ConfigError, match="cannot join the Ray cluster at nonsense: "):
        score_folder(tmp_path / "in", tmp_path / "out", model, REQUEST, ray=True, address="nonsense")


@pytest.fixture(scope="module")
def ray(deaths) -> Iterator[None]:
    """A cluster of this machine, whose workers know this module."""
    ray = pytest.importorskip("ray")
    options = {"include_dashboard": False, "log_to_driver": False, "object_store_memory": 100_000_000}
    with pytest.MonkeyPatch.context() as patch:
        for name, value in cluster._QUIET.items():
            patch.setenv(name, value)
        try:
            ray.init(address="local", num_cpus=2, logging_level="ERROR", **options)
        except (RuntimeError, OSError, ray.exceptions.RayError) as e:  # a sandbox without shared memory, or sockets
            pytest.skip(f"Ray does not start on this machine: {e}")
        ray.cloudpickle.register_pickle_by_value(sys.modules[__name__])
        yield
        ray.shutdown()


@pytest.mark.ray
def test_on_ray_the_bytes_are_the_same_whatever_is_killed(ray, source, tmp_path, model, expected, deaths, monkeypatch):
    (deaths / "1").touch()
    result = score_folder(source, tmp_path / "out", Deadly(*model), REQUEST, ray=True)
    assert files(tmp_path / "out") == expected
    assert (result.done, result.counts.rows, list(deaths.iterdir())) == (3, 410, [])
    monkeypatch.setattr(cluster, "_RETRIES", 0)
    (deaths / "1").touch()
    with pytest.raises(OutputError, match=r"^1 of 3 tables failed, .*: large\.csv: Ray gave up: "):
        score_folder(source, tmp_path / "again", Deadly(*model), REQUEST, ray=True)
    assert score_folder(source, tmp_path / "again", model, REQUEST, ray=True, resume=True).skipped == 2
    assert files(tmp_path / "again") == expected


class Other(ModelChoice):
    """A model that is another one on workers."""

    def load(self) -> Predictor:
        precision = self.precision if os.getpid() == int(os.environ["ALIVE"]) else "int8"
        return self._replace(precision=precision).load() if precision != self.precision else super().load()


@pytest.mark.ray
def test_a_worker_with_another_model_scores_nothing(ray, source, tmp_path, model):
    with pytest.raises(OutputError, match=r"3 of 3 tables failed, .*the model or the version of tabsa on .* is not"):
        score_folder(source, tmp_path / "out", Other(f"{model.name}/."), REQUEST, ray=True)


LINES = [line for block in re.findall(r"```sh\n(.*?)```", PAGE, re.DOTALL) for line in block.splitlines()]


@pytest.mark.ray
@pytest.mark.parametrize("line", [line for line in LINES if line.startswith("tabsa")])
def test_documented_commands_run(ray, command_line, tmp_path, monkeypatch, tiny_model, line):
    (tmp_path / "reviews").mkdir()
    (tmp_path / "reviews" / "2024-01.csv").write_text("text\nCamden is nice\n")
    (tmp_path / "places.txt").write_text("Camden\n")
    monkeypatch.chdir(tmp_path)
    code, _, stderr = command_line(*shlex.split(line)[1:], "--model", tiny_model)
    assert (code, "1 row: 1 scored" in stderr.splitlines()[-1]) == (0, True), stderr
