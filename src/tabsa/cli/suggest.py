"""`tabsa suggest`: the texts that are worth labelling."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from tabsa.cli.aspects import asked_aspects
from tabsa.cli.console import err
from tabsa.cli.options import AspectLists, Aspects, ModelName, Precision
from tabsa.cli.score_options import Overwrite, TargetColumn, TargetNames, TargetsFile, TextColumn, Threads
from tabsa.cli.targets import Implied, shared_targets


def command(
    source: Annotated[
        Path,
        typer.Argument(metavar="TABLE", help="Texts: .csv, .tsv or .jsonl, each also with .gz, .xlsx or .parquet."),
    ],
    out: Annotated[Path, typer.Argument(metavar="OUT", help="Where the questions go, in any of these formats.")],
    n: Annotated[int, typer.Option("--n", "-n", min=1, metavar="N", help="How many texts.")] = 50,
    questions: Annotated[
        int, typer.Option(min=0, metavar="N", help="How many questions a text, the least sure; 0 is all.")
    ] = 3,
    targets: TargetsFile = None,
    names: TargetNames = None,
    target_column: TargetColumn = None,
    implied: Implied = None,
    aspects: Aspects = None,
    aspect_lists: AspectLists = None,
    model: ModelName = None,
    text_column: TextColumn = None,
    labelled: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Your labelled data so far: nothing like its texts is picked again."),
    ] = None,
    overwrite: Overwrite = False,
    threads: Threads = 0,
    precision: Precision = "auto",
) -> None:
    """Pick the texts whose labels would teach the model most, as a table to fill in.

    Active learning: texts that the model is unsure of (uncertainty sampling) and that differ from each other (a
    core-set). One row a question, with what the model said; fill in `polarity` (`none` where the text is silent), and
    leave a row empty to skip it. The table is then training data.

    Examples: `tabsa suggest docs/examples/comments.csv to-label.csv -t Camden -t Croydon -a price -a safety --n 5`,
    `tabsa suggest reviews.csv to-label.csv --target-column product --aspects phones --n 100`,
    `tabsa suggest reviews.csv to-label.csv --implied --aspects restaurants --labelled labelled.csv`
    """
    shared = shared_targets(targets, names or [], target_column, implied, model)
    asked = asked_aspects(aspect_lists, aspects)
    from tabsa.inference.predictor import load
    from tabsa.scoring.labelling import suggest_table
    from tabsa.scoring.request import Request

    request = Request(
        targets=shared, target_column=target_column, implied=implied, aspects=asked, text_column=text_column
    )
    known = _texts_of(labelled) if labelled is not None else ()
    predictor = load(model, threads=threads, precision=precision)
    with _progress_bar() as show:
        found = suggest_table(
            source,
            out,
            predictor,
            request,
            n,
            questions=questions or None,
            labelled=known,
            overwrite=overwrite,
            on_progress=show,
        )
    unread = f" ({found.unread:,} could not be read)" if found.unread else ""
    typer.echo(
        f"{found.questions:,} questions on {found.texts:,} of {found.rows:,} texts{unread}: {out}\n"
        f"Fill in 'polarity' with one of {', '.join(predictor.labels)}; leave a row empty to skip it.",
        err=True,
    )


@contextmanager
def _progress_bar() -> Iterator[Callable[[float], None]]:
    """How much of the table has been read, on a terminal."""
    if not err.is_terminal:
        yield lambda _: None
        return
    from rich.progress import Progress

    with Progress(console=err, transient=True) as bar:
        task = bar.add_task("reading", total=1.0)
        yield lambda share: bar.update(task, completed=share)


def _texts_of(path: Path) -> tuple[str, ...]:
    from tabsa.datasets.loading import load
    from tabsa.datasets.locate import expanded

    return tuple(dict.fromkeys(example.text for example in load(expanded(path), "all").examples))
