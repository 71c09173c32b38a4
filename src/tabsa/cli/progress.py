"""How commands that train show where they stand: the same for `train` and `reproduce`."""

import math
import time
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from tabsa.cli.console import Show, duration, note, progress_bar
from tabsa.training.callbacks import Callback

if TYPE_CHECKING:
    from torch import Tensor

    from tabsa.training.loop import Figures, Loop, Validation

# Family, metric and title of the figures to show: the benchmark's where they are, or those of questions.
_BENCHMARK: Final = (
    ("ma", "strict_accuracy", "strict (ma)"),
    ("sun", "macro_f1", "F1 (sun)"),
    ("sun", "aspect_auc", "aspect AUC"),
    ("sun", "sentiment_accuracy", "sentiment acc."),
    ("sun", "sentiment_auc", "sentiment AUC"),
)
_OF_QUESTIONS: Final = (
    ("questions", "opinion_f1", "opinion F1"),
    ("questions", "presence_f1", "presence F1"),
    ("questions", "polarity_accuracy", "polarity acc."),
    ("questions", "false_opinions", "false opinions"),
)
_FIRST_UPDATES: Final = 10  # after which the time of the rest can be told, or
_FIRST_SECONDS: Final = 3.0  # after which it is, where they are slow


def percentages(figures: "list[Figures]") -> dict[str, str]:
    """Return the figures to show by title, in percent: means over the seeds of what is defined."""
    shown = _BENCHMARK if not figures[0] or "sun" in figures[0] else _OF_QUESTIONS
    found = {}
    for family, metric, title in shown:
        values = [one[family][metric] for one in figures if one and not math.isnan(one[family][metric])]
        found[title] = f"{100 * sum(values) / len(values):.1f}" if values else "–"
    return found


class ProgressBar(Callback):
    """A bar on a terminal, and everywhere a line an epoch."""

    def __init__(self) -> None:
        self.bar = ExitStack()
        self.show: Show | None = None
        self.begun = (0, 0.0)  # the update and the time of the start
        self.step = ("", 0.0, 0.0)  # what is being done, and the share and the time of its start
        self.timed: set[str] = set()  # what the time was told of
        self.losses: list[Tensor] = []  # of the epoch

    def on_start(self, trainer: "Loop[Any]", role: str, folder: Path | None) -> None:  # noqa: ARG002
        """Say what is trained, and show the bar."""
        name = f"{len(trainer.seeds)} teachers" if role == "teachers" else trainer.config.kind
        known = f"{trainer.model.size:,} weights, {trainer.texts:,} texts, on {trainer.device.type}"
        note(f"{name}: {known}, {trainer.config.training.epochs} epochs")
        self.begun = trainer.progress.update, time.monotonic()
        self.on_step("training", trainer.progress.update / trainer.total)

    def on_update(self, trainer: "Loop[Any]", update: int, losses: "Tensor") -> None:
        """Move the bar; after a few updates, say how long all of them will take."""
        first, since = self.begun
        done, passed, training = update - first, time.monotonic() - since, trainer.config.training
        if "training" not in self.timed and (done >= _FIRST_UPDATES or passed > _FIRST_SECONDS):
            left = (trainer.total - first) / trainer.updates / training.validate_every
            note(f"at most {duration((trainer.total - first) * passed / done + left * trainer.scoring)}, as it looks")
            self.timed.add("training")
        self.losses.append(losses)
        epoch, rest = divmod(update, trainer.updates)
        if not rest and epoch % training.validate_every and update < trainer.total:
            note(f"epoch {epoch}: loss {sum(one.mean() for one in self.losses) / len(self.losses):.3f}")
            self.losses.clear()
        self.on_step("training", update / trainer.total)

    def on_validation(self, trainer: "Loop[Any]", validation: "Validation") -> None:  # noqa: ARG002
        """Print the loss and the dev figures, means over the seeds."""
        self.losses.clear()
        figures = ", ".join(f"{title} {value}" for title, value in percentages(validation.figures).items())
        note(f"epoch {validation.epoch}: loss {sum(validation.loss) / len(validation.loss):.3f}, dev: {figures}")

    def on_step(self, name: str, share: float) -> None:
        """Show what is being done, and how far it is; after a while, say how long it will take."""
        step, first, since = self.step
        passed = time.monotonic() - since
        if name != step:
            self.step = name, share, time.monotonic()
        elif name not in self.timed and share > first and passed > _FIRST_SECONDS:
            note(f"{name}: {duration(passed * (1 - share) / (share - first))} more, as it looks")
            self.timed.add(name)
        self.show = self.show or self.bar.enter_context(progress_bar())
        self.show(name, share)

    def on_steps_end(self) -> None:
        """Take the bar away."""
        self.bar.close()
        self.show = None

    def on_end(self, trainer: "Loop[Any]") -> None:  # noqa: ARG002
        """Take the bar away."""
        self.on_steps_end()
