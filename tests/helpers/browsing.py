"""A real browser on the page, and the service behind it: what the tests of the page share."""

import base64
import json
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import urlencode, urlsplit

import pytest

pytest.importorskip("fastapi", reason="needs the service: pip install '.[serve]'")
pytest.importorskip("selenium", reason="needs selenium: pip install '.[dev]'")

from selenium import webdriver
from selenium.common.exceptions import StaleElementReferenceException, WebDriverException
from selenium.webdriver import ActionChains
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.remote.webelement import WebElement

from service_client import serving
from tabsa.serve.settings import Settings

T = TypeVar("T")
CHROMIUM = next((path for path in map(shutil.which, ("chromium", "chromium-browser", "google-chrome")) if path), None)
DRIVER = shutil.which("chromedriver")
PATIENCE = 20  # seconds after which a test has failed


@contextmanager
def open_browser(settings: Settings, downloads: Path) -> Iterator["Page"]:
    """The page of a service in a browser; what it downloads goes to a folder. Skips the test where there is none."""
    if CHROMIUM is None or DRIVER is None:
        pytest.skip("needs a browser: apt-get install chromium chromium-driver")
    page = Page(start_browser(downloads), "", downloads)
    with page.at(settings):
        yield page
    with suppress(WebDriverException):  # it may be gone already
        page.driver.quit()


def until(check: Callable[[], T], patience: float = PATIENCE) -> T:
    """What `check` gives once it is true; elements that are drawn again meanwhile are looked for again."""
    end = time.monotonic() + patience
    while True:
        try:
            if found := check():
                return found
            problem: object = found
        except (AssertionError, IndexError, StopIteration, StaleElementReferenceException) as e:
            problem = e
        if time.monotonic() > end:
            raise AssertionError(f"waited {patience} s in vain: {problem}")
        time.sleep(0.02)


def start_browser(downloads: Path) -> webdriver.Chrome:
    """Headless Chromium without motion."""
    options = webdriver.ChromeOptions()
    options.binary_location = CHROMIUM or ""
    for argument in ("--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--force-prefers-reduced-motion"):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    driver = webdriver.Chrome(options, Service(DRIVER))
    driver.execute_cdp_cmd("Browser.setDownloadBehavior", {"behavior": "allow", "downloadPath": str(downloads)})
    return driver


class Page:
    """The page in a browser, as a person has it."""

    def __init__(self, driver: webdriver.Chrome, address: str, downloads: Path = Path()) -> None:
        self.driver, self.address, self.downloads = driver, address, downloads
        self.run, self.cdp = driver.execute_script, driver.execute_cdp_cmd

    @contextmanager
    def at(self, settings: Settings) -> Iterator[None]:
        """Be the page of this service for a while."""
        before = self.address
        with serving(replace(settings, threads=1)) as (place, _):
            self.address = f"http://127.0.0.1:{place[1]}"
            yield
            self.errors()
            self.requests()
            self.driver.get("about:blank")
        self.address = before

    # ---- what a person does

    def fresh(self, width: int = 1280, scheme: str = "light") -> None:
        """An empty page in a window of this width, in a browser that remembers nothing."""
        self.resize(width)
        self.prefer(scheme)
        self.driver.get(f"{self.address}/healthz")
        self.run("localStorage.clear(); sessionStorage.clear()")
        self.open()
        self.errors()
        self.requests()

    def open(self, *fields: tuple[str, str], fragment: str = "") -> None:
        """Load the page anew, perhaps with a view in its address, and wait until it is ready to be used."""
        self.driver.get("about:blank")
        given = fragment or urlencode(fields)
        self.driver.get(f"{self.address}/#{given}" if given else f"{self.address}/")
        until(lambda: self.texts_of("#model") != [""])

    def ask(self, text: str, *targets: str, aspects: str = "", of: str = "", on: str = "") -> None:
        """Open the page with a question, perhaps with a cell chosen, and wait for the answer."""
        more = [(name, value) for name, value in (("aspects", aspects), ("of", of), ("on", on)) if value]
        self.open(("text", text), *(("target", name) for name in targets), *more)
        self.answered(*(name.split("=")[0] for name in targets))

    def resize(self, width: int, height: int = 844, scale: float = 1) -> None:
        """Another window, a phone's too."""
        metrics = {"width": width, "height": height, "deviceScaleFactor": scale, "mobile": width < 600}
        self.cdp("Emulation.setDeviceMetricsOverride", metrics)
        self.cdp("Emulation.setTouchEmulationEnabled", {"enabled": width < 600})

    def prefer(self, scheme: str) -> None:
        """What the system says: light or dark."""
        self.cdp("Emulation.setEmulatedMedia", {"features": [{"name": "prefers-color-scheme", "value": scheme}]})

    def paste(self, text: str) -> None:
        """Put a text in the box at once."""
        self.one("#text").click()
        self.one("#text").send_keys(Keys.CONTROL, "a")
        self.cdp("Input.insertText", {"text": text})

    def add(self, noun: str, *names: str) -> None:
        """Type names of targets or aspects into the field for them."""
        for name in names:
            self.one(f"#add-{noun}").send_keys(name, Keys.ENTER)

    def click(self, selector: str) -> None:
        """Click the first that fits, wherever it is scrolled to."""
        self.run("arguments[0].click()", until(lambda: self.one(selector)))

    def choose(self, target: str, aspect: str) -> None:
        """Click a cell."""
        self.run("arguments[0].click()", self.cell(target, aspect))

    def correct(self, target: str, aspect: str, label: str) -> None:
        """Choose a cell twice, and then what is right."""
        if self.cell(target, aspect).get_attribute("aria-current") is None:
            self.choose(target, aspect)
        self.choose(target, aspect)
        self.click(f"#menu [data-label={label}]")

    def tab_to(self, wanted: str, most: int = 60) -> WebElement:
        """Press Tab until an element has the focus."""
        for _ in range(most):
            self.press(Keys.TAB)
            focused = self.driver.switch_to.active_element
            if self.run("return arguments[0].matches(arguments[1])", focused, wanted):
                return focused
        raise AssertionError(f"{most} times Tab did not reach {wanted}")

    def press(self, key: str, *held: str) -> None:
        """Press a key, wherever the focus is, while others are held."""
        actions = ActionChains(self.driver)
        for other in held:
            actions.key_down(other)
        actions.send_keys(key)
        for other in held:
            actions.key_up(other)
        actions.perform()

    # ---- what a person sees

    def one(self, selector: str) -> WebElement:
        """The first that fits; an AssertionError where none does."""
        found = self.all(selector)
        assert found, f"nothing fits {selector}"
        return found[0]

    def all(self, selector: str) -> list[WebElement]:
        return self.driver.find_elements(By.CSS_SELECTOR, selector)

    def text_of(self, selector: str) -> str:
        """As it is shown."""
        return self.one(selector).text

    def texts_of(self, selector: str) -> list[str]:
        """What elements hold, shown or not."""
        return [str(text) for text in self.run(_TEXTS, selector)]

    def answered(self, *targets: str) -> None:
        """Wait until the table is about these targets, and the service has nothing left to say."""
        until(lambda: {key[0] for key in self.grid()} == set(targets))
        until(lambda: self.one("#results").get_attribute("aria-busy") == "false")

    def cell(self, target: str, aspect: str) -> WebElement:
        """The button of a pair."""
        key = json.dumps([target, aspect], ensure_ascii=False, separators=(",", ":"))
        return next(cell for cell in self.all(".grid button") if cell.get_attribute("data-key") == key)

    def grid(self) -> dict[tuple[str, str], tuple[str, str]]:
        """What each pair's cell says and how sure it is, by the table's own headings, whichever way round it is."""
        return {(target, aspect): (word, percent) for (target, aspect), word, percent in self.run(_GRID)}

    def weighed(self) -> dict[str, float]:
        """The words of the text that have a weight in the chosen answer, once there are any."""
        return until(lambda: dict(self.run(_WEIGHED)))

    def width(self) -> tuple[int, int]:
        """Of the document and of the window."""
        wide, window = self.run("return [document.documentElement.scrollWidth, document.documentElement.clientWidth]")
        return wide, window

    def downloaded(self, pattern: str) -> str:
        """What a downloaded file holds, once it is there; then it goes."""
        text = until(lambda: "".join(path.read_bytes().decode() for path in self.downloads.glob(pattern)))
        for path in self.downloads.iterdir():
            path.unlink()
        return text

    def screenshot(self, path: Path) -> None:
        """The whole page, as a picture."""
        width, height = self.run("return [innerWidth, document.documentElement.scrollHeight]")
        clip = {"x": 0, "y": 0, "width": width, "height": height, "scale": 1}
        shot = self.cdp("Page.captureScreenshot", {"captureBeyondViewport": True, "clip": clip})
        path.write_bytes(base64.b64decode(shot["data"]))

    # ---- what a person does not see

    def answer_instead(self, path: str, body: object, status: int = 200) -> None:
        """Let the next request to a path be answered by this."""
        self.run(_INSTEAD, path, body if isinstance(body, str) else json.dumps(body), status)

    def module(self, script: str, *arguments: object) -> Any:
        """Run a script with the page's module of texts at hand as `text`."""
        answer = self.driver.execute_async_script(_MODULE.replace("SCRIPT", script), *arguments)
        assert not (isinstance(answer, dict) and "failed" in answer), answer
        return answer

    def errors(self) -> list[str]:
        """What the browser complained of since last asked."""
        return [entry["message"] for entry in self.driver.get_log("browser") if entry["level"] == "SEVERE"]

    def requests(self) -> list[str]:
        """Addresses asked for since last asked."""
        events = (json.loads(entry["message"])["message"] for entry in self.driver.get_log("performance"))
        sent = [event["params"]["request"]["url"] for event in events if event["method"] == "Network.requestWillBeSent"]
        return [url for url in sent if urlsplit(url).scheme not in ("about", "data", "blob", "chrome")]

    def check(self) -> None:
        """Nothing went elsewhere or wrong."""
        assert self.errors() == []
        assert {urlsplit(url).netloc for url in self.requests()} <= {urlsplit(self.address).netloc}


_INSTEAD = """
const [path, body, status] = arguments;
const real = window.fetch;
window.fetch = async (asked, request) => {
  if (!asked.includes(path)) return real(asked, request);
  window.fetch = real;
  return new Response(body, { status, headers: { "Retry-After": "1" } });
};
"""
_MODULE = """
const given = [...arguments];
const done = given.pop();
import("/static/text.js").then((text) => { SCRIPT }).then(done, (error) => done({ failed: String(error) }));
"""
_TEXTS = "return [...document.querySelectorAll(arguments[0])].map((element) => element.textContent)"
_GRID = """
const table = document.querySelector(".grid");
if (!table) return [];
const name = (heading) => heading.querySelector("bdi").textContent;
const columns = [...table.querySelectorAll("thead th")].map(name);
return [...table.querySelectorAll("tbody tr")].flatMap((row) => {
  const heading = row.querySelector("th");
  return [...row.querySelectorAll("td")].map((cell, place) => {
    const heads = [name(heading), columns[place]];
    if (!heading.classList.contains("target")) heads.reverse();
    return [heads, cell.querySelector(".word").textContent, cell.querySelector(".percent").textContent];
  });
});
"""
_WEIGHED = """
return [...document.querySelectorAll("#words [data-weight]")].map((word) => [word.textContent, +word.dataset.weight]);
"""
