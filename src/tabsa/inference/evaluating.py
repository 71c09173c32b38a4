"""What a model is worth on a dataset: the answers that a user gets, scored."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from tabsa.checkpoint.model_folder import ModelFolder
from tabsa.datasets.checking import warn_if_implied
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

_SAME: Final[Mapping[str, str]] = {
    "conflict": MIXED,
    MIXED: "conflict",
}  # two names of one polarity; SemEval's first


def evaluate(
    model: Predictor | str | Path,
    data: object,
    split: str = "test",
    *,
    data_dir: Path | None = None,
    columns: Columns | Mapping[str, str] | None = None,
    bootstrap: int = 1000,
) -> Report:
    """Score a model on a dataset, in both families of definitions.

    Args:
        model: a Predictor, or what `load` takes.
        data: a dataset's name, or the path of your own file or folder; or labels in memory: a Dataset, a DataFrame,
            rows as mappings, Examples.
        split: the part of what has a name or a path to score on.
        data_dir: where a named dataset is looked for first.
        columns: what your own file or frame calls its columns, as for `tabsa.datasets.loading.load`.
        bootstrap: resamples for the 95% intervals; 0 leaves them out.

    Raises:
        DataError: the dataset has an aspect or a label that the model does not know.
    """
    predictor = model if isinstance(model, Predictor) else load(model)
    if isinstance(data, str | Path):
        aspects = None if predictor.open_aspects else predictor.aspects
        dataset = load_dataset(data, split, data_dir=data_dir, aspects=aspects, columns=columns)
    else:
        dataset = frame_dataset(data, named_columns(columns))
    report = score(
        dataset,
        predict_questions(predictor, dataset),
        bootstrap=bootstrap,
        model=predictor.folder.path.resolve().name,
        history=_history(predictor.folder),
    )
    warn_if_implied(dataset, implied=predictor.implied)
    return report


def _history(folder: ModelFolder) -> list[Mapping[str, Any]]:
    """What training wrote down after each epoch; nothing where the folder does not tell."""
    try:
        history = folder.metrics.get("history")
    except ModelError:
        return []
    return [entry for entry in history if isinstance(entry, dict)] if isinstance(history, list) else []


def predict_questions(predictor: Predictor, dataset: Dataset) -> NDArray[np.float64]:
    """The Predictor's own probabilities for a dataset's questions, (questions, labels), in the dataset's order of both.

    A text is asked nothing else (`Dataset.questions`). What a model says of labels that the dataset lacks goes to
    those it has (`tabsa.evaluation.metrics.without`).
    """
    _check_aspects(predictor, dataset)
    kept = label_names(predictor, dataset)
    asking = [example for example in dataset.examples if example.targets and example.aspects != ()]
    predictions = predictor.predict_many(
        [example.text for example in asking],
        targets_of_each=[example.targets for example in asking],
        aspects_of_each=[dataset.aspects if example.aspects is None else example.aspects for example in asking],
    )
    rows: list[list[float]] = []
    for example, prediction in zip(asking, predictions, strict=True):
        given = {(opinion.target, opinion.aspect): opinion for opinion in prediction.opinions}
        aspects = dataset.aspects if example.aspects is None else example.aspects
        # Two wordings that differ in white space only are one question to the model.
        asked = [clean_aspect(aspect) for aspect in aspects] if predictor.open_aspects else aspects
        rows += [
            [given[target.name, aspect].probabilities[label] for label in predictor.labels]
            for target in example.targets
            for aspect in asked
        ]
    probabilities = np.array(rows, np.float64).reshape(-1, len(predictor.labels))
    if set(kept) < set(predictor.labels):
        return np.asarray(restrict_labels(probabilities, predictor.labels, kept), np.float64)
    return probabilities[:, [predictor.labels.index(label) for label in kept]]


def predict_examples(predictor: Predictor, dataset: Dataset) -> NDArray[np.float64]:
    """The same as an array of (groups, aspects, labels); what was not asked of a text is `none` there, for certain."""
    answers = predict_questions(predictor, dataset)
    groups = sum(1 for _ in dataset.groups())
    probabilities = np.zeros((groups, len(dataset.aspects), len(dataset.labels)))
    probabilities[..., 0] = 1
    place = {aspect: column for column, aspect in enumerate(dataset.aspects)}
    rows, columns = [], []
    for group, (example, _) in enumerate(dataset.groups()):
        asked = dataset.aspects if example.aspects is None else example.aspects
        rows += [group] * len(asked)
        columns += [place[aspect] for aspect in asked]
    probabilities[rows, columns] = answers
    return probabilities


def _check_aspects(predictor: Predictor, dataset: Dataset) -> None:
    """Raise a one-line DataError where the dataset has an aspect that the model does not answer."""
    unknown = [] if predictor.open_aspects else [name for name in dataset.aspects if name not in predictor.aspects]
    if unknown:
        known = ", ".join(predictor.aspects)
        raise DataError(f"{dataset.name} has the aspect '{unknown[0]}', which the model does not know ({known})")


def label_names(predictor: Predictor, dataset: Dataset) -> tuple[str, ...]:
    """The dataset's labels by the model's names for them; a one-line DataError where it has none for one."""
    named = []
    for label in dataset.labels:
        name = label if label in predictor.labels else _SAME.get(label, label)
        if name not in predictor.labels or name in named:
            known = ", ".join(predictor.labels)
            raise DataError(f"{dataset.name} has the label '{label}', which the model does not know ({known})")
        named.append(name)
    return tuple(named)
