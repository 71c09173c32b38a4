"""`tabsa train`: from one's own labels, or from a configuration, to a model folder."""

import time
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tabsa.cli import options
from tabsa.cli.console import duration, note, out
from tabsa.cli.options import flag, option, optional

if TYPE_CHECKING:
    from tabsa.datasets.records import Columns
    from tabsa.training.run_config import RunConfig
    from tabsa.training.run_folder import Fitted

_SOURCE = "Your labels (.csv, .tsv, .jsonl, .xlsx, .parquet, or a folder, a file a split), or a configuration."


def command(
    source: Annotated[Path, typer.Argument(metavar="DATA|CONFIG.toml", help=_SOURCE)],
    folder: Annotated[Path, typer.Option("--out", metavar="FOLDER", help="Where the model folder is written.")],
    base: Annotated[str | None, optional("NAME|FOLDER", "The reader to start from. [default for DATA: reader]")] = None,
    kind: Annotated[str | None, optional("SYSTEM", "Instead, train this system from nothing: lr, ...")] = None,
    full: Annotated[bool, flag("--full", "Train the encoder too: slower, for much data.")] = False,
    minutes: Annotated[float | None, optional("N", "Be done in about this time.", min=0.1)] = None,
    epochs: Annotated[int | None, optional("N", "How often the texts are read.", min=1)] = None,
    more: Annotated[Path | None, optional("FILE", "A second table of labels to learn from.")] = None,
    test: Annotated[Path | None, optional("FILE", "Labels to judge the finished model by, once.")] = None,
    text_column: options.LabelledText = None,
    target_column: options.LabelledTarget = None,
    aspect_column: options.LabelledAspect = None,
    polarity_column: options.LabelledPolarity = None,
    id_column: options.LabelledId = None,
    seeds: Annotated[int, option("N", "Trained side by side; the best on dev wins.", min=1)] = 1,
    resume: Annotated[bool, flag("--resume", "Go on where a run into this folder stopped.")] = False,
    settings: options.Setting = None,
    device: options.Device = "auto",
    data_dir: options.DataDir = None,
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
    options.need_torch("training")
    from tabsa.cli.progress import ProgressBar
    from tabsa.training.fit import fit
    from tabsa.training.run_config import requested_run

    started = time.monotonic()
    columns = options.labelled_columns(text_column, target_column, aspect_column, polarity_column, id_column)
    run, _ = requested_run(
        source, base=base, kind=kind, full=full, minutes=minutes, epochs=epochs, columns=columns,
        more=more, settings=tuple(settings or ()),
    )  # fmt: skip
    if seeds > 1 and (not run.system.neural or run.fine_tuning.base):
        why = "fine-tuning has folds in place of them" if run.fine_tuning.base else f"{run.kind} has no randomness"
        note(f"{why}, so it is trained once and not for {seeds} seeds")
    if source.is_file() and not source.name.endswith(".toml"):
        _check(source, columns)
    fitted = fit(run, folder, seeds, [ProgressBar()], resume=resume, device=device, data_dir=data_dir)
    _show(run, fitted, folder)
    note(f"took {duration(time.monotonic() - started)}")
    if test is not None:
        _judge(folder, test, columns)


def _check(source: Path, columns: "Columns | None") -> None:
    """Say what is in a file, and what looks wrong with it, before anything is learnt from it."""
    from tabsa.datasets.checking import check
    from tabsa.datasets.records import DEFAULT_COLUMNS

    found = check(source.expanduser(), columns or DEFAULT_COLUMNS)
    # What loading warns of is not said twice.
    apart = [one for one in found.findings if one.code not in ("guessed_text_column", "no_target_column")]
    kinds = Counter(finding.code.replace("_", " ") for finding in apart)
    several = ", ".join(f"{count} x {kind}" if count > 1 else kind for kind, count in kinds.items())
    odd = f"; looks odd: {several} (`tabsa data check {source}` shows where)" if several else ""
    note(f"{source}: {found.texts:,} texts, {found.opinions:,} opinions on {len(found.aspects):,} aspects{odd}")


def _show(run: "RunConfig", fitted: "Fitted", folder: Path) -> None:
    """Print what each seed came to on dev, in percent."""
    from rich.table import Table

    from tabsa.cli.progress import percentages

    split = run.data.dev if fitted.report is None else fitted.report.split
    typer.echo(f"{Path(run.data.name).name} {split}, %; {fitted.about}")
    table = Table("seed" if run.system.neural and not fitted.report else "")
    for title in (["epoch"] if run.system.neural else []) + list(percentages([fitted.rows[0].dev])):
        table.add_column(title, justify="right")
    for row in fitted.rows:
        table.add_row(row.name, *([] if row.epoch is None else [str(row.epoch)]), *percentages([row.dev]).values())
    out.print(table)
    for line in fitted.notes:
        typer.echo(f"note: {line}")
    if fitted.report is not None:
        typer.echo(f"report: {folder / 'report.html'}")
    typer.echo(f"model folder: {folder}")


def _judge(folder: Path, test: Path, columns: "Columns | None") -> None:
    from tabsa.datasets.loading import load
    from tabsa.inference.evaluating import evaluate
    from tabsa.pages.evaluation_page import write_evaluation

    report = evaluate(str(folder), load(test, "all", columns=columns))
    write_evaluation(report, folder / "report-test.html")
    shown = ", ".join(f"{name.replace('_', ' ')} {100 * value:.1f}" for name, value in report.questions.items())
    typer.echo(f"{test}, %: {shown}")
    for line in report.notes:
        typer.echo(f"note: {line}")
