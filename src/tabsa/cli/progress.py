"""How commands that train show where they stand, and what on: the same for `train` and `reproduce`."""

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING

from tabsa.cli.console import err
from tabsa.errors import ConfigError

if TYPE_CHECKING:
    from tabsa.training.loop import Evaluation, Trainer

SHOWN = (
    ("ma", "strict_accuracy", "strict (ma)"),
    ("sun", "macro_f1", "F1 (sun)"),
    ("sun", "aspect_auc", "aspect AUC"),
    ("sun", "sentiment_accuracy", "sentiment acc."),
    ("sun", "sentiment_auc", "sentiment AUC"),
)


def device_name(name: str, *, cuda: bool) -> str:
    """The device that an option means; `cuda` says whether there is one."""
    if name == "auto":
        return "cuda" if cuda else "cpu"
    if name not in ("cpu", "cuda"):
        raise ConfigError(f"--device is '{name}'; expected cpu, cuda or auto")
    if name == "cuda" and not cuda:
        raise ConfigError("PyTorch finds no CUDA device here; leave --device out, or say cpu")
    return name


def followed(trainer: "Trainer") -> Iterator["Evaluation"]:
    """Train to the end, showing where it stands: a bar on a terminal, a line an improvement elsewhere."""
    from rich import progress as bars

    total = trainer.config.training.epochs * trainer.updates
    bar = bars.Progress(
        bars.TextColumn("epoch {task.fields[epoch]}/" + str(trainer.config.training.epochs)),
        bars.BarColumn(),
        bars.TextColumn("{task.fields[speed]}"),
        bars.TimeRemainingColumn(),
        bars.TextColumn("{task.fields[shown]}"),
        console=err,
        disable=not err.is_terminal,
    )
    with bar:
        task = bar.add_task(
            "", total=total, completed=trainer.progress.update, epoch=trainer.progress.epoch, speed="", shown=""
        )

        def on_update(update: int, _: object) -> None:
            speed = bar.tasks[0].speed
            bar.update(task, completed=update, speed=f"{speed:.1f} updates/s" if speed else "")

        for evaluation in trainer.run(on_update):
            yield evaluation
            line = _line(evaluation)
            bar.update(task, epoch=evaluation.epoch, shown=line)
            if any(evaluation.improved) and not err.is_terminal:
                err.print(f"epoch {evaluation.epoch}: {line}", highlight=False, soft_wrap=True)


def _line(evaluation: "Evaluation") -> str:
    """The loss and the dev figures, means over the seeds."""
    figures = (
        f"{name} {percent([of_seed[family][metric] for of_seed in evaluation.figures])}"
        for family, metric, name in SHOWN
    )
    return f"loss {sum(evaluation.loss) / len(evaluation.loss):.3f}, dev: " + ", ".join(figures)


def percent(fractions: list[float]) -> str:
    """The mean of those that are defined, in percent."""
    defined = [fraction for fraction in fractions if not math.isnan(fraction)]
    return f"{100 * sum(defined) / len(defined):.1f}" if defined else "–"
