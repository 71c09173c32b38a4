"""`tabsa demo`: a first look, on a few reviews in the package."""

from pathlib import Path
from typing import Annotated

import typer

from tabsa.cli.console import out
from tabsa.cli.options import AspectLists, Aspects, ModelName, requested_aspects

_FILES = Path(__file__).parents[1] / "datasets" / "files"
_REVIEWS, _OF_PLACES = _FILES / "demo.jsonl", _FILES / "demo-places.jsonl"


def command(
    page: Annotated[Path, typer.Option("--out", metavar="FILE.html", help="The page to write.")] = Path("demo.html"),
    model: ModelName = None,
    aspects: Aspects = None,
    aspect_lists: AspectLists = None,
) -> None:
    """Read a few reviews, print the opinions found, and write them as a page.

    A model with open aspects reads reviews of all kinds, each with aspects of its own unless told. Another reads
    reviews of places, and the page has the words that mattered to it.

    Examples: `tabsa demo --out demo.html`, `tabsa demo --aspects everyday`, `tabsa demo --model places`
    """
    from tabsa.cli.opinions import show
    from tabsa.datasets.loading import load as load_data
    from tabsa.inference.predictor import load
    from tabsa.pages.evidence_page import write_explanation
    from tabsa.pages.rendering import check_page_name

    check_page_name(page)
    wanted = requested_aspects(aspect_lists, aspects)
    predictor = load(model)
    reviews = load_data(str(_REVIEWS if predictor.open_aspects else _OF_PLACES), "all").examples
    predictions = list(
        predictor.predict_many(
            [review.text for review in reviews],
            targets_of_each=[review.targets for review in reviews],
            aspects_of_each=[review.aspects if wanted is None else wanted for review in reviews],
            explain=True,
        )
    )
    write_explanation(predictions, page, title=f"{len(reviews)} reviews: who is judged, on what, and how")
    for review, prediction in zip(reviews, predictions, strict=True):
        out.rule(review.id, align="left", style="dim")
        show(prediction)
        out.print()
    what = "the words that mattered" if predictor.gated else "the same as a page"
    out.print(f"{what}: {page}", markup=False, highlight=False, soft_wrap=True)
