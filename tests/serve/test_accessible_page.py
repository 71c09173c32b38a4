"""No state of the page breaks a rule of axe-core, in either theme, on a phone either."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from axe import violations
from browsing import Page, open_browser, until
from tabsa.serve.settings import Settings

pytestmark = pytest.mark.browser

TEXT = "Brixton is cheap and full of great bars, while Hampstead is beautiful, dull and awfully expensive."
LOOKS = [("light", 1280), ("dark", 1280), ("light", 390), ("dark", 390)]


@pytest.fixture(scope="module", params=["places", "reader"])
def browser(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    with open_browser(Settings(model=request.param), tmp_path_factory.mktemp("downloads")) as page:
        yield page


@pytest.fixture(params=LOOKS, ids=lambda look: f"{look[0]}-{look[1]}")
def page(request: pytest.FixtureRequest, browser: Page) -> Page:
    scheme, width = request.param
    browser.fresh(width, scheme)
    return browser


def test_axe_finds_what_is_wrong(browser: Page, tmp_path: Path) -> None:
    """Were it to find nothing anywhere, the other tests would say nothing."""
    bad = tmp_path / "bad.html"
    bad.write_text('<!doctype html><title>a</title><img src="a.png"><p style="color:#ccc;background:#fff">faint</p>')
    browser.driver.get(bad.as_uri())
    found = "\n".join(violations(browser.driver))
    for rule in ("html-has-lang", "image-alt", "color-contrast"):
        assert rule in found


def test_a_text_its_answers_a_cell_and_its_menu(page: Page) -> None:
    assert violations(page.driver) == []
    page.ask(TEXT, "Brixton", "Hampstead", "Leith")
    assert violations(page.driver) == []
    page.choose("Brixton", "price")
    page.weighed()
    page.run("for (const part of document.querySelectorAll('details')) part.open = true")
    page.run("for (const word of document.querySelectorAll('.gate, .for')) word.style.setProperty('--w', 1)")
    assert violations(page.driver) == []
    page.correct("Brixton", "price", "negative")
    page.click("#corrections [data-key=list]")
    page.choose("Brixton", "price")
    until(lambda: page.one("#menu").is_displayed())
    assert violations(page.driver) == []


def test_a_file_before_while_and_after_it_is_scored(page: Page) -> None:
    page.one("#tab-file").click()
    page.click("#example-table")
    until(lambda: page.all(".preview"))
    assert violations(page.driver) == []
    page.answer_instead("v1/score", '{"event": "start", "note": null}\n')
    page.click("#score")
    until(lambda: page.one("#file-problem").is_displayed())
    assert violations(page.driver) == []
    page.click("#score")
    until(lambda: page.one("#scored .done"))
    assert violations(page.driver) == []
