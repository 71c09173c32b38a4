"""`tabsa train`: from one's own labels, or from a configuration, to a model folder."""

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tabsa.cli.console import err, out
from tabsa.cli.options import (
    DataDir,
    Device,
    LabelledAspect,
    LabelledId,
    LabelledPolarity,
    LabelledTarget,
    LabelledText,
    Setting,
    labelled_columns,
)
from tabsa.errors import TabsaError

if TYPE_CHECKING:
    from rich.table import Table

    from tabsa.datasets.records import Columns
    from tabsa.training.run_config import RunConfig
    from tabsa.training.run_folder import Fitted


def command(
    source: Annotated[
        Path,
        typer.Argument(
            metavar="DATA|CONFIG.toml",
            help="Your labels (.csv, .tsv, .jsonl, .xlsx, .parquet, or a folder, a file a split), or a configuration.",
        ),
    ],
    folder: Annotated[Path, typer.Option("--out", metavar="FOLDER", help="Where the model folder is written.")],
    base: Annotated[
        str | None,
        typer.Option(
            metavar="NAME|FOLDER", help="The reader to start from. [default for DATA: reader]", show_default=False
        ),
    ] = None,
    kind: Annotated[
        str | None,
        typer.Option(metavar="SYSTEM", help="Instead, train this system from nothing: lr, ...", show_default=False),
    ] = None,
    full: Annotated[
        bool, typer.Option("--full", help="Train the encoder too, not only what answers: slower, for much data.")
    ] = False,
    minutes: Annotated[
        float | None, typer.Option(min=0.1, metavar="N", help="Be done in about this time.", show_default=False)
    ] = None,
    epochs: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="How often the texts are read.", show_default=False)
    ] = None,
    more: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="A second table of labels to learn from.", show_default=False),
    ] = None,
    test: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Labels to judge the finished model by, once.", show_default=False),
    ] = None,
    text_column: LabelledText = None,
    target_column: LabelledTarget = None,
    aspect_column: LabelledAspect = None,
    polarity_column: LabelledPolarity = None,
    id_column: LabelledId = None,
    seeds: Annotated[
        int, typer.Option(min=1, help="How many seeds to train side by side; the best on dev is kept.")
    ] = 1,
    resume: Annotated[bool, typer.Option("--resume", help="Go on where a run into this folder stopped.")] = False,
    settings: Setting = None,
    device: Device = "auto",
    data_dir: DataDir = None,
) -> None:
    """Train a model on your own labels and write its folder.

    A table of labels fine-tunes the reader in the box: it is checked, some texts are held out, and a report.html in
    FOLDER says what the model is worth. The run itself (configuration, metrics, states to resume from) is kept in
    FOLDER/run.

    Examples:
    - `tabsa train reviews.csv --out my-model`
    - `tabsa train survey.csv --out my-model --text-column Answer --polarity-column Label --minutes 5`
    - `tabsa train reviews.csv --more corrections.jsonl --out better-model`
    - `tabsa train reviews.csv --kind lr --out baseline`
    - `tabsa train repro/quick/places.toml --out my-model --set training.epochs=30`
    """
    try:
        import torch  # noqa: F401
    except ImportError as e:
        raise TabsaError("training needs PyTorch: pip install 'tabsa[train]'") from e
    from tabsa.cli.progress import ProgressBar
    from tabsa.training.fit import fit
    from tabsa.training.run_config import requested_run

    started = time.monotonic()
    columns = labelled_columns(text_column, target_column, aspect_column, polarity_column, id_column)
    run, _ = requested_run(
        source, base=base, kind=kind, full=full, minutes=minutes, epochs=epochs, columns=columns,
        more=more, settings=tuple(settings or ()),
    )  # fmt: skip
    if seeds > 1 and (not run.system.neural or run.fine_tuning.base):
        why = "fine-tuning has folds in place of them" if run.fine_tuning.base else f"{run.kind} has no randomness"
        err.print(f"{why}, so it is trained once and not for {seeds} seeds", highlight=False, soft_wrap=True)
    if not source.name.endswith(".toml"):
        _check(source, columns)
    fitted = fit(run, folder, seeds, [ProgressBar()], resume=resume, device=device, data_dir=data_dir)
    _show(run, fitted, folder, time.monotonic() - started)
    if test is not None:
        _judge(folder, test, columns)


def _check(source: Path, columns: "Columns | None") -> None:
    """Say what is in a file, and what looks wrong with it, before anything is learnt from it."""
    from collections import Counter

    from tabsa.datasets.checking import check
    from tabsa.datasets.records import DEFAULT_COLUMNS

    if not source.is_file():
        return
    found = check(source.expanduser(), columns or DEFAULT_COLUMNS)
    kinds = Counter(finding.code.replace("_", " ") for finding in found.findings)
    told = f"{source}: {found.texts:,} texts, {found.opinions:,} opinions on {len(found.aspects):,} aspects"
    if kinds:
        several = ", ".join(f"{count} x {kind}" if count > 1 else kind for kind, count in kinds.items())
        told += f"; looks odd: {several} (`tabsa data check {source}` shows where)"
    err.print(told, markup=False, highlight=False, soft_wrap=True)


def _show(run: "RunConfig", fitted: "Fitted", folder: Path, seconds: float) -> None:
    split = run.data.dev if fitted.report is None else fitted.report.split
    title = f"{Path(run.data.name).name} {split}, %; {fitted.about}"
    out.print(title, style="italic", markup=False, highlight=False, soft_wrap=True)
    out.print(_results(run, fitted))
    for note in fitted.notes:
        out.print(f"note: {note}", markup=False, highlight=False, soft_wrap=True)
    if fitted.report is not None:
        out.print(f"report: {folder / 'report.html'}", markup=False, highlight=False, soft_wrap=True)
    out.print(f"model folder: {folder}", markup=False, highlight=False, soft_wrap=True)
    if fitted.report is not None:
        err.print(f"took {seconds:.0f} s" if seconds < 120 else f"took {seconds / 60:.0f} min", highlight=False)


def _judge(folder: Path, test: Path, columns: "Columns | None") -> None:
    from tabsa.datasets.loading import load
    from tabsa.inference.evaluating import evaluate
    from tabsa.pages.evaluation_page import write_evaluation

    report = evaluate(str(folder), load(test, "all", columns=columns))
    write_evaluation(report, folder / "report-test.html")
    shown = ", ".join(f"{name.replace('_', ' ')} {100 * value:.1f}" for name, value in report.questions.items())
    out.print(f"{test}, %: {shown}", markup=False, highlight=False, soft_wrap=True)
    for note in report.notes:
        out.print(f"note: {note}", markup=False, highlight=False, soft_wrap=True)


def _results(config: "RunConfig", fitted: "Fitted") -> "Table":
    """What each seed, or each decision of a system without seeds, came to on dev, in percent."""
    from rich.table import Table

    from tabsa.cli.progress import percent, shown

    table = Table()
    table.add_column("" if fitted.report else "seed" if config.system.neural else "decision")
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
