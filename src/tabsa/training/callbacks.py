"""Callbacks of a run while it trains: a progress bar, TensorBoard, or whatever a caller writes."""

import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from torch import Tensor

    from tabsa.training.loop import Loop, Validation


class Callback:
    """Is called while a run trains; does nothing unless a subclass says what."""

    def on_start(self, trainer: "Loop[Any]", role: str, folder: Path | None) -> None:
        """Training begins, or goes on; `role` is `teachers` or `model`, `folder` where its state is saved, if it is."""

    def on_update(self, trainer: "Loop[Any]", update: int, losses: "Tensor") -> None:
        """An update was made; `losses` has each seed's."""

    def on_validation(self, trainer: "Loop[Any]", validation: "Validation") -> None:
        """The seeds were scored on dev; their state is saved after this."""

    def on_end(self, trainer: "Loop[Any]") -> None:
        """Training has ended, or was broken off."""

    def on_step(self, name: str, share: float) -> None:
        """A system without updates is doing what `name` says, and has come so far, from 0 to 1."""

    def on_steps_end(self) -> None:
        """It has ended, or was broken off."""


class TensorBoard(Callback):
    """Writes validations as TensorBoard scalars beside the run's state; does nothing without the package."""

    def __init__(self) -> None:
        self.writer: Any = None

    def on_start(self, trainer: "Loop[Any]", role: str, folder: Path | None) -> None:  # noqa: ARG002
        """Open a file of events; points that a killed run wrote after its last state are hidden."""
        if folder is None:
            return
        try:
            from torch.utils.tensorboard import SummaryWriter
        except ImportError:
            return
        self.writer = SummaryWriter(str(folder), purge_step=trainer.progress.update + 1)

    def on_validation(self, trainer: "Loop[Any]", validation: "Validation") -> None:
        """Write one point for the loss and for each figure of each seed; those that are not defined are left out."""
        if self.writer is None:
            return
        for seed, loss, families in zip(trainer.seeds, validation.loss, validation.figures, strict=True):
            dev = {f"dev {family} {name}": value for family, of in families.items() for name, value in of.items()}
            for tag, value in ({"loss": loss} | dev).items():
                if math.isfinite(value):
                    self.writer.add_scalar(f"{tag}/{seed}", value, validation.update)
        self.writer.flush()

    def on_end(self, trainer: "Loop[Any]") -> None:  # noqa: ARG002
        """Close the file."""
        if self.writer is not None:
            self.writer.close()
            self.writer = None
