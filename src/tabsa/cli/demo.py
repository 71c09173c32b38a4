"""`tabsa demo`: a first look, on a few reviews in the package."""

from pathlib import Path
from typing import Annotated

import typer

from tabsa.cli.console import out
from tabsa.cli.options import ModelName

_REVIEWS = Path(__file__).parents[1] / "datasets" / "files" / "demo.jsonl"


def command(
    page: Annotated[
        Path, typer.Option("--out", metavar="FILE", help="The page to write (.html, .png or .svg).")
    ] = Path("demo.html"),
    model: ModelName = None,
) -> None:
    """Read a few reviews of places, print the opinions found, and write a page with the words that mattered.

    Example: `tabsa demo --out demo.html`
    """
    from tabsa.cli.opinions import show
    from tabsa.datasets import load as load_data
    from tabsa.evidence import check_format, write_explanation
    from tabsa.inference import load

    check_format(page)
    reviews = load_data(str(_REVIEWS), "all").examples
    texts, targets = [review.text for review in reviews], [review.targets for review in reviews]
    predictions = list(load(model).predict_many(texts, targets_of_each=targets, explain=True))
    write_explanation(predictions, page, title=f"{len(reviews)} reviews: who is judged, on what, and how")
    for review, prediction in zip(reviews, predictions, strict=True):
        out.rule(review.id, align="left", style="dim")
        show(prediction)
        out.print()
    out.print(f"the words that mattered: {page}", markup=False, highlight=False, soft_wrap=True)
