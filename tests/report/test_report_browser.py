"""The page of a report in a real browser: cells, filter, comparison, trends, themes, paper."""

import base64
import re
from collections.abc import Iterator

import pytest

pytest.importorskip("selenium", reason="needs selenium: pip install '.[dev]'")
pytest.importorskip("fastapi", reason="needs the service: pip install '.[serve]'")

from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.select import Select

import browsing
import scored_tables as made
from axe import violations
from browsing import Page, start_browser
from tabsa.report import Summary, summarise
from tabsa.report.page import html_page
from tabsa.report.page.chart import LARGE, chart
from tabsa.report.tally import difference

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
    page.quit()


@pytest.fixture
def page(browser: Page) -> Page:
    browser.resize(1280)
    browser.prefer("light")
    browser.driver.get("about:blank")
    browser.driver.get(browser.address)
    return browser


def choose(page: Page, form: str, name: str, text: str) -> None:
    Select(page.one(f"#{form} [name={name}]")).select_by_visible_text(text)


def sentences(page: Page, where: str = "#tellings") -> list[str]:
    return [item.text for item in page.all(f"{where} li") if item.is_displayed()]


def test_nothing_goes_wrong_and_nothing_is_asked_for(page: Page) -> None:
    assert page.driver.get_log("browser") == []
    assert page.all("form[hidden], [data-script][hidden]") == []


def test_a_cell_opens_the_sentences_behind_it(page: Page, summary: Summary) -> None:
    link = page.one("a[data-cell='1 2']")
    link.click()
    target, aspect = summary.targets[1], summary.aspects[2]
    cell = summary.cell(target, aspect)
    assert page.text_of("#behind h3") == f"{target} on {aspect}"
    assert page.text_of("#behind .about").startswith(f"{cell.tally.positive} of {cell.tally.judged} positive: ")
    shown = [quote.text for quote in page.all("#behind blockquote")]
    assert shown == [one.sentence for one in cell.telling]
    assert link.get_attribute("aria-expanded") == "true"
    assert page.run("return document.activeElement.tagName") == "H3"
    page.press(Keys.ESCAPE)
    assert not page.one("#behind").is_displayed()
    assert page.run("return document.activeElement.dataset.cell") == "1 2"


def test_a_cell_opens_by_keyboard_and_leads_to_the_list(page: Page, summary: Summary) -> None:
    page.run("document.querySelector(\"a[data-cell='0 0']\").focus()")
    page.press(Keys.SPACE)
    assert page.one("#behind").is_displayed()
    page.one("#behind a").click()
    browsing.until(lambda: Select(page.one("#filter [name=target]")).first_selected_option.text == summary.targets[0])
    told = summary.cell(summary.targets[0], summary.aspects[0]).telling
    browsing.until(lambda: len(sentences(page)) == len(told))


def test_the_filter(page: Page, summary: Summary) -> None:
    every = [one for cell in summary.cells.values() for one in cell.telling]
    assert len(sentences(page)) == 40
    assert page.text_of("#matches") == f"The first 40 of {len(every)} sentences"
    page.one("#more").click()
    assert len(sentences(page)) == min(80, len(every))
    choose(page, "filter", "polarity", "negative")
    choose(page, "filter", "aspect", "price")
    fitting = [one for one in every if one.polarity == "negative" and one.aspect == "price"]
    assert len(sentences(page)) == len(fitting)
    assert page.text_of("#matches") == f"{len(fitting)} of {len(every)} sentences fit"
    page.one("#filter [name=word]").send_keys("zürich")
    assert len(sentences(page)) == len([one for one in fitting if "Zürich" in one.sentence])
    page.one("#filter button").click()
    browsing.until(lambda: len(sentences(page)) == 40)


def test_two_others_are_compared(page: Page, summary: Summary) -> None:
    before = page.one("table.contrast tbody").get_attribute("innerHTML")
    choose(page, "pair", "first", summary.targets[2])
    choose(page, "pair", "second", summary.targets[3])
    heads = [head.text for head in page.all("table.contrast thead th")]
    assert heads == ["aspect", summary.targets[2], summary.targets[3], "difference", "seen better"]
    for place, aspect in enumerate(summary.aspects):
        one, other = (summary.cell(target, aspect).tally for target in summary.targets[2:4])
        cells = [cell.text for cell in page.all(f"table.contrast tbody tr:nth-child({place + 1}) td")]
        apart, low, high = difference(one, other)
        numbers = [float(n.replace("−", "-")) for n in re.findall(r"[+−]?\d+\.\d", cells[2])]
        assert numbers == pytest.approx([100 * apart, 100 * low, 100 * high], abs=0.051)
        assert f"{one.positive} of {one.judged}" in cells[0]
        expected = "cannot tell" if low <= 0 <= high else summary.targets[2 if apart > 0 else 3]
        assert cells[3] == expected
    # What the script draws for the first two is what was there before it.
    choose(page, "pair", "first", summary.targets[0])
    choose(page, "pair", "second", summary.targets[1])
    shown = page.one("table.contrast tbody").get_attribute("innerHTML")
    assert plain(shown) == plain(before)


def plain(markup: str) -> str:
    return re.sub(r"\s+", " ", re.sub(r"<[^>]*>", " ", markup)).strip()


DRAWN = "return [...document.querySelectorAll('#trend .band, #trend .line')].map((path) => path.getAttribute('d'))"


def test_a_trend_is_drawn_as_the_page_was(page: Page, summary: Summary) -> None:
    times = summary.times
    for target in (summary.targets[1], "all targets"):
        choose(page, "when", "target", target)
        choose(page, "when", "aspect", summary.aspects[0])
        chosen = None if target == "all targets" else target
        series = times.series(chosen, summary.aspects[0])
        expected = re.findall(r'class="(band|line)" d="([^"]*)"', chart(series, times.ticks, LARGE))
        drawn = page.run(DRAWN)
        assert [numbers(d) for d in drawn] == [pytest.approx(numbers(d), abs=0.11) for _, d in expected]
        assert len(page.all("#trend rect")) == sum(tally.n > 0 for tally in series)
        assert page.text_of("#time figcaption") == f"{target} on {summary.aspects[0]}"
        rows = page.run(
            "return [...document.querySelectorAll('table.trend tbody tr')].map((r) => r.cells[1].textContent)"
        )
        assert [int(n) for n in rows] == [tally.n for tally in series]


def numbers(path: str) -> list[float]:
    return [float(number) for number in re.findall(r"[\d.]+", path)]


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 390])
def test_axe_finds_nothing_and_nothing_sticks_out(page: Page, scheme: str, width: int) -> None:
    page.resize(width)
    page.prefer(scheme)
    page.driver.get(page.address)
    assert violations(page.driver) == []
    page.run("document.querySelector('a[data-cell]').click(); document.querySelector('details').open = true")
    assert violations(page.driver) == []
    wide, window = page.width()
    assert wide <= window
    ground = page.run("return getComputedStyle(document.body).backgroundColor")
    assert (sum(map(int, re.findall(r"\d+", ground))) < 150) == (scheme == "dark")


def test_without_a_script_all_is_there(browser: Page, summary: Summary) -> None:
    browser.cdp("Emulation.setScriptExecutionDisabled", {"value": True})
    try:
        browser.driver.get("about:blank")
        browser.driver.get(browser.address)
        source = html_page(summary)
        assert source.count("<li id=") + source.count("<li data-target") == len(browser.all("#tellings li"))
        assert browser.one("table.heat").is_displayed()
        assert browser.one("table.contrast").is_displayed()
        assert not browser.one("#filter").is_displayed()
        first = browser.one("a[data-cell='0 1']").get_attribute("href")
        assert len(browser.all(f"li#{first.rpartition('#')[2]}")) == 1
    finally:
        browser.cdp("Emulation.setScriptExecutionDisabled", {"value": False})


def test_it_prints_on_white_even_at_night(page: Page) -> None:
    page.prefer("dark")
    printed = page.cdp("Page.printToPDF", {"preferCSSPageSize": True, "printBackground": True})
    assert base64.b64decode(printed["data"]).startswith(b"%PDF")
    media = {"media": "print", "features": [{"name": "prefers-color-scheme", "value": "dark"}]}
    page.cdp("Emulation.setEmulatedMedia", media)
    ink = page.run("return getComputedStyle(document.body).color")
    page.cdp("Emulation.setEmulatedMedia", {"media": "", "features": []})
    assert sum(map(int, re.findall(r"\d+", ink))) < 150
