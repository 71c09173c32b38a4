"""The requests of many clients in one model call.

Texts wait in a line, and one thread reads them, as many at a time as there are up to `batch_texts`. While it reads,
more gather. Only when the last call had company does the next one wait a moment (`batch_window_ms`) for stragglers, so
that a lone client never waits. What is read beside a text does not change its answer (see `Engine.read_passages`).
"""

import asyncio
import contextlib
import time
from collections import deque
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple, TypeAlias

from tabsa.inference import Evidence, Prediction, Predictor
from tabsa.schema import UNNAMED, Target
from tabsa.serve.metrics import Metrics
from tabsa.serve.problems import busy
from tabsa.serve.settings import Settings
from tabsa.text import TargetFinder, all_targets


class Question(NamedTuple):
    """One text, who may be judged in it, and on what."""

    text: str
    finder: TargetFinder  # of no names: what the text is about and does not name is asked about
    explain: bool = False
    aspects: tuple[str, ...] | None = None  # the model's own by default
    implied: bool = False  # whether a text that does not name a target is about it
    of: tuple[str, str] | None = None  # the target and aspect whose answer is looked into


class BatchAnswer(NamedTuple):
    """What is said of every target, and where the text mentions them."""

    prediction: Prediction
    found: tuple[Target, ...]
    evidence: Evidence | None = None


_Future: TypeAlias = "asyncio.Future[BatchAnswer]"


class Batcher:
    """Reads texts for whoever asks, in one thread; to be used from one event loop."""

    def __init__(self, predictor: Predictor, settings: Settings, metrics: Metrics) -> None:
        self._predictor, self._metrics = predictor, metrics
        self._most, self._texts = settings.max_waiting, settings.batch_texts
        self._window = settings.batch_window_ms / 1000
        self._line: deque[tuple[Question, _Future]] = deque()
        self._some = asyncio.Event()  # is in the line
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="model")
        self.waiting = 0  # texts without an answer, in the line or being read

    def start(self) -> None:
        """Begin to read."""
        self._task = asyncio.create_task(self._read_on())

    async def stop(self) -> None:
        """Stop, once everything in the line has its answer."""
        while self.waiting and not self._task.done():
            await asyncio.sleep(0.01)
        self._task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await self._task
        self._thread.shutdown()

    @property
    def alive(self) -> bool:
        """Whether questions are being answered."""
        return not self._task.done()

    @property
    def full(self) -> bool:
        """Whether another question would be refused."""
        return self.waiting >= self._most

    async def ask(self, questions: Sequence[Question]) -> list[BatchAnswer]:
        """The answers, in order; raises a Problem at once where too much is waiting."""
        if self.waiting + len(questions) > self._most:
            raise busy("too many texts are waiting; come again in a moment")
        loop = asyncio.get_running_loop()
        futures: list[_Future] = [loop.create_future() for _ in questions]
        self._line.extend(zip(questions, futures, strict=True))
        self._count(len(questions))
        self._some.set()
        return await asyncio.gather(*futures)

    def _count(self, more: int) -> None:
        self.waiting += more
        self._metrics.waiting.set(self.waiting)

    async def _read_on(self) -> None:
        loop = asyncio.get_running_loop()
        crowd = False
        while True:
            await self._some.wait()
            if crowd and self._window and len(self._line) < self._texts:
                await asyncio.sleep(self._window)
            batch = [self._line.popleft() for _ in range(min(len(self._line), self._texts))]
            if not self._line:
                self._some.clear()
            crowd = len(batch) > 1
            answers = await loop.run_in_executor(self._thread, self._answers, [question for question, _ in batch])
            for (_, future), answer in zip(batch, answers, strict=True):
                if future.done():  # whoever asked is gone
                    continue
                if isinstance(answer, BatchAnswer):
                    future.set_result(answer)
                else:
                    future.set_exception(answer)
            self._count(-len(batch))

    def _answers(self, questions: Sequence[Question]) -> Sequence[BatchAnswer | Exception]:
        """In the model's thread: read together or, should that fail, one by one, so that a failure is its own only."""
        try:
            return self._read(questions)
        except Exception as error:
            if len(questions) == 1:
                return [error]
            return [answer for question in questions for answer in self._answers([question])]

    def _asked_of(self, question: Question, found: tuple[Target, ...]) -> tuple[Target, ...]:
        if question.implied:
            return self._predictor.implied_targets(question.finder.names, found)
        return all_targets(question.finder.names, found)

    def _read(self, questions: Sequence[Question]) -> list[BatchAnswer]:
        started = time.perf_counter()
        found = [question.finder.find(question.text) for question in questions]
        targets_of_each = [
            self._asked_of(question, targets) or (Target(UNNAMED, implied=True),)
            for question, targets in zip(questions, found, strict=True)
        ]
        predictions = self._predictor.predict_many(
            [question.text for question in questions],
            targets_of_each=targets_of_each,
            aspects_of_each=[question.aspects for question in questions],
            explain=any(question.explain or question.of for question in questions),
        )
        answers = [
            BatchAnswer(prediction, targets, prediction.evidence(*question.of) if question.of else None)
            for question, prediction, targets in zip(questions, predictions, found, strict=True)
        ]
        self._metrics.texts.inc(len(questions))
        self._metrics.batch.observe(len(questions))
        self._metrics.model.observe(time.perf_counter() - started)
        return answers
