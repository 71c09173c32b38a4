"""Several workers: a parent that holds the socket, replaces a worker that dies or hangs, and stops them all.

A worker watches its parent in turn: where that is gone, it answers what it has taken and ends, and the port is free.
"""

import logging
import multiprocessing
import os
import signal
import socket
import threading
import time
from contextlib import suppress
from multiprocessing.connection import Connection as PipeEnd
from multiprocessing.connection import wait
from multiprocessing.process import BaseProcess
from pathlib import Path
from types import FrameType
from typing import Any, Final

import uvicorn
from uvicorn.config import STARTUP_FAILURE

from tabsa.errors import ConfigError
from tabsa.serve.balance import Balance
from tabsa.serve.folders import hold
from tabsa.serve.server import Server

_log = logging.getLogger("uvicorn.error")
_TICK_SECONDS: Final = 0.1
_BEAT_SECONDS: Final = 5
_HUNG_SECONDS: Final = 60  # a worker that is only slow, or still starting, must not be taken for dead
_LAST_SECONDS: Final = 10  # beyond the time of a stop, after which a worker is killed
# Where there are forks, workers are those of a process that has imported everything and runs no thread of ours: a new
# one takes half a second of a core, not one and a half, which the others would miss.
_FORKED: Final = "forkserver" in multiprocessing.get_all_start_methods()
CONTEXT: Final[Any] = multiprocessing.get_context("forkserver" if _FORKED else "spawn")
_STOPS: Final = [getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP", "SIGBREAK") if hasattr(signal, name)]


class _Worker:
    """One process, as its parent sees it."""

    def __init__(
        self, config: uvicorn.Config, sockets: list[socket.socket], folder: Path, balance: Balance, number: int
    ) -> None:
        theirs: PipeEnd
        balance.expect(number)
        self._beats, theirs = CONTEXT.Pipe(duplex=False)
        self.process: BaseProcess = CONTEXT.Process(
            target=_work, args=(config, sockets, folder, theirs, balance, number)
        )
        self.process.start()
        theirs.close()
        self._heard = time.monotonic()

    def is_well(self) -> bool:
        with suppress(OSError, EOFError):
            while self._beats.poll():
                self._beats.recv_bytes()
                self._heard = time.monotonic()
        return self.process.is_alive() and time.monotonic() - self._heard < _HUNG_SECONDS

    def end(self) -> None:
        self.process.kill()
        self.process.join()
        self._beats.close()


class Supervisor:
    """The parent of the workers."""

    def __init__(self, config: uvicorn.Config, listener: socket.socket, folder: Path, balance: Balance) -> None:
        self._config, self._listener, self._folder, self._balance = config, listener, folder, balance
        self._workers: list[_Worker] = []
        self._told_to_stop = False

    def run(self) -> None:
        """Until a signal.

        Raises:
            ConfigError: a worker cannot start, and so no other could.
        """
        if _FORKED:
            CONTEXT.set_forkserver_preload(["tabsa.serve.app"])
        heeded = [number for number in _STOPS if signal.getsignal(number) != signal.SIG_IGN]  # `nohup` ignores one
        before = {number: signal.signal(number, self._stop) for number in heeded}
        try:
            self._workers = [self._start(number) for number in range(self._config.workers)]
            while not self._told_to_stop:
                wait([worker.process.sentinel for worker in self._workers], _TICK_SECONDS)
                self._replace()
        finally:
            self._end()
            for number, handler in before.items():
                signal.signal(number, handler)

    def _stop(self, _: int, __: FrameType | None) -> None:
        self._told_to_stop = True

    def _start(self, number: int) -> _Worker:
        return _Worker(self._config, [self._listener], self._folder, self._balance, number)

    def _replace(self) -> None:
        for number, worker in enumerate(self._workers):
            if self._told_to_stop or worker.is_well():
                continue
            worker.end()
            if worker.process.exitcode == STARTUP_FAILURE:
                raise ConfigError("a worker of the service cannot start; its log says why")
            _log.info("Worker [%s] died; another takes its place", worker.process.pid)
            self._workers[number] = self._start(number)

    def _end(self) -> None:
        """The parent lets go of the socket first: what nobody would accept must not be connected."""
        self._listener.close()
        for worker in self._workers:
            worker.process.terminate()
        until = time.monotonic() + (self._config.timeout_graceful_shutdown or 0) + _LAST_SECONDS
        for worker in self._workers:
            worker.process.join(max(0.0, until - time.monotonic()))
            worker.end()


def _work(
    config: uvicorn.Config, sockets: list[socket.socket], folder: Path, beats: PipeEnd, balance: Balance, number: int
) -> None:
    """In a worker: all it does; `balance` is what the app and the connections in `config` have."""
    balance.begin(number)
    config.configure_logging()
    threading.Thread(target=_watch, args=(beats,), daemon=True).start()
    with suppress(KeyboardInterrupt), hold(folder):
        Server(config).run(sockets)


def _watch(beats: PipeEnd) -> None:
    """Tell the parent that this worker is there, and stop it where there is no parent any more."""
    parent = multiprocessing.parent_process()
    while parent is not None and parent.is_alive():
        with suppress(OSError):
            beats.send_bytes(b".")
        parent.join(_BEAT_SECONDS)
    os.kill(os.getpid(), signal.SIGTERM)
