"""What was asked, what is right, and what was said: every question of an evaluation, and those that went wrong."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice, zip_longest
from typing import Final, Literal, NamedTuple, TypeAlias, get_args

import numpy as np

from tabsa.evaluation.metrics import FloatArray, IntArray, predicted_labels
from tabsa.evaluation.rows import AskedRows
from tabsa.schema import NONE, Dataset, Example, Polarity, Span, Target

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
    rows: AskedRows

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
