"""The whole way round: a text typed on the page, answers corrected there, and a model that has learnt from it."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import tabsa
from browsing import Page, open_browser, until
from tabsa.serve.settings import Settings

pytestmark = pytest.mark.browser

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
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The service's file of corrections."""
    return tmp_path_factory.mktemp("corrections") / "corrections.jsonl"


@pytest.fixture(scope="module")
def page(file: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    """The page as it comes, with the model in the box, of a service that has a file of corrections."""
    with open_browser(Settings(corrections=str(file)), tmp_path_factory.mktemp("downloads")) as page:
        page.fresh()
        yield page
        page.check()


@pytest.fixture(scope="module")
def corrections(page: Page) -> list[dict[str, Any]]:
    """Two answers that are said to be wrong: they are negative, or where the model says so, positive."""
    page.add("aspect", *ASPECTS)
    page.one("#text").send_keys(TEXT)
    page.add("target", "Zorbo 5", "Nokia")
    page.answered("Zorbo 5", "Nokia")
    until(lambda: {aspect for _, aspect in page.grid()} == set(ASPECTS))
    made = []
    for target, aspect in (("Zorbo 5", "comfort"), ("Nokia", "price")):
        word = page.grid()[target, aspect][0]
        right = "positive" if word == "negative" else "negative"
        page.correct(target, aspect, right)
        answer = {"text": TEXT, "target": target, "aspect": aspect, "polarity": right, "asked_only": True}
        made.append(answer | {"said": word.replace("silent", "none")})
    return made


def test_corrections_outlive_the_page_and_are_in_the_file(
    page: Page, corrections: list[dict[str, Any]], file: Path, command_line: CommandLine
) -> None:
    until(lambda: "of=Nokia" in page.run("return location.hash"))
    page.driver.refresh()
    page.answered("Zorbo 5", "Nokia")
    assert len(page.all(".cell.corrected")) == 2
    until(lambda: file.read_bytes().count(b"\n") == 2)
    page.click("#corrections [data-key=Download]")
    assert page.downloaded("corrections.jsonl").encode() == file.read_bytes()
    lines = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
    assert [{name: line[name] for name in one} for line, one in zip(lines, corrections, strict=True)] == corrections
    assert {line["model"] for line in lines} == {"reader"}
    code, printed, _ = command_line("data", "check", file, "--json")
    found = json.loads(printed)
    assert (code, found["rows"], found["texts"], found["pairs"]) == (0, 2, 1, 2)
    assert {finding["code"] for finding in found["findings"]} <= {"rare_aspect", "rare_polarity", "one_polarity"}


def test_a_model_that_learns_from_them_gives_the_right_answers(
    corrections: list[dict[str, Any]], file: Path, tmp_path: Path
) -> None:
    pytest.importorskip("torch", reason="needs PyTorch: pip install 'tabsa[train]'")
    until(lambda: file.read_bytes().count(b"\n") == 2)
    comfort, price = corrections
    more = [{**comfort, "text": text} for text in OTHERS]
    more += [{**price, "text": f"The Nokia went {text}"} for text in ("home", "there", "on", "by", "up", "down")]
    data = tmp_path / "corrections.jsonl"
    lines = "".join(json.dumps(line) + "\n" for line in more)
    data.write_text(file.read_text(encoding="utf-8") + lines, encoding="utf-8")
    model = tabsa.train(data, out=tmp_path / "mine", base="reader")
    found = {(o.target, o.aspect): o.polarity for o in model.predict(TEXT, ["Zorbo 5", "Nokia"], ASPECTS).opinions}
    assert [found[one["target"], one["aspect"]] for one in corrections] == [one["polarity"] for one in corrections]
