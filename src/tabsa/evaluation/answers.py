"""Every question of an evaluation with its gold label and its probabilities, and those that went wrong."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice, zip_longest
from typing import Final, Literal, TypeAlias, get_args

import numpy as np

from tabsa.encoding.arrays import UNLABELLED, label_indices
from tabsa.errors import DataError
from tabsa.evaluation.metrics import AspectRows, FloatArray, IntArray, predicted_labels
from tabsa.schema import NONE, Dataset, Example, Polarity, Span, Target

# Words, and how many points of an answer's probability each carries.
WordWeights: TypeAlias = tuple[tuple[Span, float], ...]
Way: TypeAlias = Literal["missed", "invented", "turned"]
# The ways to be wrong: an opinion is not found, one is found where there is none, or its polarity is another.
WAYS: Final[tuple[Way, ...]] = get_args(Way)


@dataclass(frozen=True, slots=True)
class AnsweredQuestion:
    """One question with its answer; where that is wrong, a mistake."""

    example: Example
    target: Target
    aspect: str
    gold: Polarity
    predicted: Polarity
    probabilities: dict[str, float]
    evidence: WordWeights = ()  # the words that carry the answer (`Prediction.evidence`), where they were looked for

    @property
    def text(self) -> str:
        """The text."""
        return self.example.text

    @property
    def probability(self) -> float:
        """Of the predicted label."""
        return self.probabilities[self.predicted]

    @property
    def way(self) -> Way:
        """The way a mistake is wrong."""
        return "missed" if self.predicted == NONE else "invented" if self.gold == NONE else "turned"

    @property
    def wrongness(self) -> float:
        """The difference in probability of the predicted label and the right one."""
        return self.probabilities[self.predicted] - self.probabilities[self.gold]


@dataclass(frozen=True, slots=True)
class Answers:
    """Every question with its answer, each group's side by side; flat ones in the order of `Dataset.questions`.

    Where texts have aspects of their own, a group's columns are those.
    """

    dataset: Dataset
    group_gold: IntArray  # (groups, columns), UNLABELLED where a group has no more questions
    group_probabilities: FloatArray  # (groups, columns, labels)
    group_aspects: IntArray  # places among the dataset's, -1 where there is no question, (groups, columns)

    @property
    def gold(self) -> IntArray:
        """The right labels, as places among the dataset's: (questions,)."""
        return self.group_gold[self.group_gold >= 0]

    @property
    def probabilities(self) -> FloatArray:
        """Of each label: (questions, labels)."""
        return self.group_probabilities[self.group_gold >= 0]

    @property
    def predicted(self) -> IntArray:
        """The likeliest labels, as places: (questions,)."""
        return predicted_labels(self.probabilities)

    @property
    def texts(self) -> IntArray:
        """The number of the example that each question is about: (questions,)."""
        groups = [len(example.targets) for example in self.dataset.examples]
        return np.repeat(np.arange(len(groups)), groups)[np.nonzero(self.group_gold >= 0)[0]]

    def by_aspect(self) -> Iterator[tuple[int, AspectRows]]:
        """Yield the rows on each aspect that some text has, by its place among the dataset's."""
        group, column = np.nonzero(self.group_aspects >= 0)
        aspects = self.group_aspects[group, column]
        order = np.argsort(aspects, kind="stable")
        names, starts = np.unique(aspects[order], return_index=True)
        for name, places in zip(names.tolist(), np.split(order, starts[1:]), strict=True):
            at = group[places], column[places]
            rows = AspectRows(self.group_gold[at][:, None], self.group_probabilities[at][:, None], group[places])
            yield name, rows

    def __iter__(self) -> Iterator[AnsweredQuestion]:
        labels = self.dataset.labels
        given = zip(self.dataset.questions(), self.predicted.tolist(), self.probabilities.tolist(), strict=True)
        for (example, target, aspect, gold), label, row in given:
            yield AnsweredQuestion(example, target, aspect, gold, labels[label], dict(zip(labels, row, strict=True)))

    def mistakes(self) -> tuple[AnsweredQuestion, ...]:
        """Return the wrong answers, the most wrong first."""
        return tuple(sorted((one for one in self if one.predicted != one.gold), key=lambda one: -one.wrongness))


def arrange_answers(dataset: Dataset, probabilities: FloatArray) -> Answers:
    """Return the answers of probabilities in a dataset's order: (groups, aspects, labels), or (questions, labels)."""
    place = {aspect: number for number, aspect in enumerate(dataset.aspects)}
    of_groups = [
        [place[aspect] for aspect in (dataset.aspects if example.aspects is None else example.aspects)]
        for example, _ in dataset.groups()
    ]
    aspects = np.full((len(of_groups), max(map(len, of_groups), default=0)), -1, np.int64)
    for row, places in zip(aspects, of_groups, strict=True):
        row[: len(places)] = places
    there = aspects >= 0
    if not there.any():
        raise DataError(f"{dataset.name} {dataset.split} asks nothing; expected targets and aspects")
    flat = (int(there.sum()), len(dataset.labels))
    dense = (len(of_groups), len(dataset.aspects), len(dataset.labels))
    if probabilities.shape not in (flat, dense):
        raise ValueError(f"probabilities have shape {probabilities.shape}; {dataset.name} needs {dense} or {flat}")
    spread = np.zeros((*aspects.shape, len(dataset.labels)))
    spread[..., 0] = 1
    spread[there] = probabilities if probabilities.shape == flat else probabilities[there.nonzero()[0], aspects[there]]
    gold = np.full(aspects.shape, UNLABELLED, np.int64)
    gold[there] = label_indices(dataset, (polarity for *_, polarity in dataset.questions()))
    return Answers(dataset, gold, spread, aspects)


def worst_of_each(errors: Sequence[AnsweredQuestion], most: int) -> list[AnsweredQuestion]:
    """Return the `most` worst, as many of each way to be wrong as there are, in the order of `errors`.

    Opinions that a model misses are mostly those it is surest of; the worst of all would be hardly anything else.
    """
    queues = [[one for one in errors if one.way == way] for way in WAYS]
    turns = (one for turn in zip_longest(*queues) for one in turn if one is not None)
    return sorted(islice(turns, most), key=lambda one: -one.wrongness)
