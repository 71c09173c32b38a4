"""Runs cases in a process of its own, which may hang or die of one."""

import contextlib
import ctypes
import gc
import os
import random
import resource
import time
import warnings
from multiprocessing.connection import Connection
from pathlib import Path

from fuzz.cases import REFUSED, SLOW_SECONDS, Case, Ended, Kind, check_refusal, told
from fuzz.kinds import runs
from tabsa.errors import TabsaError

_MOST_MEMORY = 4 << 30  # beyond what a worker starts with: a case that asks for more is a finding, not a dead machine


def work(pipe: Connection, kind: str, models: Path, scratch: Path) -> None:
    """Run every case that comes, until None does; tells how each ended, and the memory where it is asked for ("")."""
    scratch.mkdir(parents=True, exist_ok=True)
    os.chdir(scratch)
    log = os.open(scratch / "stderr.txt", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.dup2(log, 2)  # what libraries say on their own
    warnings.simplefilter("ignore")
    runner = runs(kind)(models, scratch)
    _limit_memory()
    while (case := pipe.recv()) is not None:
        pipe.send(resident() if case == "" else run(runner, case))


def run(runner: Kind, case: Case) -> Ended:
    """How a case ends; one that takes long is run again, because something else may have been in its way."""
    ended = _run(runner, case)
    if not ended.finding and ended.seconds > SLOW_SECONDS:
        ended = _run(runner, case)
        if not ended.finding and ended.seconds > SLOW_SECONDS:
            return Ended(ended.outcome, ended.seconds, f"took {ended.seconds:.1f} s of the processor", "slow")
    return ended


def _run(runner: Kind, case: Case) -> Ended:
    random.seed(0)
    start, finding = time.process_time(), ("", "")
    outcome = "broken"
    try:
        try:
            outcome = runner.run(case)
        except TabsaError as error:
            check_refusal(error)
            outcome = REFUSED
    except Exception as error:  # whatever it is, it is what is looked for
        finding = told(error)
    return Ended(outcome, time.process_time() - start, *finding)


def _limit_memory() -> None:
    now = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (now + _MOST_MEMORY, now + _MOST_MEMORY))


def resident() -> int:
    """Bytes of memory in use, less what could be given back."""
    gc.collect()
    with contextlib.suppress(OSError):  # another C library
        ctypes.CDLL("libc.so.6").malloc_trim(0)
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()
