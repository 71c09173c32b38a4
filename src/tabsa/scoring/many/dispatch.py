"""Which part is scored next, and what becomes of it; who scores it is the pool's business."""

import time
from collections import Counter, deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final, Protocol

from tabsa.errors import ConfigError
from tabsa.inference import Predictor
from tabsa.scoring import Counts
from tabsa.scoring.many.parts import Part
from tabsa.scoring.many.worker import Job, Kind, Outcome, Worker

ATTEMPTS: Final = 3  # of a part, before the job goes on without it
# Seconds before a part is tried again: a worker that lost its cluster takes some to notice and let go of the part.
PAUSE: Final = 5.0


@dataclass(frozen=True, slots=True)
class Standing:
    """How far a job is."""

    parts: int
    done: int
    failed: int
    rows: int  # of the parts that are done
    share: float  # of the input's bytes, those of parts that are done or failed, from 0 to 1


class Pool(Protocol):
    """Workers, each of which scores one part at a time."""

    def idle(self) -> int:
        """How many parts could be started now."""

    def start(self, part: Part) -> None:
        """Give a part to an idle worker."""

    def wait(self) -> Sequence[Outcome]:
        """Wait for something to happen; gives the parts that ended meanwhile, which may be none."""

    def close(self) -> None:
        """Let the workers go, at once."""


class LocalPool:
    """One worker: this process."""

    def __init__(self, job: Job, predictor: Predictor) -> None:
        self._worker = Worker(job.plain(), predictor)
        self._part: Part | None = None

    def idle(self) -> int:
        """See `Pool`."""
        return int(self._part is None)

    def start(self, part: Part) -> None:
        """See `Pool`."""
        self._part = part

    def wait(self) -> Sequence[Outcome]:
        """See `Pool`."""
        if self._part is None:
            return ()
        part, self._part = self._part, None
        return (outcome_of(part, self._worker.score(asdict(part))),)

    def close(self) -> None:
        """See `Pool`."""


def outcome_of(part: Part, result: dict[str, Any]) -> Outcome:
    """What a worker said about a part."""
    return Outcome(part, Kind(result["kind"]), result["why"], Counts(**result["counts"]), result["seconds"])


def dispatch(
    parts: Iterable[Part],
    pool: Pool,
    on_end: Callable[[Outcome], None],
    on_retry: Callable[[Outcome], None] = lambda _: None,
) -> None:
    """Have all parts scored, the largest first, so that none of them is waited for alone at the end.

    A part that failed waits a little, and then behind the others; after three failures it is given up.

    Args:
        parts: what to score.
        pool: who scores it.
        on_end: called with how each part ended: done, refused, or failed for good.
        on_retry: called with each failure that is not the last.

    Raises:
        ConfigError: no part can be scored; why is in its message.
    """
    waiting = deque(sorted(parts, key=lambda part: (-part.bytes, part.name)))
    resting: deque[tuple[float, Part]] = deque()  # until when, by the clock
    running = 0
    failures: Counter[str] = Counter()
    while waiting or running or resting:
        if resting and not (waiting or running):
            time.sleep(max(0.0, resting[0][0] - time.monotonic()))
        while resting and resting[0][0] <= time.monotonic():
            waiting.append(resting.popleft()[1])
        while waiting and pool.idle():
            pool.start(waiting.popleft())
            running += 1
        for outcome in pool.wait():
            running -= 1
            if outcome.kind is Kind.STOP:
                raise ConfigError(outcome.why)
            failures[outcome.part.name] += outcome.kind is Kind.FAILED
            if outcome.kind is Kind.FAILED and failures[outcome.part.name] < ATTEMPTS:
                resting.append((time.monotonic() + PAUSE, outcome.part))
                on_retry(outcome)
            else:
                on_end(outcome)
