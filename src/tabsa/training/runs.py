"""What every run has in common: that it is trained to its end, and what is known then."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch

from tabsa.checkpoint.model_folder import ModelFolder
from tabsa.evaluation.report import Report
from tabsa.training.callbacks import Callback
from tabsa.training.loop import Loop
from tabsa.training.run_folder import RunFolder
from tabsa.training.validation import Figures


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
    notes: tuple[str, ...] = ()  # what to bear in mind
    report: Report | None = None  # of fine-tuning, on the texts that were held out


def train_to_the_end(
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
