"""A real browser on the page, and the service behind it: what the tests of the page share."""

import base64
import json
import shutil
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import urlencode, urlsplit

from selenium import webdriver
from selenium.common.exceptions import StaleElementReferenceException, WebDriverException
from selenium.webdriver import ActionChains
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.remote.webelement import WebElement

from tabsa.serve.app import create_app
from tabsa.serve.settings import Settings

T = TypeVar("T")
CHROMIUM = next((path for path in map(shutil.which, ("chromium", "chromium-browser", "google-chrome")) if path), None)
DRIVER = shutil.which("chromedriver")
PATIENCE = 10  # seconds


@contextmanager
def running(settings: Settings) -> Iterator[str]:
    """The service in a thread, on a port of its own; its address."""
    import uvicorn

    with socket.create_server(("127.0.0.1", 0)) as listener:
        server = uvicorn.Server(uvicorn.Config(create_app(replace(settings, threads=1)), log_level="error", ws="none"))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
        thread.start()
        until(lambda: server.started)
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        server.should_exit = True
        thread.join(PATIENCE)


def until(check: Callable[[], T], patience: float = PATIENCE) -> T:
    """What `check` gives once it is true; elements that are drawn again meanwhile are looked for again."""
    end = time.monotonic() + patience
    while True:
        try:
            if found := check():
                return found
            problem: object = found
        except (AssertionError, IndexError, StaleElementReferenceException) as e:
            problem = e
        if time.monotonic() > end:
            raise AssertionError(f"waited {patience} s in vain: {problem}")
        time.sleep(0.02)


def start_browser(downloads: Path) -> webdriver.Chrome:
    """Headless Chromium without motion; what it downloads goes to a folder."""
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

    def __init__(self, driver: webdriver.Chrome, address: str) -> None:
        self.driver, self.address = driver, address
        self.run, self.cdp = driver.execute_script, driver.execute_cdp_cmd

    # ---- what a person does

    def open(self, *fields: tuple[str, str], fragment: str = "") -> None:
        """Load the page anew, perhaps with a view in its address, and wait until it is ready to be used."""
        self.driver.get("about:blank")
        given = fragment or urlencode(fields)
        self.driver.get(f"{self.address}/#{given}" if given else f"{self.address}/")
        until(lambda: self.all("#aspects input"))

    def resize(self, width: int, height: int = 860, scale: float = 1) -> None:
        """Another window, a phone's too."""
        metrics = {"width": width, "height": height, "deviceScaleFactor": scale, "mobile": width < 600}
        self.cdp("Emulation.setDeviceMetricsOverride", metrics)

    def prefer(self, scheme: str) -> None:
        """What the system says: light or dark."""
        self.cdp("Emulation.setEmulatedMedia", {"features": [{"name": "prefers-color-scheme", "value": scheme}]})

    def write(self, text: str) -> None:
        """Put a text in the box, as one that is pasted (the driver cannot type emoji)."""
        self.one("#text").click()
        self.one("#text").send_keys(Keys.CONTROL, "a")
        self.cdp("Input.insertText", {"text": text})

    def add_target(self, *names: str) -> None:
        """Type names into the field for them."""
        for name in names:
            self.one("#add-target").send_keys(name, Keys.ENTER)

    def ask(self, text: str, *targets: str) -> None:
        """A text and its targets, with the answer."""
        self.write(text)
        self.add_target(*targets)
        self.answered(*targets)

    def choose(self, target: str, aspect: str) -> None:
        """Click a cell."""
        self.cell(target, aspect).click()
        until(lambda: self.one("#words"))

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

    def grid(self) -> dict[tuple[str, str], tuple[str, int | None]]:
        """What each pair's cell says and its percentage, by the table's own headings, whichever way round it is."""
        found = {}
        for heads, words, percent in self.run(_GRID):
            target, aspect = heads
            found[target, aspect] = (words, None if percent is None else int(percent.rstrip("%")))
        return found

    def open_memory(self) -> None:
        """Unfold what the memory kept."""
        self.run("arguments[0].open = true", until(lambda: self.one("#memory")))

    def weighed(self) -> dict[str, float]:
        """The words of the text that have a weight in the chosen answer; of those that stand twice the last."""
        return dict(self.run(_WEIGHED))

    def explained(self) -> dict[str, float]:
        """The same, once the service has told."""
        return until(self.weighed)

    def words(self) -> list[tuple[str, float]]:
        """What the gates shade, and how far: the share of their colour in a word's ground, from 0 to 1."""
        return [(word, shade) for word, shade in self.run(_SHADES)]

    def width(self) -> tuple[int, int]:
        """Of the document and of the window."""
        wide, window = self.run("return [document.documentElement.scrollWidth, document.documentElement.clientWidth]")
        return wide, window

    def screenshot(self, path: Path) -> None:
        """The whole page, as a picture."""
        width, height = self.run("return [innerWidth, document.documentElement.scrollHeight]")
        clip = {"x": 0, "y": 0, "width": width, "height": height, "scale": 1}
        shot = self.cdp("Page.captureScreenshot", {"captureBeyondViewport": True, "clip": clip})
        path.write_bytes(base64.b64decode(shot["data"]))

    def brightness(self, png: bytes) -> float:
        """The mean of a picture's pixels, from 0 to 1, as the browser draws it."""
        return float(self.driver.execute_async_script(_BRIGHTNESS, base64.b64encode(png).decode()))

    # ---- what a person does not see

    def module(self, script: str, *arguments: object) -> Any:
        """Run a script with the page's modules at hand: `text`, `gates`, `table`, `fitting`."""
        script = _MODULES.replace("SCRIPT", script)
        answer = self.driver.execute_async_script(script, *arguments)
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

    def quit(self) -> None:
        """Close the browser."""
        with suppress(WebDriverException):  # it may be gone already
            self.driver.quit()


_MODULES = """
const given = [...arguments];
const done = given.pop();
(async () => {
  const names = ["text", "gates", "table", "fitting"];
  const [text, gates, table, fitting] = await Promise.all(names.map((name) => import(`/static/${name}.js`)));
  SCRIPT
})().then(done, (error) => done({ failed: String(error) }));
"""
_BRIGHTNESS = """
const [coded, done] = arguments;
const image = new Image();
image.onload = () => {
  const canvas = Object.assign(document.createElement("canvas"), { width: image.width, height: image.height });
  const context = canvas.getContext("2d");
  context.drawImage(image, 0, 0);
  const { data } = context.getImageData(0, 0, image.width, image.height);
  let sum = 0;
  for (let place = 0; place < data.length; place += 4) sum += data[place] + data[place + 1] + data[place + 2];
  done(sum / (0.75 * data.length * 255));
};
image.onerror = () => done(-1);
image.src = `data:image/png;base64,${coded}`;
"""
_TEXTS = "return [...document.querySelectorAll(arguments[0])].map((element) => element.textContent)"
_GRID = """
const table = document.querySelector(".grid");
if (!table) return [];
const name = (heading) => (heading.querySelector("bdi") ?? heading).textContent;
const columns = [...table.querySelectorAll("thead th[scope=col]")].map(name);
return [...table.querySelectorAll("tbody tr")].flatMap((row) => {
  const heading = row.querySelector("th[scope=row]");
  return [...row.querySelectorAll("td")].map((cell, place) => {
    const heads = [name(heading), columns[place]];
    if (!heading.classList.contains("target")) heads.reverse();
    return [heads, cell.querySelector(".word").textContent, cell.querySelector(".percent")?.textContent ?? null];
  });
});
"""
_WEIGHED = """
return [...document.querySelectorAll("#words [data-weight]")].map((word) => [word.textContent, +word.dataset.weight]);
"""
COLOURS = """
function parts(colour) {
  const numbers = colour.match(/[\\d.]+(e-?\\d+)?/g).map(Number);
  const most = colour.startsWith("color(") ? 1 : 255;
  return [...numbers.slice(0, 3).map((n) => n / most), numbers[3] ?? 1];
}
"""
_SHADES = f"""
{COLOURS}
const probe = document.querySelector("#why").appendChild(document.createElement("span"));
const colour = (name) => {{ probe.style.color = `var(${{name}})`; return parts(getComputedStyle(probe).color); }};
const [full, none] = [colour("--gate"), colour("--panel")];
probe.remove();
return [...document.querySelectorAll("#gate-words .shaded")].map((word) => {{
  const ground = parts(getComputedStyle(word).backgroundColor);
  const shares = [0, 1, 2].map((n) => (ground[n] - none[n]) / (full[n] - none[n]));
  if (Math.max(...shares) - Math.min(...shares) > 0.05) throw new Error(`not a shade of the gates: ${{shares}}`);
  return [word.textContent, shares.reduce((a, b) => a + b) / 3];
}});
"""
CONTRASTS = f"""
{COLOURS}
const over = ([r, g, b, a], ground) => [r, g, b].map((n, place) => n * a + ground[place] * (1 - a));
function groundOf(element) {{
  const found = parts(getComputedStyle(element).backgroundColor);
  if (found[3] === 1 || !element.parentElement) return found.slice(0, 3);
  return over(found, groundOf(element.parentElement));
}}
const light = (colour) => {{
  const [r, g, b] = colour.map((n) => (n <= 0.04045 ? n / 12.92 : ((n + 0.055) / 1.055) ** 2.4));
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}};
const seen = (element) => element.checkVisibility({{ opacityProperty: true, visibilityProperty: true }}) &&
  !element.closest(".unseen, .behind") && element.getBoundingClientRect().width > 2;
return [...document.querySelectorAll("body *")].filter((element) =>
  [...element.childNodes].some((node) => node.nodeType === 3 && node.data.trim()) && seen(element)).map((element) => {{
  const style = getComputedStyle(element);
  const ground = groundOf(element);
  const [high, low] = [light(over(parts(style.color), ground)), light(ground)].sort((a, b) => b - a);
  const size = parseFloat(style.fontSize);
  const large = size >= 24 || (size >= 18.66 && style.fontWeight >= 700);
  const told = `${{element.className || element.id || element.tagName}}: ${{element.textContent.slice(0, 30)}}`;
  return [(high + 0.05) / (low + 0.05), large ? 3 : 4.5, told];
}});
"""
