"""`tabsa evaluate`: what predictions are worth against gold opinions."""

import json
import warnings
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tabsa.cli.aspects import asked_aspects
from tabsa.cli.console import err, out
from tabsa.cli.options import (
    AsJson,
    DataDir,
    LabelledAspectColumn,
    LabelledIdColumn,
    LabelledPolarityColumn,
    LabelledTargetColumn,
    LabelledTextColumn,
    Precision,
    labelled_columns,
)
from tabsa.errors import ModelError

if TYPE_CHECKING:
    from tabsa.checkpoint.model_folder import AskedPrecision
    from tabsa.datasets.records import Columns
    from tabsa.evaluation.report import Report
    from tabsa.inference.predictor import Predictor
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
    split: Annotated[
        str | None,
        typer.Option(
            help="The part of the dataset to score on; all: a whole file. [default: test]", show_default=False
        ),
    ] = None,
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
    against: Annotated[
        str | None,
        typer.Option(
            metavar="PREDICTIONS|NAME|FOLDER",
            help="Another to compare with on the same questions: differences with a paired bootstrap over texts.",
            show_default=False,
        ),
    ] = None,
    page: Annotated[
        Path | None,
        typer.Option(
            "--report",
            metavar="FILE.html",
            help="Write all of it as one page: figures, confusion, reliability, and the worst mistakes with the words "
            "that carry them.",
            show_default=False,
        ),
    ] = None,
    errors: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Write every wrong answer as a row: .csv, .jsonl or .parquet.", show_default=False
        ),
    ] = None,
    text_column: LabelledTextColumn = None,
    target_column: LabelledTargetColumn = None,
    aspect_column: LabelledAspectColumn = None,
    polarity_column: LabelledPolarityColumn = None,
    id_column: LabelledIdColumn = None,
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
    `tabsa evaluate reader --data everyday --split test-unseen` (each text is asked its own aspects),
    `tabsa evaluate my-model --data reviews.csv --split all --report report.html --errors errors.csv`,
    `tabsa evaluate my-model --data reviews.csv --split all --against reader`,
    `tabsa evaluate reader --data survey.csv --split all --text-column Review --polarity-column Label`
    """
    from tabsa.pages.rendering import check_page_name
    from tabsa.tables.writing import check_table_name

    if page:
        check_page_name(page)
    if errors:
        check_table_name(errors)
    chosen = asked_aspects(aspects, single)
    answering = [_answering(name, precision) for name in (predictions, against) if name is not None]
    columns = labelled_columns(text_column, target_column, aspect_column, polarity_column, id_column)
    load = partial(_load_data, data, split or "test", data_dir=data_dir, columns=columns)
    dataset = load(aspects=_common_aspects(answering, load) if chosen is None else chosen)
    if split is None and Path(data).is_file():
        told = f"{data}: its test part alone ({len(dataset.examples):,} texts); --split all takes the whole file"
        err.print(told, markup=False, highlight=False, soft_wrap=True)
    report, *others = [_report(one, dataset, load, bootstrap) for one in answering]
    other = others[0] if others else None
    if page:
        from tabsa.pages.evaluation_page import write_evaluation

        report = _explained(report, answering[0])
        write_evaluation(report, page, other)
    if errors:
        report.write_errors(errors)
    _print(report, other, bootstrap, as_json=as_json)
    for written in (page, errors):
        if written:
            err.print(f"wrote {written}", markup=False, highlight=False, soft_wrap=True)


def _print(report: "Report", other: "Report | None", bootstrap: int, *, as_json: bool) -> None:
    comparison = None if other is None else report.compare(other, bootstrap=bootstrap)
    if as_json:
        content = report.to_dict()
        if other is not None and comparison is not None:
            content |= {"against": other.to_dict(), "comparison": comparison.to_dict()}
        typer.echo(json.dumps(content, indent=2, allow_nan=False))
        return
    for shown in (report, other, comparison):
        if shown is not None:
            out.print(shown)


def _load_data(
    data: str, split: str, *, data_dir: Path | None, columns: "Columns | None", aspects: list[str] | None
) -> "Dataset":
    """The dataset; a function, because a predictions file needs it once more with every aspect."""
    from tabsa.datasets.loading import load

    return load(data, split, data_dir=data_dir, aspects=aspects, columns=columns)


def _answering(name: str, precision: "AskedPrecision") -> "Path | Predictor":
    """Whose answers are scored: a file's, or a model's."""
    path = Path(name)
    if path.is_dir() and not (path / "config.json").exists():
        raise ModelError(f"{path} is a folder; expected a predictions file, or a model folder")
    if not path.is_dir() and not _is_model(name):
        return path
    from tabsa.inference.predictor import load

    return load(name, precision=precision)


def _is_model(name: str) -> bool:
    """Whether a name is that of a model in the package or on the hub; a file of the same name goes first."""
    from tabsa.checkpoint.hub import is_hub_name
    from tabsa.checkpoint.model_folder import ALIASES, shipped_models

    return is_hub_name(name) or (not Path(name).exists() and ALIASES.get(name, name) in shipped_models())


def _common_aspects(answering: "Sequence[Path | Predictor]", load: "Callable[..., Dataset]") -> list[str] | None:
    """The aspects that every model without open aspects answers; None where any will do.

    A file has rows on the data's aspects alone, so of these where there is one.
    """
    closed = [one.aspects for one in answering if not isinstance(one, Path) and not one.open_aspects]
    if not closed:
        return None
    asked = load(aspects=None).aspects if any(isinstance(one, Path) for one in answering) else closed[0]
    common = [aspect for aspect in asked if all(aspect in known for known in closed)]
    if not common:
        raise ModelError("the two have no aspect in common; compare what answers the same aspects")
    return common


def _report(one: "Path | Predictor", dataset: "Dataset", load: "Callable[..., Dataset]", bootstrap: int) -> "Report":
    """What the answers of a file or a model are worth."""
    if not isinstance(one, Path):
        from tabsa.inference.evaluating import evaluate as evaluate_model

        return evaluate_model(one, dataset, bootstrap=bootstrap)
    from tabsa.evaluation.predictions import read_predictions
    from tabsa.evaluation.report import evaluate

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # loading has warned once already
        every_aspect = load(aspects=["all"]).aspects
    # Rows on aspects that were not asked for are passed over.
    probabilities = read_predictions(one, dataset, skip=set(every_aspect) - set(dataset.aspects))
    return evaluate(dataset, probabilities, bootstrap=bootstrap, model=one.name)


def _explained(report: "Report", one: "Path | Predictor") -> "Report":
    """With the words that carry the worst mistakes, where a model can be asked for them."""
    if isinstance(one, Path):
        return report
    from tabsa.pages.evaluation_page import explain_mistakes

    return explain_mistakes(report, one)
