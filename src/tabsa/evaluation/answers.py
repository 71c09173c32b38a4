"""A dataset's questions as rows of arrays, few or many aspects alike."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice, zip_longest
from typing import Final, Literal, NamedTuple, TypeAlias, get_args

import numpy as np
from numpy.typing import NDArray

from tabsa.encoding.arrays import UNLABELLED, gold_labels
from tabsa.errors import DataError
from tabsa.evaluation.metrics import FloatArray, IntArray, predicted_labels
from tabsa.schema import NONE, Dataset, Example, Polarity, Span, Target


class QuestionRows(NamedTuple):
    """Each group's rows. Where texts ask their own aspects, a group has only the columns of what it was asked."""

    gold: IntArray  # (groups, columns), UNLABELLED where there is no row
    probabilities: FloatArray  # (groups, columns, labels)
    aspects: IntArray | None = None  # which of the dataset's, (groups, columns); None: the columns are the aspects


class AspectRows(NamedTuple):
    """The rows on one aspect, as arrays with a single column."""

    gold: IntArray  # (rows, 1)
    probabilities: FloatArray  # (rows, 1, labels)
    groups: IntArray  # (rows,)


def question_rows(dataset: Dataset, probabilities: FloatArray) -> QuestionRows:
    """The rows of a dataset, of probabilities in its order: (groups, aspects, labels), or (questions, labels)."""
    own = any(example.aspects is not None for example in dataset.examples)
    aspects = _asked(dataset) if own else None
    columns = len(dataset.aspects) if aspects is None else aspects.shape[1]
    groups = sum(1 for _ in dataset.groups())
    there = np.ones((groups, columns), bool) if aspects is None else aspects >= 0
    if not there.any():
        raise DataError(f"{dataset.name} {dataset.split} asks nothing; expected targets and aspects")
    flat = (int(there.sum()), len(dataset.labels))
    dense = (groups, len(dataset.aspects), len(dataset.labels))
    if probabilities.shape == flat:
        given = probabilities
    elif probabilities.shape != dense:
        raise ValueError(f"probabilities have shape {probabilities.shape}; {dataset.name} needs {dense} or {flat}")
    elif aspects is None:
        return QuestionRows(gold_labels(dataset), probabilities)
    else:
        given = probabilities[np.nonzero(there)[0], aspects[there]]
    spread = np.zeros((groups, columns, len(dataset.labels)))
    spread[..., 0] = 1
    spread[there] = given
    if aspects is None:
        return QuestionRows(gold_labels(dataset), spread)
    return QuestionRows(_own_gold(dataset, there), spread, aspects)


def _asked(dataset: Dataset) -> IntArray:
    """Which aspects each group was asked, as places among the dataset's, -1 after the last: (groups, most asked)."""
    place = {aspect: number for number, aspect in enumerate(dataset.aspects)}
    every = tuple(range(len(dataset.aspects)))
    asked = [
        every if example.aspects is None else tuple(place[aspect] for aspect in example.aspects)
        for example, _ in dataset.groups()
    ]
    table = np.full((len(asked), max(map(len, asked), default=0)), -1, np.int64)
    for row, places in zip(table, asked, strict=True):
        row[: len(places)] = places
    return table


def _own_gold(dataset: Dataset, there: NDArray[np.bool_]) -> IntArray:
    index = {label: number for number, label in enumerate(dataset.labels)}
    gold = np.full(there.shape, UNLABELLED, np.int64)
    try:
        gold[there] = [index[polarity] for _, _, _, polarity in dataset.questions()]
    except KeyError as e:
        expected = ", ".join(dataset.labels)
        raise DataError(f"{dataset.name} {dataset.split} has the polarity {e}; expected one of {expected}") from e
    return gold


def by_aspect(dataset: Dataset, rows: QuestionRows) -> Iterator[tuple[int, AspectRows]]:
    """The rows on each aspect, by its place among the dataset's.

    Where texts ask their own, an aspect that none of them asks is left out.
    """
    if rows.aspects is None:
        groups = np.arange(len(rows.gold))
        for aspect in range(len(dataset.aspects)):
            yield aspect, AspectRows(rows.gold[:, [aspect]], rows.probabilities[:, [aspect]], groups)
        return
    group, column = np.nonzero(rows.aspects >= 0)
    aspects = rows.aspects[group, column]
    order = np.argsort(aspects, kind="stable")
    names, starts = np.unique(aspects[order], return_index=True)
    for name, places in zip(names.tolist(), np.split(order, starts[1:]), strict=True):
        at = group[places], column[places]
        yield name, AspectRows(rows.gold[at][:, None], rows.probabilities[at][:, None], group[places])


# Words, and how many points of an answer's probability each carries.
WordWeights: TypeAlias = tuple[tuple[Span, float], ...]


class AnsweredQuestion(NamedTuple):
    """One question with its answer."""

    example: Example
    target: Target
    aspect: str
    gold: Polarity
    said: Polarity
    probabilities: dict[str, float]


Way: TypeAlias = Literal["missed", "invented", "turned"]
# The ways to be wrong: an opinion is not found, one is found where there is none, or its polarity is another.
WAYS: Final[tuple[Way, ...]] = get_args(Way)


@dataclass(frozen=True, slots=True)
class Mistake:
    """A question whose likeliest answer is wrong."""

    example: Example
    target: Target
    aspect: str
    gold: Polarity
    said: Polarity
    probabilities: dict[str, float]
    evidence: WordWeights = ()
    """Which words carry the answer, in the order of the text (`Prediction.evidence`); empty if not asked for."""

    @property
    def id(self) -> str:
        """The text's."""
        return self.example.id

    @property
    def text(self) -> str:
        """The text."""
        return self.example.text

    @property
    def probability(self) -> float:
        """Of what was said."""
        return self.probabilities[self.said]

    @property
    def way(self) -> Way:
        """How it is wrong."""
        return "missed" if self.said == NONE else "invented" if self.gold == NONE else "turned"

    @property
    def wrongness(self) -> float:
        """How much likelier what was said is than what is right."""
        return self.probabilities[self.said] - self.probabilities[self.gold]


@dataclass(frozen=True, slots=True)
class Answers:
    """Every question that was asked, in the order of `Dataset.questions`."""

    dataset: Dataset
    rows: QuestionRows

    @property
    def gold(self) -> IntArray:
        """What is right, as places among the labels: (questions,)."""
        return self.rows.gold[self.rows.gold >= 0]

    @property
    def probabilities(self) -> FloatArray:
        """Of each label: (questions, labels)."""
        return self.rows.probabilities[self.rows.gold >= 0]

    @property
    def said(self) -> IntArray:
        """The likeliest labels, as places: (questions,)."""
        return predicted_labels(self.probabilities)

    def __len__(self) -> int:
        return int((self.rows.gold >= 0).sum())

    def __iter__(self) -> Iterator[AnsweredQuestion]:
        labels = self.dataset.labels
        given = zip(self.dataset.questions(), self.said.tolist(), self.probabilities.tolist(), strict=True)
        for (example, target, aspect, gold), said, row in given:
            yield AnsweredQuestion(example, target, aspect, gold, labels[said], dict(zip(labels, row, strict=True)))

    @property
    def texts(self) -> IntArray:
        """Which of the dataset's examples each question is about: (questions,)."""
        groups = [len(example.targets) for example in self.dataset.examples]
        text_of_group: IntArray = np.repeat(np.arange(len(groups)), groups)
        return text_of_group[np.nonzero(self.rows.gold >= 0)[0]]

    def mistakes(self) -> tuple[Mistake, ...]:
        """The wrong answers, the most wrong first."""
        wrong = [Mistake(*answer) for answer in self if answer.said != answer.gold]
        return tuple(sorted(wrong, key=lambda one: -one.wrongness))


def worst_of_each(errors: Sequence[Mistake], most: int) -> list[Mistake]:
    """The `most` worst, as many of each way to be wrong as there are, in the order of `errors`.

    Opinions that a model misses are mostly those it is surest of; the worst of all would be hardly anything else.
    """
    queues = [[one for one in errors if one.way == way] for way in WAYS]
    turns = (one for turn in zip_longest(*queues) for one in turn if one is not None)
    return sorted(islice(turns, most), key=lambda one: -one.wrongness)
