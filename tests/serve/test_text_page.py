"""The page in headless Chromium: a text, its opinions, and the words that carry them."""

import os
import struct
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from selenium.webdriver import ActionChains
from selenium.webdriver.common.keys import Keys

from browsing import Page, until
from tabsa.inference.predictor import Predictor, load
from tabsa.serve.settings import Settings
from tabsa.text.aspects import EVERYDAY

pytestmark = pytest.mark.browser

HOTELS = (
    "We stayed at the Regent. The staff were lovely and breakfast was superb. The room was tiny, though, and it was "
    "noisy until two in the morning. My brother chose the Astoria. It was spotless and very cheap."
)
PHONES = "The Pixel 9 takes wonderful photos but gets hot. The Galaxy S24 has a gorgeous screen and costs a fortune."
EMOJI = "The Pixel 9 🎉👩‍👩‍👧 takes wonderful photos 😍 but it gets hot."
EVIL = '<script>window.hit = 1</script><img src="x" onerror="window.hit = 1">'
PICTURES = Path(__file__).parents[2] / "docs" / "images"
# What a careful person says of the examples; the last of each is known to be answered wrong.
EXAMPLES = {
    "two hotels": {"Regent": "+staff +breakfast -room -noise", "Astoria": "+price +cleanliness"},
    "two phones": {"Pixel 9": "+camera -heat", "Galaxy S24": "+screen -price"},
    "a landlord": {"Northgate Homes": "+repairs -rent"},
    "hit and miss": {"Rosa’s": "±food"},
    "facts only": {"Nokia": "=weight =colour"},
    "one that it gets wrong": {"Pixel 9": "+battery_life"},
}
PLACES = {
    "two places": {"Brixton": "+price +nightlife", "Hampstead": "+general -price"},
    "a longer text": {"Stoke Newington": "+dining", "Walthamstow": "+price -safety +transit-location"},
    "one that it gets wrong": {"Orpington": "+transit-location"},
}
SIGNS = {"+": "positive", "-": "negative", "±": "mixed", "=": "neutral"}


@pytest.fixture
def places(browser: Page) -> Iterator[Page]:
    """The page with the model of places."""
    with browser.at(Settings(model="places")):
        browser.fresh()
        yield browser
        browser.check()


def chips(page: Page, which: str) -> list[str]:
    return page.texts_of(f"#{which} .chip:not(.offer) > bdi")


# ---- opinions


def test_the_grid_holds_what_the_predictor_says(page: Page, reader: Predictor) -> None:
    page.ask(HOTELS, "Regent", "Astoria")
    expected = {(o.target, o.aspect): o for o in reader.predict(HOTELS, ["Regent", "Astoria"]).opinions}
    heard = {aspect for (_, aspect), o in expected.items() if o.polarity != "none"}
    assert {aspect for _, aspect in page.grid()} == heard  # what the text is silent on is folded
    page.click(".folded button")
    grid = page.grid()
    assert grid.keys() == expected.keys()
    for pair, (word, percent) in grid.items():
        assert word == expected[pair].polarity.replace("none", "silent")
        assert int(percent.strip("<>%")) == pytest.approx(100 * expected[pair].confidence, abs=1)
        unsure = "unsure" in page.cell(*pair).get_attribute("class")
        assert unsure == (expected[pair].confidence < 0.55)
    assert page.cell("Astoria", "price").accessible_name.startswith("Astoria, price: positive ")
    assert page.texts_of("#copy mark") == ["Regent", "Astoria"]
    found = sum(opinion.polarity != "none" for opinion in expected.values())
    unsure = sum(opinion.polarity != "none" and opinion.confidence < 0.55 for opinion in expected.values())
    assert page.text_of("#found") == f"{found}, of which {unsure} unsure" if unsure else str(found)
    until(lambda: page.texts_of("#status")[0].startswith(f"{found} opinions found. Regent, "))


def test_an_answer_that_is_hardly_sure_is_outlined(page: Page) -> None:
    given = {"target": "Leith", "aspect": "price", "polarity": "angry"}
    answer = {"text": "Leith", "mentions": [{"target": "Leith", "spans": [[0, 5]]}], "explanation": None}
    for share in (0.54, 0.56):
        page.open()
        opinions = [{**given, "probabilities": {"none": 1 - share, "angry": share}}]
        page.answer_instead("predict", {**answer, "opinions": opinions})
        page.one("#text").send_keys("Leith")
        page.add("target", "Leith")
        page.answered("Leith")
        assert page.grid()["Leith", "price"] == ("angry", f"{100 * share:.0f}%")
        cell = page.cell("Leith", "price")
        assert ("rgba(0, 0, 0, 0)" in cell.value_of_css_property("background-color")) == (share < 0.55)
        assert "●" in cell.text  # a label of the model's own
        assert ("outlined" in page.text_of(".legend")) == (share < 0.55)


@pytest.mark.parametrize("model", ["page", "places"])
def test_every_example_is_answered_right_or_called_wrong(request: pytest.FixtureRequest, model: str) -> None:
    page: Page = request.getfixturevalue(model)
    examples = EXAMPLES if model == "page" else PLACES
    assert page.texts_of(".card span") == list(examples)
    for place, (label, expected) in enumerate(examples.items()):
        page.open()
        page.all(".card")[place].click()
        page.answered(*expected)
        shown = {(*pair, word) for pair, (word, _) in page.grid().items() if word != "silent"}
        judged = ((target, word) for target, words in expected.items() for word in words.split())
        assert shown == {(target, word[1:].replace("_", " "), SIGNS[word[0]]) for target, word in judged}, label
        assert page.one("#mistake").is_displayed() == ("wrong" in label)
        page.weighed()
    assert page.text_of("#mistake").endswith("a person would say negative.")


def test_who_is_not_in_the_text_is_not_read_and_can_be_said_to_be_meant(page: Page) -> None:
    page.ask("Everything works, but it gets hot.", "Pixel 9", aspects="heat")
    assert page.grid() == {("Pixel 9", "heat"): ("not read", "")}
    assert page.text_of(".grid .target small") == "not in the text"
    page.choose("Pixel 9", "heat")
    assert "does not mention Pixel 9" in page.text_of("#why")
    assert page.text_of("#verdict") == "Pixel 9 on heat not read"
    assert not page.one("#is-wrong").is_displayed()
    page.click("[data-key=implied]")
    until(lambda: page.grid()["Pixel 9", "heat"][0] == "negative")
    assert page.text_of(".grid .target small") == "not named, but meant"
    page.click("#targets .chip")
    page.answered("what it is about")


def test_who_is_not_in_the_text_is_folded_where_there_are_several(page: Page) -> None:
    page.ask(PHONES, "Pixel 9", aspects="heat")
    page.add("target", "Leith", "Hull")
    until(lambda: page.text_of(".folded").startswith("Not in the text: Leith, Hull."))
    assert page.grid().keys() == {("Pixel 9", "heat")}
    page.click(".folded button")
    page.answered("Pixel 9", "Leith", "Hull")


def test_a_table_of_many_goes_down_the_page(page: Page) -> None:
    names = [f"Place{letter}" for letter in "ABCDEFGHIJKLMNOPQRST"]
    page.ask(" ".join(f"{name} is cheap." for name in names), *names, aspects="price")
    assert len(page.all(".grid tbody th.target")) == 20
    assert page.width()[0] <= page.width()[1]


# ---- evidence


def test_words_phrases_and_sentences_are_those_of_the_predictor(page: Page, reader: Predictor) -> None:
    page.ask(HOTELS, "Regent", "Astoria", aspects="noise,price,staff", of="Regent", on="noise")
    prediction = reader.predict(HOTELS, ["Regent", "Astoria"], ["noise", "price", "staff"])
    found = prediction.evidence("Regent", "noise").to_dict()
    parts = ("words", "phrases", "sentences")
    spoken = {part: [HOTELS[one["start"] : one["end"]].strip() for one in found[part]] for part in parts}
    weights = dict(zip(spoken["words"], (one["weight"] for one in found["words"]), strict=True))
    assert page.weighed() == pytest.approx(weights, abs=1e-3)
    assert page.texts_of(".phrases li q") == spoken["phrases"]
    assert page.texts_of(".sentences q") == spoken["sentences"]
    assert page.texts_of(".bars th") == ["silent", "positive", "negative", "neutral", "mixed"]
    assert page.texts_of("#words") == [HOTELS]
    assert page.text_of("#verdict").startswith("Regent on noise ▼ negative")
    shade = "return getComputedStyle(arguments[0]).backgroundColor"
    strongest = max(page.all("#words .for"), key=lambda word: float(word.get_attribute("data-weight")))
    assert strongest.text == "noisy"
    assert len({page.run(shade, word) for word in page.all("#words .for")}) > 1
    assert page.all("#memory") == []


def test_silence_is_explained_by_what_comes_nearest_to_an_opinion(page: Page) -> None:
    page.ask(HOTELS, "Regent", "Astoria", aspects="price,staff", of="Regent", on="price")
    assert page.weighed().keys().isdisjoint({"the", "The", "was", "It", "very", "and"})
    assert page.text_of(".phrases h3").startswith("Nearest to an opinion")
    assert page.texts_of(".phrases q")[0] == "cheap"
    assert page.texts_of(".sentences q") == ["We stayed at the Regent."]


def test_evidence_that_cannot_be_had_is_asked_for_again(page: Page) -> None:
    page.ask(PHONES, "Pixel 9", aspects="heat")
    page.answer_instead("evidence", {"error": {"code": "busy", "message": "too much is <waiting>", "field": None}}, 503)
    page.choose("Pixel 9", "heat")
    until(lambda: "too much is <waiting>" in page.text_of("#why .notice"))
    page.click("[data-key=again]")
    assert max(page.weighed(), key=lambda word: page.weighed()[word]) == "hot"
    page.requests()
    page.choose("Pixel 9", "heat")  # the second time asks what is right
    assert not [url for url in page.requests() if "evidence" in url]


def test_the_gates_of_a_memory_shade_the_words(places: Page) -> None:
    text = "Brixton is cheap and full of great bars, while Hampstead is beautiful and awfully expensive."
    places.ask(text, "Brixton", "Hampstead", of="Hampstead", on="price")
    places.weighed()
    prediction = load("places", threads=1).predict(text, ["Brixton", "Hampstead"])
    (passage,) = prediction.passages
    assert passage.gates is not None
    assert prediction.attention is not None
    expected = passage.gates.mean(0) @ prediction.attention[1, prediction.aspects.index("price")]
    shades = places.run("return [...document.querySelectorAll('.gate')].map((w) => +w.style.getPropertyValue('--w'))")
    assert shades == pytest.approx(list(expected), abs=1e-3)
    assert places.texts_of("#gate-words") == [text]


def test_offsets_count_characters_and_the_page_counts_units(page: Page) -> None:
    page.ask(EMOJI, "Pixel 9", aspects="heat", of="Pixel 9", on="heat")
    assert page.texts_of("#copy mark") == ["Pixel 9"]
    assert {"hot", "photos"} <= page.weighed().keys()
    assert page.texts_of("#words mark") == ["Pixel 9"]
    assert page.texts_of("#words") == [EMOJI]


# ---- targets and aspects


def test_names_are_chosen_at_once_after_a_paste(page: Page) -> None:
    page.paste(PHONES)
    page.answered("Pixel 9", "Galaxy S24")
    page.paste("We moved from Leith to Morningside. It is cheap there.")
    page.answered("Leith", "Morningside")
    page.click("#targets .chip")
    page.answered("Morningside")
    assert page.texts_of("#targets .offer bdi") == ["Leith"]
    page.paste(PHONES)  # what somebody has chosen stays
    until(lambda: page.texts_of("#targets .offer bdi")[:2] == ["Pixel 9", "Galaxy S24"])
    assert chips(page, "targets") == ["Morningside"]


def test_names_are_offered_to_who_types_and_may_have_others(page: Page) -> None:
    page.one("#text").send_keys("We moved from Leith to Morningside.")
    until(lambda: page.texts_of("#targets .offer bdi") == ["Leith", "Morningside"])
    assert "Who may be judged?" in page.text_of("#opinions")
    page.click("#targets .offer")
    page.answered("Leith")
    page.add("target", "Moray=Morningside")
    page.answered("Leith", "Moray")
    assert page.texts_of("#targets small") == ["also Morningside"]
    assert page.texts_of("#targets .offer") == []


def test_own_aspects_replace_the_untouched_ones_and_can_be_removed(page: Page) -> None:
    page.one("#add-aspect").click()
    page.paste(PHONES)
    page.answered("Pixel 9", "Galaxy S24")
    assert chips(page, "aspects") == list(EVERYDAY)  # a field that was left empty changes nothing
    page.add("aspect", "camera, heat", "price")
    until(lambda: {aspect for _, aspect in page.grid()} == {"camera", "heat", "price"})
    assert chips(page, "aspects") == ["camera", "heat", "price"]
    page.click("#aspects .chip")
    until(lambda: {aspect for _, aspect in page.grid()} == {"heat", "price"})
    page.open()
    assert chips(page, "aspects") == ["heat", "price"]  # they are remembered
    page.click("#lists button[data-key=hotels]")
    assert chips(page, "aspects")[1:4] == ["price", "staff", "location"]
    assert page.one("#lists [aria-pressed=true]").text == "hotels"
    page.add("aspect", "wifi")  # a list that somebody took is not untouched
    assert chips(page, "aspects")[-2:] == ["facilities", "wifi"]


def test_a_model_with_aspects_of_its_own_has_no_field_for_others(places: Page) -> None:
    assert not places.one("#add-aspect").is_displayed()
    places.ask("Brixton is cheap.", "Brixton")
    places.click("#aspects .chip")
    until(lambda: places.texts_of("#aspects .offer bdi") == ["general"])
    places.click("#aspects .offer")
    until(lambda: chips(places, "aspects")[0] == "general")


def test_words_are_marked_with_the_mouse(page: Page) -> None:
    page.one("#text").send_keys("Leith is cheap but Morningside is not.")
    corner = page.one("#text").rect
    in_leith = (-corner["width"] / 2 + 35, -corner["height"] / 2 + 28)
    ActionChains(page.driver).move_to_element_with_offset(page.one("#text"), *in_leith).double_click().perform()
    until(lambda: page.text_of("#mark") == "Add “Leith” as a target")
    page.one("#mark .primary").click()
    page.answered("Leith")
    assert not page.one("#mark").is_displayed()
    page.choose("Leith", "price")
    page.weighed()
    other = next(word for word in page.all("#words span") if word.text == "Morningside")
    ActionChains(page.driver).double_click(other).perform()
    until(lambda: "= Leith" in page.text_of("#mark"))
    page.all("#mark button")[1].click()
    until(lambda: page.texts_of("#copy mark") == ["Leith", "Morningside"])


# ---- what could go wrong


def test_markup_is_shown_and_never_run(page: Page) -> None:
    page.open(("text", f"{EVIL} is cheap."), ("target", EVIL.replace("=", "\\=")), ("aspects", f"price,{EVIL}"))
    page.answered(EVIL)
    page.choose(EVIL, "price")
    page.weighed()
    page.correct(EVIL, "price", "negative")
    page.click("#corrections [data-key=list]")
    assert page.texts_of("#words") == [f"{EVIL} is cheap."]
    assert page.texts_of(".grid th.target bdi") == [EVIL]
    assert page.run("return [typeof window.hit, document.querySelectorAll('img, main script').length]") == [
        "undefined",
        0,
    ]


@pytest.mark.parametrize(("status", "passes"), [(503, True), (422, False)])
def test_what_the_service_says_is_shown_kindly(page: Page, status: int, passes: bool) -> None:
    page.ask(PHONES, "Pixel 9", aspects="heat")
    page.answer_instead("predict", {"error": {"message": "'text': too much is <waiting>", "field": "text"}}, status)
    page.add("target", "Galaxy S24")
    until(lambda: page.one("#problem").is_displayed())
    assert page.text_of("#problem").startswith("The text: too much is <waiting>.")
    assert page.one("#text").get_attribute("aria-invalid") == "true"
    if passes:  # it tries again by itself, and what is there stays meanwhile
        page.answered("Pixel 9", "Galaxy S24")
        assert not page.one("#problem").is_displayed()
    else:
        assert page.grid() == {}


def test_a_key_is_asked_for(browser: Page) -> None:
    with browser.at(Settings(model="places", api_key="secret")):
        browser.driver.get(f"{browser.address}/")
        until(lambda: browser.one(".key input")).send_keys("secret", Keys.ENTER)
        until(lambda: browser.text_of("#model").startswith("Model: places"))


def test_names_and_places_in_a_text(page: Page) -> None:
    moved = "return text.moved([{ span: [0, 5] }], given[0], given[1]).map(({ span }) => span)"
    for after, expected in (("So Leith is far", [[3, 8]]), ("Leith is very far", [[0, 5]]), ("Leth is far", [])):
        assert page.module(moved, "Leith is far", after) == expected
    read = "return text.readTargets(given[0]).map(({ name, aliases }) => [name, ...aliases])"
    assert page.module(read, "Leith; Fife,  Stoke   Newington \n E17=N16, Stokey") == [
        ["Leith"],
        ["Fife"],
        ["Stoke Newington"],
        ["E17", "N16", "Stokey"],
    ]
    for name in ("a=b", "a,b;c", "a\\b", "\\=", "<b>&"):
        written = "return text.readTargets(text.writeTarget({ name: given[0], aliases: [given[0]] }))"
        assert page.module(written, name) == [{"name": name, "aliases": [name]}]
    assert page.module("return text.wellFormed('a\\ud83d b\\udc00 \\0 🎉') === 'a\\ufffd b\\ufffd \\ufffd 🎉'")


# ---- a link, and answers to take away


def test_a_link_shows_the_same_view_and_is_not_sent(page: Page) -> None:
    page.ask(EMOJI, "Pixel 9=Pixel,P\\,9", aspects="heat,a\\, b", of="Pixel 9", on="heat")
    page.weighed()
    page.cdp("Browser.grantPermissions", {"permissions": ["clipboardReadWrite", "clipboardSanitizedWrite"]})
    page.one("#copy-link").click()
    until(lambda: page.text_of("#copy-link") == "Link copied")
    copied = page.driver.execute_async_script("navigator.clipboard.readText().then(arguments[0])")
    grid, weighed = page.grid(), page.weighed()
    page.requests()
    page.open(fragment=urlsplit(copied).fragment)
    until(lambda: page.grid() == grid)
    assert page.weighed() == weighed
    assert page.texts_of("#targets small") == ["also Pixel, P,9"]
    assert chips(page, "aspects") == ["heat", "a, b"]
    assert not any("Pixel" in urlsplit(url).path + urlsplit(url).query for url in page.requests())


def test_the_answers_are_saved_and_copied(page: Page) -> None:
    text = PHONES.replace("The Pixel 9", "=Pixel 9")
    page.open(("text", text), ("target", "\\=Pixel 9"), ("target", "Leith"), ("aspects", "heat"))
    page.answered("=Pixel 9", "Leith")
    page.click("#export [data-key=CSV]")
    lines = page.downloaded("opinions.csv").splitlines()
    assert lines[0] == "target,aspect,polarity,probability"
    assert lines[1].startswith("'=Pixel 9,heat,negative,0.")
    assert lines[2] == "Leith,heat,,"
    page.cdp("Browser.grantPermissions", {"permissions": ["clipboardReadWrite", "clipboardSanitizedWrite"]})
    page.click("#export [data-key='Copy table']")
    until(lambda: page.text_of("#exported") == "Copied.")
    copied = page.driver.execute_async_script("navigator.clipboard.readText().then(arguments[0])")
    assert copied.splitlines()[0] == "\theat"
    assert copied.splitlines()[1].startswith("'=Pixel 9\tnegative ")


# ---- for everyone


def test_everything_works_with_the_keyboard(page: Page) -> None:
    page.tab_to("#text").send_keys("Leith is cheap but Morningside is expensive.")
    page.press(Keys.HOME)
    page.press(Keys.ARROW_RIGHT, Keys.SHIFT, Keys.CONTROL)
    until(lambda: page.one("#mark").is_displayed())
    page.tab_to("#mark .primary", most=1)
    page.press(Keys.ENTER)
    page.answered("Leith")
    page.tab_to("#add-target").send_keys("Morningside", Keys.ENTER)
    page.answered("Leith", "Morningside")
    page.press(Keys.BACKSPACE)
    page.answered("Leith")
    page.tab_to("#add-aspect").send_keys("price", Keys.ENTER, "safety", Keys.ENTER)
    until(lambda: len(page.grid()) == 2)
    page.tab_to(".grid button")
    page.press(Keys.ARROW_DOWN)
    page.press(Keys.ENTER)
    assert page.text_of("#verdict").startswith("Leith on safety")
    page.press(Keys.HOME)
    page.press(Keys.ARROW_UP)
    page.press(Keys.SPACE)
    assert page.text_of("#verdict").startswith("Leith on price")
    page.press(Keys.SPACE)
    until(lambda: page.one("#menu").is_displayed())
    page.press(Keys.ESCAPE)
    assert page.run("return document.activeElement.dataset.key") == '["Leith","price"]'
    page.tab_to("#is-wrong")
    page.press(Keys.SHIFT + Keys.TAB)
    page.run("arguments[0].focus()", page.one("[role=tab][aria-selected=true]"))
    page.press(Keys.ARROW_RIGHT)
    assert page.one("#panel-file").is_displayed()
    page.tab_to("#file", most=2)


@pytest.mark.parametrize("width", [320, 390, 768])
def test_a_narrow_window_shows_the_answers_first(page: Page, width: int) -> None:
    page.resize(width)
    names = ["Regent", "Astoria", "Llanfairpwllgwyngyllgogerychwyrndrobwllllantysiliogogoch"]
    page.ask(HOTELS + "W" * 200, *names)
    assert page.width()[0] <= width
    page.open()
    page.all(".card")[0].click()
    page.answered("Regent", "Astoria")
    assert not page.one("#targets").is_displayed()  # the form is folded
    assert page.text_of("#questions-summary") == "Regent, Astoria on 10 aspects"
    page.weighed()
    assert page.width()[0] <= width
    assert page.run("return document.querySelector('.grid').getBoundingClientRect().top + scrollY") < 0.7 * 844
    small = "return [...document.querySelectorAll('button, select, summary')].filter((one) => one.checkVisibility())"
    sizes = f"{small}.map((one) => [one.getBoundingClientRect().height, one.textContent])"
    if width < 600:
        assert [(high, text) for high, text in page.run(sizes) if high < 43.9] == []
    page.click("#questions > summary")
    assert page.one("#targets").is_displayed()


def test_the_theme_is_the_systems_until_it_is_chosen(page: Page) -> None:
    ground = "return getComputedStyle(document.body).backgroundColor"
    light = page.run(ground)
    page.prefer("dark")
    dark = page.run(ground)
    assert light != dark
    page.one("#theme").click()
    assert page.text_of("#theme") == "Theme: light"
    page.open()
    assert page.run(ground) == light
    page.one("#theme").click()
    page.prefer("light")
    assert page.run(ground) == dark


@pytest.mark.parametrize(("name", "width", "scheme"), [("page", 1280, "light"), ("page-phone", 390, "dark")])
def test_pictures_for_the_documentation(page: Page, tmp_path: Path, name: str, width: int, scheme: str) -> None:
    """The page as docs/page.md shows it; with TABSA_WRITE_DOCS=1 the pictures there are made anew."""
    page.prefer(scheme)
    page.resize(width, scale=1.5)
    page.open()
    page.click(".card")
    page.weighed()
    page.run("document.activeElement.blur()")
    path = (PICTURES if os.environ.get("TABSA_WRITE_DOCS") else tmp_path) / f"{name}.png"
    page.screenshot(path)
    made, shown = (struct.unpack(">II", file.read_bytes()[16:24]) for file in (path, PICTURES / f"{name}.png"))
    assert made[0] == shown[0] == 1.5 * width
