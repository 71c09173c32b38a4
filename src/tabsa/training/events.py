"""A run's figures for TensorBoard, where it is installed."""

from pathlib import Path
from types import TracebackType
from typing import Any

from tabsa.training.loop import Evaluation


class Events:
    """Writes evaluations as TensorBoard scalars; does nothing without the package `tensorboard`."""

    def __init__(self, folder: Path, update: int) -> None:
        try:
            from torch.utils.tensorboard import SummaryWriter
        except ImportError:
            self.writer: Any = None
        else:
            # What a killed run wrote after its last state is hidden, because it is written again.
            self.writer = SummaryWriter(str(folder), purge_step=update)

    def write(self, evaluation: Evaluation) -> None:
        """One point for the loss and for each figure of each seed."""
        if self.writer is None:
            return
        for number, (loss, families) in enumerate(zip(evaluation.loss, evaluation.figures, strict=True)):
            self.writer.add_scalar(f"loss/{number}", loss, evaluation.update)
            for family, figures in families.items():
                for name, value in figures.items():
                    self.writer.add_scalar(f"dev {family} {name}/{number}", value, evaluation.update)

    def __enter__(self) -> "Events":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.writer is not None:
            self.writer.close()
