"""A file on the page: how it is read, what it says, the texts behind it, and that all of this outlives a reload."""

import csv
import io
import json
import random
from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("fastapi", reason="needs the service: pip install '.[serve]'")
pytest.importorskip("selenium", reason="needs selenium: pip install '.[dev]'")

from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.select import Select

import browsing
from axe import violations
from browsing import Page, running, start_browser, until
from tabsa.inference.predictor import Predictor, load
from tabsa.serve.settings import Settings
from tabsa.tables.rows import Row, every_row

if browsing.CHROMIUM is None or browsing.DRIVER is None:
    pytest.skip("needs a browser: apt-get install chromium chromium-driver", allow_module_level=True)

TEXTS = (
    "Camden is lively, but the rents are far too high.",
    "Croydon is very cheap.",
    "We never felt unsafe in Richmond, and the parks are beautiful.",
    "Brixton is cheap and full of great bars.",
    "Nobody says anything here.",
    "The rents in Camden are awful, and I was robbed in Camden.",
)
TARGETS = ("Camden", "Croydon", "Richmond", "Brixton")


@pytest.fixture(scope="module")
def box() -> Predictor:
    return load("places", threads=1)


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    with running(Settings(model="places")) as address:
        page = Page(start_browser(tmp_path_factory.mktemp("downloads")), address)
        yield page
        page.quit()


@pytest.fixture
def page(browser: Page) -> Iterator[Page]:
    browser.resize(1280)
    browser.prefer("light")
    browser.open()
    browser.run("localStorage.clear(); sessionStorage.clear()")
    browser.errors()
    yield browser
    assert browser.errors() == []


def rows(number: int = 60) -> list[dict[str, str]]:
    return [{"Nr": str(n), "Bewertung": TEXTS[n % 6], "Datum": f"2024-0{1 + n % 9}-03"} for n in range(number)]


def written(folder: Path, name: str = "reviews.csv", delimiter: str = ",", encoding: str = "utf-8") -> Path:
    stream = io.StringIO()
    writer = csv.DictWriter(stream, ["Nr", "Bewertung", "Datum"], delimiter=delimiter)
    writer.writeheader()
    writer.writerows(rows())
    (folder / name).write_bytes(stream.getvalue().encode(encoding))
    return folder / name


def choose(page: Page, path: Path) -> None:
    page.one("#tab-file").click()
    page.one("#file").send_keys(str(path))
    until(lambda: path.stem in page.text_of(".file-name"))


def score(page: Page, path: Path, *targets: str) -> None:
    choose(page, path)
    page.add_target(*(targets or TARGETS))
    page.one("#score").click()
    until(lambda: page.all("#job .summary"))


def cell(page: Page, about: str) -> tuple[str, list[str]]:
    """What is heard and seen of a cell."""
    for button in page.all(".heat-cell"):
        heard = page.run("return arguments[0].querySelector('.unseen').textContent", button)
        if heard.startswith(f"{about}: "):
            return heard, button.text.split("\n")
    raise AssertionError(f"no cell of {about}")


def open_cell(page: Page, about: str) -> None:
    script = """return [...document.querySelectorAll(".heat-cell")]
        .find((one) => one.querySelector(".unseen").textContent.startsWith(`${arguments[0]}: `))"""
    page.run(script, about).click()
    until(lambda: page.all(".behind-rows li"))


# ---- how a file is read


def test_the_preview_reads_as_the_command_does(page: Page, tmp_path: Path) -> None:
    """Random tables in every encoding, with every separator and line end: the same columns, rows and words on it."""
    draw = random.Random(11)
    pool = ["Café", "naïve", "“so”", "5 €", "été", 'a "b"', "x;y", "1,5", "l’air", "straße", "–"]
    made = []
    for number in range(40):
        separator = draw.choice(",;\t|")
        encoding = draw.choice(["utf-8", "utf-8-sig", "cp1252", "utf-16", "utf-16-le", "utf-16-be"])
        stream = io.StringIO()
        quoting = draw.choice([csv.QUOTE_MINIMAL, csv.QUOTE_ALL])
        ends = draw.choice(["\n", "\r\n", "\r"])
        out = csv.writer(stream, delimiter=separator, lineterminator=ends, quoting=quoting)
        out.writerow(["id", "text", "größe"])
        for n in range(draw.choice([1, 5, 40])):
            words = draw.choices([*pool, f"two{ends}lines"], k=draw.randint(1, 6))
            out.writerow([n, " ".join(["é", *words]), draw.randint(0, 9)])
        said = f"sep={separator}{ends}" if draw.random() < 0.2 else ""
        path = tmp_path / f"{number}.{draw.choice(['csv', 'tsv'])}"
        path.write_bytes((said + stream.getvalue()).encode(encoding))
        made.append(path)
    read = """const file = new File([new Uint8Array(given[0])], given[1]);
        const { columns, rows, note } = await table.headOf(file);
        return { columns, rows: rows.map(Object.values), note };"""
    for path in made:
        notes: list[str] = []
        expected = [row for row in every_row(path, on_guess=notes.append) if isinstance(row, Row)]
        found = page.module(read, list(path.read_bytes()), path.name)
        assert found["columns"] == list(expected[0].values)
        assert found["rows"] == [list(row.values.values()) for row in expected]
        told = "".join(notes).removeprefix(f"{path}: ")
        assert found["note"] == (f"{told[0].upper()}{told[1:]}." if told else "")


@pytest.mark.parametrize(
    ("delimiter", "encoding", "note"),
    [
        (";", "cp1252", "Read as separated by semicolons."),
        ("\t", "utf-16", "Read as UTF-16, separated by tabs."),
        (",", "utf-8-sig", ""),
    ],
)
def test_a_european_file_is_read_and_scored(
    page: Page, tmp_path: Path, delimiter: str, encoding: str, note: str
) -> None:
    path = written(tmp_path, delimiter=delimiter, encoding=encoding)
    choose(page, path)
    assert page.texts_of(".preview th") == ["Nr", "Bewertung", "Datum"]
    assert "".join(page.texts_of(".file-note")) == note
    picked = [page.one(f"select[data-key={name}]").get_attribute("value") for name in ("Text", "Id", "Targets", "Date")]
    assert picked == ["Bewertung", "Nr", "", "Datum"]
    page.add_target("Camden")
    page.one("#score").click()
    until(lambda: page.all("#job .summary"))
    assert "60 rows scored" in page.text_of("#job")
    assert ("The file was r" in page.text_of("#job")) == bool(note)
    assert "The change over time, by Datum, is in the report" in page.text_of(".rest")


def test_a_workbook_is_read_by_the_service(page: Page, tmp_path: Path) -> None:
    openpyxl = pytest.importorskip("openpyxl", reason="needs openpyxl: pip install '.[dev]'")
    book = openpyxl.Workbook()
    for row in (["id", "text"], [1, "Camden is dear."], [2, "Croydon, “very” cheap"]):
        book.active.append(row)
    book.save(tmp_path / "reviews.xlsx")
    score(page, tmp_path / "reviews.xlsx", "Camden", "Croydon")
    assert page.texts_of(".preview td") == ["1", "Camden is dear.", "2", "Croydon, “very” cheap"]
    assert "2 rows scored" in page.text_of("#job")


# ---- whom it is about


def test_names_in_the_texts_are_offered_with_their_counts(page: Page, tmp_path: Path) -> None:
    choose(page, written(tmp_path))
    until(lambda: page.all("#suggestions button"))
    offered = [text.removeprefix("+").removesuffix(" texts") for text in page.texts_of("#suggestions .suggestion")]
    assert offered == ["Camden 20", "Croydon 10", "Richmond 10", "Brixton 10"]
    page.one("#suggestions .suggestion").click()
    until(lambda: "Camden" in "".join(page.texts_of("#targets")))
    assert "the 1 target below" in page.text_of("select[data-key=Targets]")
    page.one("#tab-text").click()
    until(lambda: not page.all("#suggestions .suggestion bdi"))
    page.one("#tab-file").click()
    until(lambda: len(page.all("#suggestions .suggestion")) == 3)


# ---- what it says


def test_the_summary_is_that_of_the_predictor(page: Page, box: Predictor, tmp_path: Path) -> None:
    score(page, written(tmp_path))
    counts: dict[tuple[str, str], list[int]] = {}
    for row in rows():
        for opinion in box.predict(row["Bewertung"], list(TARGETS)).opinions:
            pair = counts.setdefault((opinion.target or "", opinion.aspect), [0, 0])
            pair[0] += opinion.polarity == "positive"
            pair[1] += opinion.polarity == "negative"
    spoken = {pair: number for pair, number in counts.items() if sum(number)}
    assert spoken
    for (target, aspect), (positive, negative) in spoken.items():
        heard, seen = cell(page, f"{target}, {aspect}")
        judged = positive + negative
        assert f"{positive} of {judged} positive, " in heard
        assert seen[-1] == f"{positive} of {judged}"
    assert len(page.all(".heat tr:not(.all) td:not(.all):not(.silent)")) == len(spoken)
    assert sum(map(sum, counts.values())) == int(page.text_of(".lead").split(" opinions")[0].rsplit(" ", 1)[1])


def test_from_a_cell_to_its_texts_and_back(page: Page, box: Predictor, tmp_path: Path) -> None:
    score(page, written(tmp_path))
    expected = [
        (row["Nr"], opinion.polarity, row["Bewertung"])
        for row in rows()
        for opinion in box.predict(row["Bewertung"], list(TARGETS)).opinions
        if (opinion.target, opinion.aspect) == ("Camden", "price") and opinion.polarity != "none"
    ]
    assert len(expected) >= 10
    open_cell(page, "Camden, price")
    assert page.text_of(".behind-title") == "Camden on price"
    assert page.run("return document.activeElement.className") == "behind-title"

    def shown() -> list[str]:
        return page.texts_of(".behind-text")

    until(lambda: shown() == [text for _, _, text in expected[:20]])
    assert page.texts_of(".behind-text mark")[0] == "Camden"
    assert page.texts_of(".behind-facts small")[0] == f"id {expected[0][0]}, 2024-01-03"
    page.one("#job input[type=search]").send_keys("ROBBED")
    until(lambda: shown() == [text for _, _, text in expected if "robbed" in text][:20])
    page.one("#job input[type=search]").send_keys(Keys.CONTROL, "a")
    page.one("#job input[type=search]").send_keys(Keys.DELETE)
    until(lambda: len(shown()) == min(20, len(expected)))
    page.one(".back").click()
    until(lambda: page.all("#job .summary"))
    focused = page.run("return document.activeElement.textContent")
    assert focused.startswith("Camden, price: ")


def test_more_texts_come_when_asked_for(page: Page, tmp_path: Path) -> None:
    score(page, written(tmp_path))
    open_cell(page, "all targets, all aspects")
    total = int(page.text_of("#job [role=status]").split(" of ")[1].split(" ")[0].replace(",", ""))
    assert total > 40
    seen = 20
    while seen < total:
        until(lambda seen=seen: len(page.all(".behind-rows li")) == seen)
        page.one(".more").click()
        seen = min(seen + 20, total)
    until(lambda: len(page.all(".behind-rows li")) == total)
    assert not page.one(".more").is_displayed()
    polarities = {}
    for name in ("positive", "negative"):
        page.run("arguments[0].click()", page.one(f"input[name=behind][value={name}]"))
        until(
            lambda name=name: (
                set(page.texts_of(".behind-rows .tag")) == {f"{'▲' if name == 'positive' else '▼'} {name}"}
            )
        )
        polarities[name] = int(page.text_of("#job [role=status]").split(" of ")[1].split(" ")[0])
    assert sum(polarities.values()) == total


def test_a_text_is_opened_to_see_why(page: Page, tmp_path: Path) -> None:
    score(page, written(tmp_path))
    open_cell(page, "Camden, price")
    page.one(".behind-rows .link-button").click()
    until(lambda: page.one("#panel-text").is_displayed())
    assert page.one("#text").get_attribute("value") == TEXTS[0]
    assert "in reviews.csv" in page.text_of("#walk-told")


def test_what_is_not_read_is_said(page: Page, tmp_path: Path) -> None:
    path = tmp_path / "some.csv"
    path.write_bytes(b'id,text\n1,Camden is cheap.\n2,\n3,a,b\n4,"open\n5,Camden is dear.\n6,Nothing.\n')
    score(page, path, "Camden", "Nowhere")
    assert "3 rows scored, 3 rows rejected" in page.text_of(".done")
    told = page.text_of(".rest")
    assert "3 rows could not be read: " in told
    assert "no text in 'text' (1)" in told
    assert "Nobody speaks of Nowhere." in told
    assert "1 text has no opinion on what was asked." in told
    link = next(link for link in page.all("#job a[download]") if "3 rows that could not be read" in link.text)
    assert link.get_attribute("download") == "some-rejects.jsonl"


def test_no_opinion_at_all(page: Page, tmp_path: Path) -> None:
    (tmp_path / "none.csv").write_text("text\nNothing is said.\n", encoding="utf-8")
    choose(page, tmp_path / "none.csv")
    page.add_target("Camden")
    page.one("#score").click()
    until(lambda: "There is no summary: no text has an opinion on what was asked." in page.text_of("#job"))
    assert [link.text for link in page.all("#job a")] == ["Download the results"]


def test_the_report_opens_by_itself_and_runs_its_script(page: Page, tmp_path: Path) -> None:
    score(page, written(tmp_path))
    address = next(link for link in page.all("#job a") if link.text == "Open the report").get_attribute("href")
    here = page.driver.current_window_handle
    page.driver.switch_to.new_window("tab")
    try:
        page.driver.get(address)
        until(lambda: page.text_of("h1") == "reviews.csv")
        assert page.run("return origin") == "null"
        page.one(".heat a").click()
        until(lambda: page.one("#behind").is_displayed())
        assert violations(page.driver) == []
    finally:
        page.driver.close()
        page.driver.switch_to.window(here)


# ---- a reload


def test_results_outlive_a_reload(page: Page, tmp_path: Path) -> None:
    score(page, written(tmp_path))
    before = page.text_of("#job")
    page.driver.refresh()
    until(lambda: page.all("#job .summary"))
    assert page.one("#panel-file").is_displayed()
    assert page.text_of("#job") == before
    open_cell(page, "Camden, price")
    page.one(".behind-rows .link-button").click()
    until(lambda: page.one("#panel-text").is_displayed())
    assert page.one("#text").get_attribute("value") == TEXTS[0]


def test_results_that_are_gone_are_said_to_be(page: Page, tmp_path: Path) -> None:
    score(page, written(tmp_path))
    identity = json.loads(page.run("return sessionStorage.getItem('tabsa-job')"))["id"]
    page.driver.execute_async_script(
        "fetch(`v1/jobs/${arguments[0]}`, { method: 'DELETE' }).then(arguments[1])", identity
    )
    page.driver.refresh()
    until(lambda: "The results of reviews.csv are no longer on the server" in page.text_of("#score-problem"))
    assert "Choose a table" in page.text_of("#job")
    assert len(page.errors()) == 1  # the answer 404
    page.driver.refresh()
    until(lambda: page.one("#panel-file").is_displayed())
    assert not page.one("#score-problem").is_displayed()


def test_a_key_goes_with_every_request(tmp_path: Path, browser: Page) -> None:
    here = browser.address
    try:
        with running(Settings(model="places", api_key="secret")) as address:
            browser.address = address
            browser.driver.get(address)
            browser.run("sessionStorage.setItem('tabsa-key', 'secret')")
            browser.driver.refresh()
            until(lambda: browser.all("#aspects input, #aspects button"))
            score(browser, written(tmp_path))
            open_cell(browser, "Camden, price")
            browser.one(".back").click()
            assert "Download the report" in [link.text for link in browser.all("#job a")]
            browser.errors()
    finally:
        browser.address = here


def test_the_columns_can_be_chosen(page: Page, tmp_path: Path) -> None:
    path = tmp_path / "two.csv"
    path.write_text("a,b,place\nCamden is cheap.,Camden is a very expensive place indeed.,Camden\n", encoding="utf-8")
    choose(page, path)
    assert page.one("select[data-key=Text]").get_attribute("value") == "b"
    Select(page.one("select[data-key=Text]")).select_by_value("a")
    Select(page.one("select[data-key=Targets]")).select_by_value("place")
    page.one("#score").click()
    until(lambda: page.all("#job .summary"))
    heard, _ = cell(page, "Camden, price")
    assert "1 of 1 positive" in heard
