"""`tabsa evaluate`: what predictions are worth against gold opinions."""

import json
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tabsa.cli.aspects import asked_aspects
from tabsa.cli.console import out
from tabsa.cli.options import AsJson, DataDir, Precision
from tabsa.errors import ModelError

if TYPE_CHECKING:
    from tabsa.checkpoint import AskedPrecision
    from tabsa.evaluation.metrics import FloatArray
    from tabsa.schema import Dataset


def command(
    predictions: Annotated[
        str,
        typer.Argument(
            metavar="PREDICTIONS|NAME|FOLDER",
            help="A predictions file (.jsonl or .jsonl.gz), one row a line; or a model by name or folder.",
        ),
    ],
    data: Annotated[str, typer.Option(help="A dataset's name, or your own file or folder.")] = "sentihood",
    split: Annotated[str, typer.Option(help="The part of the dataset to score on.")] = "test",
    aspects: Annotated[
        list[str] | None,
        typer.Option(
            metavar="LIST|FILE|A,B",
            help="Aspects to score: a list by name, a file, or words with commas; `all` for every one. "
            "[default: those of the benchmark; of a model without open aspects, those of the model]",
            show_default=False,
        ),
    ] = None,
    single: Annotated[
        list[str] | None,
        typer.Option("--aspect", "-a", metavar="ASPECT", help="An aspect to score; repeatable.", show_default=False),
    ] = None,
    bootstrap: Annotated[
        int,
        typer.Option(min=0, metavar="N", help="Resamples for the 95% intervals; 0 leaves them out, which is faster."),
    ] = 1000,
    precision: Precision = "auto",
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """Score predictions, or a model, on a dataset, in both families of definitions (`sun` and `ma`).

    PREDICTIONS has one line for each target and aspect of each text:
    `{"id": 153, "target": "LOCATION1", "aspect": "price",
    "probabilities": {"none": 0.8, "positive": 0.2, "negative": 0}}`

    Examples: `tabsa evaluate predictions.jsonl --data sentihood --split test`,
    `tabsa evaluate my-model --data places`, `tabsa evaluate places --data sentihood`,
    `tabsa evaluate reader --data everyday --split test-unseen` (each text is asked its own aspects)
    """
    from tabsa.datasets import load
    from tabsa.evaluation.report import evaluate

    chosen = asked_aspects(aspects, single)
    path = Path(predictions)
    if path.is_dir() and not (path / "config.json").exists():
        raise ModelError(f"{path} is a folder; expected a predictions file, or a model folder")
    if path.is_dir() or _is_model(predictions):
        dataset, probabilities = _of_model(predictions, precision, data, split, chosen, data_dir)
    else:
        dataset = load(data, split, data_dir=data_dir, aspects=chosen)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # loading has warned once already
            every_aspect = load(data, split, data_dir=data_dir, aspects=["all"]).aspects
        probabilities = _of_file(path, dataset, every_aspect)
    report = evaluate(dataset, probabilities, bootstrap=bootstrap)
    if as_json:
        typer.echo(json.dumps(report.to_dict(), indent=2, allow_nan=False))
    else:
        out.print(report)


def _is_model(name: str) -> bool:
    """Whether a name is that of a model in the package; a file of the same name goes first."""
    from tabsa.checkpoint import ALIASES, shipped_models

    return not Path(name).exists() and ALIASES.get(name, name) in shipped_models()


def _of_file(path: Path, dataset: "Dataset", every_aspect: tuple[str, ...]) -> "FloatArray":
    """The probabilities in a file; rows on aspects that were not asked for are passed over."""
    from tabsa.evaluation.predictions import read_predictions

    return read_predictions(path, dataset, skip=set(every_aspect) - set(dataset.aspects))


def _of_model(
    name: str, precision: "AskedPrecision", data: str, split: str, aspects: list[str] | None, data_dir: Path | None
) -> tuple["Dataset", "FloatArray"]:
    """The dataset, and the probabilities that the Predictor gives to its questions."""
    from tabsa.datasets import load as load_dataset
    from tabsa.inference import load, predict_questions

    predictor = load(name, precision=precision)
    if aspects is None and not predictor.open_aspects:
        aspects = list(predictor.aspects)
    dataset = load_dataset(data, split, data_dir=data_dir, aspects=aspects)
    return dataset, predict_questions(predictor, dataset)
