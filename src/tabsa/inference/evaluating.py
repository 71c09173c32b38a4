"""Evaluate a model on a dataset: the answers that a user gets, scored."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from tabsa.checkpoint.model_folder import ModelFolder
from tabsa.datasets.checking import mostly_implied, warn_of
from tabsa.datasets.loading import load as load_dataset
from tabsa.datasets.loading import named_columns
from tabsa.datasets.own import frame_dataset
from tabsa.datasets.records import Columns
from tabsa.encoding.answers import restrict_labels
from tabsa.errors import DataError, ModelError
from tabsa.evaluation.report import Report
from tabsa.evaluation.report import evaluate as score
from tabsa.inference.predictor import Predictor, load
from tabsa.schema import MIXED, Dataset
from tabsa.text.aspects import clean_aspect

_SAME: Final = {"conflict": MIXED, MIXED: "conflict"}  # two names of one polarity; SemEval's first


def evaluate(
    model: Predictor | str | Path,
    data: object,
    split: str = "test",
    *,
    data_dir: Path | None = None,
    columns: Columns | Mapping[str, str] | None = None,
    bootstrap: int = 1000,
    exclusive: bool = False,
) -> Report:
    """Score a model, or what `load` takes, on a dataset; `tabsa.evaluate` says what the arguments are.

    Raises:
        DataError: the dataset has an aspect or a label that the model does not know.
    """
    predictor = model if isinstance(model, Predictor) else load(model)
    if isinstance(data, str | Path):
        aspects = None if predictor.open_aspects else predictor.aspects
        dataset = load_dataset(data, split, data_dir=data_dir, aspects=aspects, columns=columns)
    else:
        dataset = frame_dataset(data, named_columns(columns))
    name, where = predictor.folder.path.resolve().name, f"{dataset.split} of {dataset.name}"
    report = score(
        dataset,
        predict_questions(predictor, dataset, exclusive=exclusive),
        bootstrap=bootstrap,
        model=name,
        history=_history(predictor.folder),
    )
    if not predictor.implied and mostly_implied(dataset):
        note = f"most targets are not named in their texts; in use {name} answers `none` for these unless you say"
        warn_of([f"{where}: {note} --implied (in Python implied=True)"])
    same = any(example.aspects is None for example in dataset.examples)  # otherwise each text has a list of its own
    if same and not exclusive and (note := predictor.overlap(dataset.aspects)):
        warn_of([f"{where}, read by {name}: {note}"])
    return report


def _history(folder: ModelFolder) -> list[Mapping[str, Any]]:
    """Return the figures of training after each epoch; nothing where the folder has none."""
    try:
        history = folder.metrics.get("history")
    except ModelError:
        return []
    return [entry for entry in history if isinstance(entry, dict)] if isinstance(history, list) else []


def predict_questions(predictor: Predictor, dataset: Dataset, *, exclusive: bool = False) -> NDArray[np.float64]:
    """Return the Predictor's probabilities for a dataset's questions, (questions, labels), in its order of both.

    The shares of labels that the dataset lacks go to those it has (`restrict_labels`).
    """
    unknown = [] if predictor.open_aspects else [name for name in dataset.aspects if name not in predictor.aspects]
    if unknown:
        known = ", ".join(predictor.aspects)
        raise DataError(f"{dataset.name} has the aspect '{unknown[0]}', which the model does not know ({known})")
    present = label_names(predictor, dataset)
    examples = [example for example in dataset.examples if example.targets and example.aspects != ()]
    aspects_of_each = [dataset.aspects if example.aspects is None else example.aspects for example in examples]
    predictions = predictor.predict_many(
        [example.text for example in examples],
        targets_of_each=[example.targets for example in examples],
        aspects_of_each=aspects_of_each,
        exclusive=exclusive,
    )
    rows: list[list[float]] = []
    for example, aspects, prediction in zip(examples, aspects_of_each, predictions, strict=True):
        given = {(opinion.target, opinion.aspect): opinion for opinion in prediction.opinions}
        # Two wordings that differ in white space only are one question to the model.
        wordings = [clean_aspect(aspect) for aspect in aspects] if predictor.open_aspects else aspects
        rows += [
            [given[target.name, aspect].probabilities[label] for label in predictor.labels]
            for target in example.targets
            for aspect in wordings
        ]
    probabilities = np.array(rows, np.float64).reshape(-1, len(predictor.labels))
    if set(present) < set(predictor.labels):
        return restrict_labels(probabilities, predictor.labels, present)
    return probabilities[:, [predictor.labels.index(label) for label in present]]


def label_names(predictor: Predictor, dataset: Dataset) -> tuple[str, ...]:
    """Return the dataset's labels by the model's names for them; a one-line DataError where it has none for one."""
    named = []
    for label in dataset.labels:
        name = label if label in predictor.labels else _SAME.get(label, label)
        if name not in predictor.labels or name in named:
            known = ", ".join(predictor.labels)
            raise DataError(f"{dataset.name} has the label '{label}', which the model does not know ({known})")
        named.append(name)
    return tuple(named)
