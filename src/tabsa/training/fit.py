"""The whole of a run: preparation, loop, validation, saving, resuming, and the model folder at its end.

`tabsa train`, `tabsa reproduce` and the teachers of distillation (Hinton et al., 2015) are callers of a few lines. A
few thousand sentences leave much to chance: seeds of one configuration differ, and the mean of their answers is better
than any of them. A student is taught that mean (its soft labels), of the training sentences and of augmented versions
of them; it then costs what one model costs.
"""

import gc
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

import numpy as np
import torch

from tabsa.datasets.checking import warn_of
from tabsa.encoding.arrays import Encoded
from tabsa.errors import ConfigError
from tabsa.schema import Dataset
from tabsa.training.augmentation import JOINTS, compose, first_readings, joined, near_words, replace_words
from tabsa.training.callbacks import Callback
from tabsa.training.question_training import ReaderTrainer, build_reader, write_reader
from tabsa.training.run_config import RunConfig, teachers_config
from tabsa.training.run_folder import Fitted, FittedRow, Run, RunFolder
from tabsa.training.word_data import Prepared, prepare
from tabsa.training.word_training import Trainer, reading_probabilities, write_result

_TEACHERS: Final = "teachers-1"  # their folder in a run's
_APART: Final = 1000  # between the seeds of a student and of its teachers
_UNSAVED: Final = Run()


def fit(
    config: RunConfig,
    out: Path,
    seeds: int = 1,
    callbacks: Sequence[Callback] = (),
    *,
    resume: bool = False,
    device: str = "auto",
    data_dir: Path | None = None,
    data: Dataset | None = None,
) -> Fitted:
    """Train what a configuration describes, and write the model folder of the seed that is best on dev.

    The run itself is saved in `out/run`. `seeds` are trained side by side, from `training.seed` on; `data` is
    fine-tuned on in place of what the configuration names. `tabsa.train` says what the others are.
    """
    if data is not None and not config.fine_tuning.base:
        raise ConfigError("only fine-tuning takes a dataset as it is; name a file or folder in 'data.name'")
    run = Run(out / "run", callbacks, resume, device, data_dir)
    if not resume:
        RunFolder(out / "run").must_be_new()  # said before the data is read, which may take a while
    if not config.system.neural:
        from tabsa.training.logistic_regression import fit_folder

        return fit_folder(config, out, run)
    run = replace(run, device=choose_device(device))
    if config.fine_tuning.base:
        from tabsa.training.fine_tuning import fine_tune

        return fine_tune(config, out, run, data)
    numbers = range(config.training.seed, config.training.seed + seeds)
    trainer: Trainer | ReaderTrainer
    if config.system.open_aspects:
        questions, model, tokenizer = build_reader(config, numbers, data_dir)
        trainer = ReaderTrainer(config, questions, model, run.device)
        run.train(trainer)
        folder, about = write_reader(out, trainer, tokenizer), f"{len(questions.aspects):,} wordings of aspects"
    else:
        prepared, vocabulary = prepare(config, data_dir)
        trainer = train_seeds(config, prepared, numbers, run)
        folder = write_result(out, config, prepared, vocabulary, numbers, trainer.progress, trainer.best)
        about = "random word vectors: name better ones in vectors.file"
        if config.vectors.file:
            about = f"{100 * vocabulary.known_tokens:.1f}% of the words known"
    warn_of(trainer.prepared.notes)
    progress = trainer.progress
    rows = map(FittedRow, map(str, numbers), progress.best_epoch, progress.best_figures)
    return Fitted(folder, tuple(rows), f"{trainer.model.size:,} weights, {about}")


def train_seeds(config: RunConfig, prepared: Prepared, seeds: Sequence[int], run: Run = _UNSAVED) -> Trainer:
    """Train seeds of a system that reads words to the end, its teachers first where it has any."""
    if config.distillation.teachers:
        first = config.training.seed + _APART
        own = range(first, first + config.distillation.teachers)
        teachers = Trainer(teachers_config(config), prepared, own, run.device)
        replace(run, path=None if run.path is None else run.path / _TEACHERS).train(teachers, "teachers")
        teachers.put(teachers.best)
        train = versions(config, prepared)
        soft_labels = reading_probabilities(teachers.model, train).mean(0).astype(np.float32)
        soft_labels[train.groups < 0] = 0
        prepared = replace(prepared, train=train, soft_labels=soft_labels)
        del teachers
        gc.collect()  # a trainer and its graphs refer to each other, and hold a GPU's memory
    trainer = Trainer(config, prepared, seeds, run.device)
    run.train(trainer)
    return trainer


def versions(config: RunConfig, prepared: Prepared) -> Encoded:
    """The training sentences as they stand, and augmented versions behind them; no words of other splits come in."""
    near = near_words(prepared.train.tokens, prepared.words, prepared.targets, prepared.matrix)
    plain = first_readings(prepared.train, len(prepared.train) - prepared.composed)
    found = [prepared.train]
    for number in range(1, config.augmentation.copies):
        data, seed = plain, config.training.seed + number
        if prepared.composed:
            joints = [prepared.words.index(word) for word in JOINTS]
            data = compose(data, prepared.targets, joints, share=config.augmentation.composed, seed=seed)
        rng = np.random.default_rng([seed, 2])
        tokens = replace_words(data.tokens, near, config.augmentation.replaced, rng)
        found.append(replace(data, tokens=tokens))
    return joined(found)


def choose_device(name: str) -> str:
    """The device that a name means here."""
    if name == "auto":
        return "cuda" if torch.cuda.is_available() else "cpu"
    if name not in ("cpu", "cuda"):
        raise ConfigError(f"the device is '{name}'; expected cpu, cuda or auto")
    if name == "cuda" and not torch.cuda.is_available():
        raise ConfigError("PyTorch finds no CUDA device here; take cpu, or auto")
    return name
