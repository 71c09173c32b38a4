"""Tables scored by real processes of a pool, which are killed."""

import csv
import json
import multiprocessing
import os
import signal
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tabsa.errors import OutputError
from tabsa.inference.predictor import Predictor, load
from tabsa.scoring import Request, request_identity, score
from tabsa.scoring.many import Job, Kind, LocalEngine, Outcome, score_parts

REQUEST = Request(targets={"Camden": (), "Brixton": ()}, probabilities=True, chunk=8)
TEXTS = ("Camden is nice, Brixton dear", "not cheap", "Brixton, far", "Camden is safe")
LARGE = 3000  # rows: a second or more, in chunks as small as these


@pytest.fixture(scope="module")
def model(tiny_model) -> Predictor:
    return load(tiny_model, threads=1)


@pytest.fixture(scope="module")
def job(model: Predictor) -> Job:
    return Job(REQUEST, request_identity(model, REQUEST), str(model.folder.path), threads=1)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("in")
    for name, count in (("large.csv", LARGE), ("a.csv", 60), ("b.csv", 50)):
        with (root / name).open("w", newline="") as stream:
            rows = ([n, "" if n == 7 else f"{TEXTS[n % 4]} {n}"] for n in range(count))
            csv.writer(stream).writerows([["id", "text"], *rows])
    return root


@pytest.fixture(scope="module")
def expected(folder: Path, model: Predictor, tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    out = tmp_path_factory.mktemp("alone")
    for path in folder.iterdir():
        score(path, out / path.name, model, REQUEST)
    return files(out)


def files(out: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in out.iterdir() if not path.name.startswith("_")}


class Killer(threading.Thread):
    """Kills this process's children, once each time that the large table has been taken further."""

    def __init__(self, out: Path, kills: int) -> None:
        super().__init__(daemon=True)
        self._state, self._kills, self.reached = out / "large.csv.state.json", kills, [0]

    def run(self) -> None:
        while len(self.reached) <= self._kills:
            time.sleep(0.01)
            row = json.loads(self._state.read_text())["row"] if self._state.exists() else 0
            if row > self.reached[-1]:
                self.reached.append(row)
                for child in multiprocessing.active_children():
                    os.kill(child.pid, signal.SIGKILL)


def test_a_process_that_is_killed_costs_nothing_but_time(folder, tmp_path, model, job, expected):
    killer = Killer(tmp_path / "out", kills=1)
    killer.start()
    seen: list[Outcome] = []
    engine = LocalEngine(job, model, workers=2)
    score_parts(folder, tmp_path / "out", job, model, engine, on_change=lambda _, outcome: seen.append(outcome))
    assert files(tmp_path / "out") == expected
    assert 0 < killer.reached[1] < LARGE  # it was in the middle
    assert ("large.csv", Kind.RETRIED, "its process died") in [(one.name, one.kind, one.why) for one in seen]
    assert sorted(one.name for one in seen if one.kind is Kind.DONE) == ["a.csv", "b.csv", "large.csv"]


def test_a_table_that_is_always_killed_is_given_up_and_can_be_resumed(folder, tmp_path, model, job, expected):
    out = tmp_path / "out"
    Killer(out, kills=4).start()
    only_large = lambda **options: score_parts(  # noqa: E731
        folder / "large.csv", out, job, model, LocalEngine(job, model, workers=2), **options
    )
    with pytest.raises(OutputError, match=r"^1 of 1 tables failed, .*: large\.csv: its process died") as error:
        only_large()
    assert error.value.code == "parts_failed"
    assert only_large(resume=True).counts.rows == LARGE
    assert files(out)["large.csv"] == expected["large.csv"]


def test_who_leaves_early_stops_the_processes(folder, tmp_path, model, job):
    def leave(*_: object) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        score_parts(folder, tmp_path / "out", job, model, LocalEngine(job, model, workers=2), on_change=leave)
    wait_until(lambda: not multiprocessing.active_children())
    assert not (tmp_path / "out" / "large.csv").exists()


def wait_until(condition: Callable[[], bool], seconds: float = 20) -> None:
    until = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < until
        time.sleep(0.05)
