"""Figures of single questions, for data where each text asks its own aspects. Pure functions on arrays.

Shapes: `gold` (questions,) label indices, 0 is `none`, -1 counts nowhere; `probabilities` (questions, labels).
"""

import math

import numpy as np
from numpy.typing import NDArray

from tabsa.evaluation.metrics import FloatArray, IntArray


def question_metrics(gold: IntArray, probabilities: FloatArray) -> dict[str, float]:
    """F1 of opinions with their polarity and of their presence, and how often a true opinion's polarity is right.

    An opinion is found where another label than `none` is the likeliest. `polarity_accuracy` is of all questions with a
    gold opinion, whatever the probability of `none`.
    """
    asked = gold >= 0
    gold, probabilities = gold[asked], probabilities[asked]
    predicted = probabilities.argmax(-1)
    there, found = gold > 0, predicted > 0
    both = int(there.sum()) + int(found.sum())
    polarity = 1 + probabilities[:, 1:].argmax(-1)
    return {
        "opinion_f1": 2 * int((there & (predicted == gold)).sum()) / both if both else math.nan,
        "presence_f1": 2 * int((there & found).sum()) / both if both else math.nan,
        "polarity_accuracy": float((polarity == gold)[there].mean()) if there.any() else math.nan,
        "false_opinions": float(found[~there].mean()) if (~there).any() else math.nan,
    }


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
