"""`tabsa train`: from a configuration to a model folder."""

import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tabsa.cli.console import err, out
from tabsa.errors import ConfigError, TabsaError

if TYPE_CHECKING:
    from rich.table import Table

    from tabsa.training.config import RunConfig
    from tabsa.training.linear import Fitted
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
    from tabsa.linear import KIND as LR
    from tabsa.training.config import read_config
    from tabsa.training.loop import Trainer
    from tabsa.training.prepare import prepare
    from tabsa.training.result import write_result
    from tabsa.training.run import RunFolder

    run_config = read_config(config, tuple(settings or ()))
    if run_config.kind == LR:
        _fit_linear(run_config, folder, seeds, resume, data_dir)
        return
    device = _device(device, cuda=torch.cuda.is_available())
    run = RunFolder(folder / "run")
    if not resume:
        run.must_be_new()  # said before the data is read, which may take a while
    prepared, kept = prepare(run_config, data_dir)
    numbers = tuple(range(run_config.training.seed, run_config.training.seed + seeds))
    trainer = Trainer(run_config, prepared, numbers, device)
    if resume:
        run.resume(run_config, numbers, trainer)
    else:
        run.start(run_config, numbers)
    err.print(
        f"{run_config.kind}: {trainer.model.size:,} weights, {len(prepared.train):,} sentences, "
        f"{100 * kept.coverage.share():.1f}% of the words known, on {device}",
        soft_wrap=True,
    )
    _follow(trainer, run)
    write_result(folder, run_config, prepared, kept, numbers, trainer.progress, trainer.best)
    out.print(_results(trainer))
    out.print(f"model folder: {folder}", markup=False, highlight=False, soft_wrap=True)


def _device(name: str, *, cuda: bool) -> str:
    if name == "auto":
        return "cuda" if cuda else "cpu"
    if name not in ("cpu", "cuda"):
        raise ConfigError(f"--device is '{name}'; expected cpu, cuda or auto")
    if name == "cuda" and not cuda:
        raise ConfigError("PyTorch finds no CUDA device here; leave --device out, or say cpu")
    return name


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
    with bar, Events(run.path, trainer.progress.update, trainer.seeds) as events:
        task = bar.add_task(
            "", total=total, completed=trainer.progress.update, epoch=trainer.progress.epoch, speed="", shown=""
        )

        def on_update(update: int, _: object) -> None:
            speed = bar.tasks[0].speed
            bar.update(task, completed=update, speed=f"{speed:.1f} updates/s" if speed else "")

        for evaluation in trainer.run(on_update):
            events.write(evaluation)  # before the state: points after the last state are hidden on resuming
            run.save(trainer, evaluation)
            line = _line(evaluation)
            bar.update(task, epoch=evaluation.epoch, shown=line)
            if any(evaluation.improved) and not err.is_terminal:
                err.print(f"epoch {evaluation.epoch}: {line}", highlight=False, soft_wrap=True)


def _line(evaluation: "Evaluation") -> str:
    """The loss and the dev figures, means over the seeds."""
    figures = (
        f"{name} {_percent([of_seed[family][metric] for of_seed in evaluation.figures])}"
        for family, metric, name in _SHOWN
    )
    return f"loss {sum(evaluation.loss) / len(evaluation.loss):.3f}, dev: " + ", ".join(figures)


def _percent(fractions: list[float]) -> str:
    """The mean of those that are defined."""
    defined = [fraction for fraction in fractions if not math.isnan(fraction)]
    return f"{100 * sum(defined) / len(defined):.1f}" if defined else "–"


def _results(trainer: "Trainer") -> "Table":
    """Each seed's best state on dev, in percent."""
    from rich.table import Table
    from rich.text import Text

    table = Table(title=Text(f"{trainer.config.data.name} {trainer.config.data.dev}, %"), title_justify="left")
    table.add_column("seed")
    table.add_column("epoch", justify="right")
    for _, _, name in _SHOWN:
        table.add_column(name, justify="right")
    for seed, epoch, figures in zip(
        trainer.seeds, trainer.progress.best_epoch, trainer.progress.best_figures, strict=True
    ):
        shown = (_percent([figures[family][metric]] if figures else []) for family, metric, _ in _SHOWN)
        table.add_row(str(seed), str(epoch), *shown)
    return table


def _fit_linear(config: "RunConfig", folder: Path, seeds: int, resume: bool, data_dir: Path | None) -> None:
    """Fit the linear baseline, which takes seconds: it has no seeds, and resuming it is fitting it again."""
    from tabsa.training.linear import fit, write_fitted
    from tabsa.training.run import RunFolder

    if seeds > 1:
        err.print(f"{config.kind} has no randomness, so it is fitted once and not for {seeds} seeds", highlight=False)
    run = RunFolder(folder / "run")
    if resume:
        run.config.unlink(missing_ok=True)
    fitted = fit(config, data_dir)
    run.start(config, (config.training.seed,))
    write_fitted(folder, config, fitted)
    out.print(_decisions(config, fitted))
    out.print(f"model folder: {folder}", markup=False, highlight=False, soft_wrap=True)


def _decisions(config: "RunConfig", fitted: "Fitted") -> "Table":
    """What the linear baseline is worth on dev under either decision, in percent."""
    from rich.table import Table
    from rich.text import Text

    size, kept = f"{len(fitted.model.space.ngrams):,} n-grams", f"C {fitted.best.c:g} and {config.model.decision} kept"
    table = Table(title=Text(f"{config.data.name} {config.data.dev}, %; {size}, {kept}"), title_justify="left")
    table.add_column("decision")
    for _, _, name in _SHOWN:
        table.add_column(name, justify="right")
    for decision, report in fitted.reports.items():
        shown = (_percent([getattr(report, family)[metric]]) for family, metric, _ in _SHOWN)
        table.add_row(decision, *shown)
    return table
