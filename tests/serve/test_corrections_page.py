"""The page in headless Chromium: saying what is right, in this browser and in the service's file."""

import json
from pathlib import Path
from typing import Any

import pytest
from selenium.webdriver.common.keys import Keys

from browsing import Page, until
from tabsa.serve.settings import Settings

pytestmark = pytest.mark.browser

TEXT = "The Pixel 9 takes wonderful photos but gets hot. The Galaxy S24 costs a fortune."
STORED = "return JSON.parse(localStorage.getItem('tabsa-corrections') ?? '{\"made\": []}').made"


@pytest.fixture
def page(page: Page) -> Page:
    """A page with an answer, and no corrections."""
    ask(page)
    return page


def ask(page: Page) -> None:
    page.ask(TEXT, "Pixel 9=Pixel", "Galaxy S24", "Leith", aspects="camera,heat,price", of="Pixel 9", on="heat")


def made(page: Page) -> list[tuple[Any, ...]]:
    """What the browser stores: target, aspect, what is right, the model's answer."""
    return [(one["target"], one["aspect"], one["polarity"], one["said"]) for one in page.run(STORED)]


def press(page: Page, label: str) -> None:
    page.click(f"#corrections [data-key='{label}']")


def test_a_corrected_cell_shows_the_correction_as_its_answer(page: Page) -> None:
    word, percent = page.grid()["Pixel 9", "heat"]
    page.correct("Pixel 9", "heat", "positive")
    assert page.grid()["Pixel 9", "heat"] == ("positive", "✎")
    assert page.cell("Pixel 9", "heat").accessible_name.endswith(f"positive ✎, your correction of {word} {percent}")
    assert page.text_of("#verdict").startswith("Pixel 9 on heat ▲ positive you say; the model says ")
    assert "your correction" in page.text_of(".legend")
    page.click("#export [data-key=CSV]")
    assert "Pixel 9,heat,positive,\r\n" in page.downloaded("opinions.csv")
    page.correct("Pixel 9", "heat", word)  # right as it is
    assert page.grid()["Pixel 9", "heat"] == (word, f"✓ {percent}")
    page.correct("Galaxy S24", "camera", "mixed")
    assert made(page) == [("Pixel 9", "heat", word, word), ("Galaxy S24", "camera", "mixed", "none")]
    ask(page)  # they outlive the page
    assert page.grid()["Galaxy S24", "camera"] == ("mixed", "✎")
    page.correct("Galaxy S24", "camera", "back")
    assert made(page) == [("Pixel 9", "heat", word, word)]
    page.ask(f"{TEXT} Really.", "Pixel 9", aspects="heat")  # and belong to their text
    assert "✓" not in page.grid()["Pixel 9", "heat"][1]


def test_the_menu_is_worked_with_keys_and_goes_with_a_click_elsewhere(page: Page) -> None:
    page.run("arguments[0].focus()", page.cell("Pixel 9", "heat"))
    page.press(Keys.ENTER)
    until(lambda: page.one("#menu").is_displayed())
    focused = "return document.activeElement.dataset.label ?? document.activeElement.dataset.key"
    assert page.run(focused) == "negative"  # the model's answer
    for key, label in ((Keys.ARROW_UP, "positive"), (Keys.HOME, "none"), (Keys.ARROW_UP, "mixed"), (Keys.END, "mixed")):
        page.press(key)
        assert page.run(focused) == label
    page.press(Keys.ESCAPE)
    assert page.run(focused) == '["Pixel 9","heat"]'
    page.press(Keys.ENTER)
    page.press(Keys.END)
    page.press(Keys.ENTER)
    assert page.grid()["Pixel 9", "heat"] == ("mixed", "✎")
    page.one("#is-wrong").click()
    until(lambda: page.one("#menu").is_displayed())
    page.one("h1").click()
    until(lambda: not page.one("#menu").is_displayed())


@pytest.mark.parametrize("width", [320, 1280])
def test_the_menu_stays_in_the_window(page: Page, width: int) -> None:
    page.resize(width, 600)
    for cell in ("Pixel 9", "camera"), ("Galaxy S24", "price"):
        page.run("arguments[0].scrollIntoView()", page.cell(*cell))
        page.choose(*cell)
        page.choose(*cell)
        until(lambda: page.one("#menu").is_displayed())
        box = page.run("const {x, y, right, bottom} = menu.getBoundingClientRect(); return [x, y, right, bottom]")
        assert min(box) >= 0
        assert box[2] <= width
        assert box[3] <= 600
        page.press(Keys.ESCAPE)


def test_who_is_not_in_the_text_cannot_be_corrected(page: Page) -> None:
    page.choose("Leith", "price")
    page.choose("Leith", "price")
    assert not page.one("#menu").is_displayed()


def test_they_are_listed_undone_cleared_and_downloaded_as_training_data(page: Page) -> None:
    page.correct("Pixel 9", "heat", "neutral")
    page.correct("Galaxy S24", "price", "negative")
    press(page, "list")
    assert page.text_of("ul.corrected li").startswith("▼ negative")  # the latest is first
    press(page, "Download")
    text = page.downloaded("corrections.jsonl")
    first, second = map(json.loads, text.splitlines())
    known = {"text": TEXT, "target": "Pixel 9", "aliases": ["Pixel"], "aspect": "heat", "polarity": "neutral"}
    assert first == first | known | {"asked_only": True, "said": "negative", "model": "reader"}
    assert second["target"] == "Galaxy S24"
    press(page, "Undo")
    assert [one[0] for one in made(page)] == ["Pixel 9"]
    press(page, "Clear")
    page.driver.switch_to.alert.accept()
    assert made(page) == []
    assert page.text_of("#corrections-note").startswith("Is an answer wrong?")


@pytest.mark.parametrize("stored", ["{", "[]", '{"made": 3}', '{"made": [null, {"text": 1}], "unsent": "x"}'])
def test_what_is_stored_may_be_anything(page: Page, stored: str) -> None:
    page.run("localStorage.setItem('tabsa-corrections', arguments[0])", stored)
    ask(page)
    page.correct("Pixel 9", "heat", "positive")
    assert page.text_of("#corrections-note").startswith("1 correction.")


def test_a_browser_that_stores_nothing_says_so(page: Page) -> None:
    page.run("Storage.prototype.setItem = () => { throw new Error('full'); }")
    page.correct("Pixel 9", "heat", "positive")
    assert page.grid()["Pixel 9", "heat"] == ("positive", "✎")
    assert "are lost with this page" in page.text_of("#corrections-note")


def test_they_go_to_the_services_file_and_what_could_not_be_sent_goes_later(page: Page, tmp_path: Path) -> None:
    file = tmp_path / "right.jsonl"
    with page.at(Settings(corrections=str(file))):
        ask(page)
        assert "right.jsonl on this server" in page.text_of("#corrections-note")
        page.answer_instead("corrections", {"error": {"code": "not_saved", "message": "the disk is full"}}, 503)
        page.correct("Pixel 9", "heat", "positive")
        until(lambda: "The disk is full." in page.text_of("#corrections .notice"))
        until(lambda: file.read_bytes().count(b"\n") == 1)
        until(lambda: page.all("#corrections .notice") == [])
        press(page, "Download")
        assert page.downloaded("corrections.jsonl").encode() == file.read_bytes()
        press(page, "Undo")
        until(lambda: file.read_bytes().count(b"\n") == 2)
        page.answer_instead("corrections", {"error": {"code": "invalid", "message": "no such thing"}}, 422)
        page.correct("Pixel 9", "heat", "mixed")
        until(lambda: "No such thing." in page.text_of("#corrections .notice"))
        assert "not sent yet" not in page.text_of("#corrections")  # it would never be taken
    lines = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
    assert [line["polarity"] for line in lines] == ["positive", None]
