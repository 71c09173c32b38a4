"""Evidence: the words and sentences that carry an answer, measured on the model that gave it.

A word's weight is in points of the answer's probability. Three things are measured of it:

- masked   what the probability loses where the word is masked from the question (attention knockout)
- alone    what it gains where this word alone is visible to the question
- left out what it loses where the text is read again without the word (occlusion: Zeiler and Fergus, 2014)

The first two need a model that can mask words from its questions (`Engine.opened`) and cost one row each; of every word
their mean is known. A reading is spent on the few words of content that have most, and a word weighs half of that mean
and half of what is lost without it, where that was read. Other models are read again without each word, or without each
run of words where there are many, and weigh that. Names of targets stay: without them it would be another question.

Silence is carried by no word: its evidence is what comes nearest to an opinion, the words without which it would be
surer, and a sentence that names the target.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from tabsa.encoding.answers import Engine, OpenedPassage, restrict_labels
from tabsa.encoding.passages import Passage
from tabsa.encoding.pieces import NO_SLOT, PiecePassage
from tabsa.errors import DataError
from tabsa.inference.results import Evidence, Prediction, SentenceAnswer, WordWeight
from tabsa.schema import Polarity, Span
from tabsa.text.sentences import split_sentences, word_set
from tabsa.text.tokens import word_spans

MOST_READINGS: Final = 8  # of one text again, where words are masked first
MOST_PARTS: Final = 24  # into which a text is cut where each is left out of a reading of its own
_CARRIES: Final = 0.05  # points of probability from which a sentence carries an answer
_FUNCTION_WORDS: Final = word_set(
    "a an the this that these those there here i me my i'm i've i'd i'll it its it's he him his she her we us our you "
    "your they them their who whom whose what which when where why how and or but so if as at by for from in into of "
    "off on onto out over to under up upon with without after before since until while although though because unless "
    "than then now also too just even only very quite many more most some any all both each every few other another am "
    "is are was were be been being has have had do does did can could will would shall should may might must 's"
)  # no negations: they turn an answer
Numbers: TypeAlias = NDArray[np.float64]
Mask: TypeAlias = NDArray[np.bool_]


def explain_answer(
    engine: Engine,
    labels: tuple[Polarity, ...],
    prediction: Prediction,
    target: str,
    aspect: str,
    polarity: Polarity | None = None,
    among: Sequence[Polarity] | None = None,
    words: bool = True,
) -> Evidence:
    """Find the evidence of one answer of a prediction; see `Prediction.evidence`."""
    answers = {(opinion.target, opinion.aspect): opinion.probabilities for opinion in prediction.opinions}
    if (target, aspect) not in answers:
        raise DataError(
            f"nothing was asked of {target!r} on {aspect!r}; expected a target and an aspect of the question"
        )
    present = labels if among is None else tuple(among)
    if polarity is not None and polarity not in present:
        raise DataError(f"the model does not know the label '{polarity}'; expected one of {', '.join(present)}")
    row = np.array([answers[target, aspect][label] for label in labels])
    row = row if present == labels else restrict_labels(row, labels, present)
    label = present[int(row.argmax())] if polarity is None else polarity
    read = [passage for passage in prediction.passages if target in passage.targets]
    weighed: tuple[WordWeight, ...] = ()
    sentences: tuple[SentenceAnswer, ...] = ()
    if read:
        question = _Question(engine, prediction.text, read, target, aspect, labels, present, present.index(label))
        weighed, sentences = question.words() if words else (), question.sentences()
    probability, unread = float(row[present.index(label)]), prediction.unread(target)
    return Evidence(prediction.text, target, aspect, label, probability, weighed, sentences, unread)


@dataclass
class _Question:
    """One question about the passages that were read for its target."""

    engine: Engine
    text: str
    read: Sequence[Passage]
    target: str
    aspect: str
    own_labels: tuple[Polarity, ...]  # the model's
    labels: tuple[Polarity, ...]  # those there are
    column: int  # of the answer

    def __post_init__(self) -> None:
        self.opened = [self.engine.opened(passage) for passage in self.read]
        silence = [answer[0] for answer in self._answers(self.read)] if len(self.read) > 1 else [0.0]
        self.best = int(np.argmin(silence))

    def words(self) -> tuple[WordWeight, ...]:
        """Return the weights of the words of the passage that gave the answer."""
        passage, opened = self.read[self.best], self.opened[self.best]
        words = _words(self.text, passage)
        if not words:
            return ()
        words = list(_runs(passage, words)) if opened is None else words
        spoken = [set(self.text[start:end].lower().replace("’", "'").split()) for start, end in words]
        content = np.array([not own <= _FUNCTION_WORDS for own in spoken])
        if opened is None:
            weights = self._left_out(passage, words)
        else:
            own = _covered(opened, words)
            weights, *_ = self._masked(opened, passage, own, own)
            order = np.where(content, weights if self.column == 0 else -weights, np.inf)
            first = np.argsort(order, kind="stable")[:MOST_READINGS]
            weights /= 2
            weights[first] += self._left_out(passage, [words[number] for number in first]) / 2
        shown = content & (weights < 0) if self.column == 0 else np.ones(len(words), bool)
        return tuple(WordWeight(words[n], float(weights[n])) for n in np.flatnonzero(shown))

    def sentences(self) -> tuple[SentenceAnswer, ...]:
        """Return the sentences that carry the answer, the strongest first, each with an answer of its own."""
        found: dict[Span, tuple[float, Numbers]] = {}
        every = split_sentences(self.text)
        for passage, opened in zip(self.read, self.opened, strict=True):
            spans = [span for span in every if _inside(span, passage) and span not in found]
            if spans and opened is not None:
                words = _covered(opened, _words(self.text, passage))
                weights, whole, alone = self._masked(opened, passage, _covered(opened, spans), words)
                own = zip(weights.tolist(), alone if len(spans) > 1 else [whole], strict=True)
                found |= zip(spans, own, strict=True)
            elif spans:
                found |= self._read_sentences(passage, spans)
        if not found:
            return ()
        if self.column == 0:
            named = [t.start for p in self.read for t in p.tokens if t.target == p.targets.index(self.target)]
            naming = [span for span in found if any(span.start <= start < span.end for start in named)]
            carrying = [min(naming or found, key=lambda span: found[span][1][0])]  # the nearest to an opinion
        else:
            strongest = max(found, key=lambda span: found[span][0])
            # One carries the answer if it has one of its own, and the answer needs it.
            carrying = [
                span
                for span, (weight, answer) in found.items()
                if span == strongest or (weight >= _CARRIES and int(answer.argmax()) != 0)
            ]
        return tuple(
            SentenceAnswer(
                span,
                self.labels[int(found[span][1].argmax())],
                dict(zip(self.labels, found[span][1].tolist(), strict=True)),
                found[span][0],
            )
            for span in sorted(carrying, key=lambda span: -found[span][0])
        )

    def _read_sentences(self, passage: Passage, spans: Sequence[Span]) -> dict[Span, tuple[float, Numbers]]:
        """Return the same of a model that has to read again: of those sentences that name the target."""
        slot = passage.targets.index(self.target)
        named = any(token.target == slot for token in passage.tokens)
        parts = [_part(passage, span, inside=True) for span in spans]
        own = [
            (span, part)
            for span, part in zip(spans, parts, strict=True)
            if part.tokens and (not named or any(token.target == slot for token in part.tokens))
        ]
        answers = self._answers([part for _, part in own])
        return {span: (float(answer[self.column]), answer) for (span, _), answer in zip(own, answers, strict=True)}

    def _masked(
        self, opened: OpenedPassage, passage: Passage, own: Mask, words: Mask
    ) -> tuple[Numbers, Numbers, Numbers]:
        """Ask with each row of `own` masked, and with it alone visible beside what is no word: names and punctuation.

        Returns the mean of what the answer's probability loses without each row, and gains by it alone; and the labels'
        probabilities of everything, (labels,), and of each row alone, (rows, labels).
        """
        always = ~words.any(0, keepdims=True)
        visible = np.concatenate([np.ones_like(always), ~own, always, own | always])
        answers = self._restricted(opened.ask(passage.targets.index(self.target), self.aspect, visible))
        (whole, *_), masked, (nothing, *_), alone = np.split(answers, np.cumsum([1, len(own), 1]))
        losses, gains = whole[self.column] - masked[:, self.column], alone[:, self.column] - nothing[self.column]
        return (losses + gains) / 2, whole, alone

    def _restricted(self, probabilities: NDArray[np.float32]) -> Numbers:
        """Return the probabilities of the labels there are, from the model's."""
        if self.labels == self.own_labels:
            return probabilities.astype(np.float64)
        return restrict_labels(probabilities.astype(np.float64), self.own_labels, self.labels)

    def _answers(self, passages: Sequence[Passage]) -> list[Numbers]:
        """Read passages, and return the labels' probabilities of each about the target."""
        answers = self.engine.read_passages(passages, [[self.aspect]] * len(passages))
        return [
            self._restricted(answer.probabilities[passage.targets.index(self.target), 0])
            for passage, answer in zip(passages, answers, strict=True)
        ]

    def _left_out(self, passage: Passage, spans: Sequence[Span]) -> Numbers:
        """Return what the answer's probability loses where the passage is read without each span."""
        whole, *rest = self._answers([passage, *(_part(passage, span, inside=False) for span in spans)])
        return np.array([whole[self.column] - answer[self.column] for answer in rest])


def _covered(opened: OpenedPassage, spans: Sequence[Span]) -> Mask:
    """Return which parts of a passage stand in each span, (spans, parts); mentions of targets stand in none."""
    free = np.array([slot is None for slot in opened.slots], bool)
    starts, ends = np.array([*opened.spans], np.int64).reshape(-1, 2).T
    covered = [(starts < span.end) & (ends > span.start) & free for span in spans]
    return np.array(covered, bool).reshape(len(spans), len(free))


def _words(text: str, passage: Passage) -> list[Span]:
    """Return the words of a passage, without mentions of its targets."""
    return [span for span in word_spans(text, _mentions(passage)) if _inside(span, passage)]


def _mentions(passage: Passage) -> list[Span]:
    return [Span(token.start, token.end) for token in passage.tokens if token.target is not None]


def _inside(span: Span, passage: Passage) -> bool:
    return passage.start <= span.start and span.end <= passage.end


def _runs(passage: Passage, words: Sequence[Span]) -> Iterator[Span]:
    """Yield the words, in runs where they are many; no run goes across a mention."""
    mentions = _mentions(passage)
    size = -(-len(words) // MOST_PARTS)
    first = 0
    while first < len(words):
        last = first
        while last + 1 < min(first + size, len(words)) and not any(
            words[last].end <= mention.start < words[last + 1].start for mention in mentions
        ):
            last += 1
        yield Span(words[first].start, words[last].end)
        first = last + 1


def _part(passage: Passage, span: Span, *, inside: bool) -> Passage:
    """Return what of a passage stands in a span, or what does not, where names of targets stay."""

    def keep(start: int, end: int, mention: bool) -> bool:
        return span.start <= start and end <= span.end if inside else mention or end <= span.start or start >= span.end

    tokens = tuple(token for token in passage.tokens if keep(token.start, token.end, token.target is not None))
    if isinstance(passage, PiecePassage):
        pieces = tuple(piece for piece in passage.pieces if keep(piece.start, piece.end, piece.slot != NO_SLOT))
        return replace(passage, tokens=tokens, pieces=pieces)
    return replace(passage, tokens=tokens)
