"""Why an answer is what it is, on the page: words, sentences, what was not read; and the answers to take away."""

import csv
import json
from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("fastapi", reason="needs the service: pip install '.[serve]'")
pytest.importorskip("selenium", reason="needs selenium: pip install '.[dev]'")

from selenium.webdriver.common.keys import Keys

import browsing
from browsing import Page, running, start_browser, until
from tabsa.inference.predictor import Predictor, load
from tabsa.serve.settings import Settings

if browsing.CHROMIUM is None or browsing.DRIVER is None:
    pytest.skip("needs a browser: apt-get install chromium chromium-driver", allow_module_level=True)

TEXT = "Brixton is cheap 🎉 and full of great bars, while Hampstead is beautiful and awfully expensive."
PAIR = ("Brixton", "Hampstead")
DULL = " ".join(f"The weather was fine on day {n}, and nobody complained about anything." for n in range(12))
LONG = f"Leith is very cheap. {DULL} Morningside is not safe at night."
STUB = """const real = window.fetch;
window.asked = [];
window.fetch = async (path, request) => {
  if (!path.includes("evidence")) return real(path, request);
  const body = JSON.parse(request.body);
  window.asked.push(body.of.aspect);
  """


@pytest.fixture(scope="module")
def box() -> Predictor:
    return load("places", threads=1)


@pytest.fixture(scope="module")
def downloads(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("downloads")


@pytest.fixture(scope="module")
def browser(downloads: Path) -> Iterator[Page]:
    with running(Settings(model="places")) as address:
        page = Page(start_browser(downloads), address)
        yield page
        page.quit()


@pytest.fixture
def page(browser: Page) -> Iterator[Page]:
    """An empty page in a wide window; nothing may go wrong while a test uses it."""
    browser.resize(1280, 800)
    browser.prefer("light")
    browser.open()
    browser.run("localStorage.clear(); sessionStorage.clear()")
    browser.open()
    browser.errors()
    yield browser
    assert browser.errors() == []


def asked(page: Page, text: str, *targets: str, of: tuple[str, str] | None = None) -> None:
    """Open a text with its targets, and perhaps a cell of it."""
    cell = [] if of is None else [("of", of[0]), ("on", of[1])]
    page.open(("text", text), *(("target", target) for target in targets), *cell)
    page.answered(*(target.split("=")[0] for target in targets))


# ---- the words of a cell


def test_words_are_weighed_for_the_chosen_cell(page: Page, box: Predictor) -> None:
    asked(page, TEXT, *PAIR)
    result = box.predict(TEXT, PAIR)
    seen = []
    for target, aspect in (("Brixton", "price"), ("Brixton", "nightlife"), ("Hampstead", "price")):
        page.choose(target, aspect)
        evidence = result.evidence(target, aspect).to_dict()
        expected = {TEXT[word["start"] : word["end"]]: word["weight"] for word in evidence["words"]}
        until(lambda expected=expected: page.weighed() == pytest.approx(expected, abs=0.002))
        strongest = max(expected, key=lambda word: expected[word])
        assert strongest in page.texts_of("#words .carries")
        assert page.texts_of("#words") == [TEXT]
        phrases = [TEXT[phrase["start"] : phrase["end"]] for phrase in evidence["phrases"]]
        assert page.texts_of(".phrases li bdi") == phrases
        told = [f"−{round(100 * phrase['weight'])} point" for phrase in evidence["phrases"]]
        assert [number.rstrip("s") for number in page.texts_of(".phrases .number")] == told
        seen.append(strongest)
    assert seen == ["cheap", "bars", "expensive"]


def test_strength_is_seen_without_colour(page: Page) -> None:
    asked(page, TEXT, *PAIR, of=("Hampstead", "price"))
    page.explained()
    thick = "return parseFloat(getComputedStyle(arguments[0]).textDecorationThickness)"
    marked = page.all("#words .carries")
    strong = max(marked, key=lambda word: float(word.get_attribute("data-weight") or 0))
    weak = min(marked, key=lambda word: float(word.get_attribute("data-weight") or 0))
    assert strong.text == "expensive"
    assert page.run(thick, strong) == 3.5
    assert strong == weak or page.run(thick, weak) < page.run(thick, strong)
    assert (strong.get_attribute("title") or "").startswith("−")
    page.run("arguments[0].click()", strong)
    assert page.text_of("#readout").startswith("“\u2068expensive\u2069” −")


def test_a_word_that_speaks_against_it_is_marked_otherwise(page: Page) -> None:
    page.run(
        STUB
        + """const weights = [[0, 7, 0], [8, 10, 0.4], [11, 16, -0.2]];
          const words = weights.map(([start, end, weight]) => ({start, end, weight}));
          const rest = {words, phrases: [words[1]], sentences: [], unread: []};
          const told = {...body.of, polarity: "positive", probability: 0.9, ...rest};
          return new Response(JSON.stringify(told));
        };"""
    )
    page.ask("Brixton is cheap.", "Brixton")
    page.choose("Brixton", "price")
    page.explained()
    assert page.texts_of("#words .against") == ["cheap"]
    assert page.text_of(".sample.against") == "speaks against it: cheap +20 points"
    assert page.one("#words .against").value_of_css_property("text-decoration-style") == "dashed"
    assert page.one("#words .carries").value_of_css_property("text-decoration-style") == "solid"
    until(lambda: page.texts_of("#status")[0] == "positive, carried by: “is” −40 points.")


def test_evidence_is_asked_once_a_cell_and_only_for_the_last(page: Page) -> None:
    page.run(
        STUB
        + """if (body.of.aspect === "general") {
            request = {...request, signal: undefined};
            await new Promise((resolve) => setTimeout(resolve, 700));
            window.late = true;
          }
          return real(path, request);
        };"""
    )
    page.ask("Brixton is cheap.", "Brixton")
    page.choose("Brixton", "general")
    until(lambda: page.run("return window.asked") == ["general"])
    page.choose("Brixton", "price")
    price = page.explained()
    until(lambda: page.run("return window.late"))
    assert page.weighed() == price
    page.choose("Brixton", "safety")
    until(lambda: page.weighed() not in ({}, price))
    page.choose("Brixton", "price")
    assert page.weighed() == price
    assert page.run("return window.asked") == ["general", "price", "safety"]


def test_evidence_that_cannot_be_had_is_asked_for_again(page: Page) -> None:
    page.run(
        STUB
        + """window.fetch = real;
          return new Response('{"error": {"code": "busy", "message": "too much is <waiting>"}}', {status: 503});
        };"""
    )
    page.ask("Brixton is cheap.", "Brixton")
    page.choose("Brixton", "price")
    until(lambda: "too much is <waiting>" in page.text_of("#evidence-problem"))
    assert page.texts_of("#words") == ["Brixton is cheap."]
    assert page.texts_of("#why-evidence .bars th") == ["silent", "positive", "negative"]
    page.one("#evidence-problem button").click()
    assert "cheap" in page.explained()
    assert page.all("#evidence-problem") == []


def test_the_memory_is_apart_from_the_evidence(page: Page) -> None:
    asked(page, TEXT, *PAIR, of=("Hampstead", "price"))
    page.explained()
    assert page.text_of("#memory > summary") == "What the memory kept"
    assert not page.one("#gate-words").is_displayed()
    assert page.all("#words .shaded") == []
    page.one("#memory > summary").click()
    assert page.one("#gate-words").is_displayed()
    page.choose("Brixton", "price")
    assert page.one("#gate-words").is_displayed()


# ---- sentences, and what was not read


def test_the_sentences_that_carry_an_answer_are_shown_with_their_own(page: Page, box: Predictor) -> None:
    asked(page, LONG, "Leith", "Morningside", of=("Leith", "price"))
    page.explained()
    expected = box.predict(LONG, ["Leith", "Morningside"]).evidence("Leith", "price").to_dict()["sentences"]
    assert expected
    assert page.texts_of(".sentences q") == [LONG[one["start"] : one["end"]].strip() for one in expected]
    shown = [tag.split()[-1] for tag in page.texts_of(".sentences .tag")]
    assert shown == [one["polarity"].replace("none", "silent") for one in expected]
    assert page.texts_of(".sentences q")[0] == "Leith is very cheap."


def test_what_was_not_read_is_said_with_what_to_do(page: Page, box: Predictor) -> None:
    asked(page, LONG, "Leith", "Morningside", of=("Leith", "price"))
    unread = box.predict(LONG, ["Leith", "Morningside"]).unread("Leith")
    assert unread
    expected = "".join("".join(LONG[start:end] for start, end in unread).split())
    until(lambda: "".join("".join(page.texts_of("#words .unread")).split()) == expected)
    until(lambda: "not read for Leith" in page.text_of("#unread"))
    until(lambda: page.one("#unread [data-key=alias]").click() or True)  # the panel may be drawn again meanwhile
    assert page.one("#add-target").get_attribute("value") == "Leith="
    assert page.run("return document.activeElement.id") == "add-target"
    page.one("#add-target").send_keys("The weather", Keys.ENTER)
    until(lambda: page.texts_of("#targets small") == ["also The weather"])
    until(lambda: page.texts_of("#behind mark")[:2] == ["Leith", "The weather"])
    assert not page.one("#implied").is_selected()


def test_who_is_not_in_the_text_can_be_said_to_be_meant(page: Page) -> None:
    asked(page, "It is very cheap.", "Oslo", of=("Oslo", "price"))
    assert page.grid()["Oslo", "price"] == ("not read", None)
    assert "%" not in page.text_of(".results")
    assert "not in the text" in page.text_of(".legend-states")
    page.one("#why [data-key=meant]").click()
    until(lambda: page.grid()["Oslo", "price"][0] == "positive")
    assert page.one("#implied").is_selected()
    assert "not in the text" not in page.text_of(".legend-states")


def test_a_known_mistake_is_called_one(page: Page) -> None:
    page.all("#examples button")[-1].click()
    page.answered("Orpington")
    assert page.texts_of(".known-wrong") == ["✗"]
    assert page.cell("Orpington", "transit-location").accessible_name.endswith("wrong: a person would say negative")
    assert page.text_of("#verdict").endswith("✗ Wrong: a person would say ▼ negative")
    assert "as a person reads it" in page.text_of(".legend-states")
    page.all("#examples button")[0].click()
    page.answered(*PAIR)
    assert page.all(".known-wrong") == []


# ---- the answers to take away, and to find again


def saved(folder: Path, name: str) -> str:
    path = folder / name
    text = until(lambda: path.is_file() and path.read_bytes().decode())
    path.unlink()
    return str(text)


def test_the_answers_are_saved_with_what_carries_them(page: Page, box: Predictor, downloads: Path) -> None:
    asked(page, TEXT, "Brixton", 'Hampstead=the "hill", NW3', "Oslo", "@Home")
    expected = box.predict(TEXT, ["Brixton", "Hampstead"])
    page.one("#export [data-key=csv]").click()
    rows = list(csv.DictReader(saved(downloads, "opinions.csv").splitlines()))
    shown = [(target.replace("@", "'@"), aspect) for target, aspect in page.grid()]  # else a formula in a spreadsheet
    assert sorted((row["target"], row["aspect"]) for row in rows) == sorted(shown)
    by = {(row["target"], row["aspect"]): row for row in rows}
    for opinion in expected.opinions:
        row = by[opinion.target, opinion.aspect]
        assert (row["polarity"], row["read"]) == (opinion.polarity, "yes")
        assert float(row["probability"]) == pytest.approx(opinion.confidence, abs=2e-3)
    assert by["Oslo", "price"]["polarity"] == by["Oslo", "price"]["probability"] == ""
    assert by["Oslo", "price"]["read"] == "no"
    assert "expensive" in by["Hampstead", "price"]["carried_by"]
    page.one("#export [data-key=json]").click()
    told = json.loads(saved(downloads, "opinions.json"))
    assert (told["text"], told["model"]) == (TEXT, "places")
    price = next(one for one in told["opinions"] if (one["target"], one["aspect"]) == ("Hampstead", "price"))
    assert price["polarity"] == "negative"
    for part in price["carried_by"]:
        assert TEXT[part["start"] : part["end"]] == part["text"]
    assert [one["read"] for one in told["opinions"] if one["target"] == "Oslo"] == [False] * 12


def test_the_table_is_copied(page: Page) -> None:
    asked(page, "Brixton is cheap.", "Brixton", "Oslo", "@Home")
    page.cdp("Browser.grantPermissions", {"permissions": ["clipboardReadWrite", "clipboardSanitizedWrite"]})
    page.one("#export [data-key=copy]").click()
    until(lambda: page.text_of("#exported") == "Copied.")
    copied = page.driver.execute_async_script("navigator.clipboard.readText().then(arguments[0])")
    head, brixton, oslo, home = (line.split("\t") for line in copied.splitlines())
    assert home[0] == "'@Home"
    assert head == ["", *(aspect for target, aspect in page.grid() if target == "Oslo")]
    assert brixton[1 + head[1:].index("price")].startswith("positive 9")
    assert set(oslo[1:]) == {"not read"}


def test_a_text_that_is_too_long_for_a_link_outlives_a_reload(page: Page) -> None:
    text = "伦敦 is very cheap. " + "中文句子。" * 1900
    page.run(
        """const box = document.getElementById("text");
        box.value = arguments[0];
        box.dispatchEvent(new Event("input"));""",
        text,
    )
    page.add_target("伦敦")
    page.answered("伦敦")
    until(lambda: page.run("return location.hash") == "" and page.run("return sessionStorage.length") == 1)
    page.driver.refresh()
    page.answered("伦敦")
    assert page.one("#text").get_attribute("value") == text
    page.one("#clear").click()
    until(lambda: page.run("return sessionStorage.length") == 0)
    page.driver.refresh()
    until(lambda: "Write or paste" in page.text_of("#opinions"))


# ---- room


def visible(page: Page, selector: str) -> list[bool]:
    """Of elements whether they are in the window as a whole, and not cut by a frame of their own."""
    return [bool(seen) for seen in page.run(_VISIBLE, selector)]


@pytest.mark.parametrize("label", ["a longer text", "six places"])
def test_answers_are_in_view_without_scrolling(page: Page, label: str) -> None:
    next(one for one in page.all("#examples button") if one.text == label).click()
    until(lambda: page.explained())
    assert all(visible(page, ".grid button"))
    assert all(visible(page, ".grid th"))
    assert page.run("return document.getElementById('verdict').getBoundingClientRect().bottom") < 800
    assert page.run("return document.getElementById('words').getBoundingClientRect().top") < 760


@pytest.mark.parametrize("label", ["a longer text", "six places"])
def test_answers_are_in_view_on_a_phone(page: Page, label: str) -> None:
    page.resize(390, 844)
    next(one for one in page.all("#examples button") if one.text == label).click()
    until(lambda: page.explained())
    page.run("scrollTo(0, 0)")
    columns = len(page.all(".grid thead th"))
    assert all(visible(page, ".grid thead th"))
    assert sum(visible(page, ".grid button")) >= 6 * columns
    assert page.width()[0] <= 390
    assert page.text_of("#asked > summary").startswith(f"{columns} targets, 12 aspects")
    page.one("#asked > summary").click()
    assert page.one("#add-target").is_displayed()


def test_a_table_that_does_not_fit_scrolls_in_its_frame(page: Page) -> None:
    page.resize(390, 844)
    names = [f"Place{letter}" for letter in "ABCDEFGHIJKLMNOPQRST"]
    asked(page, " ".join(f"{name} is cheap." for name in names), *names)
    assert page.width()[0] <= 390
    assert page.run("const f = document.querySelector('.grid-frame'); return f.scrollWidth > f.clientWidth")
    page.run("document.querySelector('.grid-frame').scrollTo(200, 200)")
    left, top = page.run(
        """const frame = document.querySelector(".grid-frame").getBoundingClientRect();
        const row = document.querySelectorAll(".grid th[scope=row]")[12].getBoundingClientRect();
        const head = document.querySelector(".grid thead th").getBoundingClientRect();
        return [row.left - frame.left, head.top - frame.top];"""
    )
    assert abs(left) < 8
    assert abs(top) < 8


def test_which_way_round_fits(page: Page) -> None:
    fit = "const way = fitting.fit(given[0], given[1], given[2]); return [way.targetsDown, way.size, way.fits]"
    twelve = [f"aspect {n}" for n in range(12)]
    assert page.module(fit, ["A", "B"], twelve, 640) == [False, "wide", True]
    assert page.module(fit, ["A", "B", "C", "D", "E", "F"], ["x", "y"], 640) == [True, "wide", True]
    assert page.module(fit, ["A", "B", "C", "D", "E", "F"], twelve, 640) == [False, "narrow", True]
    assert page.module(fit, ["A", "B", "C", "D", "E", "F"], twelve, 330) == [False, "tight", True]
    assert page.module(fit, [f"T{n}" for n in range(30)], twelve, 330) == [True, "tight", False]


_VISIBLE = """
return [...document.querySelectorAll(arguments[0])].map((element) => {
  const { left, right, top, bottom } = element.getBoundingClientRect();
  const frame = element.closest(".grid-frame").getBoundingClientRect();
  const [x, y] = [(left + right) / 2, (top + bottom) / 2];
  return left >= frame.left - 1 && right <= frame.right + 1 && top >= 0 && bottom <= innerHeight && y < frame.bottom;
});
"""
