"""`tabsa evaluate`: what predictions are worth against gold opinions."""

import json
import warnings
from pathlib import Path
from typing import Annotated

import typer

from tabsa.cli.console import out


def command(
    predictions: Annotated[
        Path,
        typer.Argument(metavar="PREDICTIONS", help="A predictions file (.jsonl or .jsonl.gz), one row a line."),
    ],
    data: Annotated[str, typer.Option(help="A dataset's name, or your own file or folder.")] = "sentihood",
    split: Annotated[str, typer.Option(help="The part of the dataset to score on.")] = "test",
    aspects: Annotated[
        list[str] | None,
        typer.Option(
            help="Aspects to score, several with commas or by repeating the option; `all` for every one. "
            "[default: those of the benchmark]",
            show_default=False,
        ),
    ] = None,
    bootstrap: Annotated[
        int,
        typer.Option(min=0, metavar="N", help="Resamples for the 95% intervals; 0 leaves them out, which is faster."),
    ] = 1000,
    data_dir: Annotated[Path | None, typer.Option(metavar="DIR", help="Look for the dataset here first.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON, figures as fractions.")] = False,
) -> None:
    """Score predictions on a dataset, in both families of definitions (`sun` and `ma`).

    PREDICTIONS has one line for each target and aspect of each text:
    `{"id": 153, "target": "LOCATION1", "aspect": "price",
    "probabilities": {"none": 0.8, "positive": 0.2, "negative": 0}}`

    Example: `tabsa evaluate predictions.jsonl --data sentihood --split test`
    """
    from tabsa.data import load
    from tabsa.evaluate import evaluate
    from tabsa.predictions import read_predictions

    dataset = load(data, split, data_dir=data_dir, aspects=_names(aspects))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # loading has warned once already
        every_aspect = load(data, split, data_dir=data_dir, aspects=["all"]).aspects
    probabilities = read_predictions(predictions, dataset, skip=set(every_aspect) - set(dataset.aspects))
    report = evaluate(dataset, probabilities, bootstrap=bootstrap)
    if as_json:
        typer.echo(json.dumps(report.to_dict(), indent=2, allow_nan=False))
    else:
        out.print(report)


def _names(options: list[str] | None) -> list[str] | None:
    """The names in options that each hold one or, between commas, several; None where there is no option."""
    if not options:
        return None
    return [name for option in options for part in option.split(",") if (name := part.strip())]
