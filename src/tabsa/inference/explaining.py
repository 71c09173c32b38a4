"""What carries an answer: its words, its phrases and its sentences, measured on the model that gave it.

A word's weight is in points of the answer's probability. Three things are measured of it:

- hidden   what the probability loses where the question does not hear the word (attention knockout)
- alone    what it gains where the question hears this word and no other
- left out what it loses where the text is read again without the word (occlusion: Zeiler and Fergus, 2014)

The first two need a model whose questions can be kept from hearing (`Engine.opened`) and cost one row each, so every
word weighs their mean; a reading is spent on the few that weigh most, which weigh the mean of that and what is lost
without them. Other models are read again without each word, or without each run of words where there are many, and
weigh that. Names of targets stay: without them it would be another question.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Final, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from tabsa.encoding.answers import Engine, OpenedPassage, restrict_labels
from tabsa.encoding.passages import Passage
from tabsa.encoding.pieces import NO_SLOT, PiecePassage
from tabsa.errors import DataError
from tabsa.inference.results import Evidence, Prediction, SentenceAnswer, WordWeight
from tabsa.schema import Polarity, Span
from tabsa.text import split_sentences
from tabsa.text.words import word_spans

MOST_READINGS: Final = 6  # of one text again, where words are hidden first
MOST_PARTS: Final = 24  # into which a text is cut where each is left out of a reading of its own
_CARRIES: Final = 0.05  # points of probability from which a sentence carries an answer
Numbers: TypeAlias = NDArray[np.float64]
Ask: TypeAlias = Callable[[NDArray[np.bool_]], Numbers]  # rows of what is heard to rows of probabilities


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
    """What carries one answer of a prediction; see `Prediction.evidence`."""
    asked = {(opinion.target, opinion.aspect): opinion.probabilities for opinion in prediction.opinions}
    if (target, aspect) not in asked:
        raise DataError(
            f"nothing was asked of {target!r} on {aspect!r}; expected a target and an aspect of the question"
        )
    kept = labels if among is None else tuple(among)
    if polarity is not None and polarity not in kept:
        raise DataError(f"the model does not know the label '{polarity}'; expected one of {', '.join(kept)}")
    row = np.array([asked[target, aspect][label] for label in labels])
    row = row if kept == labels else restrict_labels(row, labels, kept)
    label = kept[int(row.argmax())] if polarity is None else polarity
    read = [passage for passage in prediction.passages if target in passage.targets]
    weighed: tuple[WordWeight, ...] = ()
    sentences: tuple[SentenceAnswer, ...] = ()
    if read:
        asking = _Asking(engine, labels, kept, prediction.text, read, target, aspect, label)
        weighed, sentences = asking.words() if words else (), asking.sentences()
    probability, unread = float(row[kept.index(label)]), prediction.unread(target)
    return Evidence(prediction.text, target, aspect, label, probability, weighed, sentences, unread)


class _Heard(NamedTuple):
    """Probabilities of the labels: of everything, without each part, of no part, and of each part alone."""

    whole: Numbers  # (labels,)
    hidden: Numbers  # (parts, labels)
    nothing: Numbers  # (labels,)
    alone: Numbers  # (parts, labels)

    def weights(self, column: int) -> Numbers:
        """The mean of what a label's probability loses without each part, and gains by it alone."""
        losses: Numbers = self.whole[column] - self.hidden[:, column]
        gains: Numbers = self.alone[:, column] - self.nothing[column]
        return (losses + gains) / 2


class _Asking:
    """One question about the passages that were read for its target."""

    def __init__(
        self,
        engine: Engine,
        labels: tuple[Polarity, ...],
        kept: tuple[Polarity, ...],
        text: str,
        read: Sequence[Passage],
        target: str,
        aspect: str,
        label: Polarity,
    ) -> None:
        self.engine, self.text, self.aspect, self.target, self.read = engine, text, aspect, target, read
        self.own_labels, self.labels, self.column = labels, kept, kept.index(label)
        self.opened = [engine.opened(passage) for passage in read]
        self.best = 0
        if len(read) > 1:
            shares = [table[0] for table in self._answers(read)]  # of silence
            self.best = int(np.argmin(shares))

    def words(self) -> tuple[WordWeight, ...]:
        """The weights of the words of the passage that gave the answer."""
        passage, opened = self.read[self.best], self.opened[self.best]
        words = _words(self.text, passage)
        if not words:
            return ()
        if opened is None:
            parts = list(_runs(passage, words))
            return tuple(map(WordWeight, parts, self._left_out(passage, parts).tolist()))
        own = _covered(opened, words)
        weights = _heard(self._ask(opened, passage), own, _always(opened, own)).weights(self.column)
        first = np.argsort(-weights, kind="stable")[:MOST_READINGS]
        left_out = self._left_out(passage, [words[number] for number in first])
        weights[first] = (weights[first] + left_out) / 2
        return tuple(map(WordWeight, words, weights.tolist()))

    def sentences(self) -> tuple[SentenceAnswer, ...]:
        """The sentences that carry the answer, the strongest first, each with an answer of its own."""
        found: dict[Span, tuple[float, Numbers]] = {}
        every = split_sentences(self.text)
        for passage, opened in zip(self.read, self.opened, strict=True):
            spans = [span for span in every if _inside(span, passage) and span not in found]
            if spans and opened is not None:
                found |= zip(spans, self._heard_sentences(opened, passage, spans), strict=True)
            elif spans:
                found |= self._read_sentences(passage, spans)
        if not found:
            return ()
        strongest = max(found, key=lambda span: found[span][0])
        carrying = [span for span in found if span == strongest or self._carries(*found[span])]
        return tuple(
            SentenceAnswer(
                span,
                self.labels[int(found[span][1].argmax())],
                dict(zip(self.labels, found[span][1].tolist(), strict=True)),
                found[span][0],
            )
            for span in sorted(carrying, key=lambda span: -found[span][0])
        )

    def _carries(self, weight: float, answer: Numbers) -> bool:
        """Whether a sentence says something of its own, or the answer needs it."""
        return weight >= _CARRIES and (int(answer.argmax()) != 0 or self.column == 0)

    def _heard_sentences(
        self, opened: OpenedPassage, passage: Passage, spans: Sequence[Span]
    ) -> list[tuple[float, Numbers]]:
        """The weight of each sentence and its own answer, from one reading of the passage."""
        own = _covered(opened, spans)
        always = _always(opened, _covered(opened, _words(self.text, passage)))
        heard = _heard(self._ask(opened, passage), own, always)
        answers = heard.alone if len(spans) > 1 else [heard.whole]
        return list(zip(heard.weights(self.column).tolist(), answers, strict=True))

    def _read_sentences(self, passage: Passage, spans: Sequence[Span]) -> dict[Span, tuple[float, Numbers]]:
        """The same of a model that has to read again: those sentences that name the target."""
        slot = passage.targets.index(self.target)
        named = any(token.target == slot for token in passage.tokens)
        parts = [_only(passage, span) for span in spans]
        own = [
            (span, part)
            for span, part in zip(spans, parts, strict=True)
            if part.tokens and (not named or any(token.target == slot for token in part.tokens))
        ]
        answers = self._answers([part for _, part in own])
        return {span: (float(answer[self.column]), answer) for (span, _), answer in zip(own, answers, strict=True)}

    def _ask(self, opened: OpenedPassage, passage: Passage) -> Ask:
        slot = passage.targets.index(self.target)
        return lambda heard: self._kept(opened.ask(slot, self.aspect, heard))

    def _kept(self, probabilities: NDArray[np.float32]) -> Numbers:
        """The probabilities of the labels there are, from the model's."""
        if self.labels == self.own_labels:
            return probabilities.astype(np.float64)
        return restrict_labels(probabilities.astype(np.float64), self.own_labels, self.labels)

    def _answers(self, passages: Sequence[Passage]) -> list[Numbers]:
        """What is said of the target in passages, read: the labels' probabilities of each."""
        answers = self.engine.read_passages(passages, [self.aspect])
        return [
            self._kept(answer.probabilities[passage.targets.index(self.target), 0])
            for passage, answer in zip(passages, answers, strict=True)
        ]

    def _left_out(self, passage: Passage, spans: Sequence[Span]) -> Numbers:
        """What the answer's probability loses where the passage is read without each span."""
        whole, *rest = self._answers([passage, *(_without(passage, span) for span in spans)])
        return np.array([whole[self.column] - answer[self.column] for answer in rest])


def _heard(ask: Ask, own: NDArray[np.bool_], always: NDArray[np.bool_]) -> _Heard:
    """What is said where each row of `own` is out of hearing, and where it alone is heard beside what always is."""
    count = len(own)
    answers = ask(np.concatenate([np.ones_like(own[:1]), ~own, always[None], own | always]))
    return _Heard(answers[0], answers[1 : count + 1], answers[count + 1], answers[count + 2 :])


def _covered(opened: OpenedPassage, spans: Sequence[Span]) -> NDArray[np.bool_]:
    """Which parts of a passage stand in each span, (spans, parts); mentions of targets stand in none."""
    free = np.array([slot is None for slot in opened.slots], bool)
    starts, ends = np.array([*opened.spans], np.int64).reshape(-1, 2).T
    return np.array([(starts < span.end) & (ends > span.start) & free for span in spans], bool)


def _always(opened: OpenedPassage, words: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """What is heard of a passage where none of its words is, (parts,): names and punctuation."""
    heard = np.ones(len(opened.spans), bool)
    heard[np.flatnonzero(words.any(0))] = False
    return heard


def _words(text: str, passage: Passage) -> list[Span]:
    """The words of a passage, without mentions of its targets."""
    mentions = [Span(token.start, token.end) for token in passage.tokens if token.target is not None]
    return [span for span in word_spans(text, mentions) if _inside(span, passage)]


def _inside(span: Span, passage: Passage) -> bool:
    return passage.start <= span.start and span.end <= passage.end


def _runs(passage: Passage, words: Sequence[Span]) -> Iterator[Span]:
    """The words, in runs where they are many; no run goes across a mention."""
    mentions = [Span(token.start, token.end) for token in passage.tokens if token.target is not None]
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


def _without(passage: Passage, span: Span) -> Passage:
    """The passage without what stands in a span, names of targets apart."""
    return _filtered(passage, lambda start, end, mention: mention or end <= span.start or start >= span.end)


def _only(passage: Passage, span: Span) -> Passage:
    """What of a passage stands in a span."""
    return _filtered(passage, lambda start, end, _: span.start <= start and end <= span.end)


def _filtered(passage: Passage, keep: Callable[[int, int, bool], bool]) -> Passage:
    tokens = tuple(token for token in passage.tokens if keep(token.start, token.end, token.target is not None))
    if isinstance(passage, PiecePassage):
        pieces = tuple(piece for piece in passage.pieces if keep(piece.start, piece.end, piece.slot != NO_SLOT))
        return replace(passage, tokens=tokens, pieces=pieces)
    return replace(passage, tokens=tokens)
