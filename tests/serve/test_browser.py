"""The page in headless Chromium, against the service itself."""

import csv
import gzip
import json
import os
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import numpy as np
import pytest

pytest.importorskip("fastapi", reason="needs the service: pip install '.[serve]'")
pytest.importorskip("selenium", reason="needs selenium: pip install '.[dev]'")

from selenium.webdriver import ActionChains
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.select import Select

import browsing
from browsing import Page, running, start_browser, until
from tabsa.inference.predictor import Predictor, load
from tabsa.serve.settings import Settings

if browsing.CHROMIUM is None or browsing.DRIVER is None:
    pytest.skip("needs a browser: apt-get install chromium chromium-driver", allow_module_level=True)

TEXT = "Brixton is cheap and full of great bars, while Hampstead is beautiful, dull and awfully expensive."
EMOJI = (
    "I loved the restaurants in Lisbon 🇵🇹 and the nightlife 🎉 is amazing, but Porto 😍👩‍👩‍👧 is cheaper and quieter."
)
PICTURES = Path(__file__).parents[2] / "docs" / "images"
LONG = "We loved Leith. " + "The weather was mild and nobody said a word about anything. " * 40 + "Leith is very cheap."
EVIL = '<script>window.hit = 1</script><img src="x" onerror="window.hit = 1"> Camden & "Leith" is cheap.'
FORGED = "Failed to load resource: the server responded with a status of"


@pytest.fixture(scope="module")
def box() -> Predictor:
    return load("places", threads=1)


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    with running(Settings(model="places")) as address:
        yield address


@pytest.fixture(scope="module")
def downloads(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("downloads")


@pytest.fixture(scope="module")
def browser(address: str, downloads: Path) -> Iterator[Page]:
    page = Page(start_browser(downloads), address)
    yield page
    page.quit()


@pytest.fixture
def page(browser: Page, address: str) -> Iterator[Page]:
    """An empty page in a wide, light window; nothing may go elsewhere or wrong while a test uses it."""
    browser.address = address
    browser.resize(1280)
    browser.prefer("light")
    browser.open()
    browser.run("localStorage.clear(); sessionStorage.clear()")
    browser.errors()
    browser.requests()
    yield browser
    assert browser.errors() == []
    hosts = {urlsplit(url).netloc for url in browser.requests()}
    assert hosts <= {urlsplit(browser.address).netloc}


def downloaded(folder: Path, pattern: str) -> str:
    """What a file holds, once it is there; it begins empty."""
    return until(lambda: "".join(path.read_bytes().decode() for path in folder.glob(pattern)))


# ---- opinions


def test_the_grid_holds_what_the_predictor_says(page: Page, box: Predictor) -> None:
    page.one("#text").send_keys(TEXT)
    page.add_target("Brixton", "Hampstead")
    page.answered("Brixton", "Hampstead")
    expected = {(o.target, o.aspect): o for o in box.predict(TEXT, ["Brixton", "Hampstead"]).opinions}
    grid = page.grid()
    assert grid.keys() == expected.keys()
    for pair, (word, percent) in grid.items():
        assert word == expected[pair].polarity.replace("none", "silent")
        assert percent == pytest.approx(100 * expected[pair].confidence, abs=1)
    assert page.cell("Hampstead", "price").accessible_name.startswith("Hampstead, price: negative ")
    assert page.text_of("#behind mark") == "Brixton"
    found = sum(opinion.polarity != "none" for opinion in expected.values())
    until(lambda: page.texts_of("#status")[0].startswith(f"{found} opinions found. Brixton, "))


def test_a_cell_shades_the_words_by_their_gates(page: Page, box: Predictor) -> None:
    page.ask(TEXT, "Brixton", "Hampstead")
    assert page.words() == []
    page.choose("Hampstead", "price")
    page.open_memory()
    prediction = box.predict(TEXT, ["Brixton", "Hampstead"])
    (passage,) = prediction.passages
    gates, attention = passage.gates, prediction.attention
    assert gates is not None
    assert attention is not None
    shares = attention[1, prediction.aspects.index("price")]

    def check(values: np.ndarray) -> None:
        words, shades = zip(*page.words(), strict=True)
        assert words == tuple(token.text for token in passage.tokens)
        np.testing.assert_allclose(shades, values, atol=0.01)
        assert max(shades) - min(shades) > 0.3

    check(gates.mean(0) @ shares)
    for choice, values in {
        "direction=forward": gates[0] @ shares,
        "direction=backward": gates[1] @ shares,
        "chain=mean": gates[1].mean(1),
        "chain=target-Brixton": gates[1, :, 0],
        "direction=both": gates.mean(0)[:, 0],
    }.items():
        group, value = choice.split("=")
        page.run("arguments[0].click()", page.one(f"input[name={group}][value='{value}']"))
        check(values)
    assert page.texts_of("#memory .bars .number") == [f"{share:.0%}" for share in shares]
    ActionChains(page.driver).move_to_element(page.all("#gate-words .shaded")[2]).perform()
    values = gates[:, 2, 0]
    assert (
        page.text_of("#gate-readout")
        == f"“\u2068cheap\u2069” {values.mean():.2f} · forward {values[0]:.2f} · backward {values[1]:.2f}"
    )


def test_another_cell_is_shaded_by_its_own_chain(page: Page) -> None:
    page.ask(TEXT, "Brixton", "Hampstead")
    page.choose("Brixton", "price")
    first = page.words()
    page.choose("Hampstead", "price")
    assert page.words() != first
    assert page.cell("Hampstead", "price").get_attribute("aria-current") == "true"
    assert page.cell("Brixton", "price").get_attribute("aria-current") is None
    assert page.text_of("#reading-heading").startswith("Why Hampstead on price ▼ negative")


def test_a_chain_that_another_text_does_not_have(page: Page) -> None:
    page.open(("text", TEXT), ("target", "Brixton"), ("of", "Brixton"), ("on", "price"), ("chain", "target-Leith"))
    until(lambda: max((shade for _, shade in page.words()), default=0) > 0.5)
    assert page.one("input[name=chain]:checked").get_attribute("value") == "question"


def test_silent_pairs_are_quiet(page: Page) -> None:
    page.ask(TEXT, "Brixton", "Hampstead")
    quiet, loud = page.cell("Brixton", "safety"), page.cell("Hampstead", "price")
    shown = "[...arguments[0].children].filter((part) => part.checkVisibility({opacityProperty: true}))"
    assert page.run(f"return {shown}.map((part) => part.className)", quiet) == ["unseen", "sign"]
    assert "rgba(0, 0, 0, 0)" in quiet.value_of_css_property("background-color")
    assert loud.text.split()[-3:-1] == ["▼", "negative"]
    assert loud.value_of_css_property("background-color") != quiet.value_of_css_property("background-color")


def test_a_target_that_is_not_in_the_text(page: Page) -> None:
    page.ask(TEXT, "Leith", "Brixton")
    assert page.text_of(".grid thead").split("\n") == ["Leith", "not in the text", "Brixton"]
    assert page.grid()["Leith", "price"] == ("not read", None)
    assert page.grid()["Brixton", "safety"][0] == "silent"
    page.cell("Leith", "price").click()
    assert "does not mention Leith" in page.text_of("#why")
    assert page.text_of("#verdict") == "Leith on price – not read"
    assert not page.one("#is-wrong").is_displayed()


def test_offsets_count_characters_and_the_page_counts_units(page: Page, box: Predictor) -> None:
    page.ask(EMOJI, "Lisbon", "Porto")
    assert page.texts_of("#behind mark") == ["Lisbon", "Porto"]
    page.choose("Porto", "quiet")
    (passage,) = box.predict(EMOJI, ["Lisbon", "Porto"]).passages
    assert [word for word, _ in page.words()] == [EMOJI[t.start : t.end] for t in passage.tokens]
    assert {"quieter", "cheaper"} <= page.explained().keys()
    for place in ("#words", "#gate-words"):
        assert page.texts_of(f"{place} .asked") == ["Porto"]
        assert page.texts_of(place) == [EMOJI]


def test_text_that_is_written_from_right_to_left(page: Page) -> None:
    page.ask("אני אוהב את תל אביב, Camden is safe.", "תל אביב", "Camden")
    page.choose("Camden", "safety")
    assert page.texts_of("#behind mark") == ["תל אביב", "Camden"]
    assert page.one("#words").value_of_css_property("direction") == "rtl"


def test_a_long_text_is_shaded_where_it_was_read(page: Page) -> None:
    page.ask(LONG, "Leith")
    page.choose("Leith", "price")
    words = [word for word, _ in page.words()]
    assert words.count("Leith") == 2
    assert page.texts_of("#words") == [LONG]
    assert len("".join(page.texts_of("#words .unread"))) > len(LONG) / 2


def test_a_model_without_gates_and_with_labels_of_its_own(page: Page) -> None:
    page.run(
        """const real = window.fetch;
        window.fetch = async (path, request) => {
          const answer = await real(path, request);
          if (!path.includes("predict")) return answer;
          const told = await answer.json();
          told.opinions[0].polarity = "angry";
          told.opinions[0].probabilities = {none: 0.1, angry: 0.9};
          told.explanation.attention = null;
          told.explanation.passages.forEach((passage) => (passage.gates = null));
          return new Response(JSON.stringify(told));
        };"""
    )
    page.ask(TEXT, "Brixton")
    assert page.grid()["Brixton", "general"] == ("angry", 90)
    assert "●" in page.cell("Brixton", "general").text
    page.choose("Brixton", "general")
    assert page.all("#memory") == []
    assert page.texts_of(".bars th") == ["silent", "angry"]


# ---- targets and aspects


def test_names_are_suggested_and_added(page: Page) -> None:
    page.write("We moved from Leith to Morningside. It is cheap there.")
    until(lambda: page.texts_of("#suggestions bdi") == ["Leith", "Morningside"])
    page.one(".suggestion").click()
    page.answered("Leith")
    assert page.texts_of("#suggestions bdi") == ["Morningside"]
    page.add_target("Moray=Morningside")
    page.answered("Leith", "Moray")
    assert page.texts_of("#targets small") == ["also Morningside"]
    assert not page.one("#suggestions").is_displayed()
    page.one("#targets button").click()
    page.answered("Moray")


def test_words_are_marked_with_the_mouse(page: Page) -> None:
    page.write("Leith is cheap but Morningside is not.")
    corner = page.one("#text").rect
    in_leith = (-corner["width"] / 2 + 35, -corner["height"] / 2 + 28)
    ActionChains(page.driver).move_to_element_with_offset(page.one("#text"), *in_leith).double_click().perform()
    until(lambda: page.text_of("#mark") == "Add “Leith” as a target")
    page.one("#mark .primary").click()
    page.answered("Leith")
    assert not page.one("#mark").is_displayed()
    page.choose("Leith", "price")
    page.explained()
    other = next(word for word in page.all("#words span") if word.text == "Morningside")
    ActionChains(page.driver).double_click(other).perform()
    until(lambda: "= Leith" in page.text_of("#mark"))
    page.all("#mark button")[1].click()
    until(lambda: page.texts_of("#behind mark") == ["Leith", "Morningside"])


def test_twenty_targets_go_down_the_page(page: Page) -> None:
    names = [f"Place{letter}" for letter in "ABCDEFGHIJKLMNOPQRST"]
    page.write(" ".join(f"{name} is cheap." for name in names))
    page.add_target("; ".join(names))
    page.answered(*names)
    assert len(page.all(".grid tbody th[scope=row].target")) == 20
    assert page.width()[0] <= page.width()[1]


def test_aspects_are_chosen(page: Page) -> None:
    page.ask(TEXT, "Brixton")
    page.one("#aspects button").click()
    assert "Choose at least one aspect" in page.text_of("#opinions")
    page.run("arguments[0].click()", page.one("#aspects input[value=price]"))
    until(lambda: list(page.grid()) == [("Brixton", "price")])


def test_what_is_missing_is_said(page: Page) -> None:
    assert "Write or paste a text" in page.text_of("#opinions")
    page.write(TEXT)
    until(lambda: "Who may be judged?" in page.text_of("#opinions"))
    page.add_target("Brixton")
    page.answered("Brixton")
    page.write("   ")
    until(lambda: "Write or paste a text" in page.text_of("#opinions"))
    assert not page.one("#reading").is_displayed()


def test_examples_come_with_their_view(page: Page) -> None:
    for example in page.all("#examples button"):
        example.click()
        until(lambda: page.words())
    assert page.one("#text").get_attribute("value").startswith("Brilliant transport")


# ---- what could go wrong


def test_markup_is_shown_and_never_run(page: Page) -> None:
    name = '<img src=x onerror="window.hit=1">'
    page.open(("text", f"{EVIL} {name} is cheap."), ("target", name.replace("=", "\\=")), ("target", "Camden"))
    page.answered(name, "Camden")
    page.choose("Camden", "price")
    page.open_memory()
    page.one(".values summary").click()
    page.cell(name, "price").click()
    page.explained()
    assert page.texts_of("#words") == [f"{EVIL} {name} is cheap."]
    assert page.texts_of("#targets bdi") == [name, "Camden"]
    assert page.texts_of(".grid th.target bdi") == [name, "Camden"]
    assert page.run("return [typeof window.hit, document.querySelectorAll('img, main script').length]") == [
        "undefined",
        0,
    ]


def test_markup_in_a_table_is_shown_and_never_run(page: Page, tmp_path: Path) -> None:
    table = tmp_path / "evil.csv"
    with table.open("w", newline="", encoding="utf-8") as stream:
        csv.writer(stream).writerows([["text", '<img src=x onerror="window.hit=1">'], [EVIL, "<script>hit=1</script>"]])
    page.one("#tab-file").click()
    page.one("#file").send_keys(str(table))
    until(lambda: page.texts_of(".preview td") == [EVIL, "<script>hit=1</script>"])
    assert page.run("return typeof window.hit") == "undefined"


@pytest.mark.parametrize(("status", "retry"), [(503, True), (422, False)])
def test_what_the_service_says_is_shown_kindly(page: Page, status: int, retry: bool) -> None:
    page.ask(TEXT, "Brixton")
    page.run(
        """const real = window.fetch;
        window.fetch = async (path, request) => {
          if (!path.includes("predict")) return real(path, request);
          window.fetch = real;
          const body = JSON.stringify({error: {code: "x", message: "'text': too much is <waiting>", field: "text"}});
          return new Response(body, {status: arguments[0], headers: {"Retry-After": "1"}});
        };""",
        status,
    )
    page.add_target("Hampstead")
    until(lambda: page.one("#problem").is_displayed())
    problem = page.text_of("#problem")
    assert problem.startswith("The text: too much is <waiting>.")
    assert page.one("#text").get_attribute("aria-invalid") == "true"
    if retry:
        assert "Trying again in 1 second." in problem
        assert page.grid()
        page.answered("Brixton", "Hampstead")
        assert not page.one("#problem").is_displayed()
    else:
        assert page.grid() == {}


def test_a_service_that_is_gone_and_comes_back(page: Page) -> None:
    conditions = {"latency": 0, "downloadThroughput": -1, "uploadThroughput": -1}
    page.cdp("Network.enable", {})
    page.cdp("Network.emulateNetworkConditions", {"offline": True, **conditions})
    try:
        page.write(TEXT)
        page.add_target("Brixton")
        until(lambda: "cannot be reached" in page.text_of("#problem"))
    finally:
        page.cdp("Network.emulateNetworkConditions", {"offline": False, **conditions})
    page.one("#problem button").click()
    page.answered("Brixton")
    assert not page.one("#problem").is_displayed()
    assert all("ERR_INTERNET_DISCONNECTED" in error for error in page.errors())


def test_a_text_that_is_too_long_for_the_service(page: Page) -> None:
    page.write("Leith is cheap. " * 700)
    page.add_target("Leith")
    until(lambda: "at most 10,000" in page.text_of("#problem"))
    assert all(FORGED in error for error in page.errors())


def test_only_the_latest_answer_counts(page: Page) -> None:
    page.run(
        """const real = window.fetch;
        window.fetch = async (path, request) => {
          const slow = path.includes("predict") && request.body.includes("slow");
          const answer = await real(path, slow ? {...request, signal: undefined} : request);
          if (slow) await new Promise((resolve) => setTimeout(resolve, 700));
          if (slow) window.late = true;
          return answer;
        };"""
    )
    page.write("slow: Brixton is expensive.")
    page.add_target("Brixton")
    time.sleep(0.35)  # the question is on its way
    page.write("Brixton is cheap.")
    until(lambda: page.run("return window.late"))
    until(lambda: page.grid().get(("Brixton", "price"), [""])[0] == "positive")
    time.sleep(0.3)  # whichever came last, the late answer does not take its place
    assert page.grid()["Brixton", "price"][0] == "positive"


def test_a_service_with_a_key(page: Page, downloads: Path, tmp_path: Path) -> None:
    with running(Settings(api_key="secret")) as page.address:
        page.driver.get(page.address)
        until(lambda: "key" in page.text_of("#problem"))
        page.one("#problem input").send_keys("secret", Keys.ENTER)
        until(lambda: page.all("#aspects input"))
        page.ask(TEXT, "Brixton")
        table = tmp_path / "keyed.csv"
        table.write_text(f'text\n"{TEXT}"\n', encoding="utf-8")
        page.one("#tab-file").click()
        page.one("#file").send_keys(str(table))
        until(lambda: page.one("#score").is_displayed())
        page.one("#score").click()
        until(lambda: page.one("#job a.primary")).click()
        assert "Brixton/price" in downloaded(downloads, "keyed-scored.csv")
        assert all(FORGED in error for error in page.errors())
        page.driver.get("about:blank")


# ---- a file


@pytest.mark.parametrize("packed", [False, True])
def test_a_table_is_scored_and_downloaded(
    page: Page, box: Predictor, downloads: Path, tmp_path: Path, packed: bool
) -> None:
    for old in downloads.iterdir():
        old.unlink()
    rows = [["id", "note", "body"], ["a", "x", TEXT], ["b", "y", ""], ["c", "z", 'Brixton, "so" safe.\nTwo lines 🎉']]
    table = tmp_path / ("reviews.csv.gz" if packed else "reviews.csv")
    with gzip.open(table, "wt", newline="") if packed else table.open("w", newline="", encoding="utf-8") as stream:
        csv.writer(stream).writerows(rows)
    page.add_target("Brixton", "Hampstead")
    page.one("#tab-file").click()
    page.one("#file").send_keys(str(table))
    until(lambda: page.texts_of(".preview th") == rows[0])
    assert page.one("select[data-key=Text]").get_attribute("value") == "body"
    page.one("#score").click()
    until(lambda: "2 rows scored, 1 row rejected" in page.text_of("#job"))
    links = {link.get_attribute("href").split("/")[-1]: link for link in page.all("#job a[download]")}
    for link in links.values():  # a link that is followed before the last one answered would end it
        before = len(list(downloads.iterdir()))
        link.click()
        until(lambda before=before: len([f for f in downloads.iterdir() if f.suffix != ".crdownload"]) > before)
    found = list(csv.DictReader(downloaded(downloads, "opinions*.csv").splitlines(keepends=True)))
    assert [row["id"] for row in found] == ["a", "c"]
    for row in found:
        for opinion in box.predict(row["body"], ["Brixton", "Hampstead"]).opinions:
            assert row[f"{opinion.target}/{opinion.aspect}"] == opinion.polarity
    assert "no text" in downloaded(downloads, "*.jsonl")
    numbers = list(csv.DictReader(downloaded(downloads, "numbers*.csv").splitlines()))
    for cell in numbers:
        column = [row[f"{cell['target']}/{cell['aspect']}"] for row in found]
        assert [int(cell[name]) for name in ("positive", "negative", "none")] == [
            column.count(name) for name in ("positive", "negative", "none")
        ]
    assert "1 row could not be read: no text in 'body' (1)." in page.text_of(".rest")


def test_a_table_is_scored_for_other_names_too(page: Page, box: Predictor, downloads: Path, tmp_path: Path) -> None:
    for old in downloads.iterdir():
        old.unlink()
    text = "Stokey is very cheap."
    (tmp_path / "stokey.csv").write_text(f"text\n{text}\n", encoding="utf-8")
    page.add_target("Stoke \\= Newington=N\\,16,Stokey")
    page.one("#tab-file").click()
    page.one("#file").send_keys(str(tmp_path / "stokey.csv"))
    until(lambda: page.one("#score").is_displayed())
    page.one("#score").click()
    until(lambda: page.one("#job a.primary")).click()
    (row,) = csv.DictReader(downloaded(downloads, "*.csv").splitlines())
    expected = box.predict(text, {"Stoke = Newington": ["N,16", "Stokey"]}).opinions
    assert {name: value for name, value in row.items() if name != "text"} == {
        f"{opinion.target}/{opinion.aspect}": opinion.polarity for opinion in expected
    }
    assert row["Stoke = Newington/price"] == "positive"


def test_targets_from_a_column_and_a_row_an_opinion(page: Page, downloads: Path, tmp_path: Path) -> None:
    for old in downloads.iterdir():
        old.unlink()
    table = tmp_path / "long.jsonl"
    row = {"text": "Hampstead is very expensive.", "place": "Hampstead"}
    table.write_text(json.dumps(row) + "\n", encoding="utf-8")
    page.one("#tab-file").click()
    page.one("#file").send_keys(str(table))
    until(lambda: page.all("select"))
    page.one("#score").click()
    until(lambda: "add a target" in page.text_of("#score-problem"))
    Select(page.one("select[data-key=Targets]")).select_by_value("place")
    page.run("arguments[0].click()", page.one("input[value=long]"))
    page.run("arguments[0].click()", page.one("input[value=jsonl]"))
    page.one("#score").click()
    until(lambda: page.one("#job a.primary")).click()
    rows = downloaded(downloads, "*.jsonl").splitlines()
    found = [(row["target"], row["aspect"], row["polarity"]) for row in map(json.loads, rows)]
    assert found == [("Hampstead", "price", "negative")]
    assert not page.one("#score-problem").is_displayed()


def test_a_table_that_cannot_be_scored(page: Page, tmp_path: Path) -> None:
    page.one("#tab-file").click()
    for name, content, message in (
        ("a.txt", "x", "of another kind"),
        ("a.xls", "x", "The file a.xls is an old Excel workbook; save it as .xlsx, or as CSV UTF-8."),
        ("b.csv", "%PDF-1.7", "The file b.csv is a PDF file, not a table"),
        ("a.csv", "", "has no rows"),
    ):
        (tmp_path / name).write_text(content, encoding="utf-8")
        page.one("#file").send_keys(str(tmp_path / name))
        until(lambda message=message: message in page.text_of("#score-problem"))
    assert not page.one("#score").is_displayed()


def test_a_table_is_dropped(page: Page) -> None:
    page.run(
        """const carried = new DataTransfer();
        carried.items.add(new File(["text\\nLeith is cheap."], "dropped.csv"));
        const options = {dataTransfer: carried, bubbles: true, cancelable: true};
        document.body.dispatchEvent(new DragEvent("drop", options));"""
    )
    until(lambda: page.texts_of(".preview td") == ["Leith is cheap."])
    assert page.one("#panel-file").is_displayed()


def test_a_job_that_fails(page: Page, tmp_path: Path) -> None:
    (tmp_path / "twice.csv").write_text("text,text\nLeith is cheap.,x\n", encoding="utf-8")
    page.add_target("Leith")
    page.one("#tab-file").click()
    page.one("#file").send_keys(str(tmp_path / "twice.csv"))
    until(lambda: page.one("#score").is_displayed())
    page.one("#score").click()
    until(lambda: "'text'" in page.text_of("#score-problem"))
    assert "Choose a table" in page.text_of("#job")


def test_a_job_shows_how_far_it_is_and_can_be_stopped(page: Page) -> None:
    page.one("#tab-file").click()
    page.one("#example-table").click()
    until(lambda: page.one("#score").is_displayed())
    page.run(
        """const real = window.fetch;
        window.deleted = [];
        window.fetch = async (path, request) => {
          if (request?.method === "DELETE") window.deleted.push(path);
          if (!path.includes("jobs") || request?.method === "DELETE") return real(path, request);
          return new Response('{"state": "running", "scored": 1200, "rejected": 1, "share": 0.25, "error": null}');
        };"""
    )
    page.one("#score").click()
    until(lambda: page.text_of("#progress-told") == "1,200 rows scored, 1 row rejected")
    assert page.run("return document.getElementById('progress').value") == 0.25
    page.one("#job button").click()
    assert "Choose a table" in page.text_of("#job")
    assert page.run("return window.deleted.length") == 1


def test_the_example_table(page: Page) -> None:
    page.one("#tab-file").click()
    page.one("#example-table").click()
    until(lambda: page.one("#score").is_displayed())
    page.one("#score").click()
    until(lambda: "8 rows scored" in page.text_of("#job"))
    until(lambda: page.all("#job .summary"))
    assert "texts hold" in page.text_of(".lead")


# ---- a link


def test_a_link_shows_the_same_view(page: Page) -> None:
    page.ask(EMOJI, "Lisbon")
    page.add_target("Porto=Oporto,O\\,P")
    page.answered("Lisbon", "Porto")
    page.run("arguments[0].click()", page.one("#aspects input[value=safety]"))
    until(lambda: ("Lisbon", "safety") not in page.grid())
    page.choose("Porto", "quiet")
    page.open_memory()
    page.run("arguments[0].click()", page.one("input[name=direction][value=backward]"))
    page.run("arguments[0].click()", page.one("input[name=chain][value=mean]"))
    until(lambda: "chain=mean" in page.driver.current_url)
    grid, words = page.grid(), page.words()
    page.requests()
    page.open(fragment=urlsplit(page.driver.current_url).fragment)
    until(lambda: page.words() == words)
    assert page.grid() == grid
    assert page.texts_of("#targets .chip") == ["✓Lisbon", "✓Portoalso Oporto, O,P"]
    assert page.one("#memory").get_attribute("open") is not None
    assert page.cell("Porto", "quiet").get_attribute("aria-current") == "true"
    assert page.one("input[name=direction]:checked").get_attribute("value") == "backward"
    sent = [urlsplit(url) for url in page.requests()]
    assert not any("Lisbon" in url.path + url.query for url in sent)


def test_the_link_is_copied(page: Page) -> None:
    page.ask(TEXT, "Brixton")
    page.cdp("Browser.grantPermissions", {"permissions": ["clipboardReadWrite", "clipboardSanitizedWrite"]})
    page.one("#copy-link").click()
    until(lambda: page.text_of("#copy-link") == "Link copied")
    copied = page.driver.execute_async_script("navigator.clipboard.readText().then(arguments[0])")
    assert copied.startswith(f"{page.address}/#text=Brixton+is+cheap")


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
    page.tab_to("#aspects input[value=general]").send_keys(Keys.SPACE)
    until(lambda: ("Leith", "general") not in page.grid())
    page.tab_to(".grid button")
    page.press(Keys.ARROW_RIGHT)
    page.press(Keys.ENTER)
    assert page.text_of("#verdict").startswith("Morningside on price")
    page.press(Keys.ARROW_LEFT)
    page.press(Keys.SPACE)
    assert page.text_of("#verdict").startswith("Leith on price")
    page.press(Keys.SPACE)
    until(lambda: page.one("#menu").is_displayed())
    page.press(Keys.ESCAPE)
    page.press(Keys.ARROW_DOWN)
    assert page.run("return document.activeElement.dataset.key") == '["Leith","safety"]'
    page.tab_to("#is-wrong")
    page.press(Keys.ENTER)
    until(lambda: page.one("#menu").is_displayed())
    page.press(Keys.ESCAPE)
    page.tab_to("#memory > summary").send_keys(Keys.ENTER)
    page.tab_to("input[name=direction]:checked").send_keys(Keys.ARROW_RIGHT)
    assert page.run("return document.activeElement.value") == "forward"
    page.tab_to(".values summary").send_keys(Keys.ENTER)
    assert page.one(".values table").is_displayed()


def test_tabs_and_chips_with_the_keyboard(page: Page) -> None:
    page.add_target("Leith", "Morningside")
    page.press(Keys.BACKSPACE)
    until(lambda: page.texts_of("#targets bdi") == ["Leith"])
    page.tab_to("[role=tab][aria-selected=true]").send_keys(Keys.ARROW_RIGHT)
    assert page.one("#panel-file").is_displayed()
    page.tab_to("#file", most=1)
    page.tab_to("#example-table", most=1)
    page.press(Keys.ENTER)
    page.tab_to("input[name=layout]")
    page.press(Keys.ARROW_RIGHT)
    assert page.run("return document.activeElement.value") == "long"
    page.tab_to("[role=tab][aria-selected=true]").send_keys(Keys.ARROW_LEFT)
    assert page.one("#panel-text").is_displayed()


@pytest.mark.parametrize("width", [320, 390, 768])
def test_a_narrow_window_needs_no_sideways_scrolling(page: Page, width: int) -> None:
    page.resize(width, 844)
    assert page.width()[0] <= width
    page.open(("text", TEXT), ("target", "Brixton"), ("target", "Hampstead"), ("of", "Hampstead"), ("on", "price"))
    until(lambda: page.words())
    page.open_memory()
    page.run("arguments[0].open = true", page.one(".values"))
    assert page.width()[0] <= width
    names = ["Brixton", "Hampstead", "Llanfairpwllgwyngyllgogerychwyrndrobwllllantysiliogogoch", "A", "B", "C"]
    page.open(("text", TEXT + "W" * 200), *(("target", name) for name in names))
    page.answered(*names)
    assert page.width()[0] <= width
    page.one("#tab-file").click()
    page.one("#example-table").click()
    until(lambda: page.one("#score").is_displayed())
    assert page.width()[0] <= width
    page.one("#score").click()
    until(lambda: page.all("#job .summary"))
    assert page.width()[0] <= width
    page.one(".heat-cell").click()
    until(lambda: page.all(".behind-rows li"))
    assert page.width()[0] <= width


def score_the_example(page: Page) -> None:
    """Score the table that the page offers, to the end."""
    page.one("#tab-file").click()
    page.one("#example-table").click()
    until(lambda: page.one("#score").is_displayed())
    page.one("#score").click()
    until(lambda: page.all("#job td"))


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_everything_can_be_read(page: Page, scheme: str) -> None:
    page.prefer(scheme)

    def check() -> None:
        found = page.run(browsing.CONTRASTS)
        assert len(found) > 20
        assert [line for line in found if line[0] < line[1]] == []

    check()
    page.open(("text", f"{TEXT} Leith."), *(("target", name) for name in ("Brixton", "Hampstead", "Leith", "Nowhere")))
    page.answered("Brixton", "Hampstead", "Leith", "Nowhere")
    page.choose("Hampstead", "price")
    page.open_memory()
    page.explained()
    page.run("document.querySelectorAll('.shaded').forEach((word) => word.style.setProperty('--gate-value', 1))")
    page.run("document.querySelectorAll('.carries').forEach((word) => word.style.setProperty('--weight', 1))")
    assert min(shade for _, shade in page.words()) > 0.99
    check()
    score_the_example(page)
    check()


def test_the_theme_is_the_systems_until_it_is_chosen(page: Page) -> None:
    ground = "return getComputedStyle(document.body).backgroundColor"
    light = page.run(ground)
    page.prefer("dark")
    dark = page.run(ground)
    assert light != dark
    page.one("#theme").click()
    assert page.text_of("#theme") == "Theme: light"
    assert page.run(ground) == light
    page.open()
    assert page.run(ground) == light
    page.one("#theme").click()
    page.prefer("light")
    assert page.run(ground) == dark


def test_an_audit_of_accessibility(page: Page) -> None:
    script = os.environ.get("TABSA_AXE")
    if not script:
        pytest.skip("needs axe-core: npm install axe-core, then set TABSA_AXE to its axe.min.js")
    audit = "axe.run(document, {runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice']})"

    def check() -> None:
        page.run(Path(script).read_text(encoding="utf-8"))
        found = page.driver.execute_async_script(f"{audit}.then((told) => arguments[0](told.violations))")
        assert [(v["id"], [node["html"] for node in v["nodes"]]) for v in found] == []

    check()
    for scheme in ("light", "dark"):
        page.prefer(scheme)
        page.open(("text", TEXT), ("target", "Brixton"), ("target", "Hampstead"), ("of", "Hampstead"), ("on", "price"))
        until(lambda: page.words())
        check()
    score_the_example(page)
    check()


# ---- its modules


def test_chains_are_named_by_what_they_follow(page: Page) -> None:
    named = "return gates.chainsOf({targets: given[0], gates: [[[1, 1, 1, 1]]]}, given[1]).map(({label}) => label)"
    assert page.module(named, ["Brixton", "Leith"], 2) == ["Brixton", "Leith", "free 1", "free 2"]
    assert page.module(named, ["Brixton"], 2) == ["Brixton", "target 2, unused", "free 1", "free 2"]
    assert page.module(named, ["Brixton"], 0) == ["chain 1", "chain 2", "chain 3", "chain 4"]


def test_marks_follow_an_edit(page: Page) -> None:
    moved = "return text.moved(given[0].map((span) => ({span})), given[1], given[2]).map(({span}) => span)"
    for before, after, expected in (
        ("Leith is far", "So Leith is far", [[3, 8]]),
        ("Leith is far", "Leith is very far", [[0, 5]]),
        ("Leith is far", "Leth is far", []),
        ("Leith is far", "", []),
    ):
        assert page.module(moved, [[0, 5]], before, after) == expected


def test_targets_as_typed(page: Page) -> None:
    read = "return text.readTargets(given[0]).map(({name, aliases}) => [name, ...aliases])"
    assert page.module(read, "Leith; Fife,  Stoke   Newington \n E17") == [
        ["Leith"],
        ["Fife"],
        ["Stoke Newington"],
        ["E17"],
    ]
    assert page.module(read, "Stoke Newington=Stokey, N16\n=x") == [["Stoke Newington", "Stokey", "N16"]]
    for name in ("a=b", "a,b;c", "a\\b", "\\=", "<b>&"):
        written = "return text.readTargets(text.writeTarget({name: given[0], aliases: [given[0]]}))"
        assert page.module(written, name) == [{"name": name, "aliases": [name]}]


def test_the_head_of_a_table(page: Page) -> None:
    parse = "const {columns, rows} = table.parse(given[0], given[1]); return [columns, ...rows.map(Object.values)]"
    content = 'id,text\r\n1,"a ""b"", c\nd"\r\n\r\n2,e"f\r\n3'
    assert page.module(parse, content, "csv") == [["id", "text"], ["1", 'a "b", c\nd'], ["2", 'e"f'], ["3", ""]]
    assert page.module(parse, "a\tb\n1,5\t2", "tsv") == [["a", "b"], ["1,5", "2"]]
    assert page.module(parse, '{"a": 1}\nnonsense\n{"b": [2], "a": null}', "jsonl") == [["a", "b"], ["1"], ["[2]", ""]]
    assert page.module(parse, "", "csv") == [[]]


def test_halves_of_characters_are_not_sent(page: Page) -> None:
    assert page.module("return text.wellFormed('a\\ud83d b\\udc00 \\0 🎉') === 'a\\ufffd b\\ufffd \\ufffd 🎉'")
