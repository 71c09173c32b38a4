"""The page of a model with open aspects, in headless Chromium."""

from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("fastapi", reason="needs the service: pip install '.[serve]'")
pytest.importorskip("selenium", reason="needs selenium: pip install '.[dev]'")

from selenium.webdriver.common.keys import Keys

import browsing
from browsing import Page, running, start_browser, until
from open_model import open_model
from tabsa.serve.settings import Settings
from tabsa.text.aspects import EVERYDAY, LISTS

if browsing.CHROMIUM is None or browsing.DRIVER is None:
    pytest.skip("needs a browser: apt-get install chromium chromium-driver", allow_module_level=True)

__all__ = ["open_model"]  # a fixture
TEXT = "The Pixel has a great battery but a bad camera. Nokia has wifi."
EVIL = '<img src=x onerror="window.hit=1">'


@pytest.fixture(scope="module")
def browser(open_model: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    with running(Settings(model=str(open_model))) as address:
        page = Page(start_browser(tmp_path_factory.mktemp("downloads")), address)
        yield page
        page.quit()


@pytest.fixture
def page(browser: Page) -> Iterator[Page]:
    """An empty page in a wide window; nothing may go wrong while a test uses it."""
    browser.resize(1280)
    browser.open()
    browser.run("localStorage.clear(); sessionStorage.clear()")
    browser.open()
    browser.errors()
    yield browser
    assert browser.errors() == []


def chips(page: Page, pressed: str = "true") -> list[str]:
    """The aspects that are on, or off."""
    return page.texts_of(f"#aspects .chip[aria-pressed={pressed}] bdi")


def rows(page: Page) -> list[str]:
    return list(dict.fromkeys(aspect for _, aspect in page.grid()))


def add(page: Page, *aspects: str) -> None:
    for aspect in aspects:
        page.one("#add-aspect").send_keys(aspect, Keys.ENTER)


def pick(page: Page, name: str) -> None:
    page.run("arguments[0].click()", page.one(f"#aspects .lists button[data-key={name}]"))


def test_the_models_own_aspects_are_there_and_any_can_be_added(page: Page) -> None:
    assert chips(page) == list(EVERYDAY)
    assert page.text_of("#model") == "Model: open (reader), any aspects."
    page.ask(TEXT, "Pixel")
    assert rows(page) == list(EVERYDAY)
    add(page, "battery life")
    until(lambda: page.grid().get(("Pixel", "battery life"), ("",))[0] == "mixed")
    assert chips(page) == [*EVERYDAY, "battery life"]
    assert page.driver.switch_to.active_element.get_attribute("id") == "add-aspect"


def test_lists_are_picked_and_chips_are_removed(page: Page) -> None:
    page.ask(TEXT, "Pixel", "Nokia")
    pick(page, "phones")
    until(lambda: rows(page) == list(LISTS["phones"]))
    pressed = [one.text for one in page.all(".lists [aria-pressed=true]")]
    assert pressed == ["✓ phones"]
    first = LISTS["phones"][0]
    page.one("#aspects .chip").click()
    until(lambda: rows(page) == list(LISTS["phones"][1:]))
    assert chips(page, "false") == [first]
    assert page.texts_of("#aspects .chip[aria-pressed=false] .on-off") == ["+"]
    assert page.run("return document.activeElement.dataset.key") == "aspect " + first
    page.one("#add-aspect").send_keys(Keys.BACKSPACE)
    until(lambda: rows(page) == list(LISTS["phones"][1:-1]))
    page.one("#aspects .chip").click()
    until(lambda: rows(page) == list(LISTS["phones"][:-1]))
    pick(page, "all")
    until(lambda: rows(page) == list(LISTS["phones"]))
    pick(page, "none")
    until(lambda: "Add an aspect in your own words" in page.text_of("#opinions"))
    add(page, "wifi, camera; wifi")
    until(lambda: rows(page) == ["wifi", "camera"])
    assert chips(page) == ["camera", "wifi"]
    assert page.grid()["Nokia", "wifi"][0] == "mixed"  # the double judges a whole passage
    pick(page, "everyday")
    until(lambda: rows(page) == list(EVERYDAY))
    until(lambda: "aspects=" not in page.run("return location.hash"))


def test_the_aspects_chosen_are_remembered(page: Page) -> None:
    pick(page, "hotels")
    page.run("arguments[0].click()", page.one("#aspects .chip"))
    until(lambda: len(chips(page)) == len(LISTS["hotels"]) - 1)
    page.open()
    until(lambda: chips(page) == list(LISTS["hotels"][1:]))
    page.open(("text", TEXT), ("target", "Pixel"))  # a link says itself what is asked
    page.answered("Pixel")
    assert rows(page) == list(EVERYDAY)
    page.open()
    until(lambda: chips(page) == list(LISTS["hotels"][1:]))
    pick(page, "everyday")
    page.open()
    until(lambda: chips(page) == list(EVERYDAY))
    page.run("localStorage.setItem('tabsa-aspects', '{\"not\": 1}')")
    page.open()
    until(lambda: chips(page) == list(EVERYDAY))


def test_targets_are_switched_off_and_on(page: Page) -> None:
    page.write(TEXT)
    page.add_target("Pixel=phone")
    page.answered("Pixel")
    until(lambda: page.texts_of("#suggestions bdi") == ["Nokia"])
    assert page.one("#suggestions button").get_attribute("aria-pressed") == "false"
    page.one("#suggestions button").click()
    page.answered("Pixel", "Nokia")
    chip = page.one("#targets button")
    assert chip.get_attribute("aria-pressed") == "true"
    assert page.texts_of("#targets .on-off") == ["✓", "✓"]
    chip.click()
    page.answered("Nokia")
    assert page.texts_of("#suggestions .on-off") == ["+"]
    page.one("#suggestions button").click()
    page.answered("Pixel", "Nokia")
    until(lambda: not page.one("#suggestions").is_displayed())


def test_what_is_no_aspect_is_said_and_not_added(page: Page) -> None:
    add(page, "!!", "x" * 101)
    assert chips(page) == list(EVERYDAY)
    until(lambda: "at most 100 characters" in page.texts_of("#status")[0])


def test_a_link_holds_aspects_with_commas(page: Page) -> None:
    page.open(("text", TEXT), ("target", "Pixel"), ("aspects", "food\\, drinks,camera"))
    page.answered("Pixel")
    assert rows(page) == ["food, drinks", "camera"]
    until(lambda: "aspects=food%5C%2C+drinks%2Ccamera" in page.run("return location.hash"))
    page.driver.refresh()
    page.answered("Pixel")
    assert chips(page) == ["food, drinks", "camera"]


def test_markup_in_an_aspect_is_shown_and_never_run(page: Page) -> None:
    page.open(("text", TEXT), ("target", "Pixel"), ("aspects", f"{EVIL} camera"))
    page.answered("Pixel")
    page.choose("Pixel", f"{EVIL} camera")
    assert chips(page) == [f"{EVIL} camera"]
    assert EVIL in page.text_of("#verdict")
    assert page.run("return window.hit") is None
    assert page.all("main img") == []


def test_a_cell_shows_every_probability(page: Page) -> None:
    page.open(("text", TEXT), ("target", "Pixel"), ("aspects", "camera"))
    page.answered("Pixel")
    page.choose("Pixel", "camera")
    assert page.texts_of(".bars th") == ["silent", "positive", "negative", "neutral", "mixed"]
    assert page.all("#memory") == []
    assert page.text_of("#verdict .tag") == "◆ mixed"


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_polarities_can_be_read_in_both_themes(page: Page, scheme: str) -> None:
    page.prefer(scheme)
    page.open(("text", TEXT), ("target", "Pixel"), ("aspects", "camera"))
    page.answered("Pixel")
    for tone in ("neutral", "mixed", "positive", "negative"):
        page.run("arguments[0].className = `cell ${arguments[1]}`", page.cell("Pixel", "camera"), tone)
        assert page.run(CONTRAST, page.cell("Pixel", "camera")) >= 4.5
    assert page.run(CONTRAST, page.one("#aspects .chip")) >= 4.5
    page.prefer("light")


def test_long_words_do_not_widen_the_page(page: Page) -> None:
    for width in (360, 1280):
        page.resize(width)
        page.open(("text", TEXT), ("target", "Pixel"), ("aspects", f"{'y' * 100},camera"))
        page.answered("Pixel")
        wide, window = page.width()
        assert wide <= window


def test_examples_are_not_of_places_only(page: Page) -> None:
    labels = page.texts_of("#examples button")
    assert labels == [
        *("two phones", "a landlord", "two hotels", "facts only", "hit and miss", "a sofa"),
        "one that it gets wrong",
    ]
    page.one("#examples button").click()
    page.answered("Pixel 9", "Galaxy S24")
    assert rows(page) == ["camera", "screen", "heat", "price"]
    page.all("#examples button")[2].click()
    page.answered("Regent", "Astoria")
    assert len(rows(page)) == 10


def test_a_part_of_a_targets_name_is_not_suggested(page: Page) -> None:
    page.write("The Pixel 9 and the Nokia")
    until(lambda: page.texts_of("#suggestions bdi") == ["Pixel 9", "Nokia"])
    page.write("The Pixel, the Pixel 9 and the Nokia")
    until(lambda: page.texts_of("#suggestions bdi") == ["Pixel", "Pixel 9", "Nokia"])
    page.add_target("Pixel 9")
    assert page.texts_of("#suggestions bdi") == ["Nokia"]


def test_a_file_is_scored_for_the_words_chosen(page: Page) -> None:
    pick(page, "none")
    add(page, "service", "food, drinks".replace(",", "\\,"))
    page.one("#tab-file").click()
    page.one("#example-table").click()
    until(lambda: page.one("#score").is_displayed())
    page.one("#score").click()
    until(lambda: page.all("#job .summary"))
    page.one(".heat tr.all .heat-cell").click()  # all of them
    until(lambda: page.all(".behind-rows li"))
    shown = page.texts_of(".behind-facts bdi")
    assert {one.split(" on ")[1] for one in shown} <= {"service", "food, drinks"}


CONTRAST = """
const [element] = arguments;
const channel = (v) => (v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
const canvas = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
const light = (colour) => {
  canvas.fillStyle = colour;
  canvas.fillRect(0, 0, 1, 1);
  const [r, g, b] = [...canvas.getImageData(0, 0, 1, 1).data].map((v) => channel(v / 255));
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
};
const { color, backgroundColor } = getComputedStyle(element);
const [a, b] = [light(color), light(backgroundColor)];
return (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
"""
