"""One thread that reads texts for many clients, in fair turns.

A request's texts are first cut into what is read at once, so that the work it makes is known: word pieces to read and
questions to answer. Then they are read, a bounded piece of work a call; clients take turns, and so do the requests of
one client. While the thread reads, more gather. Only when the last call had company does the next one wait a moment
(`batch_window_ms`) for stragglers, so that a lone client never waits. What is read beside a text does not change its
answer (see `Engine.read_passages`).
"""

import asyncio
import contextlib
import math
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Final

from tabsa.inference.predictor import Predictor, Query
from tabsa.models.onnx.session import cores
from tabsa.schema import UNNAMED, Target
from tabsa.serve.asked import BatchAnswer, Question, ReadingPart, WaitingRequest, WaitingText, bunches, cut_parts
from tabsa.serve.metrics import Metrics
from tabsa.serve.priority import Priority
from tabsa.serve.settings import Settings
from tabsa.serve.turns import FairLine
from tabsa.text import all_targets

_CUT_CHARACTERS: Final = 10_000  # of texts that are cut in one turn, or one text
_LATEST: Final = 0.2  # the share of the last call in what a piece of work is taken to need
_KEPT: Final = 200_000  # word pieces that are kept cut until they are read; of more, texts are cut again


class Lane:
    """Reads what is added, in one thread; to be used from one event loop.

    Args:
        on_end: called in the event loop with each text that was read, or cannot be.
        priority: of the work in this process.
        small: whether what is read here goes before other work.
    """

    def __init__(
        self,
        predictor: Predictor,
        settings: Settings,
        metrics: Metrics,
        on_end: Callable[[WaitingText], None],
        priority: Priority,
        *,
        small: bool,
    ) -> None:
        self.predictor, self._metrics, self._on_end = predictor, metrics, on_end
        self._texts, self._window = settings.batch_texts, settings.batch_window_ms / 1000
        self._call_work, self._request_work = settings.batch_work, settings.max_work
        self._call_seconds, self._pace = settings.batch_ms / 1000 if small else math.inf, 0.0
        self._threads = settings.threads or cores()
        # The lines belong to the event loop and the thread alike.
        self._lock = threading.Lock()
        self._to_cut: FairLine[WaitingText] = FairLine(lambda text: len(text.question.text) + 1)
        self._to_read: FairLine[Sequence[ReadingPart]] = FairLine(lambda bunch: sum(part.work for part in bunch))
        self._kept = 0
        self._some = asyncio.Event()  # whether there is work
        self._first = priority.small if small else contextlib.nullcontext
        self._thread = ThreadPoolExecutor(1, "small") if small else priority.threads(1, "large")

    def start(self) -> None:
        """Begin to read."""
        self._task = asyncio.create_task(self._read_on())

    async def stop(self) -> None:
        """Stop; nobody waits any more."""
        self._task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await self._task
        self._thread.shutdown()

    @property
    def alive(self) -> bool:
        """Whether what is added is read."""
        return not self._task.done()

    def add(self, request: WaitingRequest) -> None:
        """Let a request wait for its turns."""
        with self._lock:
            self._to_cut.add(request.client, request, request.texts)
        self._some.set()

    def forget(self, request: WaitingRequest) -> None:
        """Do nothing more for a request."""
        with self._lock:
            for line in (self._to_cut, self._to_read):
                line.drop(request.client, request)
            for text in request.texts:
                self._release(text)

    def _release(self, text: WaitingText) -> None:
        self._kept -= text.kept
        text.query, text.kept = None, 0

    async def _read_on(self) -> None:
        loop = asyncio.get_running_loop()
        crowd = False
        while True:
            await self._some.wait()
            if crowd and self._window and len(self._to_cut) + len(self._to_read) < self._texts:
                await asyncio.sleep(self._window)
            ended, count = await loop.run_in_executor(self._thread, self._turn)
            crowd = count > 1
            for text in ended:
                self._on_end(text)
            with self._lock:
                if not self._to_cut and not self._to_read:
                    self._some.clear()

    def _turn(self) -> tuple[list[WaitingText], int]:
        """In the thread: cut some texts, read some parts. Gives the texts that are done, and how many were read."""
        started = time.perf_counter()
        with self._first():
            ended = self._cut_some()
            with self._lock:
                parts = self._some_parts()
            read = {part.text for part in parts}
            self._read(parts)
        ended += [text for text in read if text.done]
        count = len(read.union(text for text in ended if text.error is None))
        if count:
            self._metrics.batch.observe(count)
            self._metrics.model.observe(time.perf_counter() - started)
        return ended, count

    def _cut_some(self) -> list[WaitingText]:
        ended: list[WaitingText] = []
        characters = taken = 0
        while characters < _CUT_CHARACTERS and taken < self._texts:
            with self._lock:
                text = self._to_cut.take()
            if text is None:
                break
            characters, taken = characters + len(text.question.text), taken + 1
            request = text.request
            try:
                self._cut(text)
                parts = cut_parts(text, split=self.predictor.open_aspects)
                request.count(parts, self._request_work)
            except Exception as error:  # it is of this request alone
                text.error = error
                ended.append(text)
                continue
            text.left = len(parts)
            request.uncut -= 1
            if not parts:
                self._answer(text)
                ended.append(text)
            with self._lock:
                request.parts += parts
                if not request.uncut:  # now it is known that it may be read
                    self._to_read.add(request.client, request, bunches(request.parts))
                    request.parts = []
                if self._kept > _KEPT:
                    self._release(text)
        return ended

    def _cut(self, text: WaitingText) -> Query:
        question = text.question
        text.found = question.finder.find(question.text)
        targets = self._asked_of(question, text.found) or (Target(UNNAMED, implied=True),)
        aspects = self.predictor.choose_aspects(question.aspects)
        query = self.predictor.marked_query(question.text, targets, aspects)
        with self._lock:
            self._release(text)
            text.query, text.kept = query, sum(passage.size for passage in query.passages)
            self._kept += text.kept
        return query

    def _asked_of(self, question: Question, found: tuple[Target, ...]) -> tuple[Target, ...]:
        if question.implied:
            return self.predictor.implied_targets(question.finder.names, found)
        return all_targets(question.finder.names, found)

    def _some_parts(self) -> list[ReadingPart]:
        """What is read in one call: somebody's bunch, and others' as long as the work is not too much.

        A call that takes long reads at most half of what waits: so nobody who comes now waits for all of it, and where
        many wait, calls are large, which is cheaper for each.
        """
        parts: list[ReadingPart] = []
        texts: set[WaitingText] = set()
        some = max(self._threads, -(-len(self._to_read) // 2))

        def fits(bunch: Sequence[ReadingPart]) -> bool:
            """What is too much for a call is read alone, so that nobody waits for it besides."""
            work = sum(part.work for part in (*parts, *bunch))
            short = work * self._pace <= self._call_seconds or len(texts) < some
            return not parts or (work <= self._call_work and short)

        while len(texts) < self._texts and (bunch := self._to_read.take(fits)) is not None:
            parts += bunch
            texts.add(bunch[0].text)
        return parts

    def _read(self, parts: Sequence[ReadingPart]) -> None:
        """Read together or, should that fail, one by one, so that a failure is its own only."""
        if not parts:
            return
        started = time.perf_counter()
        try:
            answers = self.predictor.read(
                [self._query(part.text).passages[part.place] for part in parts],
                [part.aspects for part in parts],
                explain=any(part.text.explained for part in parts),
            )
        except Exception as error:
            if len(parts) == 1:
                parts[0].text.error = error
                return
            for part in parts:
                self._read([part])
            return
        pace = (time.perf_counter() - started) / sum(part.work for part in parts)
        self._pace += (pace - self._pace) * (_LATEST if self._pace else 1)
        for part, answer in zip(parts, answers, strict=True):
            part.text.add(part, answer)
            if not part.text.left:
                self._answer(part.text)

    def _query(self, text: WaitingText) -> Query:
        return text.query or self._cut(text)

    def _answer(self, text: WaitingText) -> None:
        try:
            prediction = self.predictor.prediction(self._query(text), text.answers(), explain=text.explained)
            text.answer = BatchAnswer(prediction, text.found)
        except Exception as error:
            text.error = error
        with self._lock:
            self._release(text)
