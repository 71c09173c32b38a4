"""The whole of a run: preparation, loop, validation, saving, resuming, and the model folder at its end.

`tabsa train`, `tabsa reproduce` and the teachers of distillation are callers of a few lines.
"""

import gc
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from tabsa.checkpoint import ModelFolder
from tabsa.errors import ConfigError
from tabsa.training.callbacks import Callback, TensorBoard
from tabsa.training.config import RunConfig, teachers_config
from tabsa.training.distillation import teacher_seeds, with_soft_labels
from tabsa.training.loop import Loop
from tabsa.training.preparation import Prepared, prepare
from tabsa.training.result import write_result
from tabsa.training.run_folder import RunFolder
from tabsa.training.validation import Figures
from tabsa.training.words import Trainer


@dataclass(frozen=True)
class FittedRow:
    """What one seed, or one decision of a system without seeds, came to on dev; no figures where it diverged."""

    name: str
    epoch: int | None
    dev: Figures


@dataclass(frozen=True)
class Fitted:
    """A finished run: its model folder, and what is known of all its seeds."""

    folder: ModelFolder
    rows: tuple[FittedRow, ...]
    about: str  # in a few words


def fit(
    config: RunConfig,
    out: Path,
    seeds: int = 1,
    callbacks: Sequence[Callback] = (),
    *,
    resume: bool = False,
    device: str = "auto",
    data_dir: Path | None = None,
) -> Fitted:
    """Train what a configuration describes, and write the model folder of the seed that is best on dev.

    Args:
        config: the run.
        out: where the model folder is written; the run itself is kept in `out/run`.
        seeds: how many seeds are trained side by side, from `training.seed` on.
        callbacks: what hears of the run; TensorBoard does wherever it is installed.
        resume: go on where a run into this folder stopped.
        device: cpu, cuda, or auto: cuda where there is one.
        data_dir: where data is looked for first.
    """
    if not config.system.neural:
        from tabsa.training.regression import fit_folder

        return fit_folder(config, out, resume=resume, data_dir=data_dir)
    device = choose_device(device)
    run = RunFolder(out / "run")
    if not resume:
        run.must_be_new()  # said before the data is read, which may take a while
    numbers = range(config.training.seed, config.training.seed + seeds)
    if config.system.open_aspects:
        return _fit_reader(config, out, numbers, (TensorBoard(), *callbacks), run, device, data_dir, resume=resume)
    prepared, kept = prepare(config, data_dir)
    trainer = train_seeds(config, prepared, numbers, device, (TensorBoard(), *callbacks), run=run, resume=resume)
    folder = write_result(out, config, prepared, kept, numbers, trainer.progress, trainer.best)
    about = f"{trainer.model.size:,} weights, {100 * kept.coverage.share():.1f}% of the words known"
    return Fitted(folder, _rows(trainer), about)


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
    """The same for a system that is asked questions."""
    from tabsa.training.reader_run import start, teach, trainer_of, write_reader  # only here

    begun = start(config, seeds, data_dir)
    pool = None
    if config.distillation.teachers:
        others = start(teachers_config(config), teacher_seeds(config), data_dir, teachers=True)
        teachers = trainer_of(others, device)
        _train(teachers, "teachers", RunFolder(run.path / "teachers-1"), callbacks, resume=resume)
        pool = teach(begun, others, teachers)
        del others, teachers
        gc.collect()
    trainer = trainer_of(begun, device, pool)
    _train(trainer, "model", run, callbacks, resume=resume)
    folder = write_reader(out, begun, trainer)
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
    """Train seeds of a neural system to the end, its teachers first where it has any; the best weights are kept.

    With a `run` folder every validation is saved there, and `resume` goes on from the last.
    """
    if config.distillation.teachers:
        teachers = Trainer(teachers_config(config), prepared, teacher_seeds(config), device)
        own = None if run is None else RunFolder(run.path / "teachers-1")
        _train(teachers, "teachers", own, callbacks, resume=resume)
        teachers.put(teachers.best)
        prepared = with_soft_labels(config, prepared, teachers.model)
        del teachers
        gc.collect()  # a trainer and its graphs refer to each other, and hold a GPU's memory
    trainer = Trainer(config, prepared, seeds, device)
    _train(trainer, "model", run, callbacks, resume=resume)
    return trainer


def _train(
    trainer: Loop[Any], role: str, run: RunFolder | None, callbacks: Sequence[Callback], *, resume: bool
) -> None:
    """Train to the end, telling the callbacks, and saving after every validation."""
    if run is not None:
        if resume:
            run.resume(trainer.config, trainer.seeds, trainer)
        else:
            run.start(trainer.config, trainer.seeds)

    def on_update(update: int, losses: torch.Tensor) -> None:
        for callback in callbacks:
            callback.on_update(trainer, update, losses)

    for callback in callbacks:
        callback.on_start(trainer, role, None if run is None else run.path)
    try:
        for validation in trainer.run(on_update):
            for callback in callbacks:
                callback.on_validation(trainer, validation)
            if run is not None:
                run.save(trainer, validation)
    finally:
        for callback in callbacks:
            callback.on_end(trainer)


def choose_device(name: str) -> str:
    """The device that a name means here."""
    if name == "auto":
        return "cuda" if torch.cuda.is_available() else "cpu"
    if name not in ("cpu", "cuda"):
        raise ConfigError(f"the device is '{name}'; expected cpu, cuda or auto")
    if name == "cuda" and not torch.cuda.is_available():
        raise ConfigError("PyTorch finds no CUDA device here; take cpu, or auto")
    return name
