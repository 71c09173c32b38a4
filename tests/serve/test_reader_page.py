"""The page as it comes: with the model in the box, in headless Chromium."""

import os
import struct
from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("fastapi", reason="needs the service: pip install '.[serve]'")
pytest.importorskip("selenium", reason="needs selenium: pip install '.[dev]'")

import browsing
from browsing import Page, running, start_browser, until
from tabsa.serve.settings import Settings
from tabsa.text.aspects import EVERYDAY

if browsing.CHROMIUM is None or browsing.DRIVER is None:
    pytest.skip("needs a browser: apt-get install chromium chromium-driver", allow_module_level=True)

PICTURES = Path(__file__).parents[2] / "docs" / "images"
# The opinions that each example has, and no others.
EXAMPLES = {
    "two phones": {
        ("Pixel 9", "camera"): "positive",
        ("Pixel 9", "heat"): "negative",
        ("Galaxy S24", "screen"): "positive",
        ("Galaxy S24", "price"): "negative",
    },
    "a landlord": {("Northgate Homes", "repairs"): "positive", ("Northgate Homes", "rent"): "negative"},
    "two places": {
        ("Camden", "safety"): "positive",
        ("Camden", "price"): "negative",
        ("Croydon", "location"): "negative",
    },
    "facts only": {("Nokia", "weight"): "neutral", ("Nokia", "colour"): "neutral"},
    "hit and miss": {("Rosa’s", "food"): "mixed"},
    "a sofa": {
        ("Harlow", "overall"): "positive",
        ("Harlow", "quality"): "positive",
        ("Harlow", "service"): "negative",
        ("Harlow", "comfort"): "positive",
        ("Harlow", "looks"): "positive",
    },
}
TAGS = """
const tags = [...document.querySelectorAll("#job .tag")];
return tags.map((tag) => [tag.querySelector("bdi").textContent, tag.classList[1]]);
"""
GROUND = "return getComputedStyle(arguments[0]).backgroundColor"


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    with running(Settings()) as address:
        page = Page(start_browser(tmp_path_factory.mktemp("downloads")), address)
        page.resize(1280)
        page.open()
        page.errors()
        yield page
        assert page.errors() == []
        page.quit()


def found(page: Page) -> dict[tuple[str, str], str]:
    return {pair: word for pair, (word, _) in page.grid().items() if word != "silent"}


def test_every_example_is_answered_right(page: Page) -> None:
    assert page.texts_of("#aspects .chip bdi") == list(EVERYDAY)
    assert page.text_of("#model") == "Model: reader, any aspects."
    assert page.texts_of("#examples button") == list(EXAMPLES)
    for place, (label, expected) in enumerate(EXAMPLES.items()):
        page.all("#examples button")[place].click()
        page.answered(*dict.fromkeys(target for target, _ in expected))
        assert found(page) == expected, label
        assert page.texts_of("#suggestions bdi") == []


def test_polarities_have_grounds_of_their_own(page: Page) -> None:
    grounds = []
    for label in ("a landlord", "facts only", "hit and miss"):
        page.all("#examples button")[list(EXAMPLES).index(label)].click()
        page.answered(next(iter(EXAMPLES[label]))[0])
        grounds += [page.run(GROUND, page.cell(*pair)) for pair in list(EXAMPLES[label])[:2]]
        silent = next(pair for pair, (word, _) in page.grid().items() if word == "silent")
        grounds.append(page.run(GROUND, page.cell(*silent)))
    positive, negative, silent, neutral, too, silent_too, mixed, _ = grounds
    assert (neutral, silent) == (too, silent_too)
    assert len({positive, negative, silent, neutral, mixed}) == 5


def test_the_example_table_is_answered_right(page: Page) -> None:
    page.one("#clear").click()
    page.one("#tab-file").click()
    page.one("#example-table").click()
    until(lambda: page.one("#score").is_displayed())
    page.one("#score").click()
    until(lambda: "8 rows scored" in page.text_of("#job"))
    shown = dict(page.run(TAGS))
    assert (
        shown.items()
        >= {
            "Pixel 9/price": "negative",
            "Pixel 9/looks": "positive",
            "Brooks/comfort": "positive",
            "Harlow/service": "negative",
            "Vinted/ease of use": "positive",
            "Vinted/service": "negative",
            "Dyson/price": "negative",
        }.items()
    )
    assert not {pair for pair in shown if pair.split("/")[1] in ("location", "safety")}
    page.one("#tab-text").click()


@pytest.mark.parametrize(("name", "width", "scheme"), [("page", 1280, "light"), ("page-phone", 390, "dark")])
def test_pictures_for_the_documentation(page: Page, tmp_path: Path, name: str, width: int, scheme: str) -> None:
    """The page as docs/page.md shows it; with TABSA_WRITE_DOCS=1 the pictures there are made anew."""
    page.resize(width, scale=1.5)
    page.prefer(scheme)
    page.open()
    page.all("#examples button")[0].click()
    page.answered("Pixel 9", "Galaxy S24")
    path = (PICTURES if os.environ.get("TABSA_WRITE_DOCS") else tmp_path) / f"{name}.png"
    page.screenshot(path)
    made, shown = path.read_bytes(), (PICTURES / f"{name}.png").read_bytes()
    assert size(made)[0] == size(shown)[0] == 1.5 * width
    light = page.brightness(made)
    assert light > 0.8 if scheme == "light" else 0 < light < 0.2
    assert f"images/{name}.png" in (PICTURES.parent / "page.md").read_text(encoding="utf-8")


def size(png: bytes) -> tuple[int, int]:
    assert png.startswith(b"\x89PNG\r\n\x1a\n")
    width, height = struct.unpack(">II", png[16:24])
    return width, height
