"""`-a` and `--aspects`, the same for every command, with a model that takes any words."""

import json
from pathlib import Path

import pytest

from command_line import CommandLine, refused
from open_model import open_model
from table_rows import text_rows
from tabsa.cli.options import requested_aspects
from tabsa.text.aspects import EVERYDAY, LISTS

__all__ = ["open_model"]  # a fixture
PHONE = "The Pixel has a great battery but a bad camera."
LABELS = ("none", "positive", "negative", "neutral", "mixed")


@pytest.fixture
def ask(command_line, open_model):
    """Runs `tabsa predict` with a model that takes any words; gives the opinions of its JSON."""

    def opinions(*arguments):
        question = ("predict", PHONE, "-t", "Pixel", "--model", open_model, "--json")
        code, stdout, stderr = command_line(*question, *arguments)
        assert (code, stderr) == (0, "")
        return json.loads(stdout)["opinions"]

    return opinions


def test_lists_come_before_single_ones_and_nothing_twice():
    assert requested_aspects(None, None) is None
    assert requested_aspects([], []) is None
    assert requested_aspects(["price, wifi", "price"], ["camera", "wifi"]) == ["price", "wifi", "camera"]
    assert requested_aspects(["places"], ["wifi"]) == [*LISTS["places"], "wifi"]
    assert requested_aspects(None, ["food, drinks"]) == ["food, drinks"]


def test_any_words_lists_and_files(ask, tmp_path):
    assert [one["polarity"] for one in ask("-a", "battery  life", "--aspect", "camera")] == ["mixed", "mixed"]
    (tmp_path / "mine.txt").write_text("# mine\nbattery life\ncamera\n", "utf-8")
    for options, aspects in (
        ((), EVERYDAY),
        (("--aspects", "phones"), LISTS["phones"]),
        (("-a", "battery  life"), ["battery life"]),
        (("--aspects", tmp_path / "mine.txt", "--aspects", "wifi, price"), ["battery life", "camera", "wifi", "price"]),
    ):
        assert [opinion["aspect"] for opinion in ask(*options)] == list(aspects)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--aspects", "phone"), "no list of aspects 'phone'; did you mean 'phones'?; a single aspect is given with"),
        (("--aspects", "no-such.txt"), "no file no-such.txt"),
        (("-a", ""), "the aspect '' has no word in it"),
        (("-a", "x" * 101), "at most 100"),
    ],
)
def test_aspects_that_are_none(open_model, options, message):
    assert message in refused("predict", PHONE, "-t", "Pixel", "--model", open_model, *options)


def test_a_table_is_scored_for_any_words(command_line: CommandLine, open_model: Path, tmp_path: Path) -> None:
    reviews = tmp_path / "reviews.csv"
    reviews.write_text("id,text\n1,The Pixel has a great camera\n2,Pixel: bad battery\n3,Pixel with wifi\n", "utf-8")
    options = ("--model", open_model, "-t", "Pixel", "-a", "battery life", "--aspects", "camera,wifi")
    assert command_line("score", reviews, tmp_path / "wide.csv", *options, "--probabilities")[0] == 0
    rows = list(text_rows(tmp_path / "wide.csv"))
    assert [row["Pixel/battery life"] for row in rows] == ["none", "negative", "none"]
    assert [row["Pixel/wifi"] for row in rows] == ["none", "none", "neutral"]
    assert list(rows[0])[2:8] == ["Pixel/camera", *(f"Pixel/camera/{label}" for label in LABELS)]
    assert command_line("score", reviews, tmp_path / "long.csv", *options, "--layout", "long")[0] == 0
    assert [(row["aspect"], row["polarity"]) for row in text_rows(tmp_path / "long.csv")] == [
        ("camera", "positive"),
        ("battery life", "negative"),
        ("wifi", "neutral"),
    ]


def test_a_dataset_is_asked_its_own_aspects(command_line: CommandLine, open_model: Path, tmp_path: Path) -> None:
    examples = [
        {"text": "Pixel has a great camera", "targets": ["Pixel"], "aspects": ["camera", "wifi"]}
        | {"opinions": [{"target": "Pixel", "aspect": "camera", "polarity": "positive"}]},
        {"text": "Nokia: bad price", "targets": ["Nokia"], "aspects": ["price"]}
        | {"opinions": [{"target": "Nokia", "aspect": "price", "polarity": "negative"}]},
    ]
    path = tmp_path / "own.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in examples), "utf-8")
    evaluate = ("evaluate", open_model, "--data", path, "--split", "all", "--bootstrap", 0)
    code, stdout, stderr = command_line(*evaluate, "--json")
    assert (code, stderr) == (0, "")
    report = json.loads(stdout)
    assert report["questions"]["opinion_f1"] == report["questions"]["polarity_accuracy"] == 1
    assert report["counts"]["rows"] == 3
    assert list(report["aspects"]) == ["camera", "wifi", "price"]
    assert list(json.loads(command_line(*evaluate, "-a", "price", "--json")[1])["aspects"]) == ["price"]
    shown = command_line(*evaluate)[1]
    assert "3 questions, 2 opinions" in shown
    assert "F1 of opinions, with their polarity" in shown
