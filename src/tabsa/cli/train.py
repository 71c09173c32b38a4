"""`tabsa train`: from a configuration to a model folder."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tabsa.cli.console import err, out
from tabsa.cli.options import DataDir, Device, RunSettings
from tabsa.errors import TabsaError

if TYPE_CHECKING:
    from rich.table import Table

    from tabsa.training.config import RunConfig
    from tabsa.training.fit import Fitted


def command(
    config: Annotated[Path, typer.Argument(metavar="CONFIG.toml", help="What to train, on what, and how.")],
    folder: Annotated[Path, typer.Option("--out", metavar="FOLDER", help="Where the model folder is written.")],
    seeds: Annotated[
        int, typer.Option(min=1, help="How many seeds to train side by side; the best on dev is kept.")
    ] = 1,
    resume: Annotated[bool, typer.Option("--resume", help="Go on where a run into this folder stopped.")] = False,
    settings: RunSettings = None,
    device: Device = "auto",
    data_dir: DataDir = None,
) -> None:
    """Train a model and write its folder.

    The run itself (configuration, metrics, states to resume from) is kept in FOLDER/run.

    Example: `tabsa train repro/quick/places.toml --out my-model --set training.epochs=30`
    """
    try:
        import torch  # noqa: F401
    except ImportError as e:
        raise TabsaError("training needs PyTorch: pip install 'tabsa[train]'") from e
    from tabsa.cli.progress import ProgressBar
    from tabsa.training.config import read_config
    from tabsa.training.fit import fit

    run = read_config(config, tuple(settings or ()))
    if seeds > 1 and not run.system.neural:
        err.print(f"{run.kind} has no randomness, so it is fitted once and not for {seeds} seeds", highlight=False)
    fitted = fit(run, folder, seeds, [ProgressBar()], resume=resume, device=device, data_dir=data_dir)
    title = f"{run.data.name} {run.data.dev}, %; {fitted.about}"
    out.print(title, style="italic", markup=False, highlight=False, soft_wrap=True)
    out.print(_results(run, fitted))
    out.print(f"model folder: {folder}", markup=False, highlight=False, soft_wrap=True)


def _results(config: "RunConfig", fitted: "Fitted") -> "Table":
    """What each seed, or each decision of a system without seeds, came to on dev, in percent."""
    from rich.table import Table

    from tabsa.cli.progress import percent, shown

    table = Table()
    table.add_column("seed" if config.system.neural else "decision")
    if config.system.neural:
        table.add_column("epoch", justify="right")
    columns = shown(fitted.rows[0].dev)
    for _, _, name in columns:
        table.add_column(name, justify="right")
    for row in fitted.rows:
        epoch = [] if row.epoch is None else [str(row.epoch)]
        figures = (percent([row.dev[family][metric]] if row.dev else []) for family, metric, _ in columns)
        table.add_row(row.name, *epoch, *figures)
    return table
