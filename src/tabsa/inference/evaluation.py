"""What a model is worth on a dataset: the answers that a user gets, scored."""

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tabsa.datasets import load as load_dataset
from tabsa.errors import DataError
from tabsa.evaluation.report import Report
from tabsa.evaluation.report import evaluate as score
from tabsa.inference.predictor import Predictor, load
from tabsa.schema import Dataset


def evaluate(
    model: Predictor | str | Path,
    data: Dataset | str | Path,
    split: str = "test",
    *,
    data_dir: Path | None = None,
    bootstrap: int = 1000,
) -> Report:
    """Score a model on a dataset, in both families of definitions.

    Args:
        model: a Predictor, or what `load` takes.
        data: a Dataset, or a dataset's name, or the path of your own file or folder.
        split: the part of a named dataset to score on.
        data_dir: where a named dataset is looked for first.
        bootstrap: resamples for the 95% intervals; 0 leaves them out.

    Raises:
        DataError: the dataset has an aspect or a label that the model does not know.
    """
    predictor = model if isinstance(model, Predictor) else load(model)
    if not isinstance(data, Dataset):
        aspects = None if predictor.system.open_aspects else predictor.aspects
        data = load_dataset(data, split, data_dir=data_dir, aspects=aspects)
    return score(data, predict_examples(predictor, data), bootstrap=bootstrap)


def predict_examples(predictor: Predictor, dataset: Dataset) -> NDArray[np.float64]:
    """The Predictor's own probabilities for a dataset, (groups, aspects, labels), in the dataset's order of all three.

    Where a dataset lacks some of the model's labels, the others share their probability.
    """
    _check_knows(predictor, dataset)
    texts = [example.text for example in dataset.examples]
    targets = [example.targets for example in dataset.examples]
    predictions = predictor.predict_many(texts, aspects=dataset.aspects, targets_of_each=targets)
    rows = [
        [opinion.probabilities[label] for label in dataset.labels]
        for prediction in predictions
        for opinion in prediction.opinions
    ]
    probabilities = np.array(rows, np.float64).reshape(-1, len(dataset.aspects), len(dataset.labels))
    if len(dataset.labels) < len(predictor.labels):
        probabilities /= probabilities.sum(-1, keepdims=True)
    return probabilities


def _check_knows(predictor: Predictor, dataset: Dataset) -> None:
    """Raise a one-line DataError where the dataset has an aspect or a label that the model has not."""
    config = predictor.folder.config
    for what, ours, theirs in (("aspect", config.aspects, dataset.aspects), ("label", config.labels, dataset.labels)):
        unknown = [name for name in theirs if name not in ours]
        if unknown:
            known = ", ".join(ours)
            raise DataError(f"{dataset.name} has the {what} '{unknown[0]}', which the model does not know ({known})")
