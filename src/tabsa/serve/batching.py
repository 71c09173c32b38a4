"""The micro-batcher: texts of many requests in few model calls.

One thread reads. A call takes a bounded amount of work: first some of the request that has waited longest, then the
shortest requests. So a long request is read in pieces, none waits for ever, and a short one is in the next call. While
the thread reads, more gather. What is read beside a text does not change its answer. A request that nobody waits for
any more, because its client left, is dropped before it is read.
"""

import asyncio
import threading
import time
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

import numpy as np

from tabsa.encoding.answers import PassageAnswer
from tabsa.inference.predictor import Predictor
from tabsa.inference.results import Prediction
from tabsa.schema import UNNAMED, Target
from tabsa.serve.metrics import Metrics
from tabsa.serve.problems import busy
from tabsa.serve.settings import Settings
from tabsa.text.targets import TargetFinder, all_targets

_MOST_QUESTIONS: Final = 1024  # of one part of a text
_CHARACTERS: Final = 8  # of a text that is cut and not read, for as much work as a word piece
_WINDOW_SECONDS: Final = 0.002  # that a call waits for more texts where the last one had several


class Question(NamedTuple):
    """One text, who may be judged in it, and on what."""

    text: str
    finder: TargetFinder  # of no names: what the text is about and does not name
    aspects: tuple[str, ...]
    implied: bool = False  # whether a text that does not name a target is about it
    explain: bool = False


class Answer(NamedTuple):
    """The opinions on every target, and where the text mentions them."""

    prediction: Prediction
    found: tuple[Target, ...]


class _Text:
    """One text of a request, cut into passages, with the answers on those that were read."""

    def __init__(self, question: Question, predictor: Predictor) -> None:
        finder, self.question = question.finder, question
        self.found = finder.find(question.text)
        if question.implied:
            targets = predictor.implied_targets(finder.names, self.found)
        else:
            targets = all_targets(finder.names, self.found)
        targets = targets or (Target(UNNAMED, implied=True),)
        self.query = predictor.marked_query(question.text, targets, question.aspects)
        self.answers: list[list[PassageAnswer]] = [[] for _ in self.query.passages]  # of each passage, by aspects

    def answer(self, predictor: Predictor) -> Answer:
        """The whole text's answer, once all of it was read."""
        joined = [PassageAnswer(np.concatenate([p.probabilities for p in ps], 1), ps[0].gates) for ps in self.answers]
        return Answer(predictor.prediction(self.query, joined, explain=self.question.explain), self.found)


class _Part(NamedTuple):
    """A passage of a text and some of the aspects that it is read for; no passage where nothing of it is read."""

    request: "_Request"
    text: _Text
    place: int | None  # of the passage
    aspects: tuple[str, ...]
    work: int  # word pieces to read, and questions to answer
    last: bool  # of its text


class _Request:
    """The questions of one client, and how far they are."""

    def __init__(self, questions: Sequence[Question], predictor: Predictor) -> None:
        self.loop = asyncio.get_running_loop()
        self.future: asyncio.Future[list[Answer]] = self.loop.create_future()
        self.size = sum(len(q.text) + max(1, len(q.finder.names)) * len(q.aspects) for q in questions)
        self.count, self.answers, self.over = len(questions), list[Answer](), False
        self._parts = self._cut(questions, predictor)
        self._next: _Part | None = None

    def peek(self) -> _Part | None:
        """The next part to read; None where there is no more."""
        self._next = self._next or next(self._parts, None)
        return self._next

    def pop(self) -> None:
        """The next part is being read."""
        self._next = None

    def _cut(self, questions: Sequence[Question], predictor: Predictor) -> Iterator[_Part]:
        """The parts, text by text; a text is cut only when its turn has come."""
        for question in questions:
            text = _Text(question, predictor)
            found: list[tuple[int, tuple[str, ...], int]] = []
            for place, passage in enumerate(text.query.passages):
                targets = max(1, len(passage.targets))
                step = len(question.aspects)
                if predictor.open_aspects:
                    step = max(1, max(_MOST_QUESTIONS, passage.size) // targets)
                for start in range(0, len(question.aspects), step):
                    aspects = question.aspects[start : start + step]
                    found.append((place, aspects, passage.size + targets * len(aspects)))
            for number, (place, aspects, work) in enumerate(found, 1):
                yield _Part(self, text, place, aspects, work, number == len(found))
            if not found:
                yield _Part(self, text, None, (), len(question.text) // _CHARACTERS + 1, last=True)

    def end(self, error: Exception | None = None) -> None:
        """Hand the answers, or what went wrong, to whoever waits; in the thread."""
        self.over = True

        def settle() -> None:
            if self.future.done():
                return
            if error is None:
                self.future.set_result(self.answers)
            else:
                self.future.set_exception(error)

        self.loop.call_soon_threadsafe(settle)


class Batcher:
    """Reads texts in a thread of its own; `ask` belongs to one event loop."""

    def __init__(self, predictor: Predictor, settings: Settings, metrics: Metrics) -> None:
        self._predictor, self._settings, self._metrics = predictor, settings, metrics
        self._requests: list[_Request] = []  # in the order of their coming
        self._changed = threading.Condition()
        self._stopped = False
        self.waiting = 0  # texts without an answer
        threading.Thread(target=self._run, name="batcher", daemon=True).start()

    def stop(self) -> None:
        """Read nothing more after the present call."""
        with self._changed:
            self._stopped = True
            self._changed.notify()

    @property
    def full(self) -> bool:
        """Whether another text would be refused."""
        return self.waiting >= self._settings.max_waiting

    async def ask(self, questions: Sequence[Question]) -> list[Answer]:
        """The answers, in order; raises a Problem at once where too much is waiting."""
        if self.waiting + len(questions) > self._settings.max_waiting:
            raise busy("too many texts are waiting; come again in a moment")
        request = _Request(questions, self._predictor)
        self.waiting += request.count
        with self._changed:
            self._requests.append(request)
            self._changed.notify()
        try:
            return await request.future  # which is cancelled with the task that waits for it
        finally:
            self.waiting -= request.count

    def _run(self) -> None:
        """In the thread: call after call."""
        several = False
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._requests or self._stopped)
                if self._stopped:
                    return
            if several and len(self._requests) < self._settings.batch_texts:
                time.sleep(_WINDOW_SECONDS)
            started = time.perf_counter()
            parts = self._take()
            self._read(parts)
            texts = len({part.text for part in parts})
            several = texts > 1
            if texts:
                self._metrics.batch.observe(texts)
                self._metrics.model.observe(time.perf_counter() - started)

    def _take(self) -> list[_Part]:
        """The parts of the next call."""
        with self._changed:
            self._requests = [one for one in self._requests if not (one.over or one.future.done())]
            requests = list(self._requests)
        if not requests:
            return []
        first, *others = requests
        taken, texts, left = list[_Part](), set[_Text](), float(self._settings.batch_work)
        for request in (first, *sorted(others, key=lambda one: one.size)):
            room = left / 2 if request is first and others else left
            try:
                while (part := request.peek()) is not None:
                    crowded = part.text not in texts and len(texts) >= self._settings.batch_texts
                    if taken and (part.work > room or crowded):
                        break
                    request.pop()
                    taken.append(part)
                    texts.add(part.text)
                    room, left = room - part.work, left - part.work
            except Exception as error:  # a text of this request cannot be cut; it is of this request alone
                request.end(error)
            if left <= 0 or len(texts) >= self._settings.batch_texts:
                break
        return [part for part in taken if not part.request.over]

    def _read(self, parts: Sequence[_Part]) -> None:
        """Read together or, should that fail, one by one, so that a failure is its own only."""
        passages = [part.text.query.passages[part.place] for part in parts if part.place is not None]
        aspects = [part.aspects for part in parts if part.place is not None]
        try:
            explain = any(part.text.question.explain for part in parts)
            answers = iter(self._predictor.read(passages, aspects, explain=explain) if passages else ())
        except Exception as error:
            for part in parts:
                if len(parts) > 1:
                    self._read([part])
                else:
                    part.request.end(error)
            return
        for part in parts:
            self._add(part, None if part.place is None else next(answers))

    def _add(self, part: _Part, answer: PassageAnswer | None) -> None:
        """One part more was read; where it is the last, answer its text, and its request."""
        request = part.request
        if request.over:
            return
        try:
            if answer is not None and part.place is not None:
                part.text.answers[part.place].append(answer)
            if part.last:
                request.answers.append(part.text.answer(self._predictor))
        except Exception as error:
            request.end(error)
        else:
            if len(request.answers) == request.count:
                request.end()
