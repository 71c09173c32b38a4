"""What carries an answer, as plain data: words, phrases and sentences, with what each is worth."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from tabsa.schema import NONE, UNNAMED, Polarity, Span

_DIGITS: Final = 4  # of a weight: for the eye
_LEAST: Final = 0.01  # a word of less is part of no phrase
_STOPS: Final = re.compile(r"[.!?;:…\n。！？；：]")  # no phrase goes across these
_SHARE: Final = 0.25  # of the heaviest word's weight: what a word of a phrase has at least


class WordWeight(NamedTuple):
    """A word (or a run of words), and how many points of the answer's probability it carries, from -1 to 1.

    What weighs less than nothing speaks against the answer.
    """

    span: Span
    weight: float


@dataclass(frozen=True, slots=True)
class SentenceAnswer:
    """A sentence that carries an answer, its weight in it, and what it says by itself."""

    span: Span
    polarity: Polarity
    probabilities: dict[str, float]
    weight: float


@dataclass(frozen=True, slots=True)
class Evidence:
    """What carries the answer to one question about a text."""

    text: str
    target: str
    aspect: str
    polarity: Polarity
    probability: float
    words: tuple[WordWeight, ...]  # of the passage that gave the answer, in the order of the text
    sentences: tuple[SentenceAnswer, ...]  # those that carry it, the heaviest first
    unread: tuple[Span, ...]  # sentences that were not read for this target

    def phrases(self, most: int = 3) -> tuple[WordWeight, ...]:
        """The phrases that carry the answer, the heaviest first: neighbouring words that each carry a part of it.

        Silence is carried by no phrase.
        """
        if self.polarity == NONE:
            return ()
        heaviest = max((word.weight for word in self.words), default=0.0)
        least = max(_LEAST, heaviest * _SHARE)
        joined = (_joined(run, self.probability) for run in _runs(self.text, self.words, least))
        return tuple(sorted(joined, key=lambda phrase: -phrase.weight)[:most])

    def quotes(self, most: int = 3) -> tuple[str, ...]:
        """The phrases as the text has them, the heaviest first."""
        return tuple(self.text[span.start : span.end] for span, _ in self.phrases(most))

    def to_dict(self) -> dict[str, Any]:
        """What `tabsa predict --json --evidence` prints of an answer; a target without a name is null."""
        return {
            "target": None if self.target == UNNAMED else self.target,
            "aspect": self.aspect,
            "polarity": self.polarity,
            "probability": self.probability,
            "words": [_told(word) for word in self.words],
            "phrases": [_told(phrase) for phrase in self.phrases()],
            "sentences": [
                {
                    "start": sentence.span.start,
                    "end": sentence.span.end,
                    "weight": round(sentence.weight, _DIGITS),
                    "polarity": sentence.polarity,
                    "probabilities": sentence.probabilities,
                }
                for sentence in self.sentences
            ],
            "unread": [list(span) for span in self.unread],
        }


def _told(word: WordWeight) -> dict[str, Any]:
    return {"start": word.span.start, "end": word.span.end, "weight": round(word.weight, _DIGITS)}


def _runs(text: str, words: Sequence[WordWeight], least: float) -> Iterator[list[WordWeight]]:
    """Neighbouring words of at least that weight, and single lighter ones between two of them (`costs a fortune`)."""
    run: list[WordWeight] = []
    for place, word in enumerate(words):
        if run and _STOPS.search(text, run[-1].span.end, word.span.start):
            yield run
            run = []
        following = words[place + 1].weight if place + 1 < len(words) else 0.0
        if word.weight >= least or (run and word.weight > -_LEAST and following >= least):
            run.append(word)
        elif run:
            yield run
            run = []
    if run:
        yield run


def _joined(run: Sequence[WordWeight], most: float) -> WordWeight:
    """The words as one phrase; together they carry no more than the whole answer, unless one of them does."""
    weights = [word.weight for word in run]
    return WordWeight(Span(run[0].span.start, run[-1].span.end), max(*weights, min(sum(weights), most), 0))
