"""The whole of a run: preparation, loop, validation, saving, resuming, and the model folder at its end.

`tabsa train`, `tabsa reproduce` and the teachers of distillation are callers of a few lines.
"""

import gc
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch

from tabsa.datasets.checking import warn_of
from tabsa.errors import ConfigError
from tabsa.schema import Dataset
from tabsa.training.callbacks import Callback, TensorBoard
from tabsa.training.config import RunConfig, teachers_config
from tabsa.training.distillation import teacher_seeds, with_soft_labels
from tabsa.training.loop import Loop
from tabsa.training.preparation import Prepared, prepare
from tabsa.training.result import write_result
from tabsa.training.run_folder import RunFolder
from tabsa.training.runs import Fitted, FittedRow, train_to_the_end
from tabsa.training.words import Trainer


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

    Args:
        config: the run.
        out: where the model folder is written; the run itself is kept in `out/run`.
        seeds: how many seeds are trained side by side, from `training.seed` on.
        callbacks: what hears of the run; TensorBoard does wherever it is installed.
        resume: go on where a run into this folder stopped.
        device: cpu, cuda, or auto: cuda where there is one.
        data_dir: where data is looked for first.
        data: what is fine-tuned on, in place of what the configuration names.
    """
    if config.fine_tuning.base:
        from tabsa.training.tuning_run import tune

        device = choose_device(device)
        if not resume:
            RunFolder(out / "run").must_be_new()
        watching = (TensorBoard(), *callbacks)
        return tune(config, out, watching, resume=resume, device=device, data=data, data_dir=data_dir)
    if data is not None:
        raise ConfigError("only fine-tuning takes a dataset as it is; name a file or folder in 'data.name'")
    if not config.system.neural:
        from tabsa.training.logistic_regression import fit_folder

        return fit_folder(config, out, callbacks, resume=resume, data_dir=data_dir)
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
    known = f"{100 * kept.coverage.share():.1f}% of the words known"
    vectors = known if config.vectors.file else "random word vectors: name better ones in vectors.file"
    about = f"{trainer.model.size:,} weights, {vectors}"
    warn_of(prepared.notes)
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
        train_to_the_end(teachers, "teachers", RunFolder(run.path / "teachers-1"), callbacks, resume=resume)
        pool = teach(begun, others, teachers)
        del others, teachers
        gc.collect()
    trainer = trainer_of(begun, device, pool)
    train_to_the_end(trainer, "model", run, callbacks, resume=resume)
    folder = write_reader(out, begun, trainer)
    about = f"{trainer.model.size:,} weights, {len(begun.prepared.aspects):,} wordings of aspects"
    warn_of(begun.prepared.notes)
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
        train_to_the_end(teachers, "teachers", own, callbacks, resume=resume)
        teachers.put(teachers.best)
        prepared = with_soft_labels(config, prepared, teachers.model)
        del teachers
        gc.collect()  # a trainer and its graphs refer to each other, and hold a GPU's memory
    trainer = Trainer(config, prepared, seeds, device)
    train_to_the_end(trainer, "model", run, callbacks, resume=resume)
    return trainer


def choose_device(name: str) -> str:
    """The device that a name means here."""
    if name == "auto":
        return "cuda" if torch.cuda.is_available() else "cpu"
    if name not in ("cpu", "cuda"):
        raise ConfigError(f"the device is '{name}'; expected cpu, cuda or auto")
    if name == "cuda" and not torch.cuda.is_available():
        raise ConfigError("PyTorch finds no CUDA device here; take cpu, or auto")
    return name
