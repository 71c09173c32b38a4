"""`tabsa score` on many tables: a folder, a pattern, or a Ray cluster."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

import typer

from tabsa.cli.console import err, warn
from tabsa.cli.targets import warn_if_few_are_named

if TYPE_CHECKING:
    from tabsa.checkpoint.model_folder import AskedPrecision
    from tabsa.inference.predictor import Predictor
    from tabsa.scoring import Request
    from tabsa.scoring.many import Ended, Outcome, Standing

_LINE_EVERY: Final = 10.0  # seconds, where there is no terminal


class Cluster(NamedTuple):
    """Where workers run."""

    address: str | None


class Runner(NamedTuple):
    """The model that scores, and how it is run."""

    model: str | None
    threads: int
    precision: "AskedPrecision"

    def load(self) -> "Predictor":
        """The model, ready."""
        from tabsa.inference.predictor import load

        return load(self.model, threads=self.threads, precision=self.precision)


def score_many(
    source: str,
    out: str,
    request: "Request",
    runner: Runner,
    *,
    form: str | None,
    cluster: Cluster | None,
    workers: int | None,
    resume: bool,
    overwrite: bool,
) -> None:
    """Score the tables, on a cluster if one is given, and print what it came to."""
    from tabsa.models.onnx.session import cores
    from tabsa.scoring import request_identity
    from tabsa.scoring.many import Job, LocalEngine, ScoringEngine, find_parts, score_parts
    from tabsa.tables.kinds import SUFFIXES

    if out.lower().endswith(SUFFIXES) and not Path(out).is_dir():
        raise typer.BadParameter("names a file; many tables, and --engine ray, write to a folder.", param_hint="OUT")
    if cluster is not None:
        from tabsa.scoring.many.cluster import RayEngine
        from tabsa.scoring.many.joining import require

        require()
        runner, form = runner._replace(threads=runner.threads or 1), form or "parquet"
    elif workers is None:
        workers = min(len(find_parts(source, out, form)), max(1, cores() // max(1, runner.threads)))
    if workers and workers > 1:
        runner = runner._replace(threads=runner.threads or 1)
    if runner.model is not None and Path(runner.model).is_dir():
        runner = runner._replace(model=str(Path(runner.model).resolve()))
    predictor = runner.load()
    job = Job(request, request_identity(predictor, request), runner.model, predictor.precision, runner.threads)
    engine: ScoringEngine = LocalEngine(job, predictor, workers or 1)
    if cluster is not None and form is not None:
        engine = RayEngine(job, predictor, out, form, address=cluster.address, workers=workers)
    with _shown() as show:
        ended = score_parts(
            source, out, job, predictor, engine, form=form, resume=resume, overwrite=overwrite, on_change=show
        )
    _summarise(ended)
    warn_if_few_are_named(ended.counts, request, predictor)


@contextmanager
def _shown() -> "Iterator[Callable[[Standing, Outcome], None]]":
    """Parts and rows: as a bar on a terminal, elsewhere as a line now and then. What goes wrong is a line at once."""
    from rich import progress as bars

    from tabsa.pages.tally import plural

    columns = (
        bars.TextColumn("{task.fields[standing]}"),
        bars.BarColumn(),
        bars.TimeRemainingColumn(),
    )
    with bars.Progress(*columns, console=err, transient=True, disable=not err.is_terminal) as bar:
        task = bar.add_task("", total=1.0, standing="starting")
        last = time.monotonic()

        def show(standing: "Standing", outcome: "Outcome") -> None:
            nonlocal last
            if outcome.why:
                warn(f"{outcome.name} {outcome.kind}: {outcome.why}")
            line = f"{plural(standing.parts, 'part')}, {plural(standing.rows, 'row')} ({standing.share:.0%})"
            bar.update(task, completed=standing.share, standing=line)
            if not err.is_terminal and time.monotonic() - last > _LINE_EVERY:
                last = time.monotonic()
                typer.echo(line, err=True)

        yield show


def _summarise(ended: "Ended") -> None:
    from tabsa.pages.tally import plural

    counts = ended.counts
    speed = (counts.rows - ended.resumed) / ended.seconds
    typer.echo(
        f"{plural(ended.parts, 'part')}, {plural(counts.rows, 'row')}: {counts.scored:,} scored, "
        f"{counts.opinions:,} opinions found, {counts.rejected:,} rejected; {speed:,.0f} rows/s",
        err=True,
    )
