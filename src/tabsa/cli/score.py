"""`tabsa score`: a whole table, or many, streamed."""

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal

import typer

from tabsa.cli import options
from tabsa.cli.console import Show, note, progress_bar, warn
from tabsa.cli.options import flag, option, optional
from tabsa.pages.tally import plural

if TYPE_CHECKING:
    from tabsa.scoring.folders import JobResult, ModelChoice
    from tabsa.scoring.request import Request
    from tabsa.scoring.single import Progress
    from tabsa.tables.outputs import Counts

_IN = "A table: .csv, .tsv, .jsonl, .xlsx or .parquet; or a folder of them."
_OUT = "Where results go, in any of these formats but .xlsx; - prints JSON Lines. A folder for a folder."
_FEW_NAMED: Final = 20  # one text in so many; where fewer name a target, they may be about one that they do not name
_ENOUGH_ROWS: Final = 20  # to tell
_LONG_LIST: Final = 3  # targets, from which on few are named in any text


def command(
    source: Annotated[Path, typer.Argument(metavar="IN", help=_IN)],
    out: Annotated[Path, typer.Argument(metavar="OUT", help=_OUT)],
    text_column: options.TextColumn = None,
    id_column: Annotated[str | None, optional("C", "What tells rows apart. [default: id, if there is one]")] = None,
    targets: options.TargetsFile = None,
    names: options.Targets = None,
    target_column: options.TargetColumn = None,
    implied: options.Implied = None,
    aspects: options.Aspects = None,
    aspect_lists: options.AspectLists = None,
    exclusive: options.Exclusive = False,
    model: options.ModelName = None,
    layout: Annotated[Literal["wide", "long"], typer.Option(help="A column a pair, or a row an opinion.")] = "wide",
    probabilities: Annotated[bool, flag("--probabilities", "Add each label's probability to the wide layout.")] = False,
    every: Annotated[bool, flag("--all", "In the long layout, write `none` as well.")] = False,
    evidence: Annotated[bool, flag("--evidence", "Add the sentence that carries each opinion; slower.")] = False,
    escape_formulas: options.EscapeFormulas = False,
    resume: Annotated[bool, flag("--resume", "Go on where a run into OUT was stopped.")] = False,
    overwrite: options.Overwrite = False,
    threads: Annotated[int, option("N", "Of the model; 0: one a core, or with workers one each.", min=0)] = 0,
    precision: options.Precision = "auto",
    chunk: Annotated[int, option("ROWS", "Scored and saved together; a kill loses at most these.", min=1)] = 1024,
    engine: Annotated[Literal["local", "ray"], typer.Option(help="This machine, or a Ray cluster.")] = "local",
    ray_address: Annotated[str | None, optional("A", "The cluster. [default: $RAY_ADDRESS, or this machine]")] = None,
    workers: Annotated[int | None, optional("N", "For a folder, a model each. [default: all CPUs]", min=1)] = None,
) -> None:
    """Ask a model about every row of a table, or of many.

    Rows without a text or a target, or that cannot be read, go to OUT.rejects.jsonl with the reason; the rest goes
    through. After a crash or a kill, the same command with `--resume` goes on without losing or repeating a row.

    Examples:
    - `tabsa score docs/examples/comments.csv opinions.csv --targets docs/examples/places.txt --layout long`
    - `tabsa score reviews.csv opinions.csv --target-column product --aspects phones`
    - `tabsa score reviews.csv opinions.csv -t "Pixel 9" --aspects my-aspects.txt -a "battery life"`
    - `tabsa score reviews.csv opinions.csv -t restaurant --implied --aspects restaurants`
    - `tabsa score reviews.csv opinions.csv --implied --aspects restaurants` (what no text names, without a name)
    - `tabsa score comments.csv opinions.csv --targets places.txt --model fast`
    """
    model = options.pinned_model(model)
    shared = options.shared_targets(targets, names, target_column, implied, model)
    from tabsa.scoring.folders import ModelChoice
    from tabsa.scoring.request import Layout, Request
    from tabsa.tables.reading import SUFFIXES

    ray, to_stdout, many = engine == "ray", str(out) == "-", source.is_dir()
    if resume and (overwrite or to_stdout):
        raise typer.BadParameter("cannot go with --resume.", param_hint="OUT -" if to_stdout else "--overwrite")
    _refuse("one table", not many, {"OUT -": to_stdout})
    _refuse("a folder of tables", many, {"--engine": ray})
    _refuse("a folder of tables on this machine", many and not ray, {"--workers": workers is not None})
    _refuse("--engine ray", ray, {"--ray-address": ray_address is not None})
    if many and out.suffix.lower() in SUFFIXES and not out.is_dir():
        raise typer.BadParameter("names a file; a folder is written to a folder.", param_hint="OUT")
    request = Request(
        targets=shared,
        target_column=target_column,
        implied=implied,
        aspects=options.requested_aspects(aspect_lists, aspects),
        exclusive=exclusive,
        text_column=text_column,
        id_column=id_column,
        layout=Layout(layout),
        probabilities=probabilities,
        every=every,
        evidence=evidence,
        escape_formulas=escape_formulas,
        chunk=chunk,
    )
    if model is not None and Path(model).is_dir():
        model = str(Path(model).resolve())  # workers stand elsewhere
    chosen = ModelChoice(model, threads, precision)
    again: dict[str, Any] = {"resume": resume, "overwrite": overwrite}
    try:
        with progress_bar() as show:
            if many:
                again |= {"ray": ray, "address": ray_address}
                counts: Counts | None = _score_folder(source, out, chosen, request, show, workers=workers, **again)
            else:
                counts = _score_one(source, None if to_stdout else out, chosen, request, show, **again)
    except KeyboardInterrupt:
        if not to_stdout:
            warn("stopped; the same command with --resume goes on from here")
        raise
    if counts is not None and counts.foreign:
        found = f"{counts.foreign:,} of {counts.scored:,} texts look like another language than English"
        warn(f"{found}; the model has learnt from English alone, and its answers to them mean little")
    if counts is not None:
        _warn_if_few_are_named(counts, request, model)


def _refuse(where: str, fits: bool, given: dict[str, bool]) -> None:
    """Refuse options that are for another way of scoring than this one."""
    for name in (name for name, is_given in given.items() if is_given and not fits):
        raise typer.BadParameter(f"is for {where}.", param_hint=name)


def _score_one(
    source: Path, out: Path | None, model: "ModelChoice", request: "Request", show: Show, **given: Any
) -> "Counts | None":
    from tabsa.scoring.single import score_table
    from tabsa.tables.outputs import is_finished, rejects_file

    if out is not None and given["resume"] and is_finished(out):
        note(f"{out} is finished, and there is nothing to resume")
        return None
    predictor, meter = model.load(), _Meter(show)

    def report(now: "Progress") -> None:
        meter.update(now.counts.rows, now.share, now.resumed)

    ended = score_table(source, out, predictor, request, on_progress=report, **given)
    see = f" (see {rejects_file(out)})" if out and ended.counts.rejected else ""
    meter.sum_up(ended.counts, ended.resumed, see)
    return ended.counts


def _score_folder(
    source: Path, out: Path, model: "ModelChoice", request: "Request", show: Show, *, workers: int | None, **given: Any
) -> "Counts":
    from tabsa.models.onnx.session import cores
    from tabsa.scoring.folders import find_tables, score_folder

    if workers is None:
        workers = min(len(find_tables(source, out)), max(1, cores() // max(1, model.threads)))
    if workers > 1 or given["ray"]:
        model = model._replace(threads=model.threads or 1)
    meter = _Meter(show)

    def report(job: "JobResult", name: str, why: str) -> None:
        if why:
            warn(f"{name} failed: {why}")
        meter.update(job.counts.rows, (job.skipped + job.done + len(job.failed)) / job.tables)

    ended = score_folder(source, out, model, request, workers=workers, on_table=report, **given)
    skipped = f" ({ended.skipped:,} were done before)" if ended.skipped else ""
    meter.sum_up(ended.counts, lead=f"{plural(ended.tables, 'table')}{skipped}, ")
    return ended.counts


class _Meter:
    """Shows how fast rows are scored, and sums a run up; rows of the run that it resumes took no time."""

    def __init__(self, show: Show) -> None:
        self._show, self._started = show, time.perf_counter()

    def _pace(self, rows: int) -> str:
        return f"{rows / (time.perf_counter() - self._started):,.0f} rows/s"

    def update(self, rows: int, share: float | None, resumed: int = 0) -> None:
        self._show(f"{rows:,} rows, {self._pace(rows - resumed)}", share)

    def sum_up(self, counts: "Counts", resumed: int = 0, see: str = "", lead: str = "") -> None:
        found = f"{counts.scored:,} scored, {counts.opinions:,} opinions found, {counts.rejected:,} rejected{see}"
        note(f"{lead}{plural(counts.rows, 'row')}: {found}; {self._pace(counts.rows - resumed)}")


def _warn_if_few_are_named(counts: "Counts", request: "Request", model: str | None) -> None:
    """Name `--implied` where a table's texts hardly ever name its target; of a long list few are named anyway."""
    if len(request.targets or ()) > _LONG_LIST or options.is_implied(request.implied, model):
        return
    if counts.scored >= _ENOUGH_ROWS and counts.named * _FEW_NAMED < counts.scored:
        found = f"only {counts.named:,} of {counts.scored:,} texts name a target"
        warn(f"{found}; --implied reads the others as being about it")
