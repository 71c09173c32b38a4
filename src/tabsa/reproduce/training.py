"""One configuration trained with several seeds, each looked at on test once, from its best state on dev."""

import gc
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from tabsa.batch import Encoded
from tabsa.errors import ConfigError, DataError
from tabsa.evaluate import Report, evaluate
from tabsa.linear import tagger_for
from tabsa.models import Model
from tabsa.reproduce.preparation import TEST
from tabsa.training.config import RunConfig
from tabsa.training.judging import Figures, calibrated, figures_of, plain, predict
from tabsa.training.linear import fit
from tabsa.training.loop import Trainer
from tabsa.training.prepare import Prepared, datasets, gold, split
from tabsa.training.teaching import teach

Follow = Callable[[Trainer], None]


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
class Outcome:
    """All seeds of one configuration."""

    runs: list[SeedRun]
    together: dict[str, Figures] = field(default_factory=dict)  # of the seeds' mean probabilities, by split
    weights: dict[str, Tensor] = field(default_factory=dict)  # the best on dev, (S, ...)


def to_the_end(trainer: Trainer) -> None:
    """Train, showing nothing."""
    for _ in trainer.run():
        pass


def train(
    config: RunConfig, prepared: Prepared, seeds: Sequence[int], device: str = "cpu", follow: Follow = to_the_end
) -> Outcome:
    """Train a neural system; `follow` runs the trainer and may show where it stands."""
    if prepared.test is None:
        raise DataError("the prepared data has no test split; prepare it again")
    trainer = Trainer(config, teach(config, prepared, device, lambda teachers, _: follow(teachers)), seeds, device)
    follow(trainer)
    progress = trainer.progress
    for seed, figures in zip(seeds, progress.best_figures, strict=True):
        if not figures:
            raise ConfigError(f"seed {seed} of {config.kind} diverged before its first evaluation; lower training.rate")
    trainer.put(trainer.best)
    dev, test = probabilities(config, trainer.model, prepared.dev, prepared.test)
    dev_gold, test_gold = gold(prepared.dev), gold(prepared.test)
    runs = [
        SeedRun(seed, progress.best_epoch[n], figures_of(dev_gold, dev[n]), figures_of(test_gold, test[n]))
        for n, seed in enumerate(seeds)
    ]
    together = {"dev": figures_of(dev_gold, dev.mean(0)), "test": figures_of(test_gold, test.mean(0))}
    weights = {name: tensor.cpu() for name, tensor in trainer.best.items()}
    del trainer
    gc.collect()  # a trainer and its graphs refer to each other, and hold the GPU's memory
    return Outcome(runs, together, weights)


def probabilities(
    config: RunConfig, model: Model, dev: Encoded, test: Encoded
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """What a model's seeds say of dev and test, (S, groups, A, labels), with biases fitted on dev where asked for."""
    of_dev, of_test = predict(model, dev), predict(model, test)
    if config.training.calibrate != "classes":
        return of_dev, of_test
    fitted = [calibrated(config, gold(dev), of_seed) for of_seed in of_dev]

    def decided(of_seeds: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.array([f.apply(of_seed) for f, of_seed in zip(fitted, of_seeds, strict=True)], np.float64)

    return decided(of_dev), decided(of_test)


def fit_linear(config: RunConfig, data_dir: Path | None) -> Outcome:
    """Fit `lr`, which has no seeds."""
    fitted = fit(config, data_dir)
    train_data, _ = datasets(config, data_dir)
    test = split(config, TEST, train_data, data_dir)
    report = evaluate(test, fitted.model.predict(test.examples, tagger_for(config.model, data_dir)), bootstrap=0)
    dev = fitted.reports[config.model.decision]
    return Outcome([SeedRun(None, None, _figures(dev), _figures(report))])


def _figures(report: Report) -> Figures:
    return {"sun": report.sun, "ma": report.ma}


def device_name(device: str) -> str:
    """What a run ran on, in words."""
    return torch.cuda.get_device_name() if device == "cuda" else f"CPU, threads: {torch.get_num_threads()}"
