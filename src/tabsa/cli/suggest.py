"""`tabsa suggest`: the texts that are worth labelling."""

from pathlib import Path
from typing import Annotated

import typer

from tabsa.cli import options
from tabsa.cli.console import note, progress_bar


def command(
    source: Annotated[Path, typer.Argument(metavar="TABLE", help="Texts, in any format of `tabsa score`.")],
    out: Annotated[Path, typer.Argument(metavar="OUT", help="Where the questions go: .csv, .tsv or .jsonl.")],
    n: Annotated[int, typer.Option("--n", "-n", min=1, metavar="N", help="How many texts.")] = 50,
    questions: Annotated[int, options.option("N", "Questions a text, the least sure; 0 is all.", min=0)] = 3,
    targets: options.TargetsFile = None,
    names: options.Targets = None,
    target_column: options.TargetColumn = None,
    implied: options.Implied = None,
    aspects: options.Aspects = None,
    aspect_lists: options.AspectLists = None,
    model: options.ModelName = None,
    text_column: options.TextColumn = None,
    labelled: Annotated[Path | None, options.optional("FILE", "Your labels so far, not to be picked again.")] = None,
    overwrite: options.Overwrite = False,
) -> None:
    """Pick the texts whose labels would teach the model most, as a table to fill in.

    Active learning: texts that the model is unsure of (uncertainty sampling) and that differ from each other (a
    core-set). One row a question, with what the model said; fill in `polarity` (`none` where the text is silent), and
    leave a row empty to skip it. The table is then training data.

    Examples:
    - `tabsa suggest docs/examples/comments.csv to-label.csv -t Camden -t Croydon -a price -a safety --n 5`
    - `tabsa suggest reviews.csv to-label.csv --target-column product --aspects phones --n 100`
    - `tabsa suggest reviews.csv to-label.csv --implied --aspects restaurants --labelled labelled.csv`
    """
    shared = options.shared_targets(targets, names, target_column, implied, model)
    from tabsa.datasets.loading import load as load_data
    from tabsa.inference.predictor import load
    from tabsa.scoring.labelling import suggest_table
    from tabsa.scoring.request import Request

    request = Request(
        targets=shared,
        target_column=target_column,
        implied=implied,
        aspects=options.requested_aspects(aspect_lists, aspects),
        text_column=text_column,
    )
    known = () if labelled is None else [example.text for example in load_data(labelled.expanduser(), "all").examples]
    predictor = load(model)
    with progress_bar() as show:
        found = suggest_table(
            source, out, predictor, request, n, questions=questions or None, labelled=tuple(dict.fromkeys(known)),
            overwrite=overwrite, on_progress=lambda share: show("reading", share),
        )  # fmt: skip
    unread = f" ({found.unread:,} could not be read)" if found.unread else ""
    note(f"{found.questions:,} questions on {found.texts:,} of {found.rows:,} texts{unread}: {out}")
    note(f"Fill in 'polarity' with one of {', '.join(predictor.labels)}; leave a row empty to skip it.")
