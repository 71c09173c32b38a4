"""`tabsa reproduce`: the paper's results, ours beside theirs."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tabsa.cli.console import note, out, warn
from tabsa.cli.options import DataDir, Device, Setting, flag, need_torch, optional
from tabsa.errors import ConfigError, OutputError

if TYPE_CHECKING:
    from tabsa_repro.running import ReproduceRequest

_OUT, _QUICK_OUT = Path("repro/results"), Path("runs/reproduce-quick")
_QUICK = "--quick trains for minutes instead of hours: its figures show that everything runs, and are no comparison"


def command(
    experiment: Annotated[
        str,
        typer.Argument(
            metavar="table1|figure2|figure3|ablations|SYSTEM",
            help="**table1**: all systems. **figure2**: gates, EntNet against Delayed EntNet. **figure3**: 2 to 10 "
            "chains. **ablations**: the paper's model without each of its ideas. **SYSTEM**: one row of Table 1, such "
            "as **delayed-entnet**, or **delayed-entnet-paper**, the same network by the paper's own recipe.",
        ),
    ],
    only: Annotated[list[str] | None, optional("NAME", "Only this system, or change; repeatable.")] = None,
    seeds: Annotated[int | None, optional("N", "Seeds of each. [default: 5; 1 with --quick]", min=1)] = None,
    quick: Annotated[bool, flag("--quick", "A short schedule: minutes of a CPU, to see that everything runs.")] = False,
    folder: Annotated[
        Path | None, optional("FOLDER", f"Where results go. [default: {_OUT}; {_QUICK_OUT} with --quick]", "--out")
    ] = None,
    again: Annotated[bool, flag("--again", "Run what is there already, too, and replace it.")] = False,
    prepare: Annotated[Path | None, optional("FOLDER", "Write the data for a machine that has none.")] = None,
    prepared: Annotated[Path | None, optional("FOLDER", "Train from files of --prepare.")] = None,
    settings: Setting = None,
    device: Device = "auto",
    data_dir: DataDir = None,
) -> None:
    """Train what a table or figure of the paper shows, with several seeds, and compare.

    States are selected on dev; test is looked at once a seed, at the end. Every finished part is saved, so that the
    same command goes on where it was stopped, or shows and draws what is there. On two machines: `--prepare` where the
    data is, `--prepared` at the GPU.

    Examples:
    - `tabsa reproduce delayed-entnet --seeds 1 --quick`
    - `tabsa reproduce table1 --prepare ready`
    - `tabsa reproduce table1 --prepared ready --device cuda`
    """
    need_torch("reproducing")
    from tabsa.training.fit import choose_device
    from tabsa_repro.experiments import experiment_of
    from tabsa_repro.running import SEEDS, ReproduceRequest
    from tabsa_repro.seed_runs import write_prepared

    try:
        experiment, parts = experiment_of(experiment, only or ())
    except ConfigError as e:
        raise typer.BadParameter(str(e)) from e
    request = ReproduceRequest(
        experiment,
        folder or (_QUICK_OUT if quick else _OUT),
        only=parts,
        seeds=seeds or (1 if quick else SEEDS),
        quick=quick,
        device=choose_device(device),
        settings=tuple(settings or ()),
        again=again,
        data_dir=data_dir,
        prepared=prepared,
    )
    if prepare:
        for path in write_prepared(prepare, request.configs.values(), data_dir):
            typer.echo(f"{path}: {path.stat().st_size / 2**20:.1f} MiB")
        return
    if quick:
        warn(_QUICK)
    _reproduce(request)


def _reproduce(request: "ReproduceRequest") -> None:
    """Run, write and show."""
    from tabsa.cli.progress import ProgressBar
    from tabsa_repro.paper_figures import write_pictures
    from tabsa_repro.records import ResultStore, read_json
    from tabsa_repro.running import run

    records = run(request, [ProgressBar()], note)
    if not records:
        return
    written = [ResultStore(request.out).combined(request.experiment)]
    try:
        written += write_pictures(request.experiment, read_json(written[0]), request.out)
    except OutputError as e:  # the results are there, and only matplotlib is not
        warn(f"{e}; then the same command draws")
    _show(request.experiment, list(records.values()))
    typer.echo(f"written: {', '.join(map(str, written))}")


def _show(experiment: str, records: list[dict[str, Any]]) -> None:
    from rich.table import Table
    from rich.text import Text

    from tabsa_repro.paper_tables import table_of

    header, *rows = table_of(experiment, records, names=True)
    title = f"{records[0]['config']['data']['name']} test, %: mean ± standard deviation of the seeds"
    table = Table(box=None, padding=(0, 1, 0, 0))
    for number, name in enumerate(header):
        table.add_column(name, justify="left" if number < 2 else "right", no_wrap=number > 0)
    for row in rows:
        table.add_row(*map(Text, row))
    typer.echo(title)
    out.print(table)
