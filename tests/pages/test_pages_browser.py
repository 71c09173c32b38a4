"""The page of a report in a real browser: cells, filter, themes, paper."""

import base64
import re
from collections.abc import Iterator

import pytest

pytest.importorskip("selenium", reason="needs selenium: pip install '.[dev]'")
pytest.importorskip("fastapi", reason="needs the service: pip install '.[serve]'")

from selenium.webdriver.support.select import Select

import browsing
import scored_tables as made
from axe import violations
from browsing import Page, start_browser
from prediction_factory import made_up
from scored_data import many
from tabsa.evaluation.report import evaluate
from tabsa.pages.counting import summarise
from tabsa.pages.evaluation_page import write_evaluation
from tabsa.pages.evidence_page import write_explanation
from tabsa.pages.summary import Summary

pytestmark = pytest.mark.browser

if browsing.CHROMIUM is None or browsing.DRIVER is None:
    pytest.skip("needs a browser: apt-get install chromium chromium-driver", allow_module_level=True)


@pytest.fixture(scope="module")
def summary(tmp_path_factory: pytest.TempPathFactory) -> Summary:
    texts = made.answered(21, 250)
    return summarise(made.long(tmp_path_factory.mktemp("report") / "t.csv", texts), title="Reviews & <more>")


@pytest.fixture(scope="module")
def browser(summary: Summary, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    path = summary.write_html(tmp_path_factory.mktemp("page") / "report.html")
    page = Page(start_browser(tmp_path_factory.mktemp("downloads")), path.as_uri())
    yield page
    page.driver.quit()


@pytest.fixture
def page(browser: Page) -> Page:
    browser.resize(1280)
    browser.prefer("light")
    browser.driver.get("about:blank")
    browser.driver.get(browser.address)
    return browser


def choose(page: Page, name: str, text: str) -> None:
    Select(page.one(f"#filter [name={name}]")).select_by_visible_text(text)


def quotes(page: Page) -> list[str]:
    return [quote.text for quote in page.all("#sentences blockquote") if quote.is_displayed()]


def test_nothing_goes_wrong_and_a_cell_leads_to_its_sentences(page: Page, summary: Summary) -> None:
    assert page.driver.get_log("browser") == []
    choose(page, "polarity", "negative")
    page.one("a[href='#c3-2']").click()
    group = page.one("#c3-2")
    browsing.until(group.is_displayed)
    shown = [quote.text for quote in group.find_elements("css selector", "blockquote")]
    assert shown == [quote.sentence for quote in summary.cell(summary.targets[3], summary.aspects[2]).quotes]
    top = page.run("return document.getElementById('c3-2').getBoundingClientRect().top")
    assert top < page.run("return innerHeight")


def test_the_filter_hides_what_does_not_fit(page: Page, summary: Summary) -> None:
    every = [quote for cell in summary.cells.values() for quote in cell.quotes]
    before = quotes(page)
    choose(page, "polarity", "negative")
    choose(page, "aspect", "price")
    fitting = [quote for quote in every if quote.polarity == "negative" and quote.aspect == "price"]
    assert len(quotes(page)) == len(fitting)
    assert page.text_of("#matches") == f"{len(fitting)} of {len(every)} sentences fit"
    page.one("#filter [name=word]").send_keys("zürich")
    assert len(quotes(page)) == len([quote for quote in fitting if "Zürich" in quote.sentence])
    page.one("#filter button").click()
    browsing.until(lambda: quotes(page) == before)
    assert page.text_of("#matches") == f"{len(every)} sentences"


@pytest.fixture(scope="module")
def addresses(browser: Page, tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """The report, an evaluation against another, and an explanation."""
    dataset, probabilities = many([1, 2, 3, 1] * 20)
    report = evaluate(dataset, probabilities, bootstrap=20, model="mine")
    folder = tmp_path_factory.mktemp("others")
    pages = [write_evaluation(report, folder / "evaluation.html", report)]
    pages.append(write_explanation([made_up(), made_up(directions=0)], folder / "evidence.html"))
    return [browser.address, *(path.as_uri() for path in pages)]


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 390])
def test_axe_finds_nothing_and_nothing_sticks_out(page: Page, addresses: list[str], scheme: str, width: int) -> None:
    page.resize(width)
    page.prefer(scheme)
    for address in addresses:
        page.driver.get(address)
        page.run("for (const part of document.querySelectorAll('details')) part.open = true")
        assert violations(page.driver) == []
        wide, window = page.width()
        assert wide <= window
        ground = page.run("return getComputedStyle(document.body).backgroundColor")
        assert (sum(map(int, re.findall(r"\d+", ground))) < 150) == (scheme == "dark")


def test_it_prints_on_white_even_at_night(page: Page) -> None:
    page.prefer("dark")
    printed = page.cdp("Page.printToPDF", {"preferCSSPageSize": True, "printBackground": True})
    assert base64.b64decode(printed["data"]).startswith(b"%PDF")
    media = {"media": "print", "features": [{"name": "prefers-color-scheme", "value": "dark"}]}
    page.cdp("Emulation.setEmulatedMedia", media)
    ink = page.run("return getComputedStyle(document.body).color")
    page.cdp("Emulation.setEmulatedMedia", {"media": "", "features": []})
    assert sum(map(int, re.findall(r"\d+", ink))) < 150
