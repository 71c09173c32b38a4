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
from typing import Any, Final

import numpy as np
import torch

from tabsa.datasets.checking import warn_of
from tabsa.encoding.arrays import Encoded
from tabsa.errors import ConfigError
from tabsa.schema import Dataset
from tabsa.training.augmentation import JOINTS, compose, first_readings, joined, near_words, replace_words
from tabsa.training.callbacks import Callback, TensorBoard
from tabsa.training.loop import Loop
from tabsa.training.run_config import RunConfig, teachers_config
from tabsa.training.run_folder import Fitted, FittedRow, RunFolder, train_to_the_end
from tabsa.training.word_data import Prepared, prepare
from tabsa.training.word_training import Trainer, reading_probabilities, write_result

_TEACHERS: Final = "teachers-1"  # their folder in a run's
_APART: Final = 1000  # between the seeds of a student and of its teachers


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
    run = RunFolder(out / "run")
    if not resume:
        run.must_be_new()  # said before the data is read, which may take a while
    if not config.system.neural:
        from tabsa.training.logistic_regression import fit_folder

        return fit_folder(config, out, run, callbacks, data_dir)
    device, callbacks = choose_device(device), (TensorBoard(), *callbacks)
    if config.fine_tuning.base:
        from tabsa.training.fine_tuning import fine_tune

        return fine_tune(config, out, run, callbacks, resume=resume, device=device, data=data, data_dir=data_dir)
    numbers = range(config.training.seed, config.training.seed + seeds)
    if config.system.open_aspects:
        return _fit_reader(config, out, numbers, callbacks, run, device, data_dir, resume=resume)
    prepared, vocabulary = prepare(config, data_dir)
    trainer = train_seeds(config, prepared, numbers, device, callbacks, run=run, resume=resume)
    folder = write_result(out, config, prepared, vocabulary, numbers, trainer.progress, trainer.best)
    known = f"{100 * vocabulary.coverage['known_tokens']:.1f}% of the words known"
    vectors = known if config.vectors.file else "random word vectors: name better ones in vectors.file"
    warn_of(prepared.notes)
    return Fitted(folder, _rows(trainer), f"{trainer.model.size:,} weights, {vectors}")


def _fit_reader(
    config: RunConfig,
    out: Path,
    seeds: Sequence[int],
    callbacks: Sequence[Callback],
    run: RunFolder,
    device: str,
    data_dir: Path | None,
    *,
    resume: bool,
) -> Fitted:
    """The same for a system that answers questions."""
    from tabsa.training.question_training import ReaderTrainer  # only here
    from tabsa.training.reader_run import start, write_reader

    begun = start(config, seeds, data_dir)
    trainer = ReaderTrainer(config, begun.prepared, begun.model, device)
    train_to_the_end(trainer, "model", run, callbacks, resume=resume)
    folder = write_reader(out, begun, trainer)
    warn_of(begun.prepared.notes)
    about = f"{trainer.model.size:,} weights, {len(begun.prepared.aspects):,} wordings of aspects"
    return Fitted(folder, _rows(trainer), about)


def _rows(trainer: Loop[Any]) -> tuple[FittedRow, ...]:
    progress = trainer.progress
    rows = zip(trainer.seeds, progress.best_epoch, progress.best_figures, strict=True)
    return tuple(FittedRow(str(seed), epoch, figures) for seed, epoch, figures in rows)


def train_seeds(
    config: RunConfig,
    prepared: Prepared,
    seeds: Sequence[int],
    device: str = "cpu",
    callbacks: Sequence[Callback] = (),
    *,
    run: RunFolder | None = None,
    resume: bool = False,
) -> Trainer:
    """Train seeds of a system that reads words to the end, its teachers first where it has any.

    With a `run` folder every validation is saved there, and `resume` goes on from the last.
    """
    if config.distillation.teachers:
        teachers = Trainer(teachers_config(config), prepared, teacher_seeds(config), device)
        own = None if run is None else RunFolder(run.path / _TEACHERS)
        train_to_the_end(teachers, "teachers", own, callbacks, resume=resume)
        teachers.put(teachers.best)
        train = versions(config, prepared)
        soft_labels = reading_probabilities(teachers.model, train).mean(0).astype(np.float32)
        soft_labels[train.groups < 0] = 0
        prepared = replace(prepared, train=train, soft_labels=soft_labels)
        del teachers
        gc.collect()  # a trainer and its graphs refer to each other, and hold a GPU's memory
    trainer = Trainer(config, prepared, seeds, device)
    train_to_the_end(trainer, "model", run, callbacks, resume=resume)
    return trainer


def teacher_seeds(config: RunConfig) -> range:
    """The seeds of a run's teachers."""
    first = config.training.seed + _APART
    return range(first, first + config.distillation.teachers)


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
