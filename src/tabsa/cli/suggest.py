"""`tabsa suggest`: the texts that are worth labelling."""

from pathlib import Path
from typing import Annotated

import typer

from tabsa.cli.console import note
from tabsa.cli.options import (
    AspectLists,
    Aspects,
    Implied,
    ModelName,
    Overwrite,
    Precision,
    TargetColumn,
    TargetNames,
    TargetsFile,
    TextColumn,
    Threads,
    optional,
    requested_aspects,
    shared_targets,
)
from tabsa.cli.score import progress_bar


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
        Path | None, optional("FILE", "Your labelled data so far: nothing like its texts is picked again.")
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
    from tabsa.datasets.loading import load as load_data
    from tabsa.datasets.locate import expanded
    from tabsa.inference.predictor import load
    from tabsa.scoring.labelling import suggest_table
    from tabsa.scoring.request import Request

    wanted = requested_aspects(aspect_lists, aspects)
    request = Request(
        targets=shared, target_column=target_column, implied=implied, aspects=wanted, text_column=text_column
    )
    known = () if labelled is None else [example.text for example in load_data(expanded(labelled), "all").examples]
    predictor = load(model, threads=threads, precision=precision)
    with progress_bar() as show:
        found = suggest_table(
            source, out, predictor, request, n, questions=questions or None, labelled=tuple(dict.fromkeys(known)),
            overwrite=overwrite, on_progress=lambda share: show("reading", share),
        )  # fmt: skip
    unread = f" ({found.unread:,} could not be read)" if found.unread else ""
    note(f"{found.questions:,} questions on {found.texts:,} of {found.rows:,} texts{unread}: {out}")
    note(f"Fill in 'polarity' with one of {', '.join(predictor.labels)}; leave a row empty to skip it.")
