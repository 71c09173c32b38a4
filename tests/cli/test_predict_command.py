import io
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tabsa.cli.options import named_targets
from tabsa.inference.predictor import load
from tabsa.schema import Target

TEXT = "Camden is not cheap but Brixton is lovely."


@pytest.fixture
def predict(command_line, tiny_model):
    """Runs `tabsa predict` with the tiny model."""
    return lambda *arguments: command_line("predict", "--model", tiny_model, *arguments)


@pytest.fixture
def typed(monkeypatch):
    """Puts bytes on standard input."""

    def give(content: bytes, *, terminal: bool = False) -> None:
        stream = io.TextIOWrapper(io.BytesIO(content), "utf-8")
        monkeypatch.setattr(stream, "isatty", lambda: terminal, raising=False)
        monkeypatch.setattr(sys, "stdin", stream)

    return give


# ---- for programs


def test_json_is_what_the_contract_says(predict, tiny_model):
    code, stdout, stderr = predict(TEXT, "-t", "Camden", "-t", "Brixton", "--json")
    assert (code, stderr) == (0, "")
    content = json.loads(stdout)
    assert content == load(tiny_model).predict(TEXT, ["Camden", "Brixton"]).to_dict()
    assert list(content) == ["text", "opinions"]
    assert [list(opinion) for opinion in content["opinions"]] == [["target", "aspect", "polarity", "probabilities"]] * 8
    assert [list(opinion["probabilities"]) for opinion in content["opinions"]] == [["none", "positive", "negative"]] * 8


def test_aspects_can_be_chosen(predict):
    _, stdout, _ = predict(TEXT, "-t", "Camden", "-a", "safety", "--aspect", "price", "--json")
    assert [opinion["aspect"] for opinion in json.loads(stdout)["opinions"]] == ["safety", "price"]


def test_json_holds_any_text(predict):
    text = 'Camden "is" [bold]dear[/bold] \\ 東京 😀\n\tnow'
    _, stdout, _ = predict(text, "-t", "Camden", "--json")
    assert json.loads(stdout)["text"] == text


# ---- for people


def test_people_get_a_table(predict, tiny_model):
    code, stdout, stderr = predict(TEXT, "-t", "Camden", "-t", "Brixton")
    assert (code, stderr) == (0, "")
    assert stdout.startswith(TEXT)
    lines = stdout.splitlines()
    for opinion in load(tiny_model).predict(TEXT, ["Camden", "Brixton"]).opinions:
        shown = [line for line in lines if opinion.aspect in line and opinion.polarity in line.split()]
        if opinion.polarity == "none":
            assert not [line for line in lines if "none" in line]
            (line,) = (line for line in lines if line.startswith(f"{opinion.target}: silent on "))
            assert opinion.aspect in line
        else:
            assert any(f"{opinion.confidence:.0%}" in line for line in shown)
    assert max(map(len, lines)) <= 80


def test_all_shows_the_silent_pairs_too(predict):
    _, stdout, _ = predict(TEXT, "-t", "Camden", "--all")
    assert [aspect in stdout for aspect in ("general", "price", "safety", "transit-location")] == [True] * 4
    assert "none" in stdout
    assert "silent" not in stdout


def test_a_target_the_text_does_not_mention_is_told_on_stderr(predict):
    code, stdout, stderr = predict(TEXT, "-t", "Camden", "-t", "Oslo")
    assert code == 0
    assert stderr == "warning: the text does not mention 'Oslo'; give other names for it with -t 'Oslo=ALIAS'\n"
    assert "Oslo: not mentioned in the text" in stdout


def test_a_text_may_be_about_what_it_does_not_name(predict, tiny_model):
    model, text = load(tiny_model), "Not cheap, but safe."
    code, stdout, stderr = predict(text, "-t", "restaurant", "--implied", "--json")
    assert (code, stderr) == (0, "")  # nobody is told that the name is missing
    assert json.loads(stdout) == model.predict(text, [Target("restaurant", implied=True)]).to_dict()
    code, stdout, stderr = predict(TEXT, "-t", "Camden", "-t", "Oslo", "--implied", "--json")
    assert (code, stderr) == (0, "")
    assert json.loads(stdout) == model.predict(TEXT, ["Camden", "Oslo"], implied=True).to_dict()
    assert "not mentioned" not in predict(text, "-t", "restaurant", "--implied")[1]


def test_without_a_name_it_is_null_and_for_people_it(predict, tiny_model):
    text = "It is not cheap, but it is safe."
    code, stdout, stderr = predict(text, "--implied", "-a", "price", "--json")
    assert (code, stderr) == (0, "")
    model = load(tiny_model)
    expected = model.predict(text, [Target("it", implied=True)], ["price"])
    (opinion,) = json.loads(stdout)["opinions"]
    assert opinion == {**expected.to_dict()["opinions"][0], "target": None}
    assert model.predict(text, aspects=["price"], implied=True).to_dict()["opinions"] == [opinion]
    assert opinion["probabilities"] != model.predict(text, ["it"], ["price"]).opinions[0].probabilities
    shown = predict(text, "--implied", "-a", "price", "--all")[1]
    assert [line.split()[0] for line in shown.splitlines() if "price" in line] == ["it"]


def test_what_is_implied_can_be_explained(predict, tmp_path):
    code, _, stderr = predict("Not cheap, but safe.", "--implied", "--explain", tmp_path / "why.html")
    assert (code, stderr) == (0, f"explanation: {tmp_path / 'why.html'}\n")


def test_no_opinion_is_said(predict):
    _, stdout, _ = predict("Nobody is here.", "-t", "Oslo")
    assert "no opinion found" in stdout


def test_markup_and_control_characters_are_only_text(predict):
    _, stdout, _ = predict("Camden [red]is[/red] \x1b[31mdear\x07 :smile:", "-t", "Camden")
    assert stdout.startswith("Camden [red]is[/red] \ufffd[31mdear\ufffd :smile:")


def test_aliases_count_as_mentions(predict):
    _, stdout, stderr = predict("NW1 is dear", "-t", "Camden=Camden Town, NW1", "--json")
    assert stderr == ""
    assert json.loads(stdout)["opinions"][0]["target"] == "Camden"


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


# ---- where the text comes from


@pytest.mark.parametrize("argument", [(), ("-",)])
@pytest.mark.parametrize("content", [b"Camden is dear\n", b"\xef\xbb\xbfCamden is dear\r\n", b"Camden is dear"])
def test_standard_input(predict, typed, argument, content):
    typed(content)
    code, stdout, _ = predict(*argument, "-t", "Camden", "--json")
    assert code == 0
    assert json.loads(stdout)["text"] == "Camden is dear"


def test_a_pipe_from_another_program(tiny_model):
    command = [sys.executable, "-m", "tabsa", "predict", "-t", "Camden", "--model", str(tiny_model), "--json"]
    run = subprocess.run(command, input="Camden is dear", capture_output=True, text=True, check=True)
    assert json.loads(run.stdout)["text"] == "Camden is dear"


def test_a_terminal_is_not_waited_for(predict, typed):
    typed(b"", terminal=True)
    code, _, stderr = predict("-t", "Camden")
    assert code == 2
    assert "give a text" in stderr


# ---- explanations


def test_an_explanation_is_written(predict, tmp_path):
    page = tmp_path / "why.html"
    code, stdout, stderr = predict(TEXT, "-t", "Camden", "--json", "--explain", page)
    assert code == 0
    assert json.loads(stdout)["text"] == TEXT
    assert stderr == f"explanation: {page}\n"
    assert "What carries each answer" in page.read_text("utf-8")


def test_a_wrong_extension_is_told_before_anything_is_read(command_line):
    code, stdout, stderr = command_line("predict", TEXT, "-t", "Camden", "--model", "none", "--explain", "why.png")
    assert (code, stdout) == (1, "")
    assert stderr == (
        "error: cannot write a page to 'why.png'; expected a name that ends in .html (a browser prints it)\n"
    )


def test_a_model_without_gates_is_explained_too(command_line, tmp_path):
    page = tmp_path / "why.html"
    code, _, stderr = command_line("predict", "The Pixel 9 gets hot.", "-t", "Pixel 9", "-a", "heat", "--explain", page)
    assert (code, stderr) == (0, f"explanation: {page}\n")
    source = page.read_text("utf-8")
    assert "What carries each answer" in source
    assert "<h3>What the memory wrote" not in source


def test_the_words_that_carry_an_answer(command_line):
    asked = ("predict", "The Pixel 9 takes nice photos but gets hot.", "-t", "Pixel 9", "-t", "Nokia", "-a", "heat")
    code, stdout, _ = command_line(*asked, "--evidence")
    assert code == 0
    assert "carried by" in stdout
    assert re.search(r"heat .*negative .* hot \+\d\d", stdout)
    assert "Nokia: not mentioned in the text, so nothing was read for it" in stdout
    told = json.loads(command_line(*asked, "-e", "--json")[1])
    pixel, nokia = told["opinions"]
    assert "evidence" not in nokia
    best = max(pixel["evidence"]["words"], key=lambda word: word["weight"])
    assert told["text"][best["start"] : best["end"]] == "hot"
    assert pixel["evidence"]["sentences"][0]["polarity"] == "negative"
    assert "evidence" not in json.loads(command_line(*asked, "--json")[1])["opinions"][0]


# ---- the model in the box


def test_without_a_model_the_reader_answers_about_anything(command_line):
    text = "The Pixel 9 lasts for days, but who can afford it?"
    asked = ("-a", "battery life", "-a", "price", "-a", "camera")
    code, stdout, stderr = command_line("predict", text, "-t", "Pixel 9", *asked)
    assert (code, stderr) == (0, "")
    rows = [line.split()[:-2] for line in stdout.splitlines() if "%" in line]
    assert rows == [["Pixel", "9", "battery", "life", "▲", "positive"], ["price", "▼", "negative"]]
    assert stdout.endswith("Pixel 9: silent on camera\n")
    code, stdout, stderr = command_line(
        "predict", "Great food, slow service", "--implied", "-a", "food", "-a", "service"
    )
    assert (code, stderr) == (0, "")
    rows = [line.split()[:-2] for line in stdout.splitlines() if "%" in line]
    assert rows == [["it", "food", "▲", "positive"], ["service", "▼", "negative"]]
    exact = [
        json.loads(command_line("predict", text, "-t", "Pixel 9", *asked, "--json", *more)[1])["opinions"]
        for more in ((), ("--precision", "int8"), ("--precision", "float32"))
    ]
    assert exact[0] == exact[1] != exact[2]


# ---- errors


def test_without_a_target_there_is_an_example(predict):
    code, stdout, stderr = predict(TEXT)
    assert (code, stdout) == (2, "")
    shown = " ".join(stderr.replace("│", " ").split())
    assert 'such as: tabsa predict "Camden is lovely but far too dear" -t Camden; or give --implied, if' in shown


@pytest.mark.parametrize("options", [["=NW1"], [""], ["Camden", "Camden=NW1"]])
def test_targets_that_are_wrong_usage(predict, options):
    code, _, _ = predict(TEXT, *(part for option in options for part in ("-t", option)))
    assert code == 2


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((TEXT, "-t", "Camden", "-a", "noise"), "it knows: general, price, safety, transit-location"),
        (("  ", "-t", "Camden"), "the text is empty"),
        ((TEXT, "-t", "Camden", "-t", "camden"), "stands for two targets"),
        (("half \udcff", "-t", "Camden"), "not UTF-8"),
    ],
)
def test_errors_are_one_line(predict, arguments, message):
    code, stdout, stderr = predict(*arguments)
    assert (code, stdout) == (1, "")
    assert message in stderr
    assert stderr.startswith("error: ")
    assert stderr.count("\n") == 1


def test_bytes_that_are_no_text(predict, typed):
    typed(b"Camden \xff")
    assert predict("-t", "Camden")[::2] == (1, "error: standard input is not UTF-8 text (byte 7); save it as UTF-8\n")


def test_a_model_that_is_not_there(command_line):
    code, _, stderr = command_line("predict", TEXT, "-t", "Camden", "--model", Path("no-such-model"))
    assert code == 1
    assert "there is no model 'no-such-model'" in stderr
