"""A model with open aspects is asked anything, and only what is asked."""

from collections import Counter
from pathlib import Path

import numpy as np
import pytest

import tabsa
from open_model import LABELS, SURE, OpenEngine, open_model
from predicted_groups import predict_examples
from tabsa.encoding.answers import exclusive_answers
from tabsa.errors import DataError, DataWarning
from tabsa.evaluation.report import evaluate as score
from tabsa.inference.evaluating import predict_questions
from tabsa.inference.predictor import Predictor, load
from tabsa.inference.results import Prediction
from tabsa.schema import Dataset, Example, Opinion, Target

__all__ = ["open_model"]  # a fixture
TEXT = "The Pixel has a great battery but a bad camera, and Nokia is here too."


@pytest.fixture
def model(open_model: Path) -> Predictor:
    return load(open_model)


def calls(model: Predictor) -> list[list[tuple[str, ...]]]:
    assert isinstance(model.engine, OpenEngine)
    return model.engine.calls


def said(prediction: Prediction) -> dict[tuple[str, str], str]:
    return {(opinion.target, opinion.aspect): opinion.polarity for opinion in prediction.opinions}


# ---- what may be asked


def test_any_words_are_asked_once_and_in_order(model: Predictor) -> None:
    result = model.predict(TEXT, ["Pixel", "Oslo"], ["  battery   life ", "wifi", "battery life"])
    assert said(result) == {
        ("Pixel", "battery life"): "mixed",
        ("Pixel", "wifi"): "none",
        ("Oslo", "battery life"): "none",
        ("Oslo", "wifi"): "none",
    }
    assert result.aspects == ("battery life", "wifi")
    assert result.attention is None
    assert result.unmentioned() == ("Oslo",)
    assert list(result.opinions[0].probabilities) == list(LABELS)
    assert result.opinions[0].confidence == pytest.approx(SURE)


@pytest.mark.parametrize(("aspects", "message"), [([], "no aspect is asked for"), ("price", r"such as \['price'\]")])
def test_what_is_no_aspect_is_refused_before_anything_is_read(
    model: Predictor, aspects: list[str], message: str
) -> None:
    with pytest.raises(DataError, match=message):
        model.predict_many([TEXT], ["Pixel"], aspects)
    assert calls(model) == []


def test_a_closed_model_says_who_takes_any_aspect(tiny_model: Path) -> None:
    closed = load(tiny_model)
    assert not closed.open_aspects
    with pytest.raises(
        DataError, match=r"the aspect 'prices' \(did you mean 'price'\?\); it knows: general, price, .*`reader`"
    ):
        closed.predict(TEXT, ["Pixel"], ["prices"])
    with pytest.raises(DataError, match="no aspect is asked for"):
        closed.predict(TEXT, ["Pixel"], [])


# ---- each text its own


TEXTS = ["Pixel has a good camera", "Nokia has a bad price", "Pixel has a bad camera"]


def test_each_text_has_its_own_aspects_and_all_are_read_together(model: Predictor) -> None:
    asked = [["camera"], ["price", "camera"], ["camera"]]
    results = list(model.predict_many(TEXTS, ["Pixel", "Nokia"], aspects_of_each=asked))
    assert [result.text for result in results] == TEXTS
    assert calls(model) == [[("camera",), ("price", "camera"), ("camera",)]]
    assert said(results[1]) == {
        ("Pixel", "price"): "none",
        ("Pixel", "camera"): "none",
        ("Nokia", "price"): "negative",
        ("Nokia", "camera"): "none",
    }
    alone = [model.predict(text, ["Pixel", "Nokia"], own) for text, own in zip(TEXTS, asked, strict=True)]
    assert [result.to_dict() for result in results] == [result.to_dict() for result in alone]


def test_a_closed_model_reads_all_texts_together_whatever_they_are_asked(tiny_model: Path) -> None:
    closed = load(tiny_model, threads=1)
    asked = [["safety", "price"], None, ["general"]]
    results = list(closed.predict_many(TEXTS, ["Pixel", "Nokia"], aspects_of_each=asked, explain=True))
    for result, text, own in zip(results, TEXTS, asked, strict=True):
        alone = closed.predict(text, ["Pixel", "Nokia"], own)
        assert result.to_dict() == alone.to_dict()
        assert result.aspects == alone.aspects
        if alone.attention is not None:
            np.testing.assert_array_equal(result.attention, alone.attention)


# ---- evaluation

EXAMPLES = [
    Example(
        "1", TEXTS[0], (Target("Pixel", implied=True),), (Opinion("Pixel", "camera", "positive"),), ("camera", "rest")
    ),
    Example("2", TEXTS[1], (Target("Nokia", implied=True),), (Opinion("Nokia", "price", "negative"),), ("price",)),
    Example("3", "nothing", (Target("Pixel", implied=True),), (), ()),
    Example("4", "Pixel has a camera", (Target("Pixel", implied=True),), (), ("camera", "camera  lens")),
    Example("5", "no targets", ()),
]
ASPECTS = ("camera", "rest", "price", "camera  lens", "never asked")


def dataset(labels: tuple[str, ...] = LABELS, examples: list[Example] | None = None) -> Dataset:
    return Dataset("own", "all", ASPECTS, labels, examples or EXAMPLES)


def test_only_what_the_data_asks_is_asked(model: Predictor) -> None:
    found = predict_questions(model, dataset())
    assert Counter(aspect for call in calls(model) for own in dict.fromkeys(call) for aspect in own) == {
        "camera": 2,
        "rest": 1,
        "price": 1,
        "camera lens": 1,
    }
    assert found.shape == (5, len(LABELS))
    assert [LABELS[place] for place in found.argmax(1)] == ["positive", "none", "negative", "neutral", "neutral"]
    dense = predict_examples(model, dataset())
    assert dense.shape == (4, 5, len(LABELS))
    np.testing.assert_array_equal(dense[0, :2], found[:2])
    np.testing.assert_array_equal(dense[2], np.eye(len(LABELS))[[0] * 5])
    questions, whole = (score(dataset(), given, bootstrap=20).to_dict() for given in (found, dense))
    assert questions == whole


def test_conflict_is_semevals_name_for_mixed(model: Predictor) -> None:
    data = dataset(
        ("none", "positive", "negative", "neutral", "conflict"),
        [Example("1", TEXT, (Target("Pixel", implied=True),), (Opinion("Pixel", "camera", "conflict"),), ("camera",))],
    )
    assert predict_questions(model, data).argmax() == 4
    assert tabsa.evaluate(model, data, bootstrap=0).questions["opinion_f1"] == 1.0


# ---- aspects that exclude each other


def test_of_rivals_the_likeliest_stays_and_others_are_left_less_than_a_half():
    answers = np.array([[0.1, 0.9, 0], [0.2, 0, 0.8], [0.3, 0.7, 0], [0.6, 0.4, 0]])
    found = exclusive_answers(answers, [{1}, {0}, set(), {0}])
    np.testing.assert_array_equal(found[[0, 2, 3]], answers[[0, 2, 3]])
    np.testing.assert_allclose(found[1], [1 - 4 / 14, 0, 4 / 14])
    np.testing.assert_allclose(
        exclusive_answers(answers, [{1, 2, 3}, {0, 2, 3}, {0, 1, 3}, {0, 1, 2}]).argmax(1), [1, 0, 0, 0]
    )


def test_exclusive_aspects_are_asked_for_everywhere(model: Predictor) -> None:
    wanted = ["battery life", "battery", "camera"]
    plain = said(model.predict(TEXT, ["Pixel"], wanted))
    found = said(model.predict(TEXT, ["Pixel"], wanted, exclusive=True))
    assert sum(polarity != "none" for polarity in plain.values()) == 3
    assert {aspect for (_, aspect), polarity in found.items() if polarity != "none"} in (
        {"battery life", "camera"},
        {"battery", "camera"},
    )


def test_a_text_in_another_language_is_warned_of(model: Predictor) -> None:
    with pytest.warns(DataWarning, match="another language than English"):
        model.predict("Das Pixel ist sehr gut und nicht teuer.", ["Pixel"], ["price"])
