"""Which texts are worth labelling: those that the model is unsure of, and that differ."""

from collections.abc import Sequence
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest

import open_model as double
from open_model import LABELS, open_model
from tabsa.encoding.passages import Passage
from tabsa.errors import DataError
from tabsa.inference.predictor import Predictor, load
from tabsa.inference.suggesting import suggest
from tabsa.schema import UNNAMED, Target

__all__ = ["open_model"]  # a fixture
THINGS = (
    "queue clerk counter", "wine glass bottle", "train seat window", "garden hedge tulip", "piano choir organ",
    "bread oven flour", "tent river trout", "novel chapter plot", "nurse ward bandage", "goal referee pitch",
)  # fmt: skip


@pytest.fixture
def model(open_model: Path, monkeypatch: pytest.MonkeyPatch) -> Predictor:
    """Is as sure of each aspect as a text says: after `price70` it gives 0.7 to positive, and the rest to negative."""

    def table_of(passage: Passage, aspects: Sequence[str]) -> np.ndarray:
        words = " ".join(token.text for token in passage.tokens)
        table = np.zeros((len(aspects), len(LABELS)), np.float32)
        for row, aspect in zip(table, aspects, strict=True):
            found = [word for word in words.split() if word.startswith(aspect) and word[-1].isdigit()]
            sure = int(found[0][-2:]) / 100 if found else 0.99
            row[LABELS.index("positive" if found else "none")] = sure
            row[LABELS.index("negative")] = 1 - sure
        return table

    monkeypatch.setattr(double, "table_of", table_of)
    return load(open_model)


def texts(*sure: int, name: str = "Acme") -> list[str]:
    """Texts on different things, as sure as told."""
    return [f"{name} has {THINGS[n % len(THINGS)]} thing{'x' * n} price{s}" for n, s in enumerate(sure)]


# Unsure


def test_the_least_sure_come_first(model: Predictor) -> None:
    given = texts(90, 55, 70, 98, 60)
    found = suggest(model, given, ["Acme"], ["price"], 3)
    assert found[0].index == 1
    assert {one.index for one in found} == {1, 4, 2}
    assert [one.text for one in found] == [given[one.index] for one in found]
    (question,) = found[0].questions
    assert (question.target, question.aspect, question.predicted) == ("Acme", "price", "positive")
    assert question.probability == pytest.approx(0.55)
    assert question.uncertainty == pytest.approx(1 - (0.55 - 0.45))


def test_a_text_has_its_least_sure_questions(model: Predictor) -> None:
    text = "Acme beats Bolt: price95 staff60 food75"
    (found,) = suggest(model, [text], ["Acme", "Bolt", "Nowhere"], ["price", "staff", "food", "wifi"], questions=3)
    assert [(one.target, one.aspect) for one in found.questions] == [
        ("Acme", "staff"),
        ("Bolt", "staff"),
        ("Acme", "food"),
    ]
    assert found.uncertainty == pytest.approx((0.8 + 0.8 + 0.5) / 3)
    (found,) = suggest(model, [text], ["Acme", "Bolt", "Nowhere"], ["price", "staff", "food", "wifi"], questions=None)
    assert len(found.questions) == 2 * 4


def test_who_is_not_in_a_text_is_not_asked_about(model: Predictor) -> None:
    given = [*texts(90), *texts(55, name="Bolt")]
    assert [one.index for one in suggest(model, given, ["Acme"], ["price"])] == [0]
    implied = suggest(model, given, ["Acme"], ["price"], implied=True)
    assert sorted(one.index for one in implied) == [0, 1]
    unnamed = suggest(model, given, aspects=["price"], implied=True)
    assert {(one.questions[0].target, one.questions[0].named) for one in unnamed} == {(UNNAMED, False)}
    several = suggest(model, ["Dear price60"], ["Acme", "Bolt"], ["price"], implied=True)
    assert [(one.target, one.named) for one in several[0].questions] == [("Acme", False)]
    each = suggest(model, given, aspects=["price"], targets_of_each=[["Acme"], [Target("Bolt", ((0, 4),))]])
    assert {one.index: one.questions[0].target for one in each} == {0: "Acme", 1: "Bolt"}


# Different


def test_near_duplicates_are_never_both_picked(model: Predictor) -> None:
    same = [
        "Acme sent the parcel to the wrong house twice and nobody answered price55",
        "ACME sent the parcel to the wrong house twice, and nobody answered! price55",
        "Acme sent the parcel to the wrong house twice and nobody replied price55",
        "Acme sent the parcel to the wrong house 12 times and nobody answered price55",
        "Acme sent the parcel to the wrong house 17 times and nobody answered price55",
    ]
    others = texts(90, 91, 92)
    found = suggest(model, [*same, *others], ["Acme"], ["price"], 8)
    words = [set(one.text.lower().replace(",", "").replace("!", "").split()) for one in found]
    assert all(len(a & b) < 0.8 * len(a | b) for a, b in combinations(words, 2))
    assert sum(one.index < len(same) for one in found) <= 2
    assert {one.index for one in found} >= {5, 6, 7}


def test_labelled_texts_and_their_like_are_left_out(model: Predictor) -> None:
    given = texts(50, 60, 70, 80)
    labelled = [given[0].upper(), given[1] + " indeed"]
    assert {one.index for one in suggest(model, given, ["Acme"], ["price"], labelled=labelled)} == {2, 3}
    near, far = "Acme queue clerk counter slow line price60", "Acme piano choir organ loud hall price60"
    found = suggest(model, [near, far], ["Acme"], ["price"], 1, labelled=["Acme queue clerk counter was shut"])
    assert found[0].text == far


@pytest.mark.parametrize("fields", [{}, {"n": 0, "implied": True}, {"questions": 0, "implied": True}])
def test_what_is_not_asked_for_is_refused(model: Predictor, fields: dict[str, object]) -> None:
    with pytest.raises(DataError, match=r"asked for|give either targets"):
        suggest(model, ["Hello."], **fields)
