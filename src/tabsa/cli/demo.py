"""`tabsa demo`: a first look, on a few reviews in the package."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tabsa.cli.console import out
from tabsa.cli.options import ModelName
from tabsa.cli.predict import show
from tabsa.pages.tally import percent

if TYPE_CHECKING:
    from tabsa.checkpoint.model_folder import ModelFolder, Precision

_FILES = Path(__file__).parents[1] / "datasets" / "files"
_REVIEWS, _OF_PLACES = _FILES / "demo.jsonl", _FILES / "demo-places.jsonl"
_UNSEEN = "everyday test-unseen"
_WEAK = "Often wrong: comparisons, several targets at once, sarcasm, what is only implied. It reads English alone."


def command(
    page: Annotated[Path, typer.Option("--out", metavar="FILE.html", help="The page to write.")] = Path("demo.html"),
    model: ModelName = None,
) -> None:
    """Read a few reviews, print the opinions found and what is wrong with them, and write them as a page.

    A model with open aspects reads reviews of all kinds, each with aspects of its own. Another reads reviews of places,
    and the page has the words that mattered to it.

    Examples:
    - `tabsa demo --out demo.html`
    - `tabsa demo --model places`
    """
    from tabsa.datasets.loading import load as load_data
    from tabsa.inference.predictor import load
    from tabsa.pages.evidence_page import write_explanation
    from tabsa.pages.rendering import check_page_name

    check_page_name(page)
    predictor = load(model)
    reviews = load_data(str(_REVIEWS if predictor.open_aspects else _OF_PLACES), "all").examples
    predictions = list(
        predictor.predict_many(
            [review.text for review in reviews],
            targets_of_each=[review.targets for review in reviews],
            aspects_of_each=[review.aspects for review in reviews],
            explain=True,
        )
    )
    write_explanation(predictions, page, title=f"{len(reviews)} reviews: who is judged, on what, and how")
    right = total = 0
    for review, prediction in zip(reviews, predictions, strict=True):
        out.rule(review.id, align="left", style="dim")
        show(prediction)
        total += len(prediction.opinions)
        for one in prediction.opinions:
            right += one.polarity == (gold := review.polarity(one.target, one.aspect))
            if one.polarity != gold:
                out.print(f"wrong: a person reads {one.target}'s {one.aspect} as {gold}", style="yellow", markup=False)
        out.print()
    typer.echo(f"{right} of {total} answers here are right; they were picked to show what it can do, and one what not.")
    typer.echo(f"{_how_right(predictor.folder, predictor.precision)}{_WEAK}")
    typer.echo(f"{'the words that mattered' if predictor.gated else 'the same as a page'}: {page}")


def _how_right(folder: "ModelFolder", precision: "Precision") -> str:
    """Return a line on how often a model in the package is right; `tabsa evaluate` measures others."""
    from tabsa.checkpoint.model_folder import shipped_models

    if folder.path not in shipped_models().values():
        return ""
    if precision in folder.metrics:
        figures = folder.metrics[precision][_UNSEEN]["questions"]
        words = f"On {_UNSEEN}, kinds of text that it never saw: opinion F1 {percent(figures['opinion_f1'])}"
        return f"{words}, polarity right in {percent(figures['polarity_accuracy'])}.\n"
    figures = folder.metrics["dev"]["sun"]
    words = f"On {folder.metrics['data']} {folder.metrics['split']}: aspect F1 {percent(figures['macro_f1'])}"
    return f"{words}, polarity right in {percent(figures['sentiment_accuracy'])}.\n"
