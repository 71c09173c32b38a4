"""`tabsa score`: a whole table, streamed."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import typer

from tabsa.cli.aspects import asked_aspects
from tabsa.cli.console import err, warn
from tabsa.cli.options import AspectLists, Aspects, ModelName, Precision
from tabsa.cli.score_options import (
    Chunk,
    Engine,
    EngineName,
    EscapeFormulas,
    Every,
    IdColumn,
    ImpliedColumn,
    Keep,
    Layout,
    LayoutName,
    Out,
    OutputFormat,
    Overwrite,
    Prefix,
    Probabilities,
    RayAddress,
    Rejects,
    Resume,
    SeparatorOption,
    Source,
    TargetColumn,
    TargetNames,
    TargetsFile,
    TextColumn,
    Threads,
    WithEvidence,
    Workers,
)
from tabsa.cli.targets import Implied, shared_targets, warn_if_few_are_named
from tabsa.pages.tally import plural

if TYPE_CHECKING:
    from tabsa.scoring.folders import Model
    from tabsa.scoring.request import Request
    from tabsa.tables.outputs import Counts

_Show: TypeAlias = Callable[[str, float | None], None]  # a line, and the share that is done, where it is known


def command(
    source: Source,
    out: Out,
    text_column: TextColumn = None,
    id_column: IdColumn = None,
    separator: SeparatorOption = None,
    targets: TargetsFile = None,
    names: TargetNames = None,
    target_column: TargetColumn = None,
    implied: Implied = None,
    implied_column: ImpliedColumn = None,
    aspects: Aspects = None,
    aspect_lists: AspectLists = None,
    model: ModelName = None,
    layout: Layout = LayoutName.WIDE,
    probabilities: Probabilities = False,
    every: Every = False,
    evidence: WithEvidence = False,
    keep: Keep = None,
    prefix: Prefix = "",
    escape_formulas: EscapeFormulas = False,
    rejects: Rejects = None,
    resume: Resume = False,
    overwrite: Overwrite = False,
    threads: Threads = 0,
    precision: Precision = "auto",
    chunk: Chunk = 1024,
    form: OutputFormat = None,
    engine: Engine = EngineName.LOCAL,
    ray_address: RayAddress = None,
    workers: Workers = None,
) -> None:
    """Ask a model about every row of a table, or of many.

    Rows without a text or a target, or that cannot be read, go to the rejects file with the reason; the rest goes
    through. After a crash or a kill, the same command with `--resume` goes on without losing or repeating a row.

    Examples: `tabsa score docs/examples/comments.csv opinions.csv --targets docs/examples/places.txt --layout long`,
    `tabsa score reviews.csv opinions.csv --target-column product --aspects phones`,
    `tabsa score reviews.csv opinions.csv -t "Pixel 9" --aspects my-aspects.txt -a "battery life"`,
    `tabsa score reviews.csv opinions.csv -t restaurant --implied --aspects restaurants`,
    `tabsa score reviews.csv opinions.csv --implied --aspects restaurants` (what no text names, without a name),
    `tabsa score comments.csv opinions.csv --targets places.txt --model fast`
    """
    if model and model.startswith("hub:"):
        from tabsa.checkpoint.model_folder import open_folder

        model = str(open_folder(model).path)  # one version for all that score
    shared = shared_targets(targets, names or [], target_column, implied_column is not None or implied, model)
    from tabsa.scoring.cluster import is_url
    from tabsa.scoring.folders import Model, is_many
    from tabsa.scoring.request import Layout as RowLayout
    from tabsa.scoring.request import Request

    source, out = source.removeprefix("file://"), out.removeprefix("file://")
    ray, to_stdout = engine is EngineName.RAY, out == "-"
    many = not ray and is_many(source)
    if resume and (overwrite or to_stdout):
        raise typer.BadParameter("cannot go with --resume.", param_hint="OUT -" if to_stdout else "--overwrite")
    _refuse("one table", not (many or ray), {"OUT -": to_stdout, "--rejects": rejects is not None})
    _refuse("many tables: give a folder or a 'pattern' as IN", many, {"--format": form is not None})
    _refuse("many tables, or --engine ray", many or ray, {"--workers": workers is not None})
    urls = {name: is_url(location) for name, location in (("IN", source), ("OUT", out))}
    _refuse("--engine ray", ray, {"--ray-address": ray_address is not None} | urls)
    request = Request(
        targets=shared,
        target_column=target_column,
        implied=implied,
        implied_column=implied_column,
        aspects=asked_aspects(aspect_lists, aspects),
        text_column=text_column,
        id_column=id_column,
        separator=separator,
        layout=RowLayout(layout),
        probabilities=probabilities,
        every=every,
        evidence=evidence,
        keep=keep or None,
        prefix=prefix,
        escape_formulas=escape_formulas,
        chunk=chunk,
    )
    if model is not None and Path(model).is_dir():
        model = str(Path(model).resolve())  # workers stand elsewhere
    which = Model(model, threads, precision)
    table = None if to_stdout else Path(out)
    ended: _Ended | None
    try:
        with _progress_bar() as show:
            if ray:
                ended = _score_cluster(source, out, which, request, ray_address, workers, show, resume, overwrite)
            elif many:
                ended = _score_folder(source, out, which, request, form, workers, show, resume, overwrite)
            else:
                ended = _score_one(Path(source), table, which, request, rejects, show, resume, overwrite)
    except KeyboardInterrupt:
        if not to_stdout:
            warn("stopped; the same command with --resume goes on from here")
        raise
    if ended is not None:
        typer.echo(ended.summary, err=True)
        warn_if_few_are_named(ended.counts, request, which.name)


class _Ended(NamedTuple):
    """A run that is over: what it did, and a line on it."""

    counts: "Counts"
    summary: str


def _pace(rows: int, done: int, started: float) -> str:
    return f"{rows:,} rows, {done / (time.perf_counter() - started):,.0f} rows/s"


def _line(counts: "Counts", started: float, resumed: int = 0, see: str = "") -> str:
    return (
        f"{plural(counts.rows, 'row')}: {counts.scored:,} scored, {counts.opinions:,} opinions found, "
        f"{counts.rejected:,} rejected{see}; {(counts.rows - resumed) / (time.perf_counter() - started):,.0f} rows/s"
    )


def _score_one(
    source: Path,
    out: Path | None,
    model: "Model",
    request: "Request",
    rejects: Path | None,
    show: _Show,
    resume: bool,
    overwrite: bool,
) -> _Ended | None:
    from tabsa.scoring.single import Progress, rejects_file, score_table
    from tabsa.tables.outputs import is_finished

    if out is not None:
        rejects = rejects or rejects_file(out)
        if resume and is_finished(out):
            typer.echo(f"{out} is finished, and there is nothing to resume", err=True)
            return None
    predictor = model.load()
    started = time.perf_counter()

    def progress(now: Progress) -> None:
        show(_pace(now.counts.rows, now.counts.rows - now.resumed, started), now.share)

    ended = score_table(
        source, out, predictor, request, rejects=rejects, on_progress=progress, resume=resume, overwrite=overwrite
    )
    see = f" (see {rejects})" if rejects and ended.counts.rejected else ""
    return _Ended(ended.counts, _line(ended.counts, started, ended.resumed, see))


def _score_folder(
    source: str,
    out: str,
    model: "Model",
    request: "Request",
    form: str | None,
    workers: int | None,
    show: _Show,
    resume: bool,
    overwrite: bool,
) -> _Ended:
    from tabsa.models.onnx.session import cores
    from tabsa.scoring.folders import JobResult, find_tables, score_folder

    _refuse_file(out)
    if workers is None:
        workers = min(len(find_tables(Path(source), Path(out), form)), max(1, cores() // max(1, model.threads)))
    if workers > 1:
        model = model._replace(threads=model.threads or 1)
    started = time.perf_counter()

    def report(job: JobResult, name: str, why: str) -> None:
        if why:
            warn(f"{name} failed: {why}")
        show(_pace(job.counts.rows, job.counts.rows, started), (job.skipped + job.done + len(job.failed)) / job.tables)

    ended = score_folder(
        Path(source),
        Path(out),
        model,
        request,
        workers=workers,
        form=form,
        on_table=report,
        resume=resume,
        overwrite=overwrite,
    )
    skipped = f" ({ended.skipped:,} were done before)" if ended.skipped else ""
    summary = f"{plural(ended.tables, 'table')}{skipped}, {_line(ended.counts, started)}"
    return _Ended(ended.counts, summary)


def _score_cluster(
    source: str,
    out: str,
    model: "Model",
    request: "Request",
    address: str | None,
    workers: int | None,
    show: _Show,
    resume: bool,
    overwrite: bool,
) -> _Ended:
    from tabsa.scoring.cluster import score_cluster

    _refuse_file(out)
    started = time.perf_counter()

    def report(counts: "Counts") -> None:
        show(_pace(counts.rows, counts.rows, started), None)

    model = model._replace(threads=model.threads or 1)
    counts = score_cluster(
        source,
        out,
        model,
        request,
        address=address,
        workers=workers,
        on_progress=report,
        resume=resume,
        overwrite=overwrite,
    )
    return _Ended(counts, _line(counts, started))


def _refuse_file(out: str) -> None:
    from tabsa.tables.reading import SUFFIXES

    if out.lower().endswith(SUFFIXES) and not Path(out).is_dir():
        raise typer.BadParameter("names a file; many tables, and --engine ray, write to a folder.", param_hint="OUT")


def _refuse(where: str, fits: bool, given: dict[str, bool]) -> None:
    """Refuse options that are for another way of scoring than this one."""
    for name in (name for name, is_given in given.items() if is_given and not fits):
        raise typer.BadParameter(f"is for {where}.", param_hint=name)


@contextmanager
def _progress_bar() -> Iterator[_Show]:
    """Show a line on the work, how much of it is done and the time left, on a terminal."""
    if not err.is_terminal:
        yield lambda _, __: None
        return
    from rich import progress as bars

    columns = (bars.TextColumn("{task.description}"), bars.BarColumn(), bars.TimeRemainingColumn())
    with bars.Progress(*columns, console=err, transient=True) as bar:
        task = bar.add_task("starting", total=1.0)

        def show(line: str, share: float | None) -> None:
            bar.update(task, description=line, completed=share or 0.0)

        yield show
