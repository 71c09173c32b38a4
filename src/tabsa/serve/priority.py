"""Small work first: what the model computes for large work takes the time that small work leaves.

The system's own priorities of threads are not used: only Linux has them, and CPython hands its lock over to whoever
asked for it, so a thread of low rank that gets no core can keep the others waiting.
"""

import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Final, ParamSpec, TypeVar

from tabsa.models.onnx.session import run_graphs_with
from tabsa.serve.averages import moved

Given = ParamSpec("Given")
Result = TypeVar("Result")
_OVER: Final = 1.0  # seconds over which it is known how much time small work leaves
_LEAST: Final = 0.15  # of the time, that large work has where small work leaves none
_LOOK: Final = 0.02  # seconds after which large work that waits looks whether small work has ended


class Priority:
    """Of the work in one process.

    Args:
        places: how many runs of large work there are at a time.
        clock: seconds.
        sleep: waits for some seconds.
    """

    def __init__(
        self,
        places: int = 1,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._places = threading.Semaphore(places)
        self._clock, self._sleep, self._lock = clock, sleep, threading.Lock()
        self._small, self._share, self._changed = 0, 0.0, clock()  # small work now; its share of late, as of when
        self._took = self._ended = 0.0  # of the last large work

    @contextmanager
    def small(self) -> Iterator[None]:
        """Around small work."""
        self._count(1)
        try:
            yield
        finally:
            self._count(-1)

    def _count(self, more: int) -> None:
        with self._lock:
            self._share, self._changed = self._small_share(), self._clock()
            self._small += more

    def _small_share(self) -> float:
        """Of the last time, how much was for small work."""
        return moved(self._share, min(1, self._small), self._clock() - self._changed, _OVER)

    def run(self, call: Callable[Given, Result], *args: Given.args, **kwargs: Given.kwargs) -> Result:
        """Do a piece of large work when its time has come."""
        with self._places:
            while (seconds := self._wait_seconds()) > 0:
                self._sleep(min(seconds, _LOOK))
            started = self._clock()
            try:
                return call(*args, **kwargs)
            finally:
                with self._lock:
                    self._ended = self._clock()
                    self._took = self._ended - started

    def _wait_seconds(self) -> float:
        """How long large work has to wait, so that it has its share and no more."""
        with self._lock:
            share = max(_LEAST, 1 - self._small_share())
            return self._ended + self._took * (1 / share - 1) - self._clock()

    def threads(self, count: int, name: str) -> ThreadPoolExecutor:
        """Threads for large work."""
        return ThreadPoolExecutor(count, name, run_graphs_with, (self.run,))
