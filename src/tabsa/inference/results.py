"""Predictions as plain data: opinions with their probabilities, and the evidence of each."""

import html
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tabsa.encoding.passages import Passage
from tabsa.errors import DataError
from tabsa.schema import MIXED, NEGATIVE, NEUTRAL, NONE, POSITIVE, UNNAMED, Polarity, Span, Target
from tabsa.text.sentences import split_sentences

_DIGITS: Final = 4  # of a weight: for the eye
_LEAST: Final = 0.01  # a word of less is part of no phrase
_STOPS: Final = re.compile(r"[.!?;:…\n。！？；：]")  # no phrase goes across these
_SHARE: Final = 0.25  # of the heaviest word's weight: what a word of a phrase has at least


class WordWeight(NamedTuple):
    """A word or a run of words, and the points of the answer's probability it carries: -1, against it, to 1."""

    span: Span
    weight: float

    def to_dict(self) -> dict[str, Any]:
        """Return plain data for JSON."""
        return {"start": self.span.start, "end": self.span.end, "weight": round(self.weight, _DIGITS)}


@dataclass(frozen=True, slots=True)
class SentenceAnswer:
    """A sentence that carries an answer, its weight in it, and the answer of it alone."""

    span: Span
    polarity: Polarity
    probabilities: dict[str, float]
    weight: float


@dataclass(frozen=True, slots=True)
class Evidence:
    """The words and sentences that carry the answer to one question about a text."""

    text: str
    target: str
    aspect: str
    polarity: Polarity
    probability: float
    words: tuple[WordWeight, ...]  # of the passage that gave the answer, in the order of the text
    sentences: tuple[SentenceAnswer, ...]  # those that carry it, the heaviest first
    unread: tuple[Span, ...]  # sentences that were not read for this target

    def phrases(self, most: int = 3) -> tuple[WordWeight, ...]:
        """Return the phrases that carry the answer, the heaviest first: neighbouring words that each carry a part.

        Silence is carried by no phrase.
        """
        if self.polarity == NONE:
            return ()
        heaviest = max((word.weight for word in self.words), default=0.0)
        least = max(_LEAST, heaviest * _SHARE)
        joined = (_joined(run, self.probability) for run in _runs(self.text, self.words, least))
        return tuple(sorted(joined, key=lambda phrase: -phrase.weight)[:most])

    def quotes(self, most: int = 3) -> tuple[str, ...]:
        """Return the phrases as the text has them, the heaviest first."""
        return tuple(self.text[span.start : span.end] for span, _ in self.phrases(most))

    def to_dict(self) -> dict[str, Any]:
        """Return what `tabsa predict --json --evidence` prints of an answer; a target without a name is null."""
        return {
            "target": None if self.target == UNNAMED else self.target,
            "aspect": self.aspect,
            "polarity": self.polarity,
            "probability": self.probability,
            "words": [word.to_dict() for word in self.words],
            "phrases": [phrase.to_dict() for phrase in self.phrases()],
            "sentences": [
                {
                    **WordWeight(sentence.span, sentence.weight).to_dict(),
                    "polarity": sentence.polarity,
                    "probabilities": sentence.probabilities,
                }
                for sentence in self.sentences
            ],
            "unread": [list(span) for span in self.unread],
        }


def _runs(text: str, words: Sequence[WordWeight], least: float) -> Iterator[list[WordWeight]]:
    """Yield neighbouring words of that weight, and single lighter ones between two of them (`costs a fortune`)."""
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
    """Return the words as one phrase; together they carry no more than the whole answer, unless one of them does."""
    weights = [word.weight for word in run]
    return WordWeight(Span(run[0].span.start, run[-1].span.end), max(*weights, min(sum(weights), most), 0))


_IT = "it"  # what a text is about, where nobody gives it a name
_COLOURS = {POSITIVE: "#1a7f37", NEGATIVE: "#cf222e", NEUTRAL: "#57606a", MIXED: "#8250df"}


@dataclass(frozen=True, slots=True)
class PredictedOpinion:
    """The likeliest polarity of one target-aspect pair, and the probability of each."""

    target: str
    aspect: str
    polarity: Polarity
    probabilities: dict[str, float]

    @property
    def confidence(self) -> float:
        """The probability of the polarity given."""
        return self.probabilities[self.polarity]


@dataclass(frozen=True, slots=True)
class Prediction:
    """An opinion for every target-aspect pair of a request about one text, `none` included."""

    text: str
    opinions: tuple[PredictedOpinion, ...]
    passages: tuple[Passage, ...] = ()
    attention: NDArray[np.float32] | None = None  # of each target slot and aspect over the chains, (K, aspects, n)
    aspects: tuple[str, ...] = ()  # the aspects of `attention`
    tied: int = 0  # how many chains belong to a target: the first ones, in the order of `Passage.targets`
    explain: Callable[..., Evidence] | None = field(default=None, repr=False, compare=False)  # by the model's means

    def mentions(self) -> tuple[Target, ...]:
        """Return the targets that the text mentions, in the order of the request, with where; known after `predict`."""
        spans: dict[str, set[Span]] = {}
        for passage in self.passages:
            for token in passage.tokens:
                if token.target is not None:
                    spans.setdefault(passage.targets[token.target], set()).add(Span(token.start, token.end))
        return tuple(Target(name, tuple(sorted(spans[name]))) for name in self.targets() if name in spans)

    def targets(self) -> tuple[str, ...]:
        """Return the targets of the request, in its order."""
        return tuple(dict.fromkeys(opinion.target for opinion in self.opinions))

    def unmentioned(self) -> tuple[str, ...]:
        """Return the targets that nothing was read for, neither named nor implied; known after `predict`."""
        if not self.aspects:
            return ()
        read = {name for passage in self.passages for name in passage.targets}
        return tuple(name for name in self.targets() if name not in read)

    def unread(self, target: str) -> tuple[Span, ...]:
        """Return the sentences that were not read for a target: nothing is known of them, not silence."""
        read = [passage for passage in self.passages if target in passage.targets]
        return tuple(
            span
            for span in split_sentences(self.text)
            if not any(passage.start < span.end and span.start < passage.end for passage in read)
        )

    def evidence(
        self,
        target: str,
        aspect: str,
        polarity: Polarity | None = None,
        *,
        among: Sequence[Polarity] | None = None,
        words: bool = True,
    ) -> Evidence:
        """Find the words, phrases and sentences that carry the answer on a target's aspect, measured on the model.

        It takes at most as long as twelve readings of the text.

        Args:
            target: one of the request's; "" is what the text is about and does not name.
            aspect: one of the request's.
            polarity: look for what would carry this answer, where it is not the one given.
            among: the only labels there are, `none` first; the shares of others go to these, as where data without them
                is evaluated.
            words: weigh the words, too; without, the sentences cost one reading.

        Raises:
            DataError: the request had no such pair, or the prediction is one of many made without `explain`.
        """
        if self.explain is None:
            raise DataError("this prediction does not know its model; make it with `predict`, or with explain=True")
        return self.explain(self, target, aspect, polarity, among, words)

    def found(self) -> list[PredictedOpinion]:
        """Return the opinions that are not `none`."""
        return [opinion for opinion in self.opinions if opinion.polarity != NONE]

    def to_dict(self, *, evidence: bool = False) -> dict[str, Any]:
        """Return what `tabsa predict --json` prints; a target without a name is null.

        With `evidence`, each opinion that is not `none` has what carries it (`Evidence.to_dict`).
        """
        opinions = []
        for opinion in self.opinions:
            plain = {
                "target": None if opinion.target == UNNAMED else opinion.target,
                "aspect": opinion.aspect,
                "polarity": opinion.polarity,
                "probabilities": opinion.probabilities,
            }
            if evidence and opinion.polarity != NONE:
                carried = self.evidence(opinion.target, opinion.aspect).to_dict()
                plain["evidence"] = {key: carried[key] for key in ("words", "phrases", "sentences", "unread")}
            opinions.append(plain)
        return {"text": self.text, "opinions": opinions}

    def for_people(self) -> "Prediction":
        """Return the same with a word for the target that has no name: "it"."""
        if UNNAMED not in self.targets():
            return self

        def word(name: str) -> str:
            return _IT if name == UNNAMED else name

        opinions = tuple(replace(opinion, target=word(opinion.target)) for opinion in self.opinions)
        passages = (replace(passage, targets=tuple(map(word, passage.targets))) for passage in self.passages)
        return replace(self, opinions=opinions, passages=tuple(passages))

    def _repr_html_(self) -> str:
        """Return a table of the opinions found, for notebooks."""
        rows = "".join(
            f"<tr><td>{html.escape(o.target)}</td><td>{html.escape(o.aspect)}</td>"
            f'<td style="color:{_COLOURS.get(o.polarity, "inherit")}">{html.escape(o.polarity)}</td>'
            f"<td>{int(100 * o.confidence + 0.5)}%</td></tr>"
            for o in self.for_people().found()
        )
        head = "<tr><th>target</th><th>aspect</th><th>polarity</th><th>confidence</th></tr>"
        table = f"<table>{head}{rows}</table>" if rows else "<p><em>no opinion found</em></p>"
        return f"<div><p>{html.escape(self.text)}</p>{table}</div>"
