import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.testing import assert_allclose
from numpy.typing import NDArray

import slow_metrics
from tabsa.encoding.answers import restrict_labels
from tabsa.evaluation import metrics

LABELS = ("none", "positive", "negative", "neutral", "conflict")
Arrays = tuple[NDArray[np.int64], NDArray[np.float64]]


def one_hot(labels: NDArray[Any], count: int = 3) -> NDArray[np.float64]:
    """Probabilities that are certain of the labels."""
    return np.asarray(np.eye(count)[labels])


# ---- figures worked out by hand: four groups, two aspects; 0 none, 1 positive, 2 negative

GOLD = np.array([[1, 0], [2, 1], [0, 0], [0, 2]])
PREDICTED = np.array([[2, 0], [2, 0], [0, 0], [1, 2]])


def test_macro_f1_by_hand() -> None:
    # Precision 1/1, 1/1, 1/2 and recall 1/1, 1/2, 1/1 in the groups with a gold opinion.
    precision, recall = (1 + 1 + 1 / 2) / 3, (1 + 1 / 2 + 1) / 3
    assert_allclose(metrics.macro_f1(GOLD, PREDICTED, "sun"), 2 * precision * recall / (precision + recall))
    # The third group, empty and predicted so, is one more hit.
    precision, recall = (1 + 1 + 1 + 1 / 2) / 4, (1 + 1 / 2 + 1 + 1) / 4
    assert_allclose(metrics.macro_f1(GOLD, PREDICTED, "ma"), 2 * precision * recall / (precision + recall))


# ---- against the slow implementation


def as_dicts(gold: NDArray[Any], probabilities: NDArray[Any]) -> slow_metrics.Groups:
    return [
        (
            {f"aspect{a}": LABELS[label] for a, label in enumerate(labels)},
            {f"aspect{a}": dict(zip(LABELS, row.tolist(), strict=False)) for a, row in enumerate(rows)},
        )
        for labels, rows in zip(gold, probabilities, strict=True)
    ]


def assert_same(fast: dict[metrics.Family, dict[str, metrics.Score]], slow: dict[str, dict[str, Any]]) -> None:
    assert list(fast) == list(metrics.FAMILIES)
    for family, scores in fast.items():
        assert tuple(scores) == metrics.METRICS
        for name, score in scores.items():
            expected = slow[family][name]
            assert_allclose(
                score, np.nan if expected is None else expected, rtol=0, atol=1e-12, err_msg=f"{family} {name}"
            )


def random_predictions(seed: int) -> Arrays:
    """Any shape, more or fewer opinions, probabilities with many, few or no ties, exact zeros among them."""
    rng = np.random.default_rng(seed)
    groups, aspects, labels = rng.integers(1, 25), rng.integers(1, 6), rng.integers(2, 6)
    none = rng.choice([0.0, 0.5, 0.85, 1.0])
    gold = np.where(rng.random((groups, aspects)) < none, 0, rng.integers(1, labels, (groups, aspects)))
    weights = rng.random((groups, aspects, labels))
    if steps := rng.choice([0, 1, 2, 5]):
        weights = np.round(weights * steps)
        weights[..., 0] += weights.sum(-1) == 0
    return gold, weights / weights.sum(-1, keepdims=True)


@pytest.mark.parametrize("first", range(0, 1000, 100))
def test_random_predictions_give_what_the_slow_implementation_gives(first: int) -> None:
    for seed in range(first, first + 100):
        gold, probabilities = random_predictions(seed)
        assert_same(metrics.all_metrics(gold, probabilities), slow_metrics.all_metrics(as_dicts(gold, probabilities)))


@given(
    st.lists(st.tuples(st.sampled_from([0.0, 0.1, 0.5, 0.7, 1.0]), st.booleans()), min_size=2).filter(
        lambda rows: len({positive for _, positive in rows}) == 2
    )
)
def test_auc_is_that_of_scikit_learn(rows: list[tuple[float, bool]]) -> None:
    sklearn_metrics = pytest.importorskip("sklearn.metrics")
    scores, positive = np.array([score for score, _ in rows]), np.array([label for _, label in rows])
    assert_allclose(metrics.roc_auc(scores, positive), sklearn_metrics.roc_auc_score(positive, scores))


# ---- properties


@pytest.mark.parametrize("seed", range(20))
def test_weights_are_what_repeating_groups_gives(seed: int) -> None:
    gold, probabilities = random_predictions(seed)
    rng = np.random.default_rng(seed)
    samples = rng.integers(0, len(gold), (7, len(gold)))
    weights = np.stack([np.bincount(sample, minlength=len(gold)) for sample in samples]).astype(float)
    weighted = metrics.all_metrics(gold, probabilities, weights)
    for i, sample in enumerate(samples):
        repeated = metrics.all_metrics(gold[sample], probabilities[sample])
        for family in metrics.FAMILIES:
            for name in metrics.METRICS:
                many = weighted[family][name]
                assert many.shape == (7,)
                assert_allclose(many[i], repeated[family][name], atol=1e-12)


# ---- single questions


def slow_question_metrics(gold, probabilities):
    """By going through the questions."""
    right = present = claimed = there = polarity = false = silent = 0
    for label, own in zip(gold, probabilities, strict=True):
        if label == -1:
            continue
        likeliest = max(range(len(own)), key=lambda n: own[n])
        claimed += likeliest != 0
        if label == 0:
            silent += 1
            false += likeliest != 0
        else:
            there += 1
            present += likeliest != 0
            right += likeliest == label
            polarity += max(range(1, len(own)), key=lambda n: own[n]) == label

    def f1(hits):
        if not there + claimed:
            return math.nan
        precision, recall = hits / claimed if claimed else 0.0, hits / there if there else 0.0
        return 2 * precision * recall / (precision + recall) if hits else 0.0

    return {
        "opinion_f1": f1(right),
        "presence_f1": f1(present),
        "polarity_accuracy": polarity / there if there else math.nan,
        "false_opinions": false / silent if silent else math.nan,
    }


TENTHS = st.integers(0, 10).map(lambda n: n / 10)


@given(st.integers(0, 30), st.integers(2, 5), st.data())
def test_figures_of_questions_are_those_of_a_plain_loop(count, labels, data):
    gold = data.draw(arrays(np.int64, count, elements=st.integers(-1, labels - 1)))
    probabilities = data.draw(arrays(np.float64, (count, labels), elements=TENTHS))
    figures = metrics.question_metrics(gold, probabilities)
    expected = slow_question_metrics(gold.tolist(), probabilities.tolist())
    assert list(figures) == list(expected)
    for name, value in expected.items():
        assert_allclose(figures[name], value, err_msg=name)


def slow_restricted(own, labels, retained):
    """One question: neutral is silence, and what any other label has goes to the polarities, each by its share."""
    shares = dict(zip(labels, own, strict=True))
    none = shares["none"] + (shares.get("neutral", 0.0) if "neutral" not in retained else 0.0)
    opinions = {label: shares[label] for label in retained[1:]}
    lost = sum(share for label, share in shares.items() if label not in (*retained, "neutral"))
    total = sum(opinions.values())
    if not total:
        return [1.0 if none else 0.0, *(0.0 for _ in opinions)]
    result = [none, *(share + lost * share / total for share in opinions.values())]
    return [value / sum(result) for value in result]


@pytest.mark.parametrize(
    ("labels", "retained"),
    [
        (("none", "positive", "negative", "neutral", "mixed"), ("none", "positive", "negative")),
        (("none", "positive", "negative", "neutral", "mixed"), ("none", "positive", "negative", "neutral")),
        (("none", "positive", "negative", "neutral"), ("none", "negative", "positive")),
        (("none", "positive", "negative"), ("none", "positive", "negative")),
        (("none", "positive", "negative", "mixed"), ("none", "positive")),
    ],
)
def test_labels_that_data_lacks_are_shared_out(labels, retained):
    probabilities = np.random.default_rng(3).dirichlet([0.5] * len(labels), (2, 20))
    probabilities[0, 0], probabilities[0, 1] = np.eye(len(labels))[[0, -1]]
    before = probabilities.copy()
    result = restrict_labels(probabilities, labels, retained)
    assert result.shape == (2, 20, len(retained))
    for place in np.ndindex(2, 20):
        assert_allclose(result[place], slow_restricted(probabilities[place], labels, retained), atol=1e-12)
    np.testing.assert_array_equal(probabilities, before)
    assert_allclose(restrict_labels(probabilities, labels, labels), probabilities, atol=1e-12)
