"""Who runs graphs: the thread that asks, at once, unless it was told of somebody who decides when."""

import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tabsa.errors import ModelError
from tabsa.inference.predictor import load
from tabsa.models.onnx.session import run_graph, run_graphs_with, running, side_by_side


class Runner:
    """Notes who asks, and runs."""

    def __init__(self):
        self.asked = []

    def __call__(self, call, *args, **kwargs):
        self.asked.append(threading.current_thread().name)
        return call(*args, **kwargs)


def told(runner: Runner, call):
    """What a call gives in a thread that was told of a runner."""
    with ThreadPoolExecutor(1, "asking", run_graphs_with, (runner,)) as asking:
        return asking.submit(call).result()


def test_a_graph_is_run_by_whom_the_thread_was_told():
    runner = Runner()
    assert run_graph(divmod, 7, 2) == (3, 1)
    assert runner.asked == []
    assert told(runner, lambda: run_graph(divmod, 7, 2)) == (3, 1)
    assert runner.asked == ["asking_0"]
    assert run_graph(divmod, 7, 2) == (3, 1)
    assert runner.asked == ["asking_0"]  # nobody else was told


@pytest.mark.parametrize("count", [0, 1, 2, 7])
@pytest.mark.parametrize("threads", [1, 3])
def test_side_by_side_is_in_order_and_knows_who_runs_graphs(count, threads):
    def asked() -> list[int]:
        return side_by_side(lambda item: run_graph(pow, item, 2), range(count), threads)

    runner = Runner()
    assert asked() == [item**2 for item in range(count)]
    assert told(runner, asked) == [item**2 for item in range(count)]
    assert len(runner.asked) == count


def test_what_a_runner_raises_is_one_line():
    def fail() -> None:
        raise RuntimeError("first line\nsecond line")

    def ask() -> None:
        with running(Path("a.onnx")):
            run_graph(fail)

    with pytest.raises(ModelError, match=r"^a.onnx cannot be run \(first line\)$"):
        told(Runner(), ask)


@pytest.mark.parametrize("model", ["reader", "places"])
@pytest.mark.parametrize("threads", [1, 2])
def test_every_run_of_a_reading_is_asked_for_and_answers_stay_the_same(model, threads):
    texts = [f"Camden is {word} and Leeds is not ." * times for word in ("dear", "loud") for times in (1, 30)]
    predictor, runner = load(model, threads=threads), Runner()
    plain = [found.to_dict() for found in predictor.predict_many(texts, ["Camden", "Leeds"])]
    found = told(runner, lambda: [one.to_dict() for one in predictor.predict_many(texts, ["Camden", "Leeds"])])
    assert found == plain
    assert len(runner.asked) >= (2 if model == "reader" else 1)
