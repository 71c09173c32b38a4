"""The order of parts, retries and stops, with workers that only pretend."""

import random
from collections import Counter
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tabsa.errors import ConfigError
from tabsa.scoring.many.dispatch import ATTEMPTS, dispatch
from tabsa.scoring.many.parts import Part
from tabsa.scoring.many.worker import Kind, Outcome


@pytest.fixture(autouse=True, scope="module")
def no_pause():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("tabsa.scoring.many.dispatch.PAUSE", 0.0)
        yield


class FakePool:
    """Workers that end parts in a random order, as `end` says; `end` is given a part and which attempt it is."""

    def __init__(self, workers: int, end: Callable[[Part, int], Kind] = lambda *_: Kind.DONE, seed: int = 0) -> None:
        self.workers, self._end, self._random = workers, end, random.Random(seed)
        self.running: list[Part] = []
        self.started: list[str] = []

    def idle(self) -> int:
        return self.workers - len(self.running)

    def start(self, part: Part) -> None:
        assert self.idle()
        self.running.append(part)
        self.started.append(part.name)

    def wait(self) -> list[Outcome]:
        assert self.running, "waits for nothing"
        if self._random.random() < 0.3:
            return []
        part = self.running.pop(self._random.randrange(len(self.running)))
        kind = self._end(part, self.started.count(part.name))
        return [Outcome(part, kind, "" if kind is Kind.DONE else f"{part.name} is {kind}")]

    def close(self) -> None: ...


def parts_of(*sizes: int) -> list[Part]:
    return [Part(f"{n}.csv", f"/in/{n}.csv", f"/out/{n}.csv", size, 0) for n, size in enumerate(sizes)]


def test_the_largest_goes_first():
    pool = FakePool(1)
    dispatch(parts_of(3, 9, 5, 9), pool, lambda _: None)
    assert pool.started == ["1.csv", "3.csv", "2.csv", "0.csv"]


@given(st.lists(st.integers(0, 99), max_size=20), st.integers(1, 5), st.integers(0, 99), st.data())
def test_every_part_ends_once_whatever_fails(sizes, workers, seed, data):
    parts = parts_of(*sizes)
    failing = {part.name: data.draw(st.integers(0, 5)) for part in parts}  # this many first attempts
    pool = FakePool(workers, lambda part, n: Kind.FAILED if n <= failing[part.name] else Kind.DONE, seed)
    ended: list[Outcome] = []
    retried: list[Outcome] = []
    dispatch(parts, pool, ended.append, retried.append)
    assert Counter(outcome.part for outcome in ended) == Counter(parts)
    for outcome in ended:
        times = failing[outcome.part.name]
        assert outcome.kind is (Kind.FAILED if times >= ATTEMPTS else Kind.DONE)
        assert pool.started.count(outcome.part.name) == min(times + 1, ATTEMPTS)
    assert len(retried) == sum(min(times, ATTEMPTS - 1) for times in failing.values())


def test_a_part_that_failed_waits_for_the_others():
    pool = FakePool(1, lambda part, n: Kind.FAILED if part.bytes == 9 and n == 1 else Kind.DONE)
    dispatch(parts_of(9, 5, 1), pool, lambda _: None)
    assert pool.started == ["0.csv", "1.csv", "2.csv", "0.csv"]


def test_a_bad_table_is_not_tried_again():
    pool = FakePool(2, lambda part, _: Kind.REFUSED if part.bytes == 9 else Kind.DONE)
    ended: list[Outcome] = []
    dispatch(parts_of(9, 5, 1), pool, ended.append)
    assert sorted(pool.started) == ["0.csv", "1.csv", "2.csv"]
    assert {outcome.part.name: str(outcome.kind) for outcome in ended}["0.csv"] == "refused"


def test_what_no_part_can_do_stops_the_job_at_once():
    pool = FakePool(1, lambda part, _: Kind.STOP if part.bytes == 5 else Kind.DONE)
    with pytest.raises(ConfigError, match=r"^1\.csv is stop$"):
        dispatch(parts_of(9, 5, 1), pool, lambda _: None)
    assert pool.started == ["0.csv", "1.csv"]


def test_no_more_than_the_workers_are_given_parts():
    pool = FakePool(3)
    seen: list[int] = []
    wait = pool.wait
    pool.wait = lambda: (seen.append(len(pool.running)), wait())[1]
    dispatch(parts_of(*range(20)), pool, lambda _: None)
    assert max(seen) == 3


def test_a_part_that_failed_rests_while_others_go_on(monkeypatch):
    now, slept = [100.0], []
    monkeypatch.setattr("tabsa.scoring.many.dispatch.PAUSE", 5.0)
    monkeypatch.setattr("time.monotonic", lambda: now[0])
    monkeypatch.setattr("time.sleep", lambda seconds: (slept.append(seconds), now.__setitem__(0, now[0] + seconds)))
    pool = FakePool(1, lambda part, n: Kind.FAILED if part.bytes == 9 and n < 3 else Kind.DONE)
    dispatch(parts_of(9, 5, 1), pool, lambda _: None)
    assert pool.started == ["0.csv", "1.csv", "2.csv", "0.csv", "0.csv"]
    assert slept == [5.0, 5.0]
