"""`-a` and `--aspects`, the same for every command, with a model that takes any words."""

import json

import pytest

from command_line import refused
from open_model import open_model
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


def test_a_list_that_there_is_not(open_model):
    message = "no list of aspects 'phone'; did you mean 'phones'?; a single aspect is given with"
    assert message in refused("predict", PHONE, "-t", "Pixel", "--model", open_model, "--aspects", "phone")
