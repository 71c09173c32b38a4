"""How commands that train show where they stand: the same for `train` and `reproduce`."""

import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tabsa.cli.console import err
from tabsa.training.callbacks import Callback

if TYPE_CHECKING:
    from torch import Tensor

    from tabsa.training.loop import Figures, Loop, Validation

_SHOWN = (
    ("ma", "strict_accuracy", "strict (ma)"),
    ("sun", "macro_f1", "F1 (sun)"),
    ("sun", "aspect_auc", "aspect AUC"),
    ("sun", "sentiment_accuracy", "sentiment acc."),
    ("sun", "sentiment_auc", "sentiment AUC"),
)
_OF_QUESTIONS = (
    ("questions", "opinion_f1", "opinion F1"),
    ("questions", "presence_f1", "presence F1"),
    ("questions", "polarity_accuracy", "polarity acc."),
    ("questions", "false_opinions", "false opinions"),
)


def shown(figures: "Figures") -> tuple[tuple[str, str, str], ...]:
    """Family, metric and title of the figures to show: the benchmark's where they are, or those of questions."""
    return _SHOWN if "sun" in figures or not figures else _OF_QUESTIONS


class ProgressBar(Callback):
    """A bar on a terminal, a line an improvement elsewhere."""

    def __init__(self) -> None:
        self.bar: Any = None
        self.task: Any = None

    def on_start(self, trainer: "Loop[Any]", role: str, folder: Path | None) -> None:  # noqa: ARG002
        """Say what is trained, and show the bar."""
        from rich import progress as bars

        who = f"{len(trainer.seeds)} teachers" if role == "teachers" else trainer.config.kind
        known = f"{trainer.model.size:,} weights, {trainer.texts:,} texts, on {trainer.device.type}"
        err.print(f"{who}: {known}", soft_wrap=True)
        epochs, progress = trainer.config.training.epochs, trainer.progress
        self.bar = bars.Progress(
            bars.TextColumn("epoch {task.fields[epoch]}/" + str(epochs)),
            bars.BarColumn(),
            bars.TextColumn("{task.fields[speed]}"),
            bars.TimeRemainingColumn(),
            bars.TextColumn("{task.fields[shown]}"),
            console=err,
            disable=not err.is_terminal,
        )
        self.bar.start()
        total = trainer.total
        self.task = self.bar.add_task(
            "", total=total, completed=progress.update, epoch=progress.epoch, speed="", shown=""
        )

    def on_update(self, trainer: "Loop[Any]", update: int, losses: "Tensor") -> None:  # noqa: ARG002
        """Move the bar."""
        speed = self.bar.tasks[0].speed
        self.bar.update(self.task, completed=update, speed=f"{speed:.1f} updates/s" if speed else "")

    def on_validation(self, trainer: "Loop[Any]", validation: "Validation") -> None:  # noqa: ARG002
        """Show the figures; where there is no bar, only better ones."""
        line = _line(validation)
        self.bar.update(self.task, epoch=validation.epoch, shown=line)
        if any(validation.improved) and not err.is_terminal:
            err.print(f"epoch {validation.epoch}: {line}", highlight=False, soft_wrap=True)

    def on_end(self, trainer: "Loop[Any]") -> None:  # noqa: ARG002
        """Leave the bar as it stands."""
        self.bar.stop()
        self.bar = None

    def on_step(self, name: str, share: float) -> None:
        """Show what is being done, and how far it is."""
        from rich import progress as bars

        if self.bar is None:
            columns = (
                bars.TextColumn("{task.description}"),
                bars.BarColumn(),
                bars.TaskProgressColumn(),
                bars.TimeRemainingColumn(),
            )
            self.bar = bars.Progress(*columns, console=err, disable=not err.is_terminal)
            self.bar.start()
            self.task = self.bar.add_task(name, total=1.0)
        self.bar.update(self.task, description=name, completed=share)

    def on_steps_end(self) -> None:
        """Leave the bar as it stands."""
        if self.bar is not None:
            self.bar.stop()
            self.bar = None


def _line(validation: "Validation") -> str:
    """The loss and the dev figures, means over the seeds."""
    figures = (
        f"{name} {percent([of_seed[family][metric] for of_seed in validation.figures])}"
        for family, metric, name in shown(validation.figures[0])
    )
    return f"loss {sum(validation.loss) / len(validation.loss):.3f}, dev: " + ", ".join(figures)


def percent(fractions: list[float]) -> str:
    """The mean of those that are defined, in percent."""
    defined = [fraction for fraction in fractions if not math.isnan(fraction)]
    return f"{100 * sum(defined) / len(defined):.1f}" if defined else "–"
