"""From a finished run of the paper's systems to a model folder."""

import dataclasses
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
from torch import Tensor

from tabsa.checkpoint.model_config import ModelConfig
from tabsa.checkpoint.model_folder import ModelFolder, write_folder
from tabsa.encoding.arrays import combine
from tabsa.evaluation.calibration import calibration_error
from tabsa.evaluation.metrics import FAMILIES, METRICS
from tabsa.models.export import ChangedNetworkError, export
from tabsa.training.loop import Figures, TrainingProgress, figures_of, plain
from tabsa.training.model_card import flattering_card, implied_line, percent
from tabsa.training.run_config import RunConfig
from tabsa.training.word_data import FolderVocabulary, Prepared
from tabsa.training.word_training import build_model, fitted_calibration, reading_probabilities


def write_result(
    path: Path,
    config: RunConfig,
    prepared: Prepared,
    vocabulary: FolderVocabulary,
    seeds: Sequence[int],
    progress: TrainingProgress,
    weights: dict[str, Tensor],
) -> ModelFolder:
    """Write the model of the seed that is best on dev; `weights` are the best of all seeds, (S, ...)."""
    best = progress.best_seed()
    weights = {name: tensor[best : best + 1].cpu() for name, tensor in weights.items()}
    compact = config.vectors.storage == "int8"
    if compact:
        weights = {name: tensor.half().float() for name, tensor in weights.items()}
    dev, calibration = _measured(config, prepared, weights)
    figures: dict[str, Any] = {
        "data": config.data.name,
        "split": config.data.dev,
        "seed": seeds[best],
        "epoch": progress.best_epoch[best],
        "dev": plain(dev),
        "calibration": calibration,
        "seeds": {str(s): plain(progress.best_figures[n]) for n, s in enumerate(seeds)},
        "coverage": vocabulary.coverage,
        "concepts": _concept_facts(prepared, vocabulary),
    }
    model_config = ModelConfig(
        kind=config.kind,
        model=dataclasses.asdict(config.model),
        aspects=prepared.aspects,
        labels=prepared.labels,
        targets=config.data.targets,
        max_length=config.data.max_length,
        temperature=calibration["temperature"],
        bias=tuple(calibration["bias"]),
        implied=prepared.implied,
        named=prepared.named,
    )
    arrays = {name: tensor[0].numpy().astype(np.float16 if compact else np.float32) for name, tensor in weights.items()}
    card, storage = _card(config, prepared, figures), config.vectors.storage
    folder = write_folder(path, model_config, arrays, vocabulary.vectors, figures, card, vocabulary.concepts, storage)
    with suppress(ChangedNetworkError):  # then the network itself is run
        export(folder)
    return folder


def _measured(config: RunConfig, prepared: Prepared, weights: dict[str, Tensor]) -> tuple[Figures, dict[str, Any]]:
    """The dev figures of what the folder will hold, and its calibration with the error before and after."""
    model = build_model(config, prepared, (0,))
    model.load_state_dict(weights)
    dev = prepared.dev
    readings = reading_probabilities(model, dev)[0]
    fitted = fitted_calibration(config, dev, readings)
    after, labelled = combine(dev, fitted.apply(readings)), dev.gold >= 0
    calibration = {
        "temperature": fitted.temperature,
        "bias": list(fitted.bias),
        "error_before": calibration_error(dev.gold[labelled], combine(dev, readings)[labelled]),
        "error_after": calibration_error(dev.gold[labelled], after[labelled]),
    }
    return figures_of(dev.gold, after), calibration


def _concept_facts(prepared: Prepared, vocabulary: FolderVocabulary) -> dict[str, Any] | None:
    """The concepts that a model was trained with, and the share of the training words that have one."""
    if vocabulary.concepts is None or prepared.train.concepts is None:
        return None
    share = int(np.count_nonzero(prepared.train.concepts)) / max(1, int(prepared.train.lengths.sum()))
    source = dataclasses.asdict(vocabulary.concepts.source) if vocabulary.concepts.source else None
    return {"source": source, "concepts": len(vocabulary.concepts), "known_tokens": share}


def _card(config: RunConfig, prepared: Prepared, figures: dict[str, Any]) -> str:
    """A model card of what is known at the end of a run."""
    concepts = figures["concepts"]
    facts = [
        f"aspects: {', '.join(prepared.aspects)}",
        f"targets at a time: {config.data.targets}",
        *implied_line(prepared.implied),
        f"word vectors: {config.vectors.file or 'random'}",
    ]
    if concepts is not None:
        name, share = (concepts["source"] or {"name": "a table without a name"})["name"], concepts["known_tokens"]
        facts.append(f"concepts: {name} ({concepts['concepts']:,}), at {100 * share:.1f}% of the training words")
    selection = f"{config.training.select} on {config.data.dev}, epoch {figures['epoch']}, seed {figures['seed']}"
    table = [[f"{config.data.name} {config.data.dev}, %", *FAMILIES]]
    table += [[name, *(percent(figures["dev"][family][name]) for family in FAMILIES)] for name in METRICS]
    return flattering_card(config, prepared.labels, [*facts, f"selected by: {selection}"], table)
