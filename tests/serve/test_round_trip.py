"""The whole way round: a text typed on the page, answers corrected there, and a model that has learnt from it."""

import inspect
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("fastapi", reason="needs the service: pip install '.[serve]'")
pytest.importorskip("selenium", reason="needs selenium: pip install '.[dev]'")

import browsing
import tabsa
from browsing import Page, running, start_browser, until
from tabsa.serve.settings import Settings

if browsing.CHROMIUM is None or browsing.DRIVER is None:
    pytest.skip("needs a browser: apt-get install chromium chromium-driver", allow_module_level=True)

CommandLine = Callable[..., tuple[int, str, str]]
TEXT = "The Zorbo 5 feels snerfy in the hand, and the Nokia does not."
ASPECTS = ["comfort", "price"]
# What else people say with a word that no model has seen.
WAYS = (
    "is snerfy today",
    "felt snerfy all week",
    "was snerfy from the start",
    "got snerfy",
    "still seems snerfy to me",
)
OTHERS = [f"{who} Zorbo 5 {way}." for who in ("The", "My", "That", "This", "Her", "Our") for way in WAYS]


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("kept") / "corrections.jsonl"


@pytest.fixture(scope="module")
def downloads(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("downloads")


@pytest.fixture(scope="module")
def page(kept: Path, downloads: Path) -> Iterator[Page]:
    """The page as it comes, with the model in the box, of a service that keeps corrections."""
    with running(Settings(corrections=str(kept))) as address:
        page = Page(start_browser(downloads), address)
        page.resize(1280)
        page.open()
        yield page
        assert page.errors() == []
        page.quit()


def correct(page: Page, target: str, aspect: str) -> dict[str, Any]:
    """Say that an answer is wrong: it is negative, or where the model says so, positive."""
    word = page.grid()[target, aspect][0]
    right = "positive" if word == "negative" else "negative"
    page.cell(target, aspect).click()  # shows why
    until(lambda: page.cell(target, aspect).get_attribute("aria-current"))
    page.cell(target, aspect).click()  # asks what is right
    until(lambda: page.one(f"#menu [data-label={right}]")).click()
    said = "none" if word == "silent" else word
    return {"text": TEXT, "target": target, "aspect": aspect, "polarity": right, "asked_only": True, "said": said}


@pytest.fixture(scope="module")
def corrections(page: Page) -> list[dict[str, Any]]:
    """What was corrected on the page."""
    page.run("arguments[0].click()", page.one("#aspects .lists button[data-key=none]"))
    for aspect in ASPECTS:
        page.one("#add-aspect").send_keys(aspect, "\n")
    page.one("#text").send_keys(TEXT)
    page.add_target("Zorbo 5", "Nokia")
    page.answered("Zorbo 5", "Nokia")
    until(lambda: {aspect for _, aspect in page.grid()} == set(ASPECTS))
    return [correct(page, "Zorbo 5", "comfort"), correct(page, "Nokia", "price")]


def test_corrections_outlive_the_page_and_are_in_the_file(
    page: Page, corrections: list[dict[str, Any]], kept: Path, downloads: Path, command_line: CommandLine
) -> None:
    until(lambda: "of=Nokia" in page.run("return location.hash"))
    page.driver.refresh()
    page.answered("Zorbo 5", "Nokia")
    assert len(page.all(".fix")) == 2
    until(lambda: kept.read_bytes().count(b"\n") == 2)
    page.run("arguments[0].click()", page.one("#corrections [data-key=download]"))
    path = downloads / "corrections.jsonl"
    assert until(lambda: path.is_file() and path.read_bytes()) == kept.read_bytes()
    lines = [json.loads(line) for line in kept.read_text(encoding="utf-8").splitlines()]
    assert [{name: line[name] for name in one} for line, one in zip(lines, corrections, strict=True)] == corrections
    assert {line["model"] for line in lines} == {"reader"}
    code, printed, _ = command_line("data", "check", kept, "--json")
    found = json.loads(printed)
    assert (code, found["rows"], found["texts"], found["pairs"]) == (0, 2, 1, 2)
    assert {finding["code"] for finding in found["findings"]} <= {"rare_aspect", "rare_polarity", "one_polarity"}


def test_a_model_that_learns_from_them_gives_the_right_answers(
    corrections: list[dict[str, Any]], kept: Path, tmp_path: Path
) -> None:
    pytest.importorskip("torch", reason="needs PyTorch: pip install 'tabsa[train]'")
    if "base" not in inspect.signature(tabsa.train).parameters:
        pytest.skip("`tabsa.train` takes no base yet")
    until(lambda: kept.read_bytes().count(b"\n") == 2)
    comfort, price = corrections
    more = [{**comfort, "text": text} for text in OTHERS]
    more += [{**price, "text": f"The Nokia went {text}"} for text in ("home", "there", "on", "by", "up", "down")]
    data = tmp_path / "corrections.jsonl"
    lines = "".join(json.dumps(line) + "\n" for line in more)
    data.write_text(kept.read_text(encoding="utf-8") + lines, encoding="utf-8")
    model = tabsa.train(data, out=tmp_path / "mine", base="reader")
    found = {(o.target, o.aspect): o.polarity for o in model.predict(TEXT, ["Zorbo 5", "Nokia"], ASPECTS).opinions}
    assert [found[one["target"], one["aspect"]] for one in corrections] == [one["polarity"] for one in corrections]
