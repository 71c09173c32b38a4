"""`tabsa demo`: a first look, on a few reviews in the package."""

from pathlib import Path
from typing import Annotated

import typer

from tabsa.cli.aspects import asked_aspects
from tabsa.cli.console import out
from tabsa.cli.options import AspectLists, Aspects, ModelName

_REVIEWS = Path(__file__).parents[1] / "datasets" / "files" / "demo.jsonl"


def command(
    page: Annotated[
        Path, typer.Option("--out", metavar="FILE", help="The page to write (.html, .png or .svg).")
    ] = Path("demo.html"),
    model: ModelName = None,
    aspects: Aspects = None,
    aspect_lists: AspectLists = None,
) -> None:
    """Read a few reviews of places, print the opinions found, and write a page with the words that mattered.

    A model with open aspects is asked those of places (`--aspects places`) unless told.

    Examples: `tabsa demo --out demo.html`, `tabsa demo --model reader -a "street food" -a rents`
    """
    from tabsa.cli.opinions import show
    from tabsa.datasets import load as load_data
    from tabsa.evidence import check_format, write_explanation
    from tabsa.inference import load
    from tabsa.text.aspects import named_aspects

    check_format(page)
    asked = asked_aspects(aspect_lists, aspects)
    reviews = load_data(str(_REVIEWS), "all").examples
    texts, targets = [review.text for review in reviews], [review.targets for review in reviews]
    predictor = load(model)
    if asked is None and predictor.open_aspects:
        asked = list(named_aspects("places"))
    predictions = list(predictor.predict_many(texts, aspects=asked, targets_of_each=targets, explain=True))
    write_explanation(predictions, page, title=f"{len(reviews)} reviews: who is judged, on what, and how")
    for review, prediction in zip(reviews, predictions, strict=True):
        out.rule(review.id, align="left", style="dim")
        show(prediction)
        out.print()
    out.print(f"the words that mattered: {page}", markup=False, highlight=False, soft_wrap=True)
