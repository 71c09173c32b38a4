"""`tabsa score`: a whole table, streamed."""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from tabsa.cli.console import err, warn
from tabsa.cli.many import Cluster, score_many
from tabsa.cli.targets import METAVAR, named_targets

if TYPE_CHECKING:
    from tabsa.scoring import Progress


class _Layout(StrEnum):
    WIDE = "wide"
    LONG = "long"


class _Engine(StrEnum):
    LOCAL = "local"
    RAY = "ray"


def command(
    source: Annotated[
        Path,
        typer.Argument(
            metavar="IN",
            help="A table: .csv, .tsv or .jsonl, each also with .gz, or .parquet; or a folder or 'pattern'.",
        ),
    ],
    out: Annotated[
        Path,
        typer.Argument(
            metavar="OUT", help="Where results go, in any of these formats; - prints JSON Lines. A folder for many."
        ),
    ],
    text_column: Annotated[
        str | None,
        typer.Option(metavar="C", help="The column to read. [default: text, or the only one]", show_default=False),
    ] = None,
    id_column: Annotated[
        str | None,
        typer.Option(metavar="C", help="What tells rows apart. [default: id, if there is one]", show_default=False),
    ] = None,
    targets: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Names to look for, one a line, aliases after it with commas or tabs."),
    ] = None,
    names: Annotated[
        list[str] | None,
        typer.Option("--target", "-t", metavar=METAVAR, help="A name to look for, with other names; repeatable."),
    ] = None,
    target_column: Annotated[
        str | None,
        typer.Option(metavar="C", help="The column with a row's own targets: a name, several with `;`, or a list."),
    ] = None,
    aspects: Annotated[
        list[str] | None,
        typer.Option("--aspect", "-a", metavar="ASPECT", help="An aspect to ask for; repeatable. [default: all]"),
    ] = None,
    model: Annotated[
        str | None,
        typer.Option(metavar="NAME|FOLDER", help="The model. [default: the one in the box]", show_default=False),
    ] = None,
    layout: Annotated[
        _Layout, typer.Option(help="wide: the input with a column a target-aspect pair; long: a row an opinion.")
    ] = _Layout.WIDE,
    probabilities: Annotated[
        bool, typer.Option("--probabilities", help="Add each label's probability to the wide layout, too.")
    ] = False,
    every: Annotated[bool, typer.Option("--all", help="In the long layout, write `none` as well.")] = False,
    prefix: Annotated[str, typer.Option(metavar="TEXT", help="Goes before the name of each new column.")] = "",
    rejects: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Where bad rows go. [default: OUT.rejects.jsonl]", show_default=False),
    ] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Go on where a run into OUT was stopped.")] = False,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace OUT, or a stopped run into it.")] = False,
    threads: Annotated[
        int, typer.Option(min=0, metavar="N", help="Threads of the model; 0 is one a core, or with ray one a worker.")
    ] = 0,
    precision: Annotated[
        Literal["float32", "int8"], typer.Option(help="Of the model's products; int8 needs a graph exported in it.")
    ] = "float32",
    chunk: Annotated[
        int, typer.Option(min=1, metavar="ROWS", help="Rows scored and saved together; a kill loses at most these.")
    ] = 1024,
    form: Annotated[
        str | None,
        typer.Option("--format", metavar="F", help="Of many tables' results: csv, jsonl.gz ... [default: as each is]"),
    ] = None,
    engine: Annotated[
        _Engine, typer.Option(help="Where it runs: in this process, or on a Ray cluster.")
    ] = _Engine.LOCAL,
    ray_address: Annotated[
        str | None,
        typer.Option(metavar="A", help="The cluster. [default: $RAY_ADDRESS, or this machine]", show_default=False),
    ] = None,
    workers: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="Of the cluster. [default: all CPUs]", show_default=False)
    ] = None,
) -> None:
    """Ask a model about every row of a table, or of many.

    Rows without a text or a target, or that cannot be read, go to the rejects file with the reason; the rest goes
    through. After a crash or a kill, the same command with `--resume` goes on without losing or repeating a row.

    Example: `tabsa score docs/examples/comments.csv opinions.csv --targets docs/examples/places.txt --layout long`
    """
    to_stdout = str(out) == "-"
    if resume and (overwrite or to_stdout):
        raise typer.BadParameter("cannot go with --resume.", param_hint="OUT -" if to_stdout else "--overwrite")
    shared = _shared_targets(targets, names or [], target_column)
    from tabsa.inference import load
    from tabsa.scoring import Layout, Request, rejects_file, score
    from tabsa.scoring.many import is_many

    many = engine is _Engine.RAY or is_many(source)
    _refuse_misplaced(
        many=many,
        ray=engine is _Engine.RAY,
        only_one={"OUT -": to_stdout, "--rejects": rejects is not None},
        only_many={"--format": form is not None},
        only_ray={"--ray-address": ray_address is not None, "--workers": workers is not None},
    )

    request = Request(
        targets=shared,
        target_column=target_column,
        aspects=aspects or None,
        text_column=text_column,
        id_column=id_column,
        layout=Layout(layout),
        probabilities=probabilities,
        every=every,
        prefix=prefix,
        chunk=chunk,
    )
    if many:
        cluster = Cluster(ray_address, workers) if engine is _Engine.RAY else None
        with _word_on_resuming(resumable=True):
            score_many(
                source,
                out,
                request,
                model=model,
                threads=threads,
                precision=precision,
                form=form,
                cluster=cluster,
                resume=resume,
                overwrite=overwrite,
            )
        return
    if not to_stdout:
        rejects = rejects or rejects_file(out)
    predictor = load(model, threads=threads, precision=precision)
    started = time.perf_counter()
    with _progress_bar() as show, _word_on_resuming(resumable=not to_stdout):
        ended = score(
            source,
            None if to_stdout else out,
            predictor,
            request,
            rejects=rejects,
            resume=resume,
            overwrite=overwrite,
            on_progress=show,
        )
    _summarise(ended, time.perf_counter() - started, rejects)


def _refuse_misplaced(
    *, many: bool, ray: bool, only_one: dict[str, bool], only_many: dict[str, bool], only_ray: dict[str, bool]
) -> None:
    for where, wrong, given in (
        ("one table", many, only_one),
        ("many tables: give a folder or a 'pattern' as IN", not many, only_many),
        ("--engine ray", not ray, only_ray),
    ):
        for name in (name for name, is_given in given.items() if is_given and wrong):
            raise typer.BadParameter(f"is for {where}.", param_hint=name)


def _shared_targets(file: Path | None, names: Sequence[str], column: str | None) -> Mapping[str, Sequence[str]] | None:
    """The targets to look for in every row; None where each row has its own."""
    if sum((file is not None, bool(names), column is not None)) != 1:
        raise typer.BadParameter("give one of them.", param_hint="-t NAME, --targets FILE or --target-column C")
    if file is not None:
        from tabsa.scoring import read_targets

        return read_targets(file)
    return named_targets(names) if names else None


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
