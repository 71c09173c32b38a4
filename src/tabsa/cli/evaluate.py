"""`tabsa evaluate`: what predictions are worth against gold opinions."""

import json
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tabsa.cli.console import out
from tabsa.errors import ModelError

if TYPE_CHECKING:
    from tabsa.folder import ModelFolder
    from tabsa.metrics import FloatArray
    from tabsa.schema import Dataset


def command(
    predictions: Annotated[
        Path,
        typer.Argument(
            metavar="PREDICTIONS|FOLDER",
            help="A predictions file (.jsonl or .jsonl.gz), one row a line, or a model folder.",
        ),
    ],
    data: Annotated[str, typer.Option(help="A dataset's name, or your own file or folder.")] = "sentihood",
    split: Annotated[str, typer.Option(help="The part of the dataset to score on.")] = "test",
    aspects: Annotated[
        list[str] | None,
        typer.Option(
            help="Aspects to score, several with commas or by repeating the option; `all` for every one. "
            "[default: those of the benchmark; of a model folder, those of the model]",
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
    """Score predictions, or a model, on a dataset, in both families of definitions (`sun` and `ma`).

    PREDICTIONS has one line for each target and aspect of each text:
    `{"id": 153, "target": "LOCATION1", "aspect": "price",
    "probabilities": {"none": 0.8, "positive": 0.2, "negative": 0}}`

    Examples: `tabsa evaluate predictions.jsonl --data sentihood --split test`,
    `tabsa evaluate my-model --data places`
    """
    from tabsa.data import load
    from tabsa.evaluate import evaluate
    from tabsa.folder import read_folder

    asked = _names(aspects)
    if predictions.is_dir():
        if not (predictions / "config.json").exists():
            raise ModelError(f"{predictions} is a folder; expected a predictions file, or a model folder")
        model = read_folder(predictions)
        dataset = load(data, split, data_dir=data_dir, aspects=asked or model.config.aspects)
        probabilities = _of_model(model, dataset, data_dir)
    else:
        dataset = load(data, split, data_dir=data_dir, aspects=asked)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # loading has warned once already
            every_aspect = load(data, split, data_dir=data_dir, aspects=["all"]).aspects
        probabilities = _of_file(predictions, dataset, every_aspect)
    report = evaluate(dataset, probabilities, bootstrap=bootstrap)
    if as_json:
        typer.echo(json.dumps(report.to_dict(), indent=2, allow_nan=False))
    else:
        out.print(report)


def _of_file(path: Path, dataset: "Dataset", every_aspect: tuple[str, ...]) -> "FloatArray":
    """The probabilities in a file; rows on aspects that were not asked for are passed over."""
    from tabsa.predictions import read_predictions

    return read_predictions(path, dataset, skip=set(every_aspect) - set(dataset.aspects))


def _of_model(folder: "ModelFolder", dataset: "Dataset", data_dir: Path | None) -> "FloatArray":
    """The probabilities that a model folder's model gives; the linear one may need its tagger's data."""
    from tabsa import linear

    if folder.config.kind == linear.KIND:
        return linear.predict_dataset(folder, dataset, data_dir)
    try:
        from tabsa.training.result import predict_dataset
    except ImportError as e:
        raise ModelError("evaluating a model folder needs PyTorch: pip install 'tabsa[train]'") from e
    return predict_dataset(folder, dataset)


def _names(options: list[str] | None) -> list[str] | None:
    """The names in options that each hold one or, between commas, several; None where there is no option."""
    if not options:
        return None
    return [name for option in options for part in option.split(",") if (name := part.strip())]
