"""`tabsa train`: from a configuration to a model folder."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tabsa.cli.console import err, out
from tabsa.errors import TabsaError

if TYPE_CHECKING:
    from rich.table import Table

    from tabsa.training.loop import Evaluation, Trainer

_SHOWN = (
    ("ma", "strict_accuracy", "strict (ma)"),
    ("sun", "macro_f1", "F1 (sun)"),
    ("sun", "aspect_auc", "aspect AUC"),
    ("sun", "sentiment_accuracy", "sentiment acc."),
    ("sun", "sentiment_auc", "sentiment AUC"),
)


def command(
    config: Annotated[Path, typer.Argument(metavar="CONFIG.toml", help="What to train, on what, and how.")],
    folder: Annotated[Path, typer.Option("--out", metavar="FOLDER", help="Where the model folder is written.")],
    seeds: Annotated[
        int, typer.Option(min=1, help="How many seeds to train side by side; the best on dev is kept.")
    ] = 1,
    resume: Annotated[bool, typer.Option("--resume", help="Go on where a run into this folder stopped.")] = False,
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="SECTION.KEY=VALUE", help="Change one option of the configuration; repeatable."),
    ] = None,
    device: Annotated[str, typer.Option(help="cpu, cuda, or auto: cuda where there is one.")] = "auto",
    data_dir: Annotated[Path | None, typer.Option(metavar="DIR", help="Look for data here first.")] = None,
) -> None:
    """Train a model and write its folder.

    The run itself (configuration, metrics, states to resume from) is kept in FOLDER/run.

    Example: `tabsa train repro/quick/places.toml --out my-model --set training.epochs=30`
    """
    try:
        import torch
    except ImportError as e:
        raise TabsaError("training needs PyTorch: pip install 'tabsa[train]'") from e
    from tabsa.training.config import read_config
    from tabsa.training.loop import Trainer
    from tabsa.training.prepare import prepare
    from tabsa.training.result import write_result
    from tabsa.training.run import RunFolder

    run_config = read_config(config, tuple(settings or ()))
    if device == "auto":
        device = "cuda" if torch.cuda.is_available() else "cpu"
    prepared, kept = prepare(run_config, data_dir)
    numbers = tuple(range(run_config.training.seed, run_config.training.seed + seeds))
    trainer = Trainer(run_config, prepared, numbers, device)
    run = RunFolder(folder / "run")
    if resume:
        run.resume(run_config, numbers, trainer)
    else:
        run.start(run_config, numbers)
    err.print(
        f"{run_config.kind}: {trainer.model.size:,} weights, {len(prepared.train):,} sentences, "
        f"{100 * kept.coverage.share():.1f}% of the words known, on {device}"
    )
    _follow(trainer, run)
    write_result(folder, run_config, prepared, kept, numbers, trainer.progress, trainer.best)
    out.print(_results(trainer))
    out.print(f"model folder: {folder}", highlight=False, soft_wrap=True)


def _follow(trainer: "Trainer", run: Any) -> None:
    """Train to the end, showing where it stands: a bar on a terminal, a line an improvement elsewhere."""
    from rich import progress as bars

    from tabsa.training.events import Events

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
    with bar, Events(run.path, trainer.progress.update) as events:
        task = bar.add_task(
            "", total=total, completed=trainer.progress.update, epoch=trainer.progress.epoch, speed="", shown=""
        )

        def on_update(update: int, _: object) -> None:
            speed = bar.tasks[0].speed
            bar.update(task, completed=update, speed=f"{speed:.1f} updates/s" if speed else "")

        for evaluation in trainer.run(on_update):
            run.save(trainer, evaluation)
            events.write(evaluation)
            line = _line(evaluation)
            bar.update(task, epoch=evaluation.epoch, shown=line)
            if any(evaluation.improved) and not err.is_terminal:
                err.print(f"epoch {evaluation.epoch}: {line}", highlight=False, soft_wrap=True)


def _line(evaluation: "Evaluation") -> str:
    """The loss and the dev figures, means over the seeds."""
    seeds = len(evaluation.figures)
    figures = (
        f"{name} {100 * sum(of_seed[family][metric] for of_seed in evaluation.figures) / seeds:.1f}"
        for family, metric, name in _SHOWN
    )
    return f"loss {sum(evaluation.loss) / seeds:.3f}, dev: " + ", ".join(figures)


def _results(trainer: "Trainer") -> "Table":
    """Each seed's best state on dev, in percent."""
    from rich.table import Table

    table = Table(title=f"{trainer.config.data.name} {trainer.config.data.dev}, %", title_justify="left")
    table.add_column("seed")
    table.add_column("epoch", justify="right")
    for _, _, name in _SHOWN:
        table.add_column(name, justify="right")
    for seed, epoch, figures in zip(
        trainer.seeds, trainer.progress.best_epoch, trainer.progress.best_figures, strict=True
    ):
        table.add_row(str(seed), str(epoch), *(f"{100 * figures[family][metric]:.1f}" for family, metric, _ in _SHOWN))
    return table
