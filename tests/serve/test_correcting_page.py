"""Correcting the model on its page, and texts that do not name what they are about, in headless Chromium."""

import csv
import json
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("fastapi", reason="needs the service: pip install '.[serve]'")
pytest.importorskip("selenium", reason="needs selenium: pip install '.[dev]'")

from selenium.webdriver.common.keys import Keys

import browsing
from browsing import Page, running, start_browser, until
from open_model import open_model
from tabsa.datasets.checking import check
from tabsa.datasets.loading import load
from tabsa.serve.settings import Settings

if browsing.CHROMIUM is None or browsing.DRIVER is None:
    pytest.skip("needs a browser: apt-get install chromium chromium-driver", allow_module_level=True)

__all__ = ["open_model"]  # a fixture
TEXT = "The Pixel has a great battery but a bad camera. Nokia has wifi."
EVIL = '<img src=x onerror="window.hit=1">'
STORED = "return JSON.parse(localStorage.getItem('tabsa-corrections') ?? '{\"made\": []}').made"
ASPECTS = ("aspects", "camera,battery,wifi")


@pytest.fixture(scope="module")
def downloads(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("downloads")


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The file of a service that keeps corrections."""
    return tmp_path_factory.mktemp("kept") / "corrections.jsonl"


@pytest.fixture(scope="module")
def addresses(open_model: Path, kept: Path) -> Iterator[tuple[str, str]]:
    """A service that keeps no corrections, and one that does."""
    model = str(open_model)
    with running(Settings(model=model)) as plain, running(Settings(model=model, corrections=str(kept))) as keeping:
        yield plain, keeping


@pytest.fixture(scope="module")
def browser(addresses: tuple[str, str], downloads: Path) -> Iterator[Page]:
    page = Page(start_browser(downloads), addresses[0])
    yield page
    page.quit()


@pytest.fixture
def page(browser: Page, addresses: tuple[str, str]) -> Iterator[Page]:
    """A page with an answer in a wide window, and no corrections; nothing may go wrong while a test uses it."""
    browser.address = addresses[0]
    browser.resize(1280)
    browser.prefer("light")
    browser.open()
    browser.run("localStorage.clear()")
    ask(browser)
    browser.errors()
    yield browser
    assert browser.errors() == []


@pytest.fixture
def keeping(page: Page, addresses: tuple[str, str], kept: Path) -> Page:
    """The same of the service that keeps corrections, whose file is empty."""
    kept.write_bytes(b"")
    page.address = addresses[1]
    page.open()
    page.run("localStorage.clear()")
    ask(page)
    return page


def ask(page: Page, *more: tuple[str, str], targets: tuple[str, ...] = ("Pixel", "Nokia")) -> None:
    given = dict(more)
    named = [("target", target) for target in targets]
    page.open(("text", given.pop("text", TEXT)), *named, ASPECTS, *given.items())
    page.answered(*targets)


def question(page: Page, target: str, aspect: str) -> None:
    """Choose a cell, and once more: it asks what is right."""
    if page.cell(target, aspect).get_attribute("aria-current") is None:
        page.run("arguments[0].click()", page.cell(target, aspect))
    page.run("arguments[0].click()", page.cell(target, aspect))
    until(lambda: page.one("#menu").is_displayed())


def correct(page: Page, target: str, aspect: str, label: str) -> None:
    """Choose a cell, and then what is right."""
    question(page, target, aspect)
    page.one(f"#menu [data-label={label}]").click()
    until(lambda: not page.one("#menu").is_displayed())


def made(page: Page) -> list[tuple[Any, ...]]:
    """What the browser keeps: target, aspect, what is right, what the model said."""
    found = [entry["correction"] for entry in page.run(STORED)]
    return [(one["target"], one["aspect"], one["polarity"], one["said"]) for one in found]


def press(page: Page, key: str) -> None:
    page.run("arguments[0].click()", page.one(f"#corrections [data-key={key}]"))


def downloaded(folder: Path) -> list[dict[str, Any]]:
    """The file of corrections that was downloaded last, which then goes."""
    path = folder / "corrections.jsonl"
    text = until(lambda: path.is_file() and path.read_text(encoding="utf-8"))
    path.unlink()
    return [json.loads(line) for line in text.splitlines()]


def focused(page: Page) -> str:
    return str(page.run("return document.activeElement.dataset.key ?? document.activeElement.dataset.label"))


# ---- the menu


def test_a_cell_asks_what_is_right(page: Page) -> None:
    assert page.cell("Pixel", "camera").get_attribute("aria-haspopup") is None
    page.cell("Pixel", "camera").click()
    assert not page.one("#menu").is_displayed()
    assert page.cell("Pixel", "camera").get_attribute("aria-haspopup") == "menu"
    page.cell("Pixel", "camera").click()
    items = until(lambda: page.all("#menu [role=menuitemradio]"))
    assert [item.get_attribute("data-label") for item in items] == ["none", "positive", "negative", "neutral", "mixed"]
    assert [item.text.split("\n") for item in items if "model’s answer" in item.text] == [
        ["◆", "mixed", "the model’s answer: right as it is"]
    ]
    assert page.text_of("#menu-title") == "Pixel, camera What is right?"
    assert page.one("#menu [role=menu]").accessible_name == "Pixel, camera What is right?"
    assert page.cell("Pixel", "camera").get_attribute("aria-expanded") == "true"
    assert page.text_of("#verdict").startswith("Pixel on camera")
    items[2].click()
    assert made(page) == [("Pixel", "camera", "negative", "mixed")]
    cell = page.cell("Pixel", "camera")
    assert cell.accessible_name.endswith(", corrected to negative")
    assert cell.get_attribute("aria-expanded") == "false"
    assert page.grid()["Pixel", "camera"] == ("mixed", 90)
    assert page.texts_of(".fix") == ["▼"]
    assert focused(page) == '["Pixel","camera"]'
    assert page.text_of("#corrections-told") == "1 correction. It stays in this browser."
    until(lambda: page.texts_of("#status") == ["Pixel, camera: corrected to negative."])


def test_an_answer_is_confirmed_changed_and_taken_back(page: Page) -> None:
    correct(page, "Pixel", "camera", "mixed")
    assert page.texts_of(".fix.confirmed") == ["✓"]
    assert page.cell("Pixel", "camera").accessible_name.endswith(", right as it is")
    correct(page, "Pixel", "camera", "none")
    assert made(page) == [("Pixel", "camera", "none", "mixed")]
    page.one("#is-wrong").click()
    assert [item.get_attribute("data-label") for item in page.all("#menu [aria-checked=true]")] == ["none"]
    next(item for item in page.all("#menu [role=menuitem]") if item.text == "Take it back").click()
    assert made(page) == []
    assert page.all(".fix") == []
    assert page.text_of("#corrections-told").startswith("Is an answer wrong?")


def test_the_menu_is_worked_with_keys(page: Page) -> None:
    page.tab_to(".grid button")
    page.press(Keys.ENTER)
    page.press(Keys.ENTER)
    until(lambda: focused(page) == "mixed")
    page.press(Keys.ARROW_DOWN)
    page.press(Keys.ARROW_UP)
    page.press(Keys.ARROW_UP)
    assert focused(page) == "neutral"
    page.press(Keys.HOME)
    assert focused(page) == "none"
    page.press("n")
    assert focused(page) == "negative"
    page.press(Keys.ESCAPE)
    assert not page.one("#menu").is_displayed()
    assert focused(page) == '["Pixel","camera"]'
    assert made(page) == []
    page.press(Keys.SPACE)
    page.press("p")
    page.press(Keys.ENTER)
    assert made(page) == [("Pixel", "camera", "positive", "mixed")]
    assert focused(page) == '["Pixel","camera"]'
    page.press(Keys.ARROW_DOWN)
    assert focused(page) == '["Pixel","battery"]'
    page.press(Keys.ENTER)
    page.press(Keys.ENTER)
    page.press(Keys.END)
    page.press(Keys.TAB)
    assert not page.one("#menu").is_displayed()
    assert page.run("return document.activeElement.closest('#corrections, #reading, .results') !== null")


def test_the_menu_goes_with_a_click_elsewhere_and_with_its_cell(page: Page) -> None:
    question(page, "Pixel", "camera")
    page.one("h1").click()
    assert not page.one("#menu").is_displayed()
    question(page, "Pixel", "camera")
    page.cell("Pixel", "camera").click()
    assert not page.one("#menu").is_displayed()
    question(page, "Pixel", "camera")
    page.run("arguments[0].click()", page.cell("Nokia", "wifi"))  # the menu may lie over it
    assert not page.one("#menu").is_displayed()
    question(page, "Nokia", "wifi")
    assert page.text_of("#menu-title").startswith("Nokia, wifi")
    page.run("document.getElementById('text').value += ' Indeed.'")
    page.run("document.getElementById('text').dispatchEvent(new Event('input'))")
    until(lambda: not page.one("#menu").is_displayed())
    page.answered("Pixel", "Nokia")
    assert focused(page) == '["Nokia","wifi"]'


@pytest.mark.parametrize("width", [320, 390, 1280])
def test_the_menu_stays_in_the_window(page: Page, width: int) -> None:
    page.resize(width, 700)
    for target, aspect in (("Pixel", "camera"), ("Nokia", "wifi")):
        cell = page.cell(target, aspect)
        for block in ("start", "end"):
            page.run("arguments[0].click()", cell)
            page.run("arguments[0].scrollIntoView({block: arguments[1]})", cell, block)
            if not page.one("#menu").is_displayed():
                page.run("arguments[0].click()", cell)
            box = page.run("return document.getElementById('menu').getBoundingClientRect().toJSON()")
            assert box["left"] >= 0
            assert box["right"] <= width
            assert 0 <= box["top"] < box["bottom"] <= 700
            page.press(Keys.ESCAPE)
    assert page.width()[0] <= width


def test_on_a_phone_a_cell_brings_its_reasons_into_view(page: Page) -> None:
    page.resize(390, 600)
    cell = page.cell("Pixel", "camera")
    page.run("arguments[0].scrollIntoView({block: 'end'})", cell)
    cell.click()
    until(lambda: page.run("return document.getElementById('reading').getBoundingClientRect().top") < 600)
    assert page.run("return arguments[0].getBoundingClientRect().top", page.cell("Pixel", "camera")) >= 0


def test_who_is_not_in_the_text_cannot_be_corrected(page: Page) -> None:
    ask(page, targets=("Pixel", "Oslo"))
    assert page.grid()["Oslo", "camera"] == ("not read", None)
    question(page, "Oslo", "camera")
    assert page.all("#menu [role=menuitemradio]") == []
    assert "The text does not name it" in page.text_of("#menu-title")
    page.press(Keys.ESCAPE)
    assert focused(page) == '["Oslo","camera"]'


# ---- what is kept


def test_corrections_outlive_the_page_and_belong_to_their_text(page: Page) -> None:
    correct(page, "Pixel", "camera", "negative")
    correct(page, "Nokia", "wifi", "none")
    page.driver.refresh()
    page.answered("Pixel", "Nokia")
    assert page.texts_of(".fix") == ["▼", "·"]
    assert page.text_of("#corrections-told").startswith("2 corrections.")
    ask(page, ("text", TEXT + " Really."))
    assert page.texts_of(".fix") == []
    assert page.text_of("#corrections-told").startswith("2 corrections.")
    correct(page, "Pixel", "camera", "positive")
    ask(page)
    assert page.texts_of(".fix") == ["▼", "·"]


def test_they_are_undone_and_cleared_and_that_is_undone(page: Page) -> None:
    correct(page, "Pixel", "camera", "negative")
    correct(page, "Pixel", "camera", "positive")
    correct(page, "Nokia", "wifi", "none")
    press(page, "undo")
    assert [one[2] for one in made(page)] == ["positive"]
    press(page, "undo")
    assert [one[2] for one in made(page)] == ["negative"]
    press(page, "clear")
    assert made(page) == []
    assert page.all(".fix") == []
    press(page, "undo")
    assert [one[2] for one in made(page)] == ["negative"]
    press(page, "undo")
    assert made(page) == []
    assert page.all("#corrections [data-key=undo]") == []


def test_they_are_downloaded_as_training_data(page: Page, downloads: Path, tmp_path: Path) -> None:
    text = "Stokey 🎉 has a bad camera, “great” battery\nand wifi."
    page.open(("text", text), ("target", "Stoke Newington=Stokey"), ("target", "Oslo"), ASPECTS, ("implied", "yes"))
    page.answered("Stoke Newington", "Oslo")
    correct(page, "Stoke Newington", "camera", "negative")
    correct(page, "Oslo", "wifi", "neutral")
    correct(page, "Stoke Newington", "wifi", "none")
    press(page, "download")
    lines = downloaded(downloads)
    assert [line.pop("time").endswith("Z") for line in lines] == [True] * 3
    same = {"text": text, "asked_only": True, "probability": 0.9, "model": "open"}
    stoke = {"target": "Stoke Newington", "aliases": ["Stokey"]}
    assert lines == [
        {**same, **stoke, "aspect": "camera", "polarity": "negative", "said": "mixed"},
        {**same, "target": None, "aspect": "wifi", "polarity": "neutral", "said": "mixed"},
        {**same, **stoke, "aspect": "wifi", "polarity": "none", "said": "mixed"},
    ]
    path = tmp_path / "corrections.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    asked = [(target.name, aspect, polarity) for _, target, aspect, polarity in load(path, "all").questions()]
    assert asked == [
        ("Stoke Newington", "camera", "negative"),
        ("Stoke Newington", "wifi", "none"),
        ("", "wifi", "neutral"),
    ]


def test_the_list_shows_them_and_takes_one_back(page: Page) -> None:
    ask(page, ("text", f"{EVIL} Pixel has a bad camera."), targets=("Pixel",))
    correct(page, "Pixel", "camera", "mixed")
    correct(page, "Pixel", "wifi", "none")
    press(page, "list")
    lines = [line.text.split("\n") for line in page.all(".corrected li")]
    assert [line[0] for line in lines] == ["· silent", "◆ mixed"]
    assert [line[1] for line in lines] == ["Pixel, wifi", "Pixel, camera"]
    assert [line[2] for line in lines] == ["right as it is", "not negative"]
    assert EVIL in page.texts_of(".corrected q")[0]
    assert page.run("return window.hit") is None
    page.all(".corrected button")[1].click()
    assert made(page) == [("Pixel", "wifi", "none", "none")]
    assert page.all(".corrected button")[0].accessible_name == "Take back Pixel, wifi"


def test_a_browser_that_keeps_nothing_says_so(page: Page, downloads: Path) -> None:
    page.run("Storage.prototype.setItem = () => { throw new Error('full') }; localStorage.clear()")
    correct(page, "Pixel", "camera", "negative")
    correct(page, "Nokia", "wifi", "none")
    assert page.text_of("#corrections-told") == "2 corrections. They are lost with this page: download them."
    press(page, "download")
    assert [line["polarity"] for line in downloaded(downloads)] == ["negative", "none"]


@pytest.mark.parametrize("stored", ["nonsense", '{"made": 5}', '{"made": [null, {"correction": {"text": 1}}]}', "[]"])
def test_what_is_stored_may_be_anything(page: Page, stored: str) -> None:
    page.run("localStorage.setItem('tabsa-corrections', arguments[0])", stored)
    ask(page)
    correct(page, "Pixel", "camera", "negative")
    assert made(page) == [("Pixel", "camera", "negative", "mixed")]


def test_another_tab_of_the_page_hears_of_it(page: Page) -> None:
    first = page.driver.current_window_handle
    address = page.driver.current_url
    page.driver.switch_to.new_window("tab")
    page.driver.get(address)
    page.answered("Pixel", "Nokia")
    correct(page, "Pixel", "camera", "negative")
    page.driver.close()
    page.driver.switch_to.window(first)
    until(lambda: page.texts_of(".fix") == ["▼"])


# ---- a service that keeps them


def lines_of(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def test_corrections_go_to_the_services_file(keeping: Page, kept: Path, downloads: Path) -> None:
    page = keeping
    assert page.text_of("#corrections-told").endswith("and are added to corrections.jsonl on this server.")
    correct(page, "Pixel", "camera", "negative")
    correct(page, "Nokia", "wifi", "none")
    until(lambda: len(lines_of(kept)) == 2)
    assert page.text_of("#corrections-told") == (
        "2 corrections. They stay in this browser, and are added to corrections.jsonl on this server."
    )
    press(page, "download")
    path = downloads / "corrections.jsonl"
    assert until(lambda: path.is_file() and path.read_bytes()) == kept.read_bytes()
    path.unlink()
    press(page, "undo")
    until(lambda: len(lines_of(kept)) == 3)
    assert lines_of(kept)[-1]["withdrawn"] is True
    press(page, "clear")
    assert len(lines_of(kept)) == 3
    found = check(kept)
    assert (found.pairs, found.texts) == (1, 1)


def test_what_could_not_be_sent_is_sent_later(keeping: Page, kept: Path) -> None:
    page = keeping
    conditions = {"latency": 0, "downloadThroughput": -1, "uploadThroughput": -1}
    page.cdp("Network.enable", {})
    page.cdp("Network.emulateNetworkConditions", {"offline": True, **conditions})
    try:
        correct(page, "Pixel", "camera", "negative")
        until(lambda: "1 is not sent yet." in page.text_of("#corrections"))
        assert "cannot be reached" in page.text_of("#corrections .notice")
    finally:
        page.cdp("Network.emulateNetworkConditions", {"offline": False, **conditions})
    until(lambda: len(lines_of(kept)) == 1)
    until(lambda: "not sent" not in page.text_of("#corrections"))
    assert page.all("#corrections .notice") == []
    assert all("ERR_INTERNET_DISCONNECTED" in error for error in page.errors())


def test_what_the_service_never_takes_is_said_and_let_go(keeping: Page, kept: Path) -> None:
    page = keeping
    page.run(
        """const real = window.fetch;
        window.fetch = async (path, request) => {
          if (!path.includes("corrections")) return real(path, request);
          window.fetch = real;
          const body = JSON.stringify({error: {code: "x", message: "'text': not <this>", field: "text"}});
          return new Response(body, {status: 422});
        };"""
    )
    correct(page, "Pixel", "camera", "negative")
    until(lambda: page.text_of("#corrections .notice") == "The text: not <this>.")
    assert len(made(page)) == 1
    correct(page, "Nokia", "wifi", "none")
    until(lambda: [line["target"] for line in lines_of(kept)] == ["Nokia"])


# ---- what a text does not name


def test_a_text_may_be_about_what_it_does_not_name(page: Page) -> None:
    assert not page.one("#implied").is_selected()
    ask(page, targets=("Oslo",))
    assert page.grid()["Oslo", "camera"] == ("not read", None)
    page.one("#implied").click()
    until(lambda: page.grid().get(("Oslo", "camera"), ("",))[0] == "mixed")
    assert "not named, but meant" in page.text_of(".grid thead")
    until(lambda: "implied=yes" in page.run("return location.hash"))
    page.driver.refresh()
    page.answered("Oslo")
    assert page.one("#implied").is_selected()
    assert page.grid()["Oslo", "camera"][0] == "mixed"


def test_it_need_not_have_a_name(page: Page) -> None:
    page.open(("text", "A great camera, and wifi."), ASPECTS)
    until(lambda: "say so below" in page.text_of("#opinions"))
    page.one("#implied").click()
    page.answered("what it is about")
    assert page.grid()["what it is about", "camera"] == ("positive", 90)
    page.run("arguments[0].click()", page.cell("", "camera"))
    until(lambda: page.text_of("#verdict").startswith("what it is about on camera"))
    assert page.texts_of("#words") == ["A great camera, and wifi."]
    question(page, "", "camera")
    page.one("#menu [data-label=neutral]").click()
    assert made(page) == [(None, "camera", "neutral", "positive")]


def test_a_model_that_was_trained_for_it_takes_it_for_granted(page: Page, open_model: Path, tmp_path: Path) -> None:
    config = json.loads((open_model / "config.json").read_text(encoding="utf-8"))
    taught = tmp_path / "taught"
    shutil.copytree(open_model, taught)
    (taught / "config.json").write_text(json.dumps({**config, "implied": True}), encoding="utf-8")
    with running(Settings(model=str(taught))) as page.address:
        page.open(("text", "A great camera, and wifi."), ASPECTS)
        page.answered("what it is about")
        assert page.one("#implied").is_selected()
        assert "implied" not in page.run("return location.hash")
        page.one("#implied").click()
        until(lambda: "Who may be judged?" in page.text_of("#opinions"))
        until(lambda: "implied=no" in page.run("return location.hash"))
        page.driver.get("about:blank")


def test_a_table_may_be_about_what_it_does_not_name(page: Page, tmp_path: Path) -> None:
    table = tmp_path / "reviews.csv"
    table.write_text("text\nA great camera.\nNo wifi here.\n", encoding="utf-8")
    page.open(ASPECTS)
    page.one("#tab-file").click()
    page.one("#file").send_keys(str(table))
    until(lambda: page.one("#score").is_displayed())
    page.one("#score").click()
    until(lambda: "add a target" in page.text_of("#score-problem"))
    page.one("#implied").click()
    assert "what each text is about" in page.text_of("select[data-key=Targets]")
    page.one("#score").click()
    until(lambda: page.texts_of(".heat tbody th") == ["camera", "wifi", "all aspects"])
    assert page.texts_of(".heat thead th") == ["aspect", "all targets", "what it is about"]


# ---- the texts of a file


@pytest.fixture
def suggested(tmp_path: Path) -> Path:
    """A table as `tabsa suggest` writes it."""
    path = tmp_path / "to-label.csv"
    rows = [
        ("The Pixel has a great camera.", "Pixel", "camera", ""),
        ("The Pixel has a great camera.", "Pixel", "wifi", ""),
        ('Stokey, "bad" battery.', "Stoke Newington", "battery", "Stokey;N16"),
        ("So dear.", "", "camera", ""),
    ]
    with path.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.writer(stream)
        writer.writerow(["row", "text", "target", "aspect", "said", "probability", "polarity", "asked_only", "aliases"])
        writer.writerows([n, text, target, aspect, "none", 0.5, "", "true", other]
                         for n, (text, target, aspect, other) in enumerate(rows))  # fmt: skip
    return path


def test_the_questions_of_a_file_are_answered_one_by_one(page: Page, suggested: Path) -> None:
    page.one("#tab-file").click()
    page.one("#file").send_keys(str(suggested))
    until(lambda: page.all("[data-key=walk]"))
    assert page.one("select[data-key=Targets]").get_attribute("value") == "target"
    page.one("[data-key=walk]").click()
    page.answered("Pixel")
    assert page.text_of("#walk-told") == "1 of 3 in to-label.csv"
    assert sorted(page.grid()) == [("Pixel", "camera"), ("Pixel", "wifi")]
    correct(page, "Pixel", "wifi", "neutral")
    page.one("#walk [data-key=Next]").click()
    page.answered("Stoke Newington")
    assert list(page.grid()) == [("Stoke Newington", "battery")]
    assert page.texts_of("#behind mark") == ["Stokey"]
    correct(page, "Stoke Newington", "battery", "negative")
    page.one("#walk [data-key=Next]").click()
    page.answered("what it is about")
    page.one("#walk [data-key=Next]").click()
    assert page.text_of("#walk-told") == "3 of 3 in to-label.csv"
    page.one("#walk [data-key=Previous]").click()
    page.one("#walk [data-key=Previous]").click()
    page.answered("Pixel")
    assert page.texts_of(".fix") == ["○"]
    page.one("#walk [data-key=end]").click()
    assert not page.one("#walk").is_displayed()
    assert [(one[0], one[1], one[2]) for one in made(page)] == [
        ("Pixel", "wifi", "neutral"),
        ("Stoke Newington", "battery", "negative"),
    ]


def test_a_scored_text_is_opened_to_be_corrected(page: Page, tmp_path: Path) -> None:
    table = tmp_path / "reviews.csv"
    table.write_text("text,brand\nPixel has a great camera.,Pixel\nNokia has bad wifi.,Nokia\n", encoding="utf-8")
    page.one("#tab-file").click()
    page.one("#file").send_keys(str(table))
    until(lambda: page.one("#score").is_displayed())
    page.one("#score").click()
    until(lambda: page.all(".heat-cell"))
    page.all(".heat-cell")[-1].click()
    until(lambda: "Nokia has bad wifi." in page.texts_of(".behind-text"))
    opened = page.texts_of(".behind-text").index("Nokia has bad wifi.")
    page.all(".behind-rows .link-button")[opened].click()
    until(lambda: page.grid()["Nokia", "wifi"][0] == "negative")
    assert page.text_of("#walk-told") == "2 of 2 in reviews.csv"
    assert page.one("#text").get_attribute("value") == "Nokia has bad wifi."
    correct(page, "Nokia", "wifi", "mixed")
    assert made(page) == [("Nokia", "wifi", "mixed", "negative")]


# ---- for everyone


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_everything_of_it_can_be_read(page: Page, scheme: str) -> None:
    page.prefer(scheme)
    ask(page)
    for aspect, label in (("camera", "positive"), ("battery", "neutral"), ("wifi", "none")):
        correct(page, "Pixel", aspect, label)
    correct(page, "Nokia", "wifi", "mixed")
    correct(page, "Nokia", "camera", "negative")
    press(page, "list")
    question(page, "Nokia", "battery")
    found = page.run(browsing.CONTRASTS)
    assert len(found) > 40
    assert [line for line in found if line[0] < line[1]] == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_an_audit_of_accessibility_with_the_menu_open(page: Page, suggested: Path, scheme: str) -> None:
    script = os.environ.get("TABSA_AXE")
    if not script:
        pytest.skip("needs axe-core: npm install axe-core, then set TABSA_AXE to its axe.min.js")
    audit = "axe.run(document, {runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice']})"

    def audited() -> None:
        page.run(Path(script).read_text(encoding="utf-8"))
        found = page.driver.execute_async_script(f"{audit}.then((told) => arguments[0](told.violations))")
        assert [(v["id"], [node["html"] for node in v["nodes"]]) for v in found] == []

    page.prefer(scheme)
    ask(page)
    correct(page, "Pixel", "camera", "negative")
    press(page, "list")
    question(page, "Pixel", "camera")
    audited()
    page.press(Keys.ESCAPE)
    page.one("#tab-file").click()
    page.one("#file").send_keys(str(suggested))
    until(lambda: page.all("[data-key=walk]"))
    audited()
    page.one("[data-key=walk]").click()
    page.answered("Pixel")
    audited()
