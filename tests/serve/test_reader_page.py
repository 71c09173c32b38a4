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
    "two hotels": {
        ("Regent", "staff"): "positive",
        ("Regent", "breakfast"): "positive",
        ("Regent", "room"): "negative",
        ("Regent", "noise"): "negative",
        ("Astoria", "price"): "positive",
        ("Astoria", "cleanliness"): "positive",
    },
    "facts only": {("Nokia", "weight"): "neutral", ("Nokia", "colour"): "neutral"},
    "hit and miss": {("Rosa’s", "food"): "mixed"},
    "a sofa": {
        ("Harlow", "comfort"): "positive",
        ("Harlow", "looks"): "positive",
        ("Harlow", "delivery"): "negative",
    },
    "one that it gets wrong": {("Pixel 9", "battery life"): "positive"},
}
# The same with the model of places.
PLACES = {
    "two places": {
        ("Brixton", "price"): "positive",
        ("Brixton", "nightlife"): "positive",
        ("Hampstead", "general"): "positive",
        ("Hampstead", "price"): "negative",
    },
    "a holiday": {
        ("Lisbon", "dining"): "positive",
        ("Lisbon", "nightlife"): "positive",
        ("Porto", "price"): "positive",
        ("Porto", "quiet"): "positive",
    },
    "a longer text": {
        ("Stoke Newington", "price"): "negative",
        ("Stoke Newington", "dining"): "positive",
        ("Stoke Newington", "nightlife"): "positive",
        ("Walthamstow", "price"): "positive",
        ("Walthamstow", "safety"): "negative",
        ("Walthamstow", "transit-location"): "positive",
    },
    "six places": {
        ("Shoreditch", "price"): "negative",
        ("Croydon", "safety"): "negative",
        ("Peckham", "dining"): "positive",
        ("Richmond", "safety"): "positive",
        ("Greenwich", "shopping"): "positive",
        ("Camden", "nightlife"): "positive",
    },
    "one that it gets wrong": {("Orpington", "transit-location"): "positive"},
}
CELLS = """
const cells = [...document.querySelectorAll("#job .heat-cell .unseen")].map(({ textContent }) => textContent);
return cells.flatMap((told) => {
  const found = /^(.*), (.*): (\\d+) of (\\d+) positive/.exec(told);
  if (!found || /^all targets|, all aspects:/.test(told)) return [];
  return [[`${found[1]}/${found[2]}`, found[3] === "0" ? "negative" : found[3] === found[4] ? "positive" : "both"]];
});
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


def check_examples(page: Page, examples: dict[str, dict[tuple[str, str], str]]) -> None:
    """That every cell of every example is as a careful person says, or is called wrong."""
    assert page.texts_of("#examples button") == list(examples)
    for place, (label, expected) in enumerate(examples.items()):
        page.all("#examples button")[place].click()
        page.answered(*dict.fromkeys(target for target, _ in expected))
        assert found(page) == expected, label
        assert len(page.all(".known-wrong")) == ("wrong" in label)
    assert page.text_of("#verdict").endswith("✗ Wrong: a person would say ▼ negative")


def test_every_example_is_answered_right(page: Page) -> None:
    assert page.texts_of("#aspects .chip bdi") == list(EVERYDAY)
    assert page.text_of("#model") == "Model: reader, any aspects."
    check_examples(page, EXAMPLES)


def test_every_example_of_places_is_answered_right(page: Page) -> None:
    address = page.address
    with running(Settings(model="places")) as page.address:
        page.open()
        check_examples(page, PLACES)
        page.driver.get("about:blank")
    page.address = address
    page.open()


def test_the_words_that_carry_an_example_are_found(page: Page) -> None:
    for label, words in {"two phones": {"costs", "fortune"}, "two hotels": {"noisy"}, "a sofa": {"weeks"}}.items():
        page.all("#examples button")[list(EXAMPLES).index(label)].click()
        page.answered(*dict.fromkeys(target for target, _ in EXAMPLES[label]))
        until(lambda words=words: words <= set(" ".join(page.texts_of(".phrases bdi")).split()))


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
    until(lambda: "8 rows scored" in page.text_of("#job") and page.all("#job .summary"))
    shown = dict(page.run(CELLS))
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
    page.all("#examples button")[list(EXAMPLES).index("two hotels")].click()
    page.answered("Regent", "Astoria")
    until(lambda: page.all(".sentences"))
    page.run("document.activeElement.blur()")
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
