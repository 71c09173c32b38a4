"""`tabsa evaluate`: predictions against gold opinions."""

import warnings
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tabsa.cli import options
from tabsa.cli.console import note, out, print_json
from tabsa.cli.options import option, optional
from tabsa.errors import ModelError

if TYPE_CHECKING:
    from tabsa.checkpoint.model_folder import PrecisionChoice
    from tabsa.evaluation.report import Report
    from tabsa.inference.predictor import Predictor
    from tabsa.schema import Dataset

_ONE = "PREDICTIONS|NAME|FOLDER"


def command(
    predictions: Annotated[str, typer.Argument(metavar=_ONE, help="Predictions (.jsonl), or a model.")],
    data: Annotated[str, typer.Option(help="A dataset's name, or your own file or folder.")] = "sentihood",
    split: Annotated[str | None, optional("PART", "Of the dataset; all: a whole file. [default: test]")] = None,
    aspects: options.Aspects = None,
    aspect_lists: options.AspectLists = None,
    exclusive: options.Exclusive = False,
    bootstrap: Annotated[int, option("N", "Resamples for the 95% intervals; 0 is faster.", min=0)] = 1000,
    against: Annotated[str | None, optional(_ONE, "Another, compared on the same questions with intervals.")] = None,
    page: Annotated[Path | None, optional("FILE.html", "Write figures and mistakes as a page.", "--report")] = None,
    errors: Annotated[Path | None, optional("FILE", "Write wrong answers: .csv, .tsv or .jsonl.")] = None,
    text_column: options.LabelledText = None,
    target_column: options.LabelledTarget = None,
    aspect_column: options.LabelledAspect = None,
    polarity_column: options.LabelledPolarity = None,
    id_column: options.LabelledId = None,
    precision: options.Precision = "auto",
    data_dir: options.DataDir = None,
    as_json: options.AsJson = False,
) -> None:
    """Score predictions, or a model, on a dataset, in both families of definitions (`sun` and `ma`).

    Without `-a` and `--aspects`, a model without open aspects is scored on its own, all else on those of the benchmark;
    `--aspects all` takes every one of the dataset.

    PREDICTIONS has one line for each target and aspect of each text:
    `{"id": 153, "target": "LOCATION1", "aspect": "price",
    "probabilities": {"none": 0.8, "positive": 0.2, "negative": 0}}`

    Examples:
    - `tabsa evaluate predictions.jsonl --data sentihood --split test`
    - `tabsa evaluate my-model --data places`
    - `tabsa evaluate places --data sentihood`
    - `tabsa evaluate reader --data everyday --split test-unseen` (each text is asked its own aspects)
    - `tabsa evaluate my-model --data reviews.csv --split all --report report.html --errors errors.csv`
    - `tabsa evaluate my-model --data reviews.csv --split all --against reader`
    - `tabsa evaluate reader --data survey.csv --split all --text-column Review --polarity-column Label`
    """
    from tabsa.datasets.loading import load as load_data
    from tabsa.pages.rendering import check_page_name
    from tabsa.tables.writing import check_table_name

    if page:
        check_page_name(page)
    if errors:
        check_table_name(errors)
    answering = [_answering(name, precision) for name in (predictions, against) if name is not None]
    columns = options.labelled_columns(text_column, target_column, aspect_column, polarity_column, id_column)
    load = partial(load_data, data, split or "test", data_dir=data_dir, columns=columns)
    dataset = load(aspects=options.requested_aspects(aspect_lists, aspects) or _common_aspects(answering, load))
    if split is None and Path(data).is_file():
        note(f"{data}: its test part alone ({len(dataset.examples):,} texts); --split all takes the whole file")
    report, *others = [_report(one, dataset, load, bootstrap, exclusive) for one in answering]
    other = others[0] if others else None
    if page:
        from tabsa.pages.evaluation_page import explain_mistakes, write_evaluation

        # Only a model can be asked for the words that carry its worst mistakes.
        report = report if isinstance(answering[0], Path) else explain_mistakes(report, answering[0])
        write_evaluation(report, page, other)
    if errors:
        report.write_errors(errors)
    comparison = None if other is None else report.compare(other, bootstrap=bootstrap)
    if as_json:
        content = report.to_dict()
        if other is not None and comparison is not None:
            content |= {"against": other.to_dict(), "comparison": comparison.to_dict()}
        print_json(content)
    else:
        for shown in (report, other, comparison):
            if shown is not None:
                out.print(shown)
    for written in (page, errors):
        if written:
            note(f"wrote {written}")


def _answering(name: str, precision: "PrecisionChoice") -> "Path | Predictor":
    """Return a predictions file, or a model by name or folder; a file goes before a model of the same name."""
    from tabsa.checkpoint.hub import is_hub_name
    from tabsa.checkpoint.model_folder import ALIASES, shipped_models
    from tabsa.inference.predictor import load

    path = Path(name)
    if path.is_dir() and not (path / "config.json").exists():
        raise ModelError(f"{path} is a folder; expected a predictions file, or a model folder")
    shipped = not path.exists() and ALIASES.get(name, name) in shipped_models()
    return load(name, precision=precision) if path.is_dir() or shipped or is_hub_name(name) else path


def _common_aspects(answering: "Sequence[Path | Predictor]", load: "Callable[..., Dataset]") -> list[str] | None:
    """Return the aspects that every model without open aspects answers; None where any will do.

    A file has rows on the data's aspects alone, so of these where there is one.
    """
    closed = [one.aspects for one in answering if not isinstance(one, Path) and not one.open_aspects]
    if not closed:
        return None
    wanted = load(aspects=None).aspects if any(isinstance(one, Path) for one in answering) else closed[0]
    common = [aspect for aspect in wanted if all(aspect in known for known in closed)]
    if not common:
        raise ModelError("the two have no aspect in common; compare what answers the same aspects")
    return common


def _report(
    one: "Path | Predictor", dataset: "Dataset", load: "Callable[..., Dataset]", bootstrap: int, exclusive: bool
) -> "Report":
    """Measure the answers of a file or a model."""
    if not isinstance(one, Path):
        from tabsa.inference.evaluating import evaluate as evaluate_model

        return evaluate_model(one, dataset, bootstrap=bootstrap, exclusive=exclusive)
    from tabsa.evaluation.predictions import read_predictions
    from tabsa.evaluation.report import evaluate

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # loading has warned once already
        every_aspect = load(aspects=["all"]).aspects
    # Rows on other aspects are passed over.
    probabilities = read_predictions(one, dataset, skip=set(every_aspect) - set(dataset.aspects))
    return evaluate(dataset, probabilities, bootstrap=bootstrap, model=one.name)
