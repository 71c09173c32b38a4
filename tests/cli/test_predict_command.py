"""`tabsa predict` and `tabsa demo`."""

import io
import json
import re
import sys
from pathlib import Path

import pytest

import tabsa
from command_line import refused
from tabsa.cli.options import named_targets
from tabsa.datasets.loading import load as load_data
from tabsa.inference.predictor import load
from tabsa.schema import Target

TEXT = "Camden is not cheap but Brixton is lovely."
DEMO = Path(tabsa.__file__).parent / "datasets" / "files"


@pytest.fixture
def predict(command_line, tiny_model):
    """Runs `tabsa predict` with the tiny model."""
    return lambda *arguments: command_line("predict", "--model", tiny_model, *arguments)


# ---- for programs


def test_json_is_what_the_contract_says(predict, tiny_model):
    code, stdout, stderr = predict(TEXT, "-t", "Camden", "-t", "Brixton", "--json")
    assert (code, stderr) == (0, "")
    content = json.loads(stdout)
    assert content == load(tiny_model).predict(TEXT, ["Camden", "Brixton"]).to_dict()
    assert list(content) == ["text", "opinions"]
    assert [list(opinion) for opinion in content["opinions"]] == [["target", "aspect", "polarity", "probabilities"]] * 8
    assert [list(opinion["probabilities"]) for opinion in content["opinions"]] == [["none", "positive", "negative"]] * 8
    odd = 'Camden "is" [bold]dear[/bold] \\ 東京 😀\n\tnow'
    assert json.loads(predict(odd, "-t", "Camden", "--json")[1])["text"] == odd


def test_aliases_count_as_mentions(predict):
    _, stdout, stderr = predict("NW1 is dear", "-t", "Camden=Camden Town, NW1", "--json")
    assert (stderr, json.loads(stdout)["opinions"][0]["target"]) == ("", "Camden")


@pytest.mark.parametrize(
    ("options", "targets"),
    [
        (["Camden", "Brixton=Brixton Hill,SW2"], {"Camden": [], "Brixton": ["Brixton Hill", "SW2"]}),
        (["Paris, Texas"], {"Paris, Texas": []}),
        (["E\\=mc2=Einstein\\, A., relativity"], {"E=mc2": ["Einstein, A.", "relativity"]}),
        (["A=b=c"], {"A": ["b=c"]}),
        (["A="], {"A": []}),
        (["A\\\\=b"], {"A\\": ["b"]}),
        (["A\\b\\;c"], {"A\\b;c": []}),
    ],
)
def test_how_targets_are_written(options, targets):
    assert named_targets(options) == targets


def test_a_text_may_be_about_what_it_does_not_name(predict, tiny_model):
    model, text = load(tiny_model), "It is not cheap, but it is safe."
    for options, targets in ((["-t", "restaurant"], [Target("restaurant", implied=True)]), ([], None)):
        code, stdout, stderr = predict(text, *options, "--implied", "-a", "price", "--json")
        assert (code, stderr) == (0, "")  # a name is not missed
        assert json.loads(stdout) == model.predict(text, targets, ["price"], implied=True).to_dict()
    shown = predict(text, "--implied", "-a", "price", "--all")[1]
    assert [line.split()[0] for line in shown.splitlines() if "price" in line] == ["it"]


# ---- for people


def test_people_get_a_table(predict, tiny_model):
    code, stdout, stderr = predict(TEXT, "-t", "Camden", "-t", "Brixton")
    assert (code, stderr) == (0, "")
    assert stdout.startswith(TEXT)
    lines = stdout.splitlines()
    for opinion in load(tiny_model).predict(TEXT, ["Camden", "Brixton"]).opinions:
        if opinion.polarity == "none":
            (line,) = (line for line in lines if line.startswith(f"{opinion.target}: silent on "))
            assert opinion.aspect in line
        else:
            shown = [line for line in lines if opinion.aspect in line and opinion.polarity in line.split()]
            assert any(f"{opinion.confidence:.0%}" in line for line in shown)
    assert max(map(len, lines)) <= 80
    every = predict(TEXT, "-t", "Camden", "--all")[1]
    assert all(word in every for word in ("general", "price", "safety", "transit-location", "none"))
    assert "silent" not in every


def test_a_target_the_text_does_not_mention(predict):
    code, stdout, stderr = predict("Nobody is here.", "-t", "Oslo")
    assert code == 0
    assert stderr == "warning: the text does not mention 'Oslo'; give other names for it with -t 'Oslo=ALIAS'\n"
    assert "no opinion found" in stdout
    assert "Oslo: not mentioned in the text, so nothing was read for it" in stdout


def test_markup_and_control_characters_are_only_text(predict):
    _, stdout, _ = predict("Camden [red]is[/red] \x1b[31mdear\x07 :smile:", "-t", "Camden")
    assert stdout.startswith("Camden [red]is[/red] \ufffd[31mdear\ufffd :smile:")


def test_the_model_in_the_box_and_the_words_that_carry_its_answers(command_line):
    question = ("predict", "The Pixel 9 takes nice photos but gets hot.", "-t", "Pixel 9", "-a", "heat", "-a", "price")
    code, stdout, stderr = command_line(*question, "--evidence")
    assert (code, stderr) == (0, "")
    assert "carried by" in stdout
    assert re.search(r"heat .*▼ negative .* hot \+\d\d", stdout)
    assert stdout.endswith("Pixel 9: silent on price\n")
    content = json.loads(command_line(*question, "-e", "--json")[1])
    evidence = content["opinions"][0]["evidence"]
    best = max(evidence["words"], key=lambda word: word["weight"])
    assert content["text"][best["start"] : best["end"]] == "hot"
    plain, int8, float32 = (
        json.loads(command_line(*question, "--json", *more)[1])["opinions"]
        for more in ((), ("--precision", "int8"), ("--precision", "float32"))
    )
    assert "evidence" not in plain[0]
    assert plain == int8 != float32


@pytest.mark.parametrize("options", [("-t", "Camden"), ("--implied",)])
def test_an_explanation_is_written(predict, tmp_path, options):
    page = tmp_path / "why.html"
    code, stdout, stderr = predict(TEXT, *options, "--json", "--explain", page)
    assert (code, json.loads(stdout)["text"], stderr) == (0, TEXT, f"explanation: {page}\n")
    assert "What carries each answer" in page.read_text("utf-8")


# ---- where the text comes from


@pytest.fixture
def typed(monkeypatch):
    """Puts bytes on standard input."""

    def give(content: bytes, *, terminal: bool = False) -> None:
        stream = io.TextIOWrapper(io.BytesIO(content), "utf-8")
        monkeypatch.setattr(stream, "isatty", lambda: terminal, raising=False)
        monkeypatch.setattr(sys, "stdin", stream)

    return give


@pytest.mark.parametrize("argument", [(), ("-",)])
@pytest.mark.parametrize("content", [b"Camden is dear\n", b"\xef\xbb\xbfCamden is dear\r\n", b"Camden is dear"])
def test_standard_input(predict, typed, argument, content):
    typed(content)
    code, stdout, _ = predict(*argument, "-t", "Camden", "--json")
    assert (code, json.loads(stdout)["text"]) == (0, "Camden is dear")


def test_a_terminal_is_not_waited_for(predict, typed):
    typed(b"", terminal=True)
    code, _, stderr = predict("-t", "Camden")
    assert (code, "give a text" in stderr) == (2, True)


# ---- errors


@pytest.mark.parametrize("options", [[], ["=NW1"], [""], ["Camden", "Camden=NW1"]])
def test_targets_that_are_wrong_usage(predict, options):
    code, stdout, stderr = predict(TEXT, *(part for option in options for part in ("-t", option)))
    assert (code, stdout) == (2, "")
    shown = " ".join(stderr.replace("│", " ").split())
    example = 'such as: tabsa predict "Camden is lovely but far too dear" -t Camden; or give --implied, if'
    assert (example in shown) == (not options)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((TEXT, "-t", "Camden", "-a", "noise"), "it knows: general, price, safety, transit-location"),
        ((TEXT, "-t", "Camden", "--aspects", "phones"), "`reader`, the model in the box, takes any words"),
        (("  ", "-t", "Camden"), "the text is empty"),
        ((TEXT, "-t", "Camden", "-t", "camden"), "stands for two targets"),
        (("half \udcff", "-t", "Camden"), "not UTF-8"),
    ],
)
def test_errors_are_one_line(tiny_model, arguments, message):
    assert message in refused("predict", "--model", tiny_model, *arguments)


def test_what_is_not_there_or_cannot_be_written(typed):
    assert "there is no model 'no-such-model'" in refused("predict", TEXT, "-t", "Camden", "--model", "no-such-model")
    page = refused("predict", TEXT, "-t", "Camden", "--model", "none", "--explain", "why.png")
    assert page == "cannot write a page to 'why.png'; expected a name that ends in .html (a browser prints it)"
    assert "ends in .html" in refused("demo", "--model", "no-such", "--out", "demo.txt")
    typed(b"Camden \xff")
    assert refused("predict", "-t", "Camden") == "standard input is not UTF-8 text (byte 7); save it as UTF-8"


# ---- the demo


@pytest.mark.parametrize(
    ("model", "reviews", "ending"),
    [
        ("reader", "demo.jsonl", r"opinion F1 \d\d%, polarity right.*\n.*sarcasm.*\nthe same as a page: {page}\n"),
        ("places", "demo-places.jsonl", r"aspect F1 \d\d%, polarity .*\n.*\nthe words that mattered: {page}\n"),
        ("tiny", "demo-places.jsonl", r"\nOften wrong: .*\nthe words that mattered: {page}\n"),
    ],
)
def test_the_demo(command_line, tiny_model, tmp_path, model, reviews, ending):
    path = tmp_path / "look" / "demo.html"
    code, stdout, stderr = command_line("demo", "--model", tiny_model if model == "tiny" else model, "--out", path)
    assert (code, stderr) == (0, "")
    assert re.search(ending.replace("{page}", re.escape(str(path))) + "$", stdout)
    page, printed = path.read_text("utf-8"), " ".join(stdout.split())
    examples = load_data(str(DEMO / reviews), "all").examples
    assert all(review.text in printed and review.id in printed for review in examples)
    assert page.count("<article") == len(examples)
    assert page.count("<mark") == sum(len(target.mentions) for review in examples for target in review.targets)
    if model == "reader":
        assert "wrong: a person reads Tesco's waiting time as negative" in printed
        assert all(sign in stdout for sign in ("▲ positive", "▼ negative", "○ neutral", "◆ mixed"))
