"""The requests of many clients in few model calls.

There are three lines, each with a thread: small requests, large ones, and evidence, which costs several readings. So
nobody who asks little waits for what others ask at length; what the model computes for the last two waits for the first
(`priority.py`). In each line clients take turns (`lane.py`).
"""

import asyncio
import contextlib
from collections.abc import Sequence

from tabsa.inference.predictor import Predictor
from tabsa.serve.asked import BatchAnswer, Question, WaitingRequest, WaitingText
from tabsa.serve.balance import Balance
from tabsa.serve.lane import Lane
from tabsa.serve.metrics import Metrics
from tabsa.serve.priority import Priority
from tabsa.serve.problems import busy
from tabsa.serve.settings import Settings
from tabsa.serve.turns import FairLine

__all__ = ["BatchAnswer", "Batcher", "Question"]


class Batcher:
    """Reads texts for whoever asks; to be used from one event loop."""

    def __init__(
        self,
        predictor: Predictor,
        settings: Settings,
        metrics: Metrics,
        priority: Priority | None = None,
        balance: Balance | None = None,
    ) -> None:
        priority = priority or Priority()
        self._predictor, self._settings, self._metrics = predictor, settings, metrics
        self._balance = balance or Balance()
        self._quick = Lane(predictor, settings, metrics, self._end, priority, small=True)
        self._large = Lane(predictor, settings, metrics, self._end, priority, small=False)
        self._to_explain: FairLine[WaitingText] = FairLine(lambda text: len(text.question.text) + 1)
        self._explainable = asyncio.Event()  # whether there is something to explain
        self._explainer = priority.threads(1, "evidence")
        self.waiting = 0  # texts without an answer, in a line or being read

    def start(self) -> None:
        """Begin to read."""
        for lane in (self._quick, self._large):
            lane.start()
        self._task = asyncio.create_task(self._explain_on())

    async def stop(self) -> None:
        """Stop, once everything in the lines has its answer."""
        while self.waiting and self.alive:
            await asyncio.sleep(0.01)
        self._task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await self._task
        for lane in (self._quick, self._large):
            await lane.stop()
        self._explainer.shutdown()

    @property
    def alive(self) -> bool:
        """Whether questions are being answered."""
        return self._quick.alive and self._large.alive and not self._task.done()

    @property
    def full(self) -> bool:
        """Whether another question would be refused."""
        return self.waiting >= self._settings.max_waiting

    async def ask(self, questions: Sequence[Question], client: str = "") -> list[BatchAnswer]:
        """The answers, in order; raises a Problem at once where too much is waiting.

        `client` is who asks: those that ask much do not keep the others waiting.
        """
        if self.waiting + len(questions) > self._settings.max_waiting:
            raise busy("too many texts are waiting; come again in a moment")
        request = WaitingRequest(client, questions, asyncio.get_running_loop().create_future())
        small = self._is_small(questions)
        lane = self._quick if small else self._large
        lane.add(request)
        self._count(len(questions))
        try:
            with self._balance.under_way() if small else contextlib.nullcontext():
                return await request.future
        finally:
            lane.forget(request)
            self._to_explain.drop(client, request)
            self._count(-request.left)
            request.left = 0

    def _is_small(self, questions: Sequence[Question]) -> bool:
        """Whether a request is read before large ones; what its work comes to is known only when it is cut."""
        characters = sum(len(question.text) for question in questions)
        opinions = sum(
            max(1, len(question.finder.names)) * len(question.aspects or self._predictor.aspects)
            for question in questions
        )
        return characters <= self._settings.small_characters and opinions <= self._settings.small_opinions

    def _count(self, more: int) -> None:
        self.waiting += more
        self._metrics.waiting.set(self.waiting)

    async def _explain_on(self) -> None:
        loop = asyncio.get_running_loop()
        while True:
            await self._explainable.wait()
            text = self._to_explain.take()
            if text is None:
                self._explainable.clear()
                continue
            await loop.run_in_executor(self._explainer, _explain, text)
            self._end(text)

    def _end(self, text: WaitingText) -> None:
        """A text has been read, or cannot be."""
        request = text.request
        if request.future.done():  # whoever asked is gone
            return
        if text.error is not None:
            request.future.set_exception(text.error)
        elif text.answer is not None and text.question.of is not None and text.answer.evidence is None:
            self._to_explain.add(request.client, request, [text])
            self._explainable.set()
        else:
            self._metrics.texts.inc()
            request.left -= 1
            self._count(-1)
            if not request.left:
                request.future.set_result([one.answer for one in request.texts if one.answer is not None])


def _explain(text: WaitingText) -> None:
    """In the thread for evidence."""
    answer, of = text.answer, text.question.of
    try:
        if answer is not None and of is not None:
            text.answer = answer._replace(evidence=answer.prediction.evidence(*of))
    except Exception as error:
        text.error = error
