"""`tabsa score`: a whole table, streamed."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from tabsa.cli.aspects import asked_aspects
from tabsa.cli.console import err, warn
from tabsa.cli.many import Cluster, Runner, score_many
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

if TYPE_CHECKING:
    from tabsa.scoring import Progress, Request


def command(
    source: Source,
    out: Out,
    text_column: TextColumn = None,
    id_column: IdColumn = None,
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
    asked = asked_aspects(aspect_lists, aspects)
    from tabsa.scoring import Layout as RowLayout
    from tabsa.scoring import Request
    from tabsa.scoring.many import is_many
    from tabsa.scoring.many.storage import is_url, without_file_scheme

    source, out = without_file_scheme(source), without_file_scheme(out)
    ray, to_stdout = engine is EngineName.RAY, out == "-"
    many = ray or is_many(source)
    if resume and (overwrite or to_stdout):
        raise typer.BadParameter("cannot go with --resume.", param_hint="OUT -" if to_stdout else "--overwrite")
    _refuse("one table", not many, {"OUT -": to_stdout, "--rejects": rejects is not None})
    given = {"--format": form is not None, "--workers": workers is not None}
    _refuse("many tables: give a folder or a 'pattern' as IN", many, given)
    urls = {name: is_url(location) for name, location in (("IN", source), ("OUT", out))}
    _refuse("--engine ray", ray, {"--ray-address": ray_address is not None} | urls)
    request = Request(
        targets=shared,
        target_column=target_column,
        implied=implied,
        implied_column=implied_column,
        aspects=asked,
        text_column=text_column,
        id_column=id_column,
        layout=RowLayout(layout),
        probabilities=probabilities,
        every=every,
        evidence=evidence,
        keep=keep or None,
        prefix=prefix,
        escape_formulas=escape_formulas,
        chunk=chunk,
    )
    runner = Runner(model, threads, precision)
    with _word_on_resuming(resumable=not to_stdout):
        if many:
            cluster = Cluster(ray_address) if ray else None
            score_many(
                source,
                out,
                request,
                runner,
                form=form,
                cluster=cluster,
                workers=workers,
                resume=resume,
                overwrite=overwrite,
            )
        else:
            path = None if to_stdout else Path(out)
            _score_one(Path(source), path, request, runner, rejects=rejects, resume=resume, overwrite=overwrite)


def _score_one(
    source: Path,
    out: Path | None,
    request: "Request",
    runner: Runner,
    *,
    rejects: Path | None,
    resume: bool,
    overwrite: bool,
) -> None:
    """Score one table, and print what it came to."""
    from tabsa.scoring import is_finished, rejects_file, score

    if out is not None:
        rejects = rejects or rejects_file(out)
        if resume and is_finished(out):
            typer.echo(f"{out} is finished, and there is nothing to resume", err=True)
            return
    predictor = runner.load()
    started = time.perf_counter()
    with _progress_bar() as show:
        ended = score(
            source, out, predictor, request, rejects=rejects, resume=resume, overwrite=overwrite, on_progress=show
        )
    _summarise(ended, time.perf_counter() - started, rejects)
    warn_if_few_are_named(ended.counts, request, predictor)


def _refuse(where: str, fits: bool, given: dict[str, bool]) -> None:
    """Options that are for another way of scoring than this one."""
    for name in (name for name, is_given in given.items() if is_given and not fits):
        raise typer.BadParameter(f"is for {where}.", param_hint=name)


@contextmanager
def _progress_bar() -> "Iterator[Callable[[Progress], None]]":
    """Rows, speed and time left, on a terminal."""
    if not err.is_terminal:
        yield lambda _: None
        return
    from rich import progress as bars

    columns = (
        bars.TextColumn("{task.fields[rows]:,} rows"),
        bars.BarColumn(),
        bars.TextColumn("{task.fields[speed]:,.0f} rows/s"),
        bars.TimeRemainingColumn(),
    )
    with bars.Progress(*columns, console=err, transient=True) as bar:
        task = bar.add_task("", total=1.0, rows=0, speed=0.0)
        started = time.perf_counter()

        def show(progress: "Progress") -> None:
            speed = (progress.counts.rows - progress.resumed) / (time.perf_counter() - started)
            bar.update(task, completed=progress.share, rows=progress.counts.rows, speed=speed)

        yield show


@contextmanager
def _word_on_resuming(*, resumable: bool) -> Iterator[None]:
    """Tell who stops a run how to go on."""
    try:
        yield
    except KeyboardInterrupt:
        if resumable:
            warn("stopped; the same command with --resume goes on from here")
        raise


def _summarise(ended: "Progress", seconds: float, rejects: Path | None) -> None:
    counts = ended.counts
    speed = (counts.rows - ended.resumed) / seconds
    see = f" (see {rejects})" if rejects and counts.rejected else ""
    typer.echo(
        f"{counts.rows:,} rows: {counts.scored:,} scored, {counts.opinions:,} opinions found, "
        f"{counts.rejected:,} rejected{see}; {speed:,.0f} rows/s",
        err=True,
    )
