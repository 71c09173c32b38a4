from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tabsa.errors import DataError, ModelError
from tabsa.inference import predictor
from tabsa.inference.predictor import Predictor, load
from tabsa.inference.results import Prediction
from tabsa.models.onnx import word_engine as engine
from tabsa.schema import Span, Target

TEXT = "Camden is not cheap but Brixton is lovely, and Leith is far."


@pytest.fixture(scope="module")
def model(tiny_model: Path) -> Predictor:
    return load(tiny_model, threads=1)


def table(prediction: Prediction) -> np.ndarray:
    """The probabilities of all opinions, in order."""
    return np.array([list(opinion.probabilities.values()) for opinion in prediction.opinions])


# ---- what is answered


def test_every_pair_is_answered_in_the_order_asked(model: Predictor) -> None:
    result = model.predict(TEXT, ["Brixton", "Camden"], ["safety", "price"])
    pairs = [(opinion.target, opinion.aspect) for opinion in result.opinions]
    assert pairs == [("Brixton", "safety"), ("Brixton", "price"), ("Camden", "safety"), ("Camden", "price")]
    np.testing.assert_allclose(table(result).sum(1), 1, atol=1e-5)
    for opinion in result.opinions:
        assert opinion.polarity == max(opinion.probabilities, key=opinion.probabilities.__getitem__)
        assert opinion.confidence == max(opinion.probabilities.values())


def test_some_aspects_are_answered_as_among_all(model: Predictor) -> None:
    every, some = model.predict(TEXT, ["Camden"]), model.predict(TEXT, ["Camden"], ["safety", "general", "safety"])
    retained = {opinion.aspect: opinion for opinion in every.opinions}
    assert list(some.opinions) == [retained["safety"], retained["general"]]
    assert every.attention is not None
    assert some.attention is not None
    np.testing.assert_array_equal(some.attention, every.attention[:, [2, 0]])


def test_a_target_that_is_not_mentioned_is_silent(model: Predictor) -> None:
    result = model.predict(TEXT, ["Oslo", "Camden"])
    oslo = [opinion for opinion in result.opinions if opinion.target == "Oslo"]
    assert [opinion.probabilities for opinion in oslo] == [{"none": 1.0, "positive": 0.0, "negative": 0.0}] * 4
    assert result.unmentioned() == ("Oslo",)
    alone = model.predict(TEXT, ["Camden"])
    np.testing.assert_array_equal(table(result)[4:], table(alone))


def test_a_name_that_is_found_stays_a_mention(model: Predictor) -> None:
    result = model.predict(TEXT, ["Oslo", "Camden"], implied=True)
    camden, oslo = Target("Camden", (Span(0, 6),)), Target("Oslo", implied=True)
    assert result.mentions() == (camden,)
    assert [passage.targets for passage in result.passages] == [("Camden", "Oslo")]
    np.testing.assert_array_equal(table(result), table(model.predict(TEXT, [oslo, camden])))
    everyone = ["Camden", "Brixton", "Leith"]
    np.testing.assert_array_equal(
        table(model.predict(TEXT, everyone, implied=True)), table(model.predict(TEXT, everyone))
    )


@pytest.mark.parametrize(
    ("targets", "message"),
    [
        ("Camden", r"such as \['Camden'\]"),
        (["Camden", Target("Brixton")], "mixes"),
        ([Target("Camden"), Target("Camden")], "'Camden' is given twice"),
        ([Target("Camden", (Span(50, 99),))], "not in the text"),
    ],
)
def test_wrong_targets_are_refused(model: Predictor, targets: object, message: str) -> None:
    with pytest.raises(DataError, match=message):
        model.predict(TEXT, targets)


# ---- more targets than the model knows at a time


def test_many_targets_are_read_in_groups(model: Predictor) -> None:
    names = ["Leith", "Camden", "Brixton"]
    result = model.predict(TEXT, names)
    assert [passage.targets for passage in result.passages] == [("Camden", "Brixton"), ("Leith",)]
    assert [target.name for target in result.mentions()] == names
    together = table(model.predict(TEXT, ["Camden", "Brixton"]))
    np.testing.assert_allclose(table(result)[4:], together, atol=1e-6)
    np.testing.assert_allclose(table(result)[:4], table(model.predict(TEXT, ["Leith"])), atol=1e-6)


# ---- long texts


def test_a_long_text_takes_each_opinion_from_its_strongest_passage(model: Predictor) -> None:
    sentences = ["Camden is lovely and cheap. ", "Nothing of note. ", "Camden is awful, not safe and far. "]
    text = sentences[0] + 14 * sentences[1] + sentences[2]
    result = model.predict(text, ["Camden"])
    assert [text[p.start : p.end].count("Camden") for p in result.passages] == [1, 1]
    parts = [table(model.predict(text[p.start : p.end], ["Camden"])) for p in result.passages]
    for aspect in range(4):
        best = min(parts, key=lambda part: part[aspect, 0])
        np.testing.assert_allclose(table(result)[aspect], best[aspect], atol=1e-5)


# ---- many texts


def texts_and_targets() -> tuple[list[str], list[list[str]]]:
    words = ["the", "is", "and", "but", "not", "very", "cheap", "dear", "safe", "far", "awful", "lovely", "zebra"]
    random = np.random.default_rng(3)
    texts = [" ".join([*random.choice(words, random.integers(1, 40)), "Camden", "is", "dear"]) for _ in range(23)]
    texts[5], texts[9] = "", "nobody is here"
    return texts, [["Camden"] if number % 3 else ["Oslo", "Camden"] for number in range(23)]


@pytest.mark.parametrize(("window", "tokens"), [(1, 1), (4, 60), (1024, 100_000)])
def test_answers_do_not_depend_on_how_texts_are_batched(
    model: Predictor, monkeypatch: pytest.MonkeyPatch, window: int, tokens: int
) -> None:
    texts, targets = texts_and_targets()
    alone = [model.predict(text, own) for text, own in zip(texts, targets, strict=True)]
    monkeypatch.setattr(predictor, "_WINDOW", window)
    monkeypatch.setattr(engine, "_MOST_TOKENS", tokens)
    many = list(model.predict_many(texts, targets_of_each=targets, explain=True))
    assert [result.text for result in many] == texts
    for one, other in zip(alone, many, strict=True):
        assert [o.target for o in one.opinions] == [o.target for o in other.opinions]
        np.testing.assert_allclose(table(one), table(other), atol=1e-5)
        for a, b in zip(one.passages, other.passages, strict=True):
            assert (a.tokens, a.targets) == (b.tokens, b.targets)
            np.testing.assert_allclose(a.gates, b.gates, atol=1e-5)


def test_many_are_read_as_they_come(model: Predictor, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(predictor, "_WINDOW", 2)
    taken = []

    def endless():
        while True:
            taken.append(TEXT)
            yield TEXT

    answers = model.predict_many(endless(), ["Camden"])
    assert taken == []
    assert next(answers).text == TEXT
    assert len(taken) == 2


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"texts": ["a"], "targets": ["b"], "targets_of_each": [["b"]]}, "either targets"),
        ({"texts": ["a", "b"], "targets_of_each": [["b"]]}, "targets for 1 texts and more texts"),
        ({"texts": ["a"], "targets_of_each": [["b"], ["c"]]}, "more texts than were given"),
        ({"texts": ["a", None], "targets": ["b"]}, "text 2 is of type NoneType"),
        ({"texts": "abc", "targets": ["b"]}, "use predict"),
    ],
)
def test_what_does_not_go_together_is_refused(model: Predictor, arguments: dict, message: str) -> None:
    with pytest.raises(DataError, match=message):
        list(model.predict_many(**arguments))


# ---- odd texts


@pytest.mark.parametrize(
    "text", ["", " \n\t", "Camden", "…", "\u200b", "Camden\x00Camden", "😀 Camden 東京", "\ud800 Camden"]
)
def test_any_text_is_answered(model: Predictor, text: str) -> None:
    result = model.predict(text, ["Camden", "東京"])
    assert result.text == text
    assert np.isfinite(table(result)).all()


# ---- what a prediction says of itself


def test_to_dict_is_the_contract(model: Predictor) -> None:
    result = model.predict(TEXT, ["Camden"], ["price"])
    (opinion,) = result.opinions
    assert result.to_dict() == {
        "text": TEXT,
        "opinions": [
            {
                "target": "Camden",
                "aspect": "price",
                "polarity": opinion.polarity,
                "probabilities": opinion.probabilities,
            }
        ],
    }
    assert list(opinion.probabilities) == ["none", "positive", "negative"]


def test_a_notebook_shows_a_table_and_nothing_runs(model: Predictor) -> None:
    shown = model.predict("<script>1</script> Camden & <b>", ["Camden"])._repr_html_()
    assert "<script>" not in shown
    assert "&lt;script&gt;" in shown


# ---- loading


def test_a_predictor_says_at_what_precision_it_works(tiny_model: Path) -> None:
    assert load(tiny_model).precision == load(tiny_model, precision="float32").precision == "float32"
    assert load(tiny_model, precision="int8").precision == "int8"  # its graph is looked for when it is needed
    assert load("reader").precision == load("reader", precision="int8").precision == "int8"
    assert load("reader", precision="float32").precision == "float32"
    unknown: Any = "float16"
    with pytest.raises(ModelError, match="no precision 'float16'; expected one of: auto, float32, int8"):
        load(tiny_model, precision=unknown)
