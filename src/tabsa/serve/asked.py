"""A request as work: its texts, and the parts in which each is read."""

import asyncio
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple, TypeAlias

import numpy as np

from tabsa.encoding.answers import PassageAnswer
from tabsa.inference.predictor import Query
from tabsa.inference.results import Evidence, Prediction
from tabsa.schema import Target
from tabsa.serve.problems import Problem
from tabsa.text import TargetFinder

EVIDENCE_READINGS: Final = 10  # that evidence of one answer costs at most
_MOST_QUESTIONS: Final = 1024  # of one part
_BUNCH: Final = 512  # work of a text that is done in one turn, where it has parts that small


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


_Future: TypeAlias = "asyncio.Future[list[BatchAnswer]]"


class WaitingRequest:
    """What one client wants at a time."""

    def __init__(self, client: str, questions: Sequence[Question], future: _Future) -> None:
        self.client, self.future = client, future
        self.texts = [WaitingText(question, self) for question in questions]
        self.left = self.uncut = len(self.texts)
        self.parts: list[ReadingPart] = []  # until all its texts are cut
        self.work = 0

    def count(self, parts: Sequence["ReadingPart"], most: int) -> None:
        """Add the work of another text; raises a Problem where that is too much."""
        times = EVIDENCE_READINGS if any(part.text.question.of for part in parts) else 1
        self.work += times * sum(part.work for part in parts)
        if self.work > most:
            message = (
                f"the request is more work than one may make: over {most:,} word pieces to read and questions to "
                "answer; send fewer or shorter texts, or fewer targets or aspects"
            )
            raise Problem(422, "limit", message)


class WaitingText:
    """One text of a request, and how far it is."""

    def __init__(self, question: Question, request: WaitingRequest) -> None:
        self.question, self.request = question, request
        self.query: Query | None = None  # while it is cut
        self.kept = 0  # word pieces of `query`
        self.found: tuple[Target, ...] = ()
        self.left = 0  # parts that are not read
        self.answer: BatchAnswer | None = None
        self.error: Exception | None = None
        self._said: dict[int, list[PassageAnswer]] = {}  # of each passage, by its aspects

    @property
    def explained(self) -> bool:
        """Whether what the model did is told, too."""
        return self.question.explain or self.question.of is not None

    @property
    def done(self) -> bool:
        """Whether all of it was read, or it cannot be."""
        return not self.left or self.error is not None

    def add(self, part: "ReadingPart", answer: PassageAnswer) -> None:
        """What was said of a part; the parts of one passage come in the order of their aspects."""
        self._said.setdefault(part.place, []).append(answer)
        self.left -= 1

    def answers(self) -> list[PassageAnswer]:
        """What was said of each passage on all aspects."""
        return [_joined(self._said[place]) for place in sorted(self._said)]


class ReadingPart(NamedTuple):
    """A passage of a text, and some of the aspects that it is asked about."""

    text: WaitingText
    place: int  # of the passage
    aspects: tuple[str, ...]
    work: int  # word pieces to read, and questions to answer


def cut_parts(text: WaitingText, *, split: bool) -> list[ReadingPart]:
    """The parts of a text that was cut; with `split`, many questions of one passage are several parts."""
    return list(_parts(text, split)) if text.query is not None else []


def _parts(text: WaitingText, split: bool) -> Iterator[ReadingPart]:
    passages, aspects = (text.query.passages, text.query.aspects) if text.query else ([], ())
    for place, passage in enumerate(passages):
        targets = max(1, len(passage.targets))
        step = max(1, max(_MOST_QUESTIONS, passage.size) // targets) if split else len(aspects)
        for start in range(0, len(aspects), step):
            own = aspects[start : start + step]
            yield ReadingPart(text, place, own, passage.size + targets * len(own))


def bunches(parts: Sequence[ReadingPart]) -> list[list[ReadingPart]]:
    """What is read in one turn: a part, or as many of one text as make little work."""
    found: list[list[ReadingPart]] = []
    work = 0
    for part in parts:
        if not found or found[-1][0].text is not part.text or work + part.work > _BUNCH:
            found.append([])
            work = 0
        found[-1].append(part)
        work += part.work
    return found


def _joined(answers: Sequence[PassageAnswer]) -> PassageAnswer:
    if len(answers) == 1:
        return answers[0]
    return PassageAnswer(np.concatenate([answer.probabilities for answer in answers], axis=1), answers[0].gates)
