"""The page in headless Chromium: a file, its columns, its scored rows, its report, and its texts one by one."""

import csv
import io
import json
from pathlib import Path

import pytest
from selenium.webdriver.support.select import Select

from browsing import Page, until
from tabsa.inference.predictor import Predictor
from tabsa.serve.settings import Settings

pytestmark = pytest.mark.browser

EVIL = '<img src=x onerror="window.hit=1">'
ROWS = [
    ["nr", "Kommentar", "Tag"],
    ["1", "Zürich is lovely; the Regent is awfully expensive.", "2024-01-02"],
    ["2", "The staff at the Regent were lovely.", "2024-02-03"],
    ["3", "Nothing to say.", "2024-03-04"],
]


@pytest.fixture
def page(page: Page) -> Page:
    """The tab for a file."""
    page.one("#tab-file").click()
    return page


def written(rows: list[list[str]], separator: str = ",") -> str:
    stream = io.StringIO()
    csv.writer(stream, delimiter=separator).writerows(rows)
    return stream.getvalue()


def choose(page: Page, path: Path, content: str | bytes) -> None:
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    page.one("#file").send_keys(str(path))
    until(lambda: path.name in page.text_of("#file-options"))


def score(page: Page) -> None:
    page.click("#score")
    until(lambda: page.one("#scored .done"))


def chosen(page: Page) -> dict[str, str]:
    return {str(one.get_attribute("data-key")): str(one.get_attribute("value")) for one in page.all("select")}


def test_a_european_file_is_read_guessed_and_scored(page: Page, reader: Predictor, tmp_path: Path) -> None:
    choose(page, tmp_path / "umfrage.csv", written(ROWS, ";").encode("cp1252"))
    assert page.texts_of(".preview tbody tr:first-of-type td") == ROWS[1]
    assert chosen(page) == {"Text": "Kommentar", "Targets": "", "Id": "nr", "Date": "Tag", "Result": "wide csv"}
    assert "1252" in page.text_of(".file-name")
    assert "Regent" in page.texts_of("#targets li bdi")  # names of the texts are chosen at once
    page.open()
    page.one("#tab-file").click()
    page.add("target", "Regent=the Regent")
    page.add("aspect", "price", "staff")
    choose(page, tmp_path / "umfrage.csv", written(ROWS, ";").encode("cp1252"))
    assert page.texts_of("#targets .chip:not(.offer) > bdi") == ["Regent"]  # but not where somebody chose others
    score(page)
    assert page.text_of("#scored .done") == "3 rows scored, 2 opinions in umfrage.csv."
    page.click("#scored .primary")
    rows = list(csv.DictReader(page.downloaded("umfrage-scored.csv").splitlines()))
    for row, (_, text, _) in zip(rows, ROWS[1:], strict=True):
        assert row["Kommentar"] == text
        for opinion in reader.predict(text, {"Regent": ["the Regent"]}, ["price", "staff"]).opinions:
            assert row[f"Regent/{opinion.aspect}"] == opinion.polarity


def test_the_report_is_shown_in_a_sandbox_and_can_be_saved(page: Page, tmp_path: Path) -> None:
    page.add("target", "Regent")
    choose(page, tmp_path / "a.csv", written([["text", EVIL], *([text, "x"] for _, text, _ in ROWS[1:])]))
    score(page)
    frame = page.one("iframe")
    assert "allow-same-origin" not in frame.get_attribute("sandbox")
    page.driver.switch_to.frame(frame)
    until(lambda: "Regent" in page.text_of("body"))
    assert page.text_of("h1") == "a.csv"
    assert page.run("return typeof window.hit") == "undefined"
    page.driver.switch_to.default_content()
    page.run("[...document.querySelectorAll('#scored .button')].at(-1).click()")
    assert "<title>" in page.downloaded("a-report.html")


def test_targets_of_a_column_and_a_row_for_each_opinion(page: Page, tmp_path: Path) -> None:
    rows = [{"text": "The Regent is very expensive.", "place": "Regent", "n": 1}]
    lines = "".join(json.dumps(row) + "\n" for row in rows)
    choose(page, tmp_path / "b.jsonl", lines.encode())
    while page.all("#targets .chip:not(.offer)"):
        page.click("#targets .chip:not(.offer)")
    page.click("#score")
    until(lambda: "add a target" in page.text_of("#file-problem"))
    Select(page.one("select[data-key=Targets]")).select_by_value("place")
    Select(page.one("select[data-key=Result]")).select_by_value("long jsonl")
    page.add("aspect", "price", "breakfast")
    score(page)
    page.click("#scored .primary")
    found = [json.loads(line) for line in page.downloaded("b-scored.jsonl").splitlines()]
    assert [(one["target"], one["aspect"], one["polarity"]) for one in found] == [("Regent", "price", "negative")]


def test_the_texts_of_a_file_are_gone_through(page: Page, tmp_path: Path) -> None:
    page.add("target", "Regent")
    page.add("aspect", "price", "staff")
    choose(page, tmp_path / "c.csv", written([["text"], *([text] for _, text, _ in ROWS[1:3]), ["  "]]))
    score(page)
    assert page.text_of("#scored .done") == "2 rows scored, 1 row rejected, 2 opinions in c.csv."
    assert page.texts_of(".rejects summary") == ["1 row could not be read"]
    assert page.texts_of(".rejects li")[0].startswith("Row 4: ")
    page.run("document.querySelector('#scored .button').click()")
    until(lambda: page.grid().get(("Regent", "price"), ("",))[0] == "negative")
    assert page.text_of("#walk-place") == "1 of 2 in c.csv"
    page.click("#walk [data-key=Next]")
    until(lambda: page.grid().get(("Regent", "staff"), ("",))[0] == "positive")
    assert page.one("#text").get_attribute("value") == ROWS[2][1]
    page.click("#walk [data-key=end]")
    assert not page.one("#walk").is_displayed()


def test_progress_comes_from_the_stream_and_can_be_stopped(page: Page) -> None:
    page.click("#example-table")
    until(lambda: page.one("#score").is_displayed())
    page.run(
        """const real = window.fetch;
        window.fetch = async (path, request) => {
          if (!path.includes("v1/score")) return real(path, request);
          const rows = {event: "rows", output: "", texts: [], rejected: [], share: 0.25,
                        counts: {scored: 1200, rejected: 1, opinions: 7}};
          return new Response(new ReadableStream({start(stream) {
            const send = (line) => stream.enqueue(new TextEncoder().encode(line));
            send('{"event": "start", "note": null}\\n' + JSON.stringify(rows) + "\\n");
            request.signal.addEventListener("abort", () => {
              window.aborted = true;
              stream.error(new DOMException("", "AbortError"));
            });
            window.end = (line) => { send(line); stream.close(); };
          }}));
        };"""
    )
    page.click("#score")
    until(lambda: page.text_of("#progress-note") == "1,200 rows scored, 1 row rejected, 7 opinions")
    assert page.run("return document.getElementById('progress').value") == 0.25
    page.click(".progress button")
    assert page.run("return window.aborted")
    assert page.all("#progress") == []
    for line, message in (
        ("", "The connection was lost"),
        ('{"event": "error", "error": {"message": "the disk is full"}}\n', "The disk is full."),
    ):
        page.click("#score")
        until(lambda: page.text_of("#progress-note").startswith("1,200"))
        page.run("window.end(arguments[0])", line)
        until(lambda message=message: message in page.text_of("#file-problem"))


def test_the_example_table_is_scored_and_a_dropped_one_is_looked_at(page: Page) -> None:
    page.click("#example-table")
    until(lambda: page.texts_of("#targets li bdi") == ["Brooks", "Dyson", "Pixel 9", "Harlow", "Vinted"])
    score(page)
    assert page.text_of("#scored .done").startswith("8 rows scored, ")
    page.one("#tab-text").click()
    page.run(
        """const carried = new DataTransfer();
        carried.items.add(new File([`text,${arguments[0]}\\nLeith is cheap.,x`], "dropped.csv"));
        const options = {dataTransfer: carried, bubbles: true, cancelable: true};
        document.body.dispatchEvent(new DragEvent("drop", options));""",
        EVIL.replace('"', ""),
    )
    until(lambda: page.texts_of(".preview td") == ["Leith is cheap.", "x"])
    assert page.one("#panel-file").is_displayed()
    assert page.run("return typeof window.hit") == "undefined"


def test_on_a_phone_the_form_folds_once_there_are_results(page: Page) -> None:
    page.resize(390)
    page.click("#example-table")
    until(lambda: page.one("#score").is_displayed() and not page.one("#targets").is_displayed())
    page.click("#questions > summary")
    page.one("#add-aspect").click()
    score(page)
    assert not page.one(".picks").is_displayed()
    assert not page.one("#targets").is_displayed()
    page.click("#file-options summary")
    assert page.one(".picks").is_displayed()


@pytest.mark.parametrize(("name", "message"), [("a.xls", "save a spreadsheet as .xlsx"), ("a.csv", "no rows")])
def test_a_table_that_cannot_be_scored(browser: Page, tmp_path: Path, name: str, message: str) -> None:
    browser.fresh()
    browser.one("#tab-file").click()
    (tmp_path / name).touch()
    browser.one("#file").send_keys(str(tmp_path / name))
    until(lambda: message in browser.text_of("#file-problem"))
    assert not browser.one("#score").is_displayed()


def test_no_opinion_means_no_report(page: Page, tmp_path: Path) -> None:
    page.add("target", "Leith")
    choose(page, tmp_path / "d.csv", "text\nLeith is a place.\n")
    page.add("aspect", "breakfast")
    score(page)
    assert "there is no report" in page.text_of("#scored")
    assert page.all("iframe") == []


def test_with_a_key_the_report_is_a_file(browser: Page, tmp_path: Path) -> None:
    with browser.at(Settings(api_key="secret")):
        browser.driver.get(f"{browser.address}/")
        until(lambda: browser.one(".key input")).send_keys("secret\n")
        until(lambda: browser.text_of("#model").startswith("Model: reader"))
        browser.one("#tab-file").click()
        browser.add("target", "Regent")
        choose(browser, tmp_path / "e.csv", written([["text"], [ROWS[1][1]]]))
        score(browser)
        assert browser.all("iframe") == []
        browser.run("[...document.querySelectorAll('#scored .button')].at(-1).click()")
        assert "Regent" in browser.downloaded("e-report.html")
