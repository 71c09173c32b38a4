"""Workers that share the load: a connection stays with whoever accepted it, however busy that one is.

All clients of a worker that died come back at once, to those that are left, and would stay there; so a worker that is
busier than another closes some of its connections, each with an answer that says so. The client connects again, as it
would after any answer with `Connection: close`, and whoever is free accepts.
"""

import math
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final

from tabsa.serve.averages import moved

_SECONDS: Final = 0.5  # over which requests under way are averaged: those of a moment say little
_MORE: Final = 1.5  # requests that a worker has more than another, before it lets a client go
_PAUSE: Final = 0.1  # seconds between two clients that it lets go, so that each is counted where it went
_FIELDS: Final = 3  # of each worker: the average, of when, and what is under way


class Balance:
    """How many small requests each worker has under way, in memory that all share.

    Args:
        workers: how many there are.
        context: of `multiprocessing`, which makes the memory; not needed for one worker.
        clock: a clock that all processes share.
    """

    def __init__(self, workers: int = 1, context: Any = None, clock: Callable[[], float] = time.monotonic) -> None:
        self._cells = [0.0] * _FIELDS if context is None else context.RawArray("d", _FIELDS * workers)
        self._workers, self._own, self._clock = workers, 0, clock
        self._let_go = -math.inf

    def expect(self, worker: int) -> None:
        """A worker is about to be started; until it is there, nobody is sent to it."""
        self._set(worker, math.inf, math.inf)

    def begin(self, worker: int) -> None:
        """In a worker: it is this one."""
        self._own = worker

    def open(self) -> None:
        """This worker is there now."""
        self._set(self._own, 0.0, 0.0)

    @contextmanager
    def under_way(self) -> Iterator[None]:
        """Around a small request."""
        self._count(1)
        try:
            yield
        finally:
            self._count(-1)

    def lets_go(self) -> bool:
        """Whether the client that has just asked should go elsewhere afterwards."""
        if self._workers < 2:
            return False
        own, *others = (self._mean(n) for n in (self._own, *(n for n in range(self._workers) if n != self._own)))
        now = self._clock()
        if own - min(others) < _MORE or now - self._let_go < _PAUSE:
            return False
        self._let_go = now
        return True

    def _count(self, more: int) -> None:
        self._set(self._own, self._mean(self._own), self._cells[_FIELDS * self._own + 2] + more)

    def _mean(self, worker: int) -> float:
        """An exponential moving average, as it is now."""
        mean, then, count = self._cells[_FIELDS * worker : _FIELDS * (worker + 1)]
        if math.isinf(count):
            return math.inf
        return moved(mean, count, self._clock() - then, _SECONDS)

    def _set(self, worker: int, mean: float, count: float) -> None:
        self._cells[_FIELDS * worker : _FIELDS * (worker + 1)] = [mean, self._clock(), count]
