"""Callbacks of a run while it trains: a progress bar, or whatever a caller writes."""

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
