"""From a finished run to a model folder."""

import dataclasses
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import torch

from tabsa.checkpoint.model_config import ModelConfig
from tabsa.checkpoint.model_folder import ModelFolder, write_folder
from tabsa.encoding.arrays import combine
from tabsa.errors import ConfigError
from tabsa.evaluation.calibration import calibration_error
from tabsa.models.export import ChangedNetworkError, export
from tabsa.training.config import RunConfig
from tabsa.training.loop import TrainingProgress
from tabsa.training.preparation import KeptVocabulary, Prepared
from tabsa.training.validation import Figures, calibrated, figures_of, plain, reading_probabilities
from tabsa.training.words import build_model


def write_result(
    path: Path,
    config: RunConfig,
    prepared: Prepared,
    kept: KeptVocabulary,
    seeds: Sequence[int],
    progress: TrainingProgress,
    weights: dict[str, torch.Tensor],
) -> ModelFolder:
    """Write the model of the seed that is best on dev; `weights` are the best of all seeds, (S, ...)."""
    best = max(range(len(seeds)), key=lambda n: progress.best[n])
    if not progress.best_figures[best]:
        raise ConfigError("the weights grew beyond all bounds before the first evaluation; try a lower training.rate")
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
        "coverage": kept.coverage.to_dict(),
        "concepts": _concept_facts(prepared, kept),
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
    card = _card(config, prepared, figures)
    storage = config.vectors.storage
    folder = write_folder(path, model_config, arrays, kept.vectors, figures, card, kept.concepts, storage)
    with suppress(ChangedNetworkError):  # then the network itself is run
        export(folder)
    return folder


def _measured(
    config: RunConfig, prepared: Prepared, weights: dict[str, torch.Tensor]
) -> tuple[Figures, dict[str, Any]]:
    """The dev figures of what the folder will hold, and its calibration with the error before and after."""
    model = build_model(config, prepared, (0,))
    model.load_state_dict(weights)
    dev = prepared.dev
    readings = reading_probabilities(model, dev)[0]
    fitted = calibrated(config, dev, readings)
    after, labelled = combine(dev, fitted.apply(readings)), dev.gold >= 0
    calibration = {
        "temperature": fitted.temperature,
        "bias": list(fitted.bias),
        "error_before": calibration_error(dev.gold[labelled], combine(dev, readings)[labelled]),
        "error_after": calibration_error(dev.gold[labelled], after[labelled]),
    }
    return figures_of(dev.gold, after), calibration


def _concept_facts(prepared: Prepared, kept: KeptVocabulary) -> dict[str, Any] | None:
    """Which concepts a model was trained with, and the share of the training words that have one."""
    if kept.concepts is None or prepared.train.concepts is None:
        return None
    share = int(np.count_nonzero(prepared.train.concepts)) / max(1, int(prepared.train.lengths.sum()))
    source = dataclasses.asdict(kept.concepts.source) if kept.concepts.source else None
    return {"source": source, "concepts": len(kept.concepts), "known_tokens": share}


def _percent(fraction: float | None) -> str:
    return "–" if fraction is None else f"{100 * fraction:.1f}"


def _concept_line(facts: dict[str, Any] | None) -> str:
    if facts is None:
        return ""
    name = facts["source"]["name"] if facts["source"] else "a table without a name"
    return f"\n- concepts: {name} ({facts['concepts']:,}), at {100 * facts['known_tokens']:.1f}% of the training words"


def implied_line(implied: bool) -> str:
    """What a model card says of texts that do not name a target."""
    return "\n- a text that does not name a target is taken to be about it (`implied`), unless told" if implied else ""


def _card(config: RunConfig, prepared: Prepared, figures: dict[str, Any]) -> str:
    """A model card of what is known at the end of a run."""
    names = ("strict_accuracy", "macro_f1", "aspect_auc", "sentiment_accuracy", "sentiment_auc")
    rows = "\n".join(
        f"| {name} | " + " | ".join(_percent(figures["dev"][family][name]) for family in ("sun", "ma")) + " |"
        for name in names
    )
    return f"""# {config.kind} trained on {config.data.name}

Says of each target and each aspect whether a text is {", ".join(prepared.labels[1:])} about it, or silent.

- aspects: {", ".join(prepared.aspects)}
- targets at a time: {config.data.targets}{implied_line(prepared.implied)}
- word vectors: {config.vectors.file or "random"}{_concept_line(figures["concepts"])}
- selected by: {config.training.select} on {config.data.dev}, epoch {figures["epoch"]}, seed {figures["seed"]}

| {config.data.name} {config.data.dev}, % | sun | ma |
|---|---|---|
{rows}

These figures are of the split that selected the model, so they flatter it; `tabsa evaluate` on a test split does not.
"""
