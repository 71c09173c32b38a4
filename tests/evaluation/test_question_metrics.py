import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from tabsa.encoding.answers import restrict_labels
from tabsa.evaluation.metrics import question_metrics


def slow_metrics(gold, probabilities):
    """By going through the questions."""
    right = present = said = there = polarity = false = silent = 0
    for label, own in zip(gold, probabilities, strict=True):
        if label == -1:
            continue
        likeliest = max(range(len(own)), key=lambda n: own[n])
        said += likeliest != 0
        if label == 0:
            silent += 1
            false += likeliest != 0
        else:
            there += 1
            present += likeliest != 0
            right += likeliest == label
            polarity += max(range(1, len(own)), key=lambda n: own[n]) == label

    def f1(hits):
        if not there + said:
            return math.nan
        precision, recall = hits / said if said else 0.0, hits / there if there else 0.0
        return 2 * precision * recall / (precision + recall) if hits else 0.0

    return {
        "opinion_f1": f1(right),
        "presence_f1": f1(present),
        "polarity_accuracy": polarity / there if there else math.nan,
        "false_opinions": false / silent if silent else math.nan,
    }


TENTHS = st.integers(0, 10).map(lambda n: n / 10)


@given(st.integers(0, 30), st.integers(2, 5), st.data())
def test_figures_are_those_of_a_plain_loop(count, labels, data):
    gold = data.draw(arrays(np.int64, count, elements=st.integers(-1, labels - 1)))
    probabilities = data.draw(arrays(np.float64, (count, labels), elements=TENTHS))
    figures = question_metrics(gold, probabilities)
    expected = slow_metrics(gold.tolist(), probabilities.tolist())
    assert list(figures) == list(expected)
    for name, value in expected.items():
        np.testing.assert_allclose(figures[name], value, err_msg=name)


def test_figures_by_hand():
    gold = np.array([1, 2, 1, 0, 0, -1])
    probabilities = np.array(
        [[0.1, 0.8, 0.1], [0.2, 0.5, 0.3], [0.6, 0.3, 0.1], [0.2, 0.4, 0.4], [0.9, 0.1, 0], [0, 1, 0]]
    )
    figures = question_metrics(gold, probabilities)
    assert figures == {
        "opinion_f1": pytest.approx(2 * 1 / 6),
        "presence_f1": pytest.approx(2 * 2 / 6),
        "polarity_accuracy": pytest.approx(2 / 3),
        "false_opinions": 0.5,
    }


def test_figures_that_are_not_defined_are_not_numbers():
    nothing = question_metrics(np.zeros(0, np.int64), np.zeros((0, 3)))
    assert all(math.isnan(value) for value in nothing.values())
    silent = question_metrics(np.array([0]), np.array([[0.9, 0.1]]))
    assert math.isnan(silent["opinion_f1"])
    assert silent["false_opinions"] == 0


def slow_without(own, labels, kept):
    """One question: neutral is silence, and what any other label has goes to the polarities, each by its share."""
    shares = dict(zip(labels, own, strict=True))
    none = shares["none"] + (shares.get("neutral", 0.0) if "neutral" not in kept else 0.0)
    opinions = {label: shares[label] for label in kept[1:]}
    lost = sum(share for label, share in shares.items() if label not in (*kept, "neutral"))
    total = sum(opinions.values())
    if not total:
        return [1.0 if none else 0.0, *(0.0 for _ in opinions)]
    result = [none, *(share + lost * share / total for share in opinions.values())]
    return [value / sum(result) for value in result]


@pytest.mark.parametrize(
    ("labels", "kept"),
    [
        (("none", "positive", "negative", "neutral", "mixed"), ("none", "positive", "negative")),
        (("none", "positive", "negative", "neutral", "mixed"), ("none", "positive", "negative", "neutral")),
        (("none", "positive", "negative", "neutral", "mixed"), ("none", "positive", "negative", "neutral", "mixed")),
        (("none", "positive", "negative", "neutral"), ("none", "positive", "negative")),
        (("none", "positive", "negative", "neutral"), ("none", "negative", "positive")),
        (("none", "positive", "negative"), ("none", "positive", "negative")),
        (("none", "positive", "negative", "mixed"), ("none", "positive")),
    ],
)
def test_labels_that_data_lacks_are_shared_out(labels, kept):
    rng = np.random.default_rng(3)
    probabilities = rng.dirichlet([0.5] * len(labels), (2, 20))
    before = probabilities.copy()
    result = restrict_labels(probabilities, labels, kept)
    assert result.shape == (2, 20, len(kept))
    for place in np.ndindex(2, 20):
        np.testing.assert_allclose(result[place], slow_without(probabilities[place], labels, kept), atol=1e-12)
    np.testing.assert_allclose(result.sum(-1), 1)
    np.testing.assert_array_equal(probabilities, before)
    same = restrict_labels(probabilities, labels, labels)
    np.testing.assert_allclose(same, probabilities, atol=1e-12)


def test_nothing_but_a_label_that_is_not_kept():
    labels = ("none", "positive", "negative", "neutral")
    result = restrict_labels(np.array([[0, 0, 0, 1.0], [1, 0, 0, 0]], np.float32), labels, labels[:3])
    assert result.tolist() == [[1, 0, 0], [1, 0, 0]]
