"""No state of the page breaks a rule of axe-core, in either theme, on a phone either."""

from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("fastapi", reason="needs the service: pip install '.[serve]'")
pytest.importorskip("selenium", reason="needs selenium: pip install '.[dev]'")

import browsing
from axe import violations
from browsing import Page, running, start_browser, until
from tabsa.serve.settings import Settings

if browsing.CHROMIUM is None or browsing.DRIVER is None:
    pytest.skip("needs a browser: apt-get install chromium chromium-driver", allow_module_level=True)

TEXT = "Brixton is cheap and full of great bars, while Hampstead is beautiful, dull and awfully expensive."


LOOKS = [("light", 1280), ("dark", 1280), ("light", 390), ("dark", 390)]


@pytest.fixture(scope="module", params=["places", "reader"])
def browser(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    with running(Settings(model=request.param)) as address:
        page = Page(start_browser(tmp_path_factory.mktemp("downloads")), address)
        yield page
        page.quit()


@pytest.fixture(params=LOOKS, ids=lambda look: f"{look[0]}-{look[1]}")
def page(request: pytest.FixtureRequest, browser: Page) -> Page:
    scheme, width = request.param
    browser.prefer(scheme)
    browser.resize(width)
    browser.open()
    browser.run("localStorage.clear(); sessionStorage.clear()")
    return browser


def test_axe_finds_what_is_wrong(browser: Page, tmp_path: Path) -> None:
    """Were it to find nothing anywhere, the other tests would say nothing."""
    bad = tmp_path / "bad.html"
    bad.write_text('<!doctype html><title>a</title><img src="a.png"><p style="color:#ccc;background:#fff">faint</p>')
    browser.driver.get(bad.as_uri())
    found = "\n".join(violations(browser.driver))
    for rule in ("html-has-lang", "image-alt", "color-contrast"):
        assert rule in found


def test_an_empty_page(page: Page) -> None:
    assert violations(page.driver) == []


def test_a_text_its_answers_a_cell_and_its_menu(page: Page) -> None:
    page.ask(TEXT, "Brixton", "Hampstead")
    assert violations(page.driver) == []
    page.one(".grid button").click()
    until(lambda: page.one("#reading").is_displayed())
    assert violations(page.driver) == []
    page.one(".grid button").click()  # the second time asks what is right
    until(lambda: page.all("[role=menu], .menu"))
    assert violations(page.driver) == []


def test_a_file_before_while_and_after_it_is_scored(page: Page) -> None:
    page.one("#tab-file").click()
    page.one("#example-table").click()
    until(lambda: page.all(".preview"))
    assert violations(page.driver) == []
    page.run(
        """const real = window.fetch;
        window.held = (path, request) => path.includes("jobs")
          ? new Response('{"state": "running", "scored": 3, "rejected": 1, "share": 0.25, "error": null}')
          : real(path, request);
        window.real = real;
        window.fetch = async (path, request) => (window.held ?? real)(path, request);"""
    )
    page.one("#score").click()
    until(lambda: page.text_of("#progress-told") == "3 rows scored, 1 row rejected")
    assert violations(page.driver) == []
    page.run("window.held = null")
    until(lambda: page.all("#job .summary"))
    assert violations(page.driver) == []
    page.one(".heat-cell").click()
    until(lambda: page.all(".behind-rows li"))
    assert violations(page.driver) == []
