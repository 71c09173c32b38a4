"""Predictions to pictures: the opinions found, and the words shaded by the gates that read them."""

from collections.abc import Iterable
from pathlib import Path

from tabsa.errors import OutputError
from tabsa.evidence.html import html_page
from tabsa.evidence.picture import draw_picture
from tabsa.files import replacing
from tabsa.inference.results import Prediction

__all__ = ["FORMATS", "html_page", "write_explanation"]

FORMATS = (".html", ".png", ".svg")


def write_explanation(predictions: Prediction | Iterable[Prediction], path: str | Path, *, title: str = "") -> Path:
    """Write what explains one or more predictions as a page or a picture, by the extension of `path`.

    `.html` is a page of its own that needs nothing else; `.png` and `.svg` need matplotlib. Predictions of
    `Predictor.predict` have what it takes; those of `predict_many` have with `explain=True`.

    Raises:
        OutputError: the extension is another, matplotlib is missing, or the file cannot be written.
    """
    path = check_format(path)
    several = [predictions] if isinstance(predictions, Prediction) else predictions
    chosen = [prediction.for_people() for prediction in several]
    kind = path.suffix.lower()
    if kind == ".html":
        content = html_page(chosen, title).encode("utf-8")
    else:
        content = draw_picture(chosen, kind.removeprefix("."), title)
    with replacing(path, "wb") as stream:
        stream.write(content)
    return path


def check_format(path: str | Path) -> Path:
    """The path, if `write_explanation` can write it: worth asking before a long computation."""
    path = Path(path)
    if path.suffix.lower() not in FORMATS:
        raise OutputError(f"cannot write an explanation to '{path}'; expected a name that ends in {', '.join(FORMATS)}")
    return path
