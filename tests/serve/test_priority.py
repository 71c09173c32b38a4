"""Small work first: what large work gets, on a clock that only the work itself moves."""

import random
import threading

import pytest

from tabsa.models.onnx.session import run_graph
from tabsa.serve.averages import moved
from tabsa.serve.priority import Priority

LEAST = 0.15  # of the time, that large work has in any case


class Clock:
    """Time goes on where somebody works or sleeps."""

    def __init__(self) -> None:
        self.now = 50.0

    def __call__(self) -> float:
        return self.now

    def go(self, seconds: float) -> None:
        self.now += seconds


@pytest.fixture
def clock() -> Clock:
    return Clock()


def test_a_moving_average_is_that_of_its_definition():
    """Against small steps of d average / dt = (value - average) / over."""
    chance, average, slow = random.Random(2), 0.0, 0.0
    for _ in range(50):
        value, seconds, over = chance.uniform(0, 5), chance.uniform(0, 2), chance.uniform(0.3, 2)
        for _ in range(5000):
            slow += seconds / 5000 * (value - slow) / over
        average = moved(average, value, seconds, over)
        assert average == pytest.approx(slow, rel=1e-2, abs=1e-3)


def test_large_work_alone_never_waits(clock):
    priority = Priority(1, clock, lambda _: pytest.fail("it waits"))
    for _ in range(10):
        assert priority.run(divmod, 7, 2) == (3, 1)
        priority.run(clock.go, 0.1)


@pytest.mark.parametrize("small", [0.0, 0.3, 0.6, 0.8, 1.0])
def test_large_work_has_what_small_work_leaves_and_a_bit_in_any_case(clock, small):
    """Small work takes a share of every 20 ms, whether or not large work is done beside it."""
    doing = None

    def go(seconds: float) -> None:
        nonlocal doing
        end = clock.now + seconds
        while clock.now < end - 1e-9:
            wanted = small > 0 and (clock.now % 0.02) / 0.02 < small
            if wanted and doing is None:
                doing = priority.small()
                doing.__enter__()
            elif not wanted and doing is not None:
                doing.__exit__(None, None, None)
                doing = None
            clock.go(0.001)

    priority = Priority(1, clock, go)
    go(5)
    start, worked = clock.now, 0.0
    while clock.now < start + 60:
        priority.run(go, 0.05)
        worked += 0.05
    assert worked / (clock.now - start) == pytest.approx(max(LEAST, 1 - small), abs=0.05)


def test_large_work_goes_on_soon_after_small_work_has_ended(clock):
    slept = []

    def sleep(seconds: float) -> None:
        slept.append(seconds)
        clock.go(seconds)

    priority = Priority(1, clock, sleep)
    with priority.small():
        clock.go(20)
        priority.run(clock.go, 10.0)  # of which it would wait for nearly a minute
    priority.run(clock.go, 0.1)
    assert 0 < sum(slept) < 5


def test_only_so_much_large_work_is_done_at_a_time():
    priority, inside, most = Priority(2), 0, 0
    lock, both = threading.Lock(), threading.Barrier(2)

    def work() -> None:
        nonlocal inside, most
        with lock:
            inside += 1
            most = max(most, inside)
        both.wait(10)
        with lock:
            inside -= 1

    with priority.threads(6, "large") as threads:
        for done in [threads.submit(run_graph, work) for _ in range(6)]:
            done.result()
    assert most == 2


def test_what_fails_makes_room(clock):
    priority = Priority(1, clock, clock.go)
    for _ in range(3):
        with pytest.raises(ZeroDivisionError):
            priority.run(divmod, 1, 0)
    with pytest.raises(ValueError, match="x"), priority.small():
        raise ValueError("x")
    assert priority.run(divmod, 7, 2) == (3, 1)
