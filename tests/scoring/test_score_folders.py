"""Many tables as one job: their bytes are those of each table alone, whatever is killed."""

import csv
import gzip
import multiprocessing
import os
import signal
from pathlib import Path

import pytest

from tabsa.errors import ConfigError, DataError, DataNotFoundError, OutputError
from tabsa.inference.predictor import Predictor
from tabsa.scoring import folders
from tabsa.scoring.folders import ModelChoice, find_tables, is_many, score_folder
from tabsa.scoring.request import Request
from tabsa.scoring.single import Progress, score_table

REQUEST = Request(targets={"Camden": (), "Brixton": ()}, probabilities=True, chunk=8)
TEXTS = ("Camden is nice, Brixton dear", "not cheap", "Brixton, far", "Camden is safe")
ROWS = {"large.csv": 300, "a.csv": 60, "sub/b.csv": 50}


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


# ---- which tables there are


def test_tables_of_folders_and_patterns(tmp_path):
    root = tmp_path / "in"
    (root / "sub").mkdir(parents=True)
    hidden = ["~$c.xlsx", "d.xls", "_e.csv", ".f.csv", "a.csv.rejects.jsonl"]
    for name in ["a.csv", "b.JSONL.gz", "c.xlsx", "sub/g.csv", *hidden]:
        (root / name).touch()

    def names(source: str, form: str | None = None) -> list[str]:
        found = find_tables(Path(source), tmp_path / "out", form)
        return [pair.out.relative_to(tmp_path / "out").as_posix() for pair in found]

    assert names(str(root)) == ["a.csv", "b.JSONL.gz", "c.csv", "sub/g.csv"]
    assert names(str(root), "jsonl.gz") == ["a.jsonl.gz", "b.jsonl.gz", "c.jsonl.gz", "sub/g.jsonl.gz"]
    assert names(f"{root}/**/*.csv") == ["a.csv", "sub/g.csv"]
    assert names(f"{root}/[ab].*") == ["a.csv", "b.JSONL.gz"]
    assert is_many(root)
    assert is_many(f"{root}/*.csv")
    assert not is_many(root / "a.csv")
    with pytest.raises(DataNotFoundError, match=r"no table in .*\*\.tsv; expected files ending in one of \.csv"):
        names(f"{root}/*.tsv")
    with pytest.raises(ConfigError, match="there is no format 'xml'; expected one of csv, "):
        names(str(root), "xml")
    with pytest.raises(OutputError, match="holds the input; write to another folder"):
        find_tables(root / "sub", root)
    (root / "a.tsv").touch()
    with pytest.raises(ConfigError, match=r"a\.csv and .*a\.tsv would both be written to .*a\.jsonl; rename one"):
        names(str(root), "jsonl")


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
    with pytest.raises(OutputError, match=r"cannot resume .*out: 'prefix' is not what it was when the run began"):
        run(Request(targets=REQUEST.targets, probabilities=True, chunk=8, prefix="x"), resume=True)
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


def test_two_jobs_cannot_write_one_folder(source, tmp_path, model):
    def begin_another(*_: object) -> None:
        with pytest.raises(OutputError, match=r"another run is writing .*out"):
            score_folder(source, tmp_path / "out", model, REQUEST, resume=True)

    score_folder(source, tmp_path / "out", model, REQUEST, on_table=begin_another)


def test_tables_that_fail_do_not_stop_the_others(source, tmp_path, model, expected):
    (source / "torn.csv.gz").write_bytes(gzip.compress(b"id,text\n1,Camden\n")[:-8])
    (source / "other.csv").write_text("id,words\n1,x\n2,y\n")
    with pytest.raises(
        OutputError, match=r"^2 of 5 tables failed, .*: other\.csv: .* no column 'text'.*; torn\.csv\.gz: "
    ) as error:
        score_folder(source, tmp_path / "out", model, REQUEST)
    assert error.value.code == "parts_failed"
    assert files(tmp_path / "out") == expected


def test_what_is_wrong_with_the_request_is_found_before_anything_is_written(source, tmp_path, model):
    with pytest.raises(DataError, match="has no column 'body'; it has id, text"):
        score_folder(source, tmp_path / "out", model, Request(targets={"A": ()}, text_column="body"))
    with pytest.raises(DataError, match="does not know the aspect 'prices'"):
        score_folder(source, tmp_path / "out", model, Request(targets={"A": ()}, aspects=["prices"]))
    assert not (tmp_path / "out").exists()


# ---- processes that are killed: the pool's own are told to by files, and kill themselves at a counted row


class Deadly(ModelChoice):
    """A model whose process dies when the large table has come so far, while there is a file that says so."""

    def load(self) -> Predictor:
        plain, marks = score_table, Path(os.environ["DEATHS"])

        def die(progress: Progress) -> None:
            if progress.counts.rows > 100 and (mark := next(marks.iterdir(), None)):
                mark.unlink()
                os.kill(os.getpid(), signal.SIGKILL)

        def deadly(source: Path, *arguments: object, **options: object) -> Progress:
            return plain(source, *arguments, **options | ({"on_progress": die} if source.name == "large.csv" else {}))

        if multiprocessing.parent_process() is not None:
            folders.score_table = deadly
        return super().load()


@pytest.fixture
def deaths(tmp_path, monkeypatch):
    (tmp_path / "deaths").mkdir()
    monkeypatch.setenv("DEATHS", str(tmp_path / "deaths"))
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(Path(__file__).parent), os.environ.get("PYTHONPATH", "")]))

    def die(times: int) -> None:
        for number in range(times):
            (tmp_path / "deaths" / str(number)).touch()

    return die


def test_a_process_that_is_killed_costs_nothing_but_time(source, tmp_path, model, expected, deaths):
    deaths(1)
    result = score_folder(source, tmp_path / "out", Deadly(*model), REQUEST, workers=2)
    assert files(tmp_path / "out") == expected
    assert (result.done, result.failed) == (3, {})
    assert not list((tmp_path / "deaths").iterdir())


def test_a_table_that_is_always_killed_is_given_up_and_can_be_resumed(source, tmp_path, model, expected, deaths):
    deaths(2)
    with pytest.raises(OutputError, match=r"^1 of 3 tables failed, .*: large\.csv: its process died$"):
        score_folder(source, tmp_path / "out", Deadly(*model), REQUEST, workers=2)
    assert score_folder(source, tmp_path / "out", model, REQUEST, resume=True).skipped == 2
    assert files(tmp_path / "out") == expected
