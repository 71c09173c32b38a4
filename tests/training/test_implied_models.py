"""Models trained on texts that do not name what they are about: what they answer in use, and what is found of it."""

import csv
import json
from pathlib import Path

import pytest

from predicted_groups import predict_examples
from tabsa.checkpoint.model_folder import read_folder
from tabsa.datasets.checking import any_named, mostly_implied, notes_on
from tabsa.datasets.loading import load
from tabsa.errors import DataWarning
from tabsa.inference.evaluating import evaluate
from tabsa.inference.predictor import load as load_predictor
from tabsa.schema import Dataset, Example, Opinion, Span, Target

pytest.importorskip("torch")
pytest.importorskip("scipy")

import tabsa

TEXTS = [
    f"{food} food, {service} service{place}."
    for food in ("Great", "Lovely", "Awful", "Bad", "Cold")
    for service in ("quick", "kind", "slow", "rude")
    for place in (" at this restaurant", "")
]
GOOD = ("Great", "Lovely", "quick", "kind")
SYSTEMS = {
    "lr": {"model": {"pos_ngrams": 0, "c": [10.0]}},
    "delayed-entnet": {
        "vectors": {"size": 12},
        "model": {"chains": 2},
        "training": {"epochs": 25, "balance": "sentence", "optimiser": "adam", "rate": 0.02, "batch_size": 8},
    },
}


def labelled(text: str) -> list[tuple[str, str]]:
    words = text.split()
    return [("food", words[0]), ("service", words[2])]


@pytest.fixture(scope="module")
def file(tmp_path_factory) -> Path:
    """Forty texts, half of which have the word `restaurant`; no row has a target."""
    path = tmp_path_factory.mktemp("data") / "reviews.csv"
    with path.open("w", newline="", encoding="utf-8") as stream:
        writer = csv.writer(stream)
        writer.writerow(["text", "target", "aspect", "polarity"])
        for text in TEXTS:
            writer.writerows(
                [text, "", aspect, "positive" if word in GOOD else "negative"] for aspect, word in labelled(text)
            )
    return path


@pytest.fixture(scope="module", params=SYSTEMS)
def folder(request, tmp_path_factory, file) -> Path:
    path = tmp_path_factory.mktemp(request.param) / "model"
    config = {"kind": request.param, "data": {"name": str(file), "dev": "train"}, **SYSTEMS[request.param]}
    with pytest.warns(DataWarning, match=r"train of .*reviews\.csv has \d+ opinions in \d+ texts: figures of fewer"):
        tabsa.train(config, path)
    return path


def test_the_folder_says_so(folder):
    config = json.loads((folder / "config.json").read_text())
    assert (config["implied"], config["named"]) == (True, False)
    assert "taken to be about it (`implied`)" in (folder / "README.md").read_text()
    model = load_predictor(folder)
    assert model.implied
    assert not read_folder(Path(tabsa.__file__).parent / "pretrained" / "reader").config.implied


@pytest.mark.parametrize("words", [["-t", "restaurant"], []])
def test_what_score_says_is_what_was_measured(folder, file, tmp_path, command_line, words):
    """To the last of the digits that are written, also where the text has the name as a word."""
    data, model = load(file, "all"), load_predictor(folder)
    measured = predict_examples(model, data)
    code, _, stderr = command_line(
        "score", file, tmp_path / "out.jsonl", *words, "--model", folder, "--layout", "long", "--all"
    )
    assert code == 0, stderr
    assert "--implied" not in stderr
    found = {}
    for line in (tmp_path / "out.jsonl").read_text().splitlines():
        row = json.loads(line)
        assert row["target"] == ("restaurant" if words else None)
        found[row["text"], row["aspect"]] = row["probabilities"]
    for example, rows in zip(data.examples, measured, strict=True):
        for aspect, shares in zip(data.aspects, rows, strict=True):
            expected = {label: round(share, 6) for label, share in zip(data.labels, shares.tolist(), strict=True)}
            assert found[example.text, aspect] == pytest.approx(expected, abs=2e-6)
    assert evaluate(model, data, bootstrap=0).row_accuracy >= 0.8


def test_in_python_and_on_the_command_line(folder, command_line):
    text = "Great food, slow service at this restaurant."
    model = load_predictor(folder)
    nameless = model.predict(text)
    assert [opinion.target for opinion in nameless.opinions] == ["", ""]
    assert [opinion["target"] for opinion in nameless.to_dict()["opinions"]] == [None, None]
    named = model.predict(text, ["restaurant"])
    assert [opinion.probabilities for opinion in named.opinions] == [o.probabilities for o in nameless.opinions]
    marked = model.predict(text, ["restaurant"], implied=False)  # looked for, since that is what was asked
    assert marked.mentions() == (Target("restaurant", (Span(33, 43),)),)
    silent = model.predict("Great food.", ["restaurant"], implied=False)
    assert {opinion.polarity for opinion in silent.opinions} == {"none"}
    code, stdout, _ = command_line("predict", text, "--model", folder, "--json")
    assert (code, json.loads(stdout)) == (0, nameless.to_dict())
    assert command_line("predict", "Great food.", "--model", folder, "--no-implied")[0] == 2


def dataset(*mentions: tuple[Span, ...], split: str = "dev", opinions: int = 1) -> Dataset:
    own = tuple(Opinion("x", f"aspect {n}", "positive") for n in range(opinions))
    examples = [
        Example(str(n), f"text {n}", (Target("x", spans, implied=not spans),), own) for n, spans in enumerate(mentions)
    ]
    return Dataset("mine", split, tuple(f"aspect {n}" for n in range(opinions)), ("none", "positive"), examples)


HERE = (Span(0, 4),)


def test_more_than_half_of_the_targets_decide():
    cases = {(): (False, False), (HERE,): (False, True), ((),): (True, False), (HERE, ()): (False, True)}
    for mentions, (mostly, named) in (cases | {(HERE, (), ()): (True, True)}).items():
        data = dataset(*mentions)
        assert (mostly_implied(data), any_named(data)) == (mostly, named)


def test_figures_of_few_opinions_say_little():
    line = "dev of mine has {}: figures of fewer than 100 opinions say little"
    assert notes_on(dataset(HERE)) == (line.format("1 opinion in 1 text"),)
    assert notes_on(dataset(*[HERE] * 33, opinions=3)) == (line.format("99 opinions in 33 texts"),)
    assert notes_on(dataset(*[HERE] * 50, opinions=2)) == ()


@pytest.mark.parametrize("implied", [False, True])
def test_evaluation_says_what_use_would_not_answer(tiny_model, recwarn, implied):
    model = load_predictor(tiny_model)
    model.implied = implied
    opinion = Opinion("it", "price", "negative")
    examples = [Example(str(n), "It is dear.", (Target("it", implied=True),), (opinion,)) for n in range(3)]
    evaluate(model, Dataset("mine", "test", ("price",), ("none", "positive", "negative"), examples), bootstrap=0)
    found = [str(one.message) for one in recwarn]
    assert any("most targets are not named in their texts; in use" in line for line in found) == (not implied)
