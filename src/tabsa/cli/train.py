"""`tabsa train`: from a configuration to a model folder."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tabsa.cli.console import err, out
from tabsa.cli.progress import SHOWN, device_name, followed, percent
from tabsa.errors import TabsaError

if TYPE_CHECKING:
    from rich.table import Table

    from tabsa.training.config import RunConfig
    from tabsa.training.linear import Fitted
    from tabsa.training.loop import Trainer


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
    from tabsa.training.teaching import teach

    run_config = read_config(config, tuple(settings or ()))
    if run_config.kind == LR:
        _fit_linear(run_config, folder, seeds, resume, data_dir)
        return
    device = device_name(device, cuda=torch.cuda.is_available())
    run = RunFolder(folder / "run")
    if not resume:
        run.must_be_new()  # said before the data is read, which may take a while
    prepared, kept = prepare(run_config, data_dir)
    numbers = tuple(range(run_config.training.seed, run_config.training.seed + seeds))
    known = f"{100 * kept.coverage.share():.1f}% of the words known, on {device}"

    def begun(trainer: Trainer, own: RunFolder, who: str) -> None:
        if resume:
            own.resume(trainer.config, trainer.seeds, trainer)
        else:
            own.start(trainer.config, trainer.seeds)
        sentences = len(trainer.prepared.train)
        err.print(f"{who}: {trainer.model.size:,} weights, {sentences:,} sentences, {known}", soft_wrap=True)

    def train_teachers(trainer: Trainer, name: str) -> None:
        own = RunFolder(run.path / name)
        begun(trainer, own, f"{len(trainer.seeds)} teachers")
        _follow(trainer, own)

    trainer = Trainer(run_config, teach(run_config, prepared, device, train_teachers), numbers, device)
    begun(trainer, run, run_config.kind)
    _follow(trainer, run)
    write_result(folder, run_config, prepared, kept, numbers, trainer.progress, trainer.best)
    out.print(_results(trainer))
    out.print(f"model folder: {folder}", markup=False, highlight=False, soft_wrap=True)


def _follow(trainer: "Trainer", run: Any) -> None:
    """Train to the end, showing where it stands and saving after every evaluation."""
    from tabsa.training.events import Events

    with Events(run.path, trainer.progress.update, trainer.seeds) as events:
        for evaluation in followed(trainer):
            events.write(evaluation)  # before the state: points after the last state are hidden on resuming
            run.save(trainer, evaluation)


def _results(trainer: "Trainer") -> "Table":
    """Each seed's best state on dev, in percent."""
    from rich.table import Table
    from rich.text import Text

    table = Table(title=Text(f"{trainer.config.data.name} {trainer.config.data.dev}, %"), title_justify="left")
    table.add_column("seed")
    table.add_column("epoch", justify="right")
    for _, _, name in SHOWN:
        table.add_column(name, justify="right")
    for seed, epoch, figures in zip(
        trainer.seeds, trainer.progress.best_epoch, trainer.progress.best_figures, strict=True
    ):
        shown = (percent([figures[family][metric]] if figures else []) for family, metric, _ in SHOWN)
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
    for _, _, name in SHOWN:
        table.add_column(name, justify="right")
    for decision, report in fitted.reports.items():
        shown = (percent([getattr(report, family)[metric]]) for family, metric, _ in SHOWN)
        table.add_row(decision, *shown)
    return table
