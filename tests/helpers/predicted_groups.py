"""The Predictor's answers to a dataset as an array, as evaluations of groups have them."""

import numpy as np
from numpy.typing import NDArray

from tabsa.inference.evaluating import predict_questions
from tabsa.inference.predictor import Predictor
from tabsa.schema import Dataset


def predict_examples(predictor: Predictor, dataset: Dataset) -> NDArray[np.float64]:
    """(groups, aspects, labels); where there is no question, `none` is certain."""
    groups = {(example.id, target.name): number for number, (example, target) in enumerate(dataset.groups())}
    probabilities = np.zeros((len(groups), len(dataset.aspects), len(dataset.labels)))
    probabilities[..., 0] = 1
    answers = predict_questions(predictor, dataset)
    for (example, target, aspect, _), row in zip(dataset.questions(), answers, strict=True):
        probabilities[groups[example.id, target.name], dataset.aspects.index(aspect)] = row
    return probabilities
