"""Many tables as one job, in this process: results, records, resuming, refusals."""

import csv
import gzip
import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from tabsa.errors import ConfigError, DataError, ModelError, OutputError
from tabsa.inference.predictor import Predictor, load
from tabsa.scoring import Counts, Layout, Progress, Request, request_identity, score
from tabsa.scoring.many import Job, Kind, LocalEngine, Outcome, Part, Standing, score_parts
from unchecked import unchecked

REQUEST = Request(targets={"Camden": ("NW1",), "Brixton": ()}, probabilities=True, chunk=8)
TEXTS = ("Camden is nice, Brixton dear", "not cheap", "Brixton, far", "NW1 is safe")
OURS = ("_job.json", "_parts.jsonl", "_summary.json", "_SUCCESS")


class Killed(BaseException):
    """Stands for the end of the process."""


@pytest.fixture(scope="module")
def model(tiny_model) -> Predictor:
    return load(tiny_model, threads=1)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Tables of all formats, one of them without rows, one with nothing but bad rows, one with one."""
    root = tmp_path / "in"
    (root / "sub").mkdir(parents=True)
    for name, rows in (("a.csv", 40), ("sub/b.tsv", 10), ("empty.csv", 0), ("bad.csv", 3)):
        with (root / name).open("w", newline="") as stream:
            writer = csv.writer(stream, delimiter="\t" if name.endswith("tsv") else ",")
            writer.writerow(["id", "text"])
            writer.writerows([n, "" if name == "bad.csv" else f"{TEXTS[n % 4]} {n}"] for n in range(rows))
    lines = "".join(json.dumps({"text": TEXTS[n % 4] if n != 3 else None}) + "\n" for n in range(12)).encode()
    (root / "c.jsonl").write_bytes(lines)
    (root / "sub" / "d.jsonl.gz").write_bytes(gzip.compress(lines))
    return root


def job_of(model: Predictor, request: Request = REQUEST) -> Job:
    return Job(request, request_identity(model, request), str(model.folder.path), threads=1)


def run(folder, out, model, request=REQUEST, engine=None, **options):
    job = job_of(model, request)
    return score_parts(folder, out, job, model, engine or LocalEngine(job, model), **options)


def files(folder: Path) -> dict[str, bytes]:
    found = (path for path in folder.rglob("*") if path.is_file() and path.name not in OURS)
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in found}


def scored_alone(folder: Path, out: Path, model: Predictor) -> dict[str, bytes]:
    for path in sorted(folder.rglob("*.*")):
        try:
            score(path, out / path.relative_to(folder), model, REQUEST)
        except DataError:
            assert path.name in ("empty.csv", "bad.csv")
    return files(out)


def summary(out: Path) -> dict:
    return json.loads((out / "_summary.json").read_text())


def test_each_output_is_what_its_table_gives_alone(folder, tmp_path, model):
    seen: list[Standing] = []
    ended = run(folder, tmp_path / "out", model, on_change=lambda standing, _: seen.append(standing))
    assert files(tmp_path / "out") == scored_alone(folder, tmp_path / "alone", model)
    assert {"bad.csv.rejects.jsonl", "c.jsonl.rejects.jsonl", "sub/b.tsv"} <= set(files(tmp_path / "out"))
    assert (ended.parts, ended.counts.rows, ended.counts.scored, ended.counts.rejected) == (6, 77, 72, 5)
    assert (tmp_path / "out" / "_SUCCESS").read_bytes() == b""
    summed = summary(tmp_path / "out")
    assert (summed["parts"], summed["rows"], summed["scored"], summed["rejected"], summed["failed"]) == (
        6,
        77,
        72,
        5,
        {},
    )
    assert [standing.parts for standing in seen] == [1, 2, 3, 4, 5, 6]
    assert (seen[-1].rows, seen[-1].share) == (77, 1.0)


def test_what_texts_imply_is_read_in_every_part(folder, tmp_path, model):
    implied = replace(REQUEST, implied=True)
    ended, plain = (run(folder, tmp_path / name, model, request) for name, request in (("i", implied), ("p", REQUEST)))
    score(folder / "a.csv", tmp_path / "alone.csv", model, implied)
    assert (tmp_path / "i" / "a.csv").read_bytes() == (tmp_path / "alone.csv").read_bytes()
    assert (tmp_path / "i" / "a.csv").read_bytes() != (tmp_path / "p" / "a.csv").read_bytes()
    # Every fourth row of a part, from the second on, names nobody.
    assert ended.counts.named == plain.counts.named == summary(tmp_path / "i")["named"] == 72 - (10 + 3 + 3 + 3)
    assert run(folder, tmp_path / "i", model, implied, resume=True).counts.named == 53


def test_another_format(folder, tmp_path, model):
    run(folder, tmp_path / "out", model, form="jsonl")
    assert {"a.jsonl", "sub/b.jsonl", "sub/d.jsonl"} <= set(files(tmp_path / "out"))
    assert len((tmp_path / "out" / "a.jsonl").read_text().splitlines()) == 40


class DyingEngine(LocalEngine):
    """Dies in the middle of its nth table."""

    def __init__(self, job: Job, model: Predictor, nth: int, monkeypatch: pytest.MonkeyPatch) -> None:
        super().__init__(job, model)
        self._nth, self._monkeypatch = nth, monkeypatch

    def run(self, left, records):
        def stopped(*arguments, on_progress, **options):
            def stop(progress: Progress) -> None:
                raise Killed

            return score(*arguments, on_progress=stop, **options)

        outcomes = super().run(left, records)
        for _ in range(self._nth - 1):
            yield next(outcomes)
        with self._monkeypatch.context() as patch:
            patch.setattr("tabsa.scoring.many.local.score", stopped)
            yield from outcomes


@pytest.mark.parametrize("nth", [1, 2, 3, 4])
def test_a_job_that_was_stopped_goes_on(folder, tmp_path, model, nth, monkeypatch):
    out = tmp_path / "out"
    with pytest.raises(Killed):
        run(folder, out, model, engine=DyingEngine(job_of(model), model, nth, monkeypatch))
    assert not (out / "_SUCCESS").exists()
    begun = json.loads(next(out.rglob("*.state.json")).read_text())
    assert begun["counts"]["rows"] == REQUEST.chunk
    with pytest.raises(OutputError, match=r"a job into .* was begun") as error:
        run(folder, out, model)
    assert error.value.code == "job_exists"
    tried: list[str] = []
    ended = run(folder, out, model, resume=True, on_change=lambda _, outcome: tried.append(outcome.name))
    assert len(tried) == 6 - (nth - 1)
    assert ended.counts.rows == 77
    assert files(out) == scored_alone(folder, tmp_path / "alone", model)


class IdleEngine:
    """Is not to be asked."""

    def part_rows(self, parts) -> int:
        return 0

    def run(self, left, records):
        pytest.fail("nothing is left to do")


def test_a_job_that_is_done_is_not_done_again(folder, tmp_path, model):
    out = tmp_path / "out"
    run(folder, out, model)
    with pytest.raises(OutputError, match=r"a job into .* is done") as error:
        run(folder, out, model)
    assert error.value.code == "job_exists"
    ended = run(folder, out, model, engine=IdleEngine(), resume=True)
    assert (ended.counts.rows, ended.resumed) == (77, 77)
    assert (out / "_SUCCESS").exists()
    (folder / "new.csv").write_text("text\nCamden\n")
    (out / "c.jsonl").unlink()
    tried: list[str] = []
    run(folder, out, model, resume=True, on_change=lambda _, outcome: tried.append(outcome.name))
    assert sorted(tried) == ["c.jsonl", "new.csv"]


def test_a_record_that_was_lost_costs_its_part_only(folder, tmp_path, model):
    out = tmp_path / "out"
    run(folder, out, model)
    whole = files(out)
    lines = (out / "_parts.jsonl").read_bytes().splitlines(keepends=True)
    (out / "_parts.jsonl").write_bytes(b"[]\n{}\n" + b"".join(lines[:-2]) + lines[-2][:20])
    tried: list[str] = []
    ended = run(folder, out, model, resume=True, on_change=lambda _, outcome: tried.append(outcome.name))
    assert len(tried) == 2
    assert (files(out), ended.counts.rows) == (whole, 77)
    assert len([json.loads(line) for line in (out / "_parts.jsonl").read_text().splitlines()]) == 2 + 6


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"aspects": ("price",)}, "the list of aspects"),
        ({"targets": {"Camden": ()}}, "the list of targets"),
        ({"layout": Layout.LONG}, "the layout"),
        ({"keep": ["id"]}, "the list of kept columns"),
        ({"implied": True}, "whether targets may be implied"),
    ],
)
def test_other_options_are_refused(folder, tmp_path, model, change, named):
    out = tmp_path / "out"
    run(folder, out, model)
    before = files(out)
    with pytest.raises(OutputError, match=f"cannot resume .*: {named} is not what it was when the job began") as error:
        run(folder, out, model, replace(REQUEST, **change), resume=True)
    assert error.value.code == "job_differs"
    assert files(out) == before
    with pytest.raises(OutputError, match="the format is not what it was"):
        run(folder, out, model, form="jsonl", resume=True)
    with pytest.raises(OutputError, match="the input is not what it was"):
        run(folder / "*.csv", out, model, resume=True)


def test_a_table_that_changed_is_refused(folder, tmp_path, model):
    run(folder, tmp_path / "out", model)
    (folder / "a.csv").write_text("id,text\n1,Camden\n")
    with pytest.raises(OutputError, match=r"cannot resume .*a\.csv has changed since it was scored") as error:
        run(folder, tmp_path / "out", model, resume=True)
    assert error.value.code == "job_unusable"


def test_overwrite_leaves_nothing_of_the_job_before(folder, tmp_path, model):
    out = tmp_path / "out"
    run(folder, out, model)
    (folder / "c.jsonl").unlink()
    run(folder, out, model, replace(REQUEST, layout=Layout.LONG), overwrite=True)
    assert "c.jsonl" not in files(out)
    assert "c.jsonl.rejects.jsonl" not in files(out)
    assert b"confidence" in files(out)["a.csv"]


def test_a_folder_that_is_in_use_is_left_alone(folder, tmp_path, model):
    out = tmp_path / "out"
    out.mkdir()
    (out / "thesis.txt").write_text("x")
    for options in ({}, {"resume": True}):
        with pytest.raises(OutputError, match="is not empty, and holds no job") as error:
            run(folder, out, model, **options)
        assert error.value.code == "output_exists"
    assert [path.name for path in out.iterdir()] == ["thesis.txt"]
    run(folder, out, model, overwrite=True)
    assert (out / "thesis.txt").exists()


def test_damaged_and_foreign_jobs(folder, tmp_path, model):
    out = tmp_path / "out"
    run(folder, out, model)
    for content, message in (
        ("{", "is damaged"),
        ("[1]", "is damaged"),
        ('{"format": "tabsa score job 5"}', "is damaged"),
        ('{"format": "x", "identity": {}}', "is of another version"),
        ('{"format": "tabsa score job 1", "asked": {}}', "is of another version"),
    ):
        (out / "_job.json").write_text(content)
        with pytest.raises(OutputError, match=f"_job.json {message}") as error:
            run(folder, out, model, resume=True)
        assert error.value.code == "job_unusable"


def test_two_runs_of_a_job(folder, tmp_path, model):
    fcntl = pytest.importorskip("fcntl")
    (tmp_path / "out").mkdir()
    with (tmp_path / "out" / "_parts.jsonl").open("ab") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        with pytest.raises(OutputError, match="another run is writing"):
            run(folder, tmp_path / "out", model, resume=True)


def test_a_request_that_makes_no_sense_leaves_nothing(folder, tmp_path, model):
    out = tmp_path / "out"
    for change in ({"text_column": "body"}, {"aspects": ("parking",)}):
        with pytest.raises(DataError):
            run(folder, out, model, replace(REQUEST, **change))
        assert not out.exists()


def test_bad_tables_are_named_and_the_others_done(folder, tmp_path, model):
    (folder / "broken.jsonl.gz").write_bytes(gzip.compress(b'{"text": "Camden"}\n')[:-9])
    (folder / "other.csv").write_text("body,title\nx,y\n")
    out = tmp_path / "out"
    with pytest.raises(OutputError, match=r"^2 of 8 tables failed, the others are done: broken.*; other") as error:
        run(folder, out, model)
    assert error.value.code == "parts_failed"
    assert set(summary(out)["failed"]) == {"broken.jsonl.gz", "other.csv"}
    assert not (out / "_SUCCESS").exists()
    assert summary(out)["rows"] == 77
    (folder / "broken.jsonl.gz").unlink()
    (folder / "other.csv").write_text("text\nBrixton\n")
    assert run(folder, out, model, resume=True).counts.rows == 78
    assert (out / "_SUCCESS").exists()


def test_nothing_but_bad_rows(tmp_path, model):
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.csv").write_text("id,text\n1,\n2,\n")
    with pytest.raises(DataError, match="no row was scored; 2 were rejected"):
        run(tmp_path / "in", tmp_path / "out", model)
    assert not (tmp_path / "out" / "_SUCCESS").exists()


class FailingEngine(LocalEngine):
    """Fails the tables of these names."""

    def run(self, left, records):
        for outcome in super().run(left, records):
            failed = outcome.name.startswith("z")
            yield replace(outcome, kind=Kind.FAILED, why="its process died") if failed else outcome


def test_tables_whose_processes_die_are_named_and_the_others_done(folder, tmp_path, model):
    for n in range(6):
        (folder / f"z{n}.csv").write_text("text\nCamden\n")
    named = r"6 of 12 tables failed, .*z0\.csv: its process died; .*and 1 more, in .*_summ"
    with pytest.raises(OutputError, match=named):
        run(folder, tmp_path / "out", model, engine=FailingEngine(job_of(model), model))
    assert summary(tmp_path / "out")["failed"]["z5.csv"] == "its process died"
    assert run(folder, tmp_path / "out", model, resume=True).counts.rows == 83


def test_a_table_that_cannot_be_written_is_tried_again_and_given_up(folder, tmp_path, model, monkeypatch):
    tried: list[Path] = []

    def fail(source, *_, **__):
        tried.append(source)
        raise OutputError("the disk is full")

    monkeypatch.setattr("tabsa.scoring.many.local.score", fail)
    seen: list[Outcome] = []
    with pytest.raises(OutputError, match=r"^1 of 1 tables failed, .*a\.csv: the disk is full"):
        run(folder / "a.csv", tmp_path / "out", model, on_change=lambda _, outcome: seen.append(outcome))
    assert len(tried) == 4
    assert [str(outcome.kind) for outcome in seen] == ["tried again"] * 3 + ["failed"]


# ---- the model of a worker, and its errors


def test_a_worker_with_another_model_says_so(model, tiny_model, tmp_path):
    job = job_of(model)
    assert job.load().precision == model.precision
    other = shutil.copytree(tiny_model, tmp_path / "other")
    with (unchecked(other) / "config.json").open("a") as stream:
        stream.write("\n")
    with pytest.raises(ModelError, match=r"^the model is not the same on "):
        replace(job, model=str(other)).load()


def test_what_becomes_of_errors(model, tmp_path, monkeypatch):
    (tmp_path / "a.csv").write_text("text\nx\n")
    part = Part("a.csv", str(tmp_path / "a.csv"), str(tmp_path / "out.csv"), 7, 0)
    for error, kind in (
        (DataError("one line"), Kind.REFUSED),
        (OutputError("one line"), Kind.RETRIED),
        (ConfigError("one line"), Kind.STOP),
        (MemoryError("one line"), Kind.RETRIED),
        (PermissionError("one line"), Kind.RETRIED),
    ):

        def fail(*_, error=error, **__):
            raise error

        monkeypatch.setattr("tabsa.scoring.many.local.score", fail)
        outcome = next(LocalEngine(job_of(model), model).run([part], None))
        assert outcome.kind is kind
        assert outcome.why.endswith("one line")
        assert outcome.counts == Counts()
