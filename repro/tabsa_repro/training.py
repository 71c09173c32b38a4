"""One configuration trained with several seeds, each looked at on test once, from its best state on dev."""

import gc
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from tabsa.encoding.arrays import Encoded, combine
from tabsa.errors import ConfigError, DataError
from tabsa.evaluation.report import evaluate
from tabsa.models.base import Model
from tabsa.training.callbacks import Callback
from tabsa.training.fit import train_seeds
from tabsa.training.logistic_regression import fit_model, probabilities_of
from tabsa.training.loop import Figures, figures_of, plain
from tabsa.training.run_config import RunConfig
from tabsa.training.word_data import Prepared, datasets, split
from tabsa.training.word_training import fitted_calibration, reading_probabilities
from tabsa_repro.preparation import TEST


@dataclass(frozen=True)
class SeedRun:
    """What one seed came to; figures are fractions, NaN where not defined."""

    seed: int | None  # None: there is no randomness
    epoch: int | None
    dev: Figures
    test: Figures

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return {"seed": self.seed, "epoch": self.epoch, "dev": plain(self.dev), "test": plain(self.test)}


@dataclass(frozen=True)
class SeedRuns:
    """All seeds of one configuration."""

    runs: list[SeedRun]
    together: dict[str, Figures] = field(default_factory=dict)  # of the seeds' mean probabilities, by split
    weights: dict[str, Tensor] = field(default_factory=dict)  # the best on dev, (S, ...)


def train(
    config: RunConfig, prepared: Prepared, seeds: Sequence[int], device: str = "cpu", callbacks: Sequence[Callback] = ()
) -> SeedRuns:
    """Train a neural system."""
    if prepared.test is None:
        raise DataError("the prepared data has no test split; prepare it again")
    trainer = train_seeds(config, prepared, seeds, device, callbacks)
    progress = trainer.progress
    for seed, figures in zip(seeds, progress.best_figures, strict=True):
        if not figures:
            raise ConfigError(f"seed {seed} of {config.kind} diverged before its first validation; lower training.rate")
    trainer.put(trainer.best)
    dev, test = probabilities(config, trainer.model, prepared.dev, prepared.test)
    dev_gold, test_gold = prepared.dev.gold, prepared.test.gold
    runs = [
        SeedRun(seed, progress.best_epoch[n], figures_of(dev_gold, dev[n]), figures_of(test_gold, test[n]))
        for n, seed in enumerate(seeds)
    ]
    together = {"dev": figures_of(dev_gold, dev.mean(0)), "test": figures_of(test_gold, test.mean(0))}
    weights = {name: tensor.cpu() for name, tensor in trainer.best.items()}
    del trainer
    gc.collect()  # a trainer and its graphs refer to each other, and hold the GPU's memory
    return SeedRuns(runs, together, weights)


def probabilities(
    config: RunConfig, model: Model, dev: Encoded, test: Encoded
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """What a model's seeds say of dev and test, (S, groups, A, labels), with biases fitted on dev where asked for."""
    of_dev, of_test = reading_probabilities(model, dev), reading_probabilities(model, test)
    if config.training.calibrate == "classes":
        fitted = [fitted_calibration(config, dev, of_seed) for of_seed in of_dev]
        of_dev, of_test = (
            np.array([one.apply(of_seed) for one, of_seed in zip(fitted, of_seeds, strict=True)], np.float64)
            for of_seeds in (of_dev, of_test)
        )
    return combine(dev, of_dev), combine(test, of_test)


def fit_linear(config: RunConfig, data_dir: Path | None) -> SeedRuns:
    """Fit `lr`, which has no seeds."""
    fitted = fit_model(config, data_dir)
    train_data, _ = datasets(config, data_dir)
    test_data = split(config, TEST, train_data, data_dir)
    test = evaluate(test_data, probabilities_of(fitted.model, test_data, data_dir), bootstrap=0)
    dev = fitted.reports[config.model.decision]
    return SeedRuns([SeedRun(None, None, {"sun": dev.sun, "ma": dev.ma}, {"sun": test.sun, "ma": test.ma})])


def device_name(device: str) -> str:
    """What a run ran on, in words."""
    return torch.cuda.get_device_name() if device == "cuda" else f"CPU, threads: {torch.get_num_threads()}"
