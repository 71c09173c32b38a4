"""Figures of single questions, for data where each text asks its own aspects. Pure functions on arrays.

Shapes: `gold` (questions,) label indices, 0 is `none`, -1 counts nowhere; `probabilities` (questions, labels).
"""

import math
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tabsa.evaluation.metrics import FloatArray, IntArray

QUESTION_METRICS: Final = ("opinion_f1", "presence_f1", "polarity_accuracy", "false_opinions")


class Counted(NamedTuple):
    """A figure as what is counted of each question, and of how much: it is the sum of the one over the other's."""

    part: IntArray  # (questions,)
    whole: IntArray  # (questions,)


def question_counts(gold: IntArray, probabilities: FloatArray) -> dict[str, Counted]:
    """What the figures of `question_metrics` are made of; every question is asked (none has the label -1)."""
    predicted = probabilities.argmax(-1)
    there, found = gold > 0, predicted > 0
    both = there.astype(np.int64) + found
    polarity = 1 + probabilities[:, 1:].argmax(-1)
    return {
        "opinion_f1": Counted(2 * (there & (predicted == gold)), both),
        "presence_f1": Counted(2 * (there & found), both),
        "polarity_accuracy": Counted(1 * (there & (polarity == gold)), 1 * there),
        "false_opinions": Counted(1 * (found & ~there), 1 * ~there),
    }


def question_metrics(gold: IntArray, probabilities: FloatArray) -> dict[str, float]:
    """F1 of opinions with their polarity and of their presence, and how often a true opinion's polarity is right.

    An opinion is found where another label than `none` is the likeliest. `polarity_accuracy` is of all questions with a
    gold opinion, whatever the probability of `none`; `false_opinions` is the share of the others that get one.
    """
    asked = gold >= 0
    counts = question_counts(gold[asked], probabilities[asked])
    return {name: _share(int(one.part.sum()), int(one.whole.sum())) for name, one in counts.items()}


def _share(part: int, whole: int) -> float:
    return part / whole if whole else math.nan


def without(probabilities: FloatArray, labels: tuple[str, ...], kept: tuple[str, ...]) -> NDArray[np.float64]:
    """Probabilities of `labels`, (..., labels), for data that has only those `kept`, whose first is `none`.

    What is neutral counts as `none` there: the text judges nothing. Other labels' shares go to the polarities, in
    proportion, because the text does judge.
    """
    places = [labels.index(label) for label in kept]
    result: NDArray[np.float64] = np.asarray(probabilities[..., places], np.float64)
    for place, label in enumerate(labels):
        if label == "neutral" and label not in kept:
            result[..., 0] += probabilities[..., place]
    opinions = result[..., 1:].sum(-1, keepdims=True)
    rest = 1 - result[..., :1]
    result[..., 1:] *= np.where(opinions > 0, rest / np.maximum(opinions, 1e-30), 0)
    result /= np.maximum(result.sum(-1, keepdims=True), 1e-30)
    return result
