"""Hands cases to workers, watches them, and counts; what was done is on disk, and can be taken up again."""

import json
import multiprocessing
import time
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from fuzz.cases import Case, Ended, chance_of, write_case
from fuzz.kinds import maker
from fuzz.worker import work

HANG_SECONDS = 30.0  # on the clock; a worker that says nothing for so long is ended
MOST_GROWTH = 64 << 20  # of a worker's memory, from the middle of its cases on
_KEPT = 3  # cases of one signature
_BLOCK = 250  # cases between two saves


@dataclass
class Tally:
    """What came of a kind's cases."""

    inputs: int = 0
    outcomes: dict[str, int] = field(default_factory=dict)
    seconds: float = 0.0  # of the processor
    slowest: float = 0.0
    slowest_case: str = ""
    findings: dict[str, int] = field(default_factory=dict)  # by signature
    memory: list[int] = field(default_factory=list)  # in bytes, now and then

    @property
    def growth(self) -> int:
        """Of memory, in bytes: from the middle on, when all that is kept on purpose is there."""
        return max(0, self.memory[-1] - self.memory[(len(self.memory) - 1) // 2]) if self.memory else 0

    def add(self, ended: Ended, name: str) -> None:
        """Count a case."""
        self.inputs += 1
        self.seconds += ended.seconds
        self.outcomes[ended.outcome] = self.outcomes.get(ended.outcome, 0) + 1
        if ended.seconds > self.slowest:
            self.slowest, self.slowest_case = ended.seconds, name
        if ended.signature:
            self.findings[ended.signature] = self.findings.get(ended.signature, 0) + 1


class Worker:
    """A process that runs the cases of a kind; a new one takes the place of one that died."""

    def __init__(self, kind: str, models: Path, scratch: Path, hang_seconds: float = HANG_SECONDS) -> None:
        self._given, self._patience = (kind, models, scratch), hang_seconds
        self._start()

    def _start(self) -> None:
        context = multiprocessing.get_context("spawn")
        self._pipe, theirs = context.Pipe()
        self._process = context.Process(target=work, args=(theirs, *self._given), daemon=True)
        self._process.start()
        theirs.close()
        self._fresh = True

    def run(self, case: Case) -> Ended:
        """How a case ended, also where it took the process with it."""
        start = time.monotonic()
        try:
            ended: Ended = self._ask(case)
            return ended
        except TimeoutError:
            finding = f"no end after {self._patience:.0f} s"
        except (EOFError, ConnectionError):
            self._process.join()
            finding = f"the process died (exit code {self._process.exitcode})"
        self._process.kill()
        self._process.join()
        self._start()
        return Ended("broken", time.monotonic() - start, finding, finding)

    def memory(self) -> int:
        """Bytes in use."""
        used: int = self._ask("")
        return used

    def _ask(self, what: Any) -> Any:
        self._pipe.send(what)
        if not self._pipe.poll(self._patience + (60 if self._fresh else 0)):  # a fresh one loads models first
            raise TimeoutError
        self._fresh = False
        return self._pipe.recv()

    def close(self) -> None:
        """End the process."""
        try:
            self._pipe.send(None)
            self._process.join(10)
        except OSError:
            pass
        self._process.kill()


def run_cases(
    kind: str, cases: Iterable[Case], models: Path, scratch: Path, hang_seconds: float = HANG_SECONDS
) -> Iterator[Ended]:
    """How each of some cases ends."""
    worker = Worker(kind, models, scratch, hang_seconds)
    try:
        for case in cases:
            yield worker.run(case)
    finally:
        worker.close()


def fuzz(kind: str, numbers: range, seed: int, models: Path, folder: Path, scratch: Path) -> Tally:
    """Run the cases of these numbers; goes on where an earlier run into the folder stopped."""
    folder.mkdir(parents=True, exist_ok=True)
    state = folder / f"{kind}-{seed}-{numbers.start}-{numbers.step}.json"
    tally = Tally(**json.loads(state.read_text())) if state.exists() else Tally()
    left = numbers[tally.inputs :]
    if not left:
        return tally
    make, worker = maker(kind), Worker(kind, models, scratch / f"{kind}-{numbers.start}")
    looks = {len(left) * share // 8 for share in range(1, 9)}  # at the memory
    try:
        for done, number in enumerate(left, start=1):
            case, name = make(chance_of(kind, seed, number)), f"{kind}-{seed}-{number}"
            ended = worker.run(case)
            tally.add(ended, name)
            if ended.finding and tally.findings[ended.signature] <= _KEPT:
                write_case(folder / "found" / f"{name}.json", kind, ended.finding, case)
            if done in looks:
                tally.memory.append(worker.memory())
            if done % _BLOCK == 0 or done == len(left):
                state.write_text(json.dumps(asdict(tally)))
    finally:
        worker.close()
    return tally


def joined(parts: Iterable[Tally]) -> Tally:
    """The tallies of one kind's workers as one; the memory is that of the one that grew most."""
    tallies = list(parts)
    whole = Tally(memory=max(tallies, key=lambda tally: tally.growth).memory)
    for tally in tallies:
        whole.inputs += tally.inputs
        whole.seconds += tally.seconds
        for mine, theirs in ((whole.outcomes, tally.outcomes), (whole.findings, tally.findings)):
            for name, times in theirs.items():
                mine[name] = mine.get(name, 0) + times
        if tally.slowest > whole.slowest:
            whole.slowest, whole.slowest_case = tally.slowest, tally.slowest_case
    return whole
