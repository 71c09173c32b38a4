"""Active learning: texts that are worth labelling next, by uncertainty sampling and a core-set.

A text whose questions the model answers unsurely teaches it more than one that it is sure of (uncertainty sampling, by
the margin between the two likeliest answers). The most unsure texts are often alike, though, so of a pool of them the
next one picked is far from all picked before (farthest-first, the greedy core-set of Sener and Savarese, 2018), its
distance weighed by how unsure the model is.
"""

import math
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from heapq import nlargest
from itertools import islice, repeat
from typing import Any, Final, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from tabsa.errors import DataError
from tabsa.inference.predictor import Predictor, Targets, paired
from tabsa.inference.results import PredictedOpinion
from tabsa.schema import Target

Floats: TypeAlias = NDArray[np.float64]

_CHUNK: Final = 1024  # texts that are read together
_POOL: Final = 10  # unsure texts that are looked at for each that is picked
_SMALLEST_POOL: Final = 200
_ALIKE: Final = 0.8  # of the words of two texts: those are the same text with a word or two changed
_MOST_CENTRES: Final = 2000  # labelled texts that others are to be far from
_WORDS: Final = re.compile(r"[^\W\d_]+|\d+")


class OpenQuestion(NamedTuple):
    """A question that a person may answer, and the model's answer."""

    target: str
    aspect: str
    predicted: str
    probability: float
    uncertainty: float  # from 0, sure, to 1
    named: bool  # the text names the target; otherwise it only implies it


@dataclass(frozen=True, slots=True)
class Suggestion:
    """A text that is worth labelling, and its questions, the least sure first."""

    index: int
    text: str
    questions: tuple[OpenQuestion, ...]
    uncertainty: float  # the mean of its questions'


@dataclass(frozen=True, slots=True)
class MarkedText:
    """A text, and whom it is read for: the targets that it mentions or implies."""

    index: int
    text: str
    targets: Sequence[Target]


def suggest(
    predictor: Predictor,
    texts: Iterable[str],
    targets: Targets | None = None,
    aspects: Sequence[str] | None = None,
    n: int = 50,
    *,
    targets_of_each: Iterable[Targets] | None = None,
    implied: bool | None = None,
    questions: int | None = 3,
    labelled: Sequence[str] = (),
) -> list[Suggestion]:
    """Return the texts whose labels would teach a model most, the most useful first.

    Args:
        predictor: the model.
        texts: any number of them; one that names no target is passed over, unless that is implied.
        targets: as for `predict`, of every text; `targets_of_each` gives each its own. With neither, and `implied`,
            what a text is about and does not name.
        aspects: as for `predict`.
        n: how many texts; fewer where there are not as many that differ.
        targets_of_each: each text's own targets.
        implied: as for `predict`.
        questions: how many a text, the least sure; None is all.
        labelled: texts that have their labels: neither they nor texts like them are picked.
    """
    found = paired(texts, predictor.finders(targets, targets_of_each, implied), repeat(()))
    marked = (MarkedText(index, text, finder.find(text)) for index, (text, finder, _) in enumerate(found))
    return suggest_of(predictor, marked, aspects, n, questions=questions, labelled=labelled)


def suggest_of(
    predictor: Predictor,
    texts: Iterable[MarkedText],
    aspects: Sequence[str] | None = None,
    n: int = 50,
    *,
    questions: int | None = 3,
    labelled: Sequence[str] = (),
) -> list[Suggestion]:
    """Return the same of texts whose targets are known; memory does not grow with their number."""
    if n < 1 or (questions is not None and questions < 1):
        raise DataError("nothing is asked for; expected at least 1 text and 1 question")
    size, known = max(_POOL * n, _SMALLEST_POOL), {_gist(text) for text in labelled}
    pool: dict[tuple[str, ...], Suggestion] = {}  # the most unsure texts so far, none of them twice
    read = (one for one in texts if one.text.strip() and any(t.mentions or t.implied for t in one.targets))
    while chunk := list(islice(read, _CHUNK)):
        predictions = predictor.predict_many(
            [one.text for one in chunk],
            aspects=aspects,
            targets_of_each=[[t for t in one.targets if t.mentions or t.implied] for one in chunk],
        )
        for one, prediction in zip(chunk, predictions, strict=True):
            if (gist := _gist(one.text)) not in known:
                found = _suggestion(one, prediction.opinions, questions)
                pool[gist] = max(pool.get(gist, found), found, key=lambda suggestion: suggestion.uncertainty)
        # Of texts that are as unsure, the earlier ones stay: what comes later never decides.
        unsure = nlargest(size, pool.items(), key=lambda item: (item[1].uncertainty, -item[1].index))
        pool = dict(unsure)
    return _spread([*pool.values()], n, predictor, labelled[-_MOST_CENTRES:])


def _suggestion(one: MarkedText, opinions: Sequence[PredictedOpinion], questions: int | None) -> Suggestion:
    named = {target.name for target in one.targets if target.mentions}
    implied = [target.name for target in one.targets if target.implied and not target.mentions]
    wanted = named | {*implied[:1]}  # what a text implies is one thing, whatever it is called
    every = []
    for opinion in opinions:
        if opinion.target in wanted:
            first, second, *_ = sorted(opinion.probabilities.values(), reverse=True)
            pair = (opinion.target, opinion.aspect, opinion.polarity)
            every.append(OpenQuestion(*pair, first, 1 - (first - second), opinion.target in named))
    unsure = sorted(every, key=lambda question: -question.uncertainty)[:questions]
    return Suggestion(one.index, one.text, tuple(unsure), sum(q.uncertainty for q in unsure) / len(unsure))


def _spread(pool: Sequence[Suggestion], n: int, predictor: Predictor, labelled: Sequence[str]) -> list[Suggestion]:
    """Pick `n` of a pool, the most unsure first, that are far from each other and from labelled texts."""
    if not pool:
        return []
    vectors = _vectors([*(one.text for one in pool), *labelled], predictor)
    centres, candidates = vectors[len(pool) :], vectors[: len(pool)]
    nearest = np.ones(len(pool)) if not len(centres) else (1 - candidates @ centres.T).min(1)
    words = [frozenset(_gist(one.text)) for one in pool]
    free = np.array([not any(_alike(own, frozenset(_gist(text))) for text in labelled) for own in words])
    unsure = np.array([one.uncertainty for one in pool])
    picked: list[Suggestion] = []
    while len(picked) < n and free.any():
        # What is not far from anything is still picked before the pool runs out, the most unsure first.
        worth = np.where(free, unsure * np.maximum(nearest, 1e-6), -1.0)
        best = int(worth.argmax())
        picked.append(pool[best])
        nearest = np.minimum(nearest, 1 - candidates @ candidates[best])
        free &= [not _alike(words[best], other) for other in words]
        free[best] = False
    return picked


def _vectors(texts: Sequence[str], predictor: Predictor) -> Floats:
    """Return a vector for each text, of length 1 and around their mean: texts of like content lie near each other."""
    # A reader's states of any words, which is how it reads aspects; of another model, the words themselves.
    read: Any = getattr(predictor.engine, "text_vectors", None)
    found: Floats = _word_counts(texts) if read is None else np.asarray(read(texts), np.float64)
    if len(texts) > 1:
        found = found - found.mean(0)
    lengths = np.linalg.norm(found, axis=1, keepdims=True)
    return found / np.where(lengths > 0, lengths, 1)


def _word_counts(texts: Sequence[str]) -> Floats:
    """Return the words of each text, rare ones weighed more (TF-IDF): (N, words)."""
    bags = [Counter(_gist(text)) for text in texts]
    often = Counter(word for bag in bags for word in bag)
    rows = {word: row for row, word in enumerate(often)}
    weights = {word: math.log((1 + len(texts)) / count) for word, count in often.items()}
    found = np.zeros((len(texts), max(1, len(rows))))
    for bag, row in zip(bags, found, strict=True):
        for word, count in bag.items():
            row[rows[word]] = (1 + math.log(count)) * weights[word]
    return found


def _gist(text: str) -> tuple[str, ...]:
    """Return the words of a text without case and punctuation, and with one number for another."""
    return tuple("0" if word.isdigit() else word for word in _WORDS.findall(text.casefold()))


def _alike(one: frozenset[str], other: frozenset[str]) -> bool:
    """Tell whether two texts, as their words, are one text but for a word or two."""
    return len(one & other) >= _ALIKE * len(one | other)
