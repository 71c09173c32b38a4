"""One configuration trained with several seeds, each looked at on test once, from its best state on dev.

The data of a run can be one file, so that a machine with a GPU needs neither texts nor word vectors.
"""

import gc
import hashlib
import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from tabsa.embeddings.vectors import lookup
from tabsa.encoding.arrays import Encoded, combine, count_words, encode
from tabsa.errors import ConfigError, DataError, DataNotFoundError
from tabsa.evaluation.report import evaluate
from tabsa.models.base import Model
from tabsa.models.linear.linear_model import tagger_for
from tabsa.schema import Dataset
from tabsa.training.callbacks import Callback
from tabsa.training.fit import train_seeds
from tabsa.training.logistic_regression import fit_datasets, probabilities_of
from tabsa.training.loop import Figures, figures_of, plain
from tabsa.training.run_config import RunConfig
from tabsa.training.run_folder import Run
from tabsa.training.word_data import Prepared, datasets, folder_vectors, prepare, split
from tabsa.training.word_training import fitted_calibration, reading_probabilities
from tabsa_repro.prepared_file import read_prepared
from tabsa_repro.prepared_file import write_prepared as write_file

TEST = "test"  # the split that is looked at once


@dataclass(frozen=True)
class SeedRun:
    """The figures of one seed: fractions, NaN where not defined."""

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


def prepare_with_test(config: RunConfig, data_dir: Path | None = None) -> Prepared:
    """A run's data with the test split, on which nothing that is learnt depends.

    Words that only it has get their rows after all others; all are looked up anew, because a file is read for the words
    it is looked up for.
    """
    prepared, vocabulary = prepare(config, data_dir)
    data = config.data
    like = Dataset(data.name, data.train, prepared.aspects, prepared.labels, ())
    dataset = split(config, TEST, like, data_dir)
    counts, own = count_words((dataset,), targets=data.targets, max_length=data.max_length), set(prepared.words)
    added = [word for word in counts if word not in own]
    words = (*prepared.words, *added)
    matrix = lookup(added, folder_vectors(config, list(words[1:]), data_dir)).matrix
    rows = {word: row for row, word in enumerate(words)}
    concepts = vocabulary.concepts
    test = encode(dataset, rows, targets=data.targets, max_length=data.max_length, concepts=concepts)
    return replace(prepared, test=test, words=words, matrix=np.concatenate([prepared.matrix, matrix]))


def prepared_file(config: RunConfig) -> str:
    """The name of the file with a run's data: the same for runs that read the same."""
    read = {"data": asdict(config.data), "vectors": asdict(config.vectors)}
    if config.system.concepts:
        read["concepts"] = {"file": config.model.concepts}
    if config.augmentation.composed:
        read["composed"] = {"share": config.augmentation.composed, "seed": config.training.seed}
    digest = hashlib.sha256(json.dumps(read, sort_keys=True).encode()).hexdigest()
    return f"{Path(config.data.name).stem}-{digest[:12]}.safetensors"


def write_prepared(folder: Path, configs: Iterable[RunConfig], data_dir: Path | None) -> list[Path]:
    """Prepare what neural systems read, each distinct kind of it once; `lr` reads texts and is left out."""
    distinct = {prepared_file(config): config for config in configs if config.system.neural}
    for name, config in distinct.items():
        write_file(folder / name, prepare_with_test(config, data_dir))
    return [folder / name for name in distinct]


def load_prepared(config: RunConfig, folder: Path | None, data_dir: Path | None) -> Prepared:
    """A run's data, from a folder that `write_prepared` filled or, where there is none, from where data lies."""
    if folder is None:
        return prepare_with_test(config, data_dir)
    path = folder / prepared_file(config)
    if not path.is_file():
        raise DataNotFoundError(
            f"{folder} has no {path.name}, the prepared data of this {config.kind}; "
            f"write it with --prepare {folder} and the same other options, where the data is"
        )
    return read_prepared(path, Prepared)


def train(
    config: RunConfig, prepared: Prepared, seeds: Sequence[int], device: str = "cpu", callbacks: Sequence[Callback] = ()
) -> SeedRuns:
    """Train a neural system."""
    if prepared.test is None:
        raise DataError("the prepared data has no test split; prepare it again")
    trainer = train_seeds(config, prepared, seeds, Run(callbacks=callbacks, device=device))
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
    """The seeds' probabilities of dev and test, (S, groups, A, labels), biases fitted on dev where there are any."""
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
    train, dev_data = datasets(config, data_dir)
    tagger, length = tagger_for(config.model, data_dir), config.data.max_length
    fitted = fit_datasets(config.model, train, dev_data, tagger, length, config.training.select)
    test_data = split(config, TEST, train, data_dir)
    test = evaluate(test_data, probabilities_of(fitted.model, test_data, data_dir), bootstrap=0)
    dev = fitted.report
    return SeedRuns([SeedRun(None, None, {"sun": dev.sun, "ma": dev.ma}, {"sun": test.sun, "ma": test.ma})])


def device_name(device: str) -> str:
    """The device that a run ran on, in words."""
    return torch.cuda.get_device_name() if device == "cuda" else f"CPU, threads: {torch.get_num_threads()}"
