"""From a finished run to a model folder, and from a model folder back to a model that can be evaluated or exported."""

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from tabsa.batch import PADDING, count_words, encode, target_word
from tabsa.config import build
from tabsa.errors import DataError, ModelError
from tabsa.folder import ModelConfig, ModelFolder, write_folder
from tabsa.models import MODELS, Model, Vocabulary
from tabsa.schema import Dataset
from tabsa.training.config import RunConfig
from tabsa.training.loop import Progress, predict
from tabsa.training.prepare import Prepared, aspect_matrix
from tabsa.training.prepare import Vocabulary as KeptVocabulary
from tabsa.vectors import WordVectors, lookup


def write_result(
    path: Path,
    config: RunConfig,
    prepared: Prepared,
    kept: KeptVocabulary,
    seeds: Sequence[int],
    progress: Progress,
    weights: dict[str, torch.Tensor],
) -> ModelFolder:
    """Write the model of the seed that is best on dev; `weights` are the best of all seeds, (S, ...)."""
    best = max(range(len(seeds)), key=lambda n: progress.best[n])
    figures = {
        "data": config.data.name,
        "split": config.data.dev,
        "seed": seeds[best],
        "epoch": progress.best_epoch[best],
        "dev": progress.best_figures[best],
        "seeds": {str(s): progress.best_figures[n] for n, s in enumerate(seeds)},
        "coverage": kept.coverage.to_dict(),
    }
    model_config = ModelConfig(
        kind=config.kind,
        model=dataclasses.asdict(config.model),
        aspects=prepared.aspects,
        labels=prepared.labels,
        targets=config.data.targets,
        max_length=config.data.max_length,
    )
    arrays = {name: tensor[best].cpu().numpy() for name, tensor in weights.items()}
    return write_folder(path, model_config, arrays, kept.vectors, figures, _card(config, prepared, figures))


def load_model(folder: ModelFolder, words: NDArray[np.float32], targets: tuple[int, ...]) -> Model:
    """The folder's model as a network that reads rows of `words`; one seed."""
    config = folder.config
    if config.kind not in MODELS:
        raise ModelError(f"{folder.path} holds a '{config.kind}'; known: {', '.join(MODELS)}")
    model_class = MODELS[config.kind]
    aspects = torch.from_numpy(aspect_matrix(config.aspects, folder.vectors))
    vocabulary = Vocabulary(torch.from_numpy(words), targets, aspects, len(config.labels))
    model = model_class(build(model_class.config_class, config.model, "model."), vocabulary, (0,))
    state = {name: torch.from_numpy(array).unsqueeze(0) for name, array in folder.weights.items()}
    try:
        model.load_state_dict(state)
    except RuntimeError as e:
        raise ModelError(f"{folder.path}: the weights do not fit the configuration ({e})") from e
    return model


def predict_dataset(folder: ModelFolder, dataset: Dataset) -> NDArray[np.float64]:
    """The folder's probabilities for a dataset, (groups, aspects, labels), in the dataset's order of both."""
    config = folder.config
    for what, ours, theirs in (("aspect", config.aspects, dataset.aspects), ("label", config.labels, dataset.labels)):
        unknown = [name for name in theirs if name not in ours]
        if unknown:
            known = ", ".join(ours)
            raise DataError(f"{dataset.name} has the {what} '{unknown[0]}', which the model does not know ({known})")
    asked = dataclasses.replace(dataset, aspects=config.aspects, labels=config.labels)
    counts = count_words([asked], targets=config.targets, max_length=config.max_length)
    names = [PADDING, *counts]
    table = rows_of(names, folder.vectors)
    rows = {word: row for row, word in enumerate(names)}
    model = load_model(folder, table, tuple(rows[target_word(slot)] for slot in range(config.targets)))
    encoded = encode(asked, rows, targets=config.targets, max_length=config.max_length)
    probabilities = predict(model, encoded)[0][:, [config.aspects.index(a) for a in dataset.aspects]]
    probabilities = probabilities[..., [config.labels.index(label) for label in dataset.labels]]
    result: NDArray[np.float64] = probabilities / probabilities.sum(-1, keepdims=True)
    return result


def rows_of(words: Sequence[str], vectors: WordVectors) -> NDArray[np.float32]:
    """A vector for each word, the first of which is padding and zero."""
    matrix = lookup(words, vectors).matrix
    matrix[0] = 0
    return matrix


def _card(config: RunConfig, prepared: Prepared, figures: dict[str, Any]) -> str:
    """A model card of what is known at the end of a run."""
    names = ("strict_accuracy", "macro_f1", "aspect_auc", "sentiment_accuracy", "sentiment_auc")
    rows = "\n".join(
        f"| {name} | " + " | ".join(f"{100 * figures['dev'][family][name]:.1f}" for family in ("sun", "ma")) + " |"
        for name in names
    )
    return f"""# {config.kind} trained on {config.data.name}

Says of each target and each aspect whether a text is {", ".join(prepared.labels[1:])} about it, or silent.

- aspects: {", ".join(prepared.aspects)}
- targets at a time: {config.data.targets}
- word vectors: {config.vectors.file or "random"}
- selected by: {config.training.select} on {config.data.dev}, epoch {figures["epoch"]}, seed {figures["seed"]}

| {config.data.name} {config.data.dev}, % | sun | ma |
|---|---|---|
{rows}

These figures are of the split that selected the model, so they flatter it; `tabsa evaluate` on a test split does not.
"""
