"""The micro-batcher: texts of many requests in few model calls.

One thread reads. A call takes a bounded amount of work, of the shortest requests first, and every other call of the
request that has waited longest. So a long request is read in pieces, none waits for ever, and a short one waits for a
call or two. While the thread reads, more gather. What is read beside a text does not change its answer. A request that
nobody waits for any more, because its client left, is dropped before it is read.
"""

import asyncio
import threading
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, InvalidStateError
from contextlib import suppress
from typing import Final, NamedTuple

import numpy as np

from tabsa.encoding.answers import PassageAnswer
from tabsa.inference.predictor import Predictor, Query, RequestedTargets
from tabsa.inference.results import Prediction
from tabsa.schema import UNNAMED, Target
from tabsa.serve.problems import busy
from tabsa.serve.settings import Settings
from tabsa.text.targets import TargetFinder, all_targets

_MOST_QUESTIONS: Final = 512  # of one part of a text
_CHARACTERS: Final = 20  # that are cut in the time of a word piece
_SHORT: Final = 2_000  # characters and questions; shorter requests are read in the order of their coming
_WINDOW_SECONDS: Final = 0.002  # that a call waits for more texts where the last one had several


class Question(NamedTuple):
    """One text, who may be judged in it, and on what."""

    text: str
    finder: TargetFinder  # of no names: what the text is about and does not name
    aspects: tuple[str, ...]
    implied: bool = False  # whether a text that does not name a target is about it
    explain: bool = False


class Answer(NamedTuple):
    """A text that was read: its passages, where it mentions targets, and by passage the answers on its aspects."""

    query: Query
    found: tuple[Target, ...]
    explain: bool
    parts: list[list[PassageAnswer]]

    def prediction(self, predictor: Predictor) -> Prediction:
        """The opinions on every target."""
        joined = [PassageAnswer(np.concatenate([p.probabilities for p in ps], 1), ps[0].gates) for ps in self.parts]
        return predictor.prediction(self.query, joined, explain=self.explain)


class _Part(NamedTuple):
    """A passage and some of the aspects that it is read for."""

    request: "_Request"
    answer: Answer
    place: int  # of the passage
    aspects: tuple[str, ...]


class _Request:
    """The questions of one client, and how far they are."""

    def __init__(self, questions: Sequence[Question], predictor: Predictor) -> None:
        self.future: Future[list[Answer]] = Future()  # which is cancelled when the client leaves
        self.size = max(_SHORT, sum(len(q.text) + max(1, len(q.finder.names)) * len(q.aspects) for q in questions))
        self.answers: list[Answer] = []
        self.reading = 0  # parts that were taken and are not read yet
        self.pieces = self._cut(questions, predictor)
        self.next = next(self.pieces, None)

    def _cut(self, questions: Sequence[Question], predictor: Predictor) -> Iterator[tuple[int, _Part | None]]:
        """Cut text after text into passages, and these into parts, by their word pieces and questions.

        Yields the work of the next step, and the part to read, or None where the step is to cut a text.
        """
        for question in questions:
            yield len(question.text) // _CHARACTERS + 1, None
            finder, aspects = question.finder, question.aspects
            found = finder.find(question.text)
            find = predictor.implied_targets if question.implied else all_targets
            targets = find(finder.names, found) or (Target(UNNAMED, implied=True),)
            query = predictor.query(question.text, RequestedTargets(targets), aspects)
            answer = Answer(query, found, question.explain, [[] for _ in query.passages])
            self.answers.append(answer)
            for place, passage in enumerate(query.passages):
                count, step = max(1, len(passage.targets)), len(aspects)
                if predictor.open_aspects:
                    step = max(1, max(_MOST_QUESTIONS, passage.size) // count)
                for start in range(0, len(aspects), step):
                    some = aspects[start : start + step]
                    yield passage.size + count * len(some), _Part(self, answer, place, some)

    def end(self, error: Exception | None = None) -> None:
        """Hand the answers, once all parts are read, or what went wrong to whoever waits."""
        with suppress(InvalidStateError):  # the client left, or another part failed before
            if error is not None:
                self.future.set_exception(error)
            elif not self.reading and self.next is None:
                self.future.set_result(self.answers)


class Batcher:
    """Reads texts in a thread of its own; `ask` belongs to one event loop."""

    def __init__(self, predictor: Predictor, settings: Settings) -> None:
        self._predictor, self._settings = predictor, settings
        self._requests: list[_Request] = []  # in the order of their coming
        self._changed = threading.Condition()
        self._stopped = self._oldest_first = False
        self._waiting = 0  # texts without an answer
        threading.Thread(target=self._run, name="batcher", daemon=True).start()

    def stop(self) -> None:
        """Read nothing more after the present call."""
        with self._changed:
            self._stopped = True
            self._changed.notify()

    def check(self, texts: int = 1) -> None:
        """Raise a Problem where so many texts more would be too many."""
        if self._waiting + texts > self._settings.max_waiting:
            raise busy("too many texts are waiting")

    async def ask(self, questions: Sequence[Question]) -> list[Answer]:
        """The answers, in order; raises a Problem at once where too much is waiting."""
        self.check(len(questions))
        request = _Request(questions, self._predictor)
        self._waiting += len(questions)
        with self._changed:
            self._requests.append(request)
            self._changed.notify()
        try:
            return await asyncio.wrap_future(request.future)
        finally:
            self._waiting -= len(questions)

    def _run(self) -> None:
        """In the thread: call after call."""
        several = False
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._requests or self._stopped)
                if self._stopped:
                    return
            if several:
                time.sleep(_WINDOW_SECONDS)
            parts = self._take()
            several = len(parts) > 1
            if parts:
                self._read(parts)

    def _take(self) -> list[_Part]:
        """The parts of the next call."""
        with self._changed:
            self._requests = [one for one in self._requests if not one.future.done()]
            order = sorted(self._requests, key=lambda one: one.size)
            self._oldest_first = not self._oldest_first
            if self._oldest_first:
                order = [*self._requests[:1], *order]
        most = left = self._settings.batch_work
        taken: list[_Part] = []
        for request in order:
            try:
                while request.next is not None:
                    work, part = request.next
                    if work > left and left < most:
                        return taken
                    left -= work
                    if part is not None:
                        taken.append(part)
                        request.reading += 1
                    request.next = next(request.pieces, None)
                request.end()
            except Exception as error:  # a text of this request cannot be cut
                request.end(error)
        return taken

    def _read(self, parts: Sequence[_Part]) -> None:
        """Read together or, should that fail, one by one, so that a failure is its own only."""
        try:
            answers = self._predictor.read(
                [part.answer.query.passages[part.place] for part in parts],
                [part.aspects for part in parts],
                explain=any(part.answer.explain for part in parts),
            )
        except Exception as error:
            for part in parts:
                if len(parts) > 1:
                    self._read([part])
                else:
                    part.request.end(error)
            return
        for part, answer in zip(parts, answers, strict=True):
            part.answer.parts[part.place].append(answer)
            part.request.reading -= 1
            part.request.end()
