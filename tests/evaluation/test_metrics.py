from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from numpy.typing import NDArray

import slow_metrics
from tabsa.evaluation import metrics

LABELS = ("none", "positive", "negative", "neutral", "conflict")
Arrays = tuple[NDArray[np.int64], NDArray[np.float64]]


def one_hot(labels: NDArray[Any], count: int = 3) -> NDArray[np.float64]:
    """Probabilities that are certain of the labels."""
    return np.asarray(np.eye(count)[labels])


# ---- figures worked out by hand: four groups, two aspects; 0 none, 1 positive, 2 negative

GOLD = np.array([[1, 0], [2, 1], [0, 0], [0, 2]])
PREDICTED = np.array([[2, 0], [2, 0], [0, 0], [1, 2]])


@pytest.mark.parametrize(
    ("family", "expected"),
    [
        ("sun", 1 / 4),  # only the third group has every label right
        ("ma", 2 / 4),  # so has the first, once polarity is left aside
    ],
)
def test_strict_accuracy_by_hand(family: metrics.Family, expected: float) -> None:
    assert metrics.strict_accuracy(GOLD, PREDICTED, family) == expected


def test_macro_f1_by_hand() -> None:
    # Precision 1/1, 1/1, 1/2 and recall 1/1, 1/2, 1/1 in the groups with a gold opinion.
    precision, recall = (1 + 1 + 1 / 2) / 3, (1 + 1 / 2 + 1) / 3
    assert_allclose(metrics.macro_f1(GOLD, PREDICTED, "sun"), 2 * precision * recall / (precision + recall))
    # The third group, empty and predicted so, is one more hit.
    precision, recall = (1 + 1 + 1 + 1 / 2) / 4, (1 + 1 / 2 + 1 + 1) / 4
    assert_allclose(metrics.macro_f1(GOLD, PREDICTED, "ma"), 2 * precision * recall / (precision + recall))


def test_predicting_only_none_by_hand() -> None:
    nothing = np.zeros_like(GOLD)
    assert metrics.strict_accuracy(GOLD, nothing, "sun") == metrics.strict_accuracy(GOLD, nothing, "ma") == 1 / 4
    assert metrics.macro_f1(GOLD, nothing, "sun") == 0
    assert metrics.macro_f1(GOLD, nothing, "ma") == 1 / 4
    assert metrics.row_accuracy(GOLD, nothing) == 4 / 8


def test_aspect_auc_by_hand() -> None:
    none = np.array([[0.2, 0.9], [0.4, 0.4], [0.4, 0.3], [0.9, 0.3]])
    probabilities = np.stack([none, 1 - none, 0 * none], axis=-1)
    # First aspect: none are .4 and .9 against .2 and .4: pairs 1, .5, 1, 1. Second: .9 and .3 against .4 and .3.
    assert_allclose(metrics.aspect_auc(GOLD, probabilities), ((3.5 / 4) + (1 + 1 + 0 + 0.5) / 4) / 2)


def test_sentiment_by_hand() -> None:
    negative = np.array([[0.3, 0.0], [0.3, 0.1], [0.5, 0.5], [0.9, 0.1]])
    positive = np.array([[0.2, 0.0], [0.4, 0.1], [0.0, 0.0], [0.0, 0.2]])
    probabilities = np.stack([1 - positive - negative, positive, negative], axis=-1)
    # Opinions: (0, 0) positive with .6; (1, 0) negative with 3/7; (1, 1) positive with .5; (3, 1) negative with 1/3.
    assert metrics.sentiment_accuracy(GOLD, probabilities) == 1 / 4
    assert metrics.sentiment_auc(GOLD, probabilities) == 0


def test_sentiment_does_not_ask_whether_an_opinion_was_found() -> None:
    probabilities = np.array([[[0.98, 0.005, 0.015]]])
    assert metrics.predicted_labels(probabilities) == [[0]]
    assert metrics.sentiment_accuracy(np.array([[2]]), probabilities) == 1


def test_no_probability_for_any_polarity_counts_as_positive() -> None:
    certain_none = np.array([[[1.0, 0.0, 0.0]]])
    assert metrics.polarity_shares(certain_none).tolist() == [[[0.5, 0.5]]]
    assert metrics.sentiment_labels(certain_none).tolist() == [[1]]


def test_the_threshold_is_on_the_share_as_rounded() -> None:
    positive = np.float64(0.1)
    negative = np.nextafter(positive, 1)
    shares = negative / (positive + negative)
    row = np.array([[[1 - positive - negative, positive, negative]]])
    assert metrics.sentiment_labels(row).item() == (2 if shares > 0.5 else 1)


def test_equally_likely_labels_give_the_first() -> None:
    ties = np.array([[[0.4, 0.4, 0.2], [0.2, 0.4, 0.4], [1 / 3, 1 / 3, 1 / 3]]])
    assert metrics.predicted_labels(ties).tolist() == [[0, 1, 0]]


def test_detection_by_hand() -> None:
    found = metrics.detection(GOLD, PREDICTED)
    assert found == (3 / 4, 3 / 4, 3 / 4)  # hits (0,0) (1,0) (3,1); missed (1,1); invented (3,0)


def test_detection_without_opinions_is_undefined() -> None:
    nothing = np.zeros((2, 1), dtype=int)
    assert np.isnan(metrics.detection(nothing, nothing)).all()
    precision, recall, f1 = metrics.detection(nothing + 1, nothing)
    assert np.isnan(precision)
    assert recall == f1 == 0


# ---- undefined figures


def test_an_aspect_with_one_class_is_left_out_of_the_mean() -> None:
    gold = np.array([[0, 1], [0, 0]])
    probabilities = np.array([[[0.5, 0.5, 0], [0.2, 0.8, 0]], [[0.5, 0.5, 0], [0.7, 0.3, 0]]])
    assert metrics.aspect_auc(gold, probabilities) == 1
    assert np.isnan(metrics.aspect_auc(gold[:, :1], probabilities[:, :1]))
    assert np.isnan(metrics.sentiment_auc(gold, probabilities))


def test_without_opinions_what_needs_them_is_undefined() -> None:
    gold = np.zeros((3, 2), dtype=int)
    scores = metrics.all_metrics(gold, one_hot(gold))
    undefined = {name for name, score in scores["sun"].items() if np.isnan(score)}
    assert undefined == {"macro_f1", "aspect_auc", "sentiment_accuracy", "sentiment_auc"}
    assert scores["ma"]["macro_f1"] == 1


def test_without_groups_everything_is_undefined() -> None:
    scores = metrics.all_metrics(np.zeros((0, 4), dtype=int), np.zeros((0, 4, 3)))
    assert np.isnan([score for family in scores.values() for score in family.values()]).all()


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
                score,
                np.nan if expected is None else expected,
                rtol=0,
                atol=1e-12,
                err_msg=f"{family} {name}",
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


@st.composite
def predictions(draw: st.DrawFn) -> Arrays:
    """Small arrays of arbitrary floats, so that hypothesis can look for the cases random ones miss."""
    groups, aspects = draw(st.integers(1, 5)), draw(st.integers(1, 3))
    rows = groups * aspects
    gold = draw(st.lists(st.integers(0, 2), min_size=rows, max_size=rows))
    unit = st.floats(0, 1)
    values = draw(st.lists(st.tuples(unit, unit, unit), min_size=rows, max_size=rows))
    return np.array(gold).reshape(groups, aspects), np.array(values).reshape(groups, aspects, 3)


@given(predictions())
@settings(deadline=None)
def test_any_predictions_give_what_the_slow_implementation_gives(arrays: Arrays) -> None:
    gold, probabilities = arrays
    assert_same(metrics.all_metrics(gold, probabilities), slow_metrics.all_metrics(as_dicts(gold, probabilities)))


@given(
    st.lists(st.tuples(st.sampled_from([0.0, 0.1, 0.5, 0.7, 1.0]), st.booleans()), min_size=2).filter(
        lambda rows: len({positive for _, positive in rows}) == 2
    )
)
@settings(deadline=None)
def test_auc_is_that_of_scikit_learn(rows: list[tuple[float, bool]]) -> None:
    sklearn_metrics = pytest.importorskip("sklearn.metrics")
    scores, positive = np.array([score for score, _ in rows]), np.array([label for _, label in rows])
    assert_allclose(metrics.roc_auc(scores, positive), sklearn_metrics.roc_auc_score(positive, scores))


# ---- properties


@given(predictions())
@settings(deadline=None)
def test_the_order_of_groups_does_not_matter(arrays: Arrays) -> None:
    gold, probabilities = arrays
    forwards, backwards = (
        metrics.all_metrics(gold, probabilities),
        metrics.all_metrics(gold[::-1], probabilities[::-1]),
    )
    for family in metrics.FAMILIES:
        for name in metrics.METRICS:
            assert_allclose(forwards[family][name], backwards[family][name])


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


def test_a_perfect_predictor_scores_one() -> None:
    gold = np.array([[0, 1], [1, 2], [2, 0], [0, 0], [0, 1]])
    for scores in metrics.all_metrics(gold, one_hot(gold)).values():
        assert all(score == 1 for score in scores.values()), scores


def test_single_precision_gives_the_figures_of_the_same_values_in_double() -> None:
    rng = np.random.default_rng(0)
    gold = rng.integers(0, 3, (50, 4))
    single = rng.dirichlet([1, 1, 1], (50, 4)).astype(np.float32)
    double = metrics.all_metrics(gold, single.astype(np.float64))
    assert metrics.all_metrics(gold, single) == double
    assert not np.isnan(list(double["sun"].values())).any()


def test_wrong_use_is_refused() -> None:
    with pytest.raises(ValueError, match=r"gold has shape \(4, 2\), probabilities \(4, 1, 3\)"):
        metrics.all_metrics(GOLD, np.ones((4, 1, 3)))
    with pytest.raises(ValueError, match="unknown family 'bert'; there are sun, ma"):
        metrics.macro_f1(GOLD, PREDICTED, "bert")  # type: ignore[arg-type]


# ---- anchors on the benchmark itself


@pytest.fixture
def sentihood_gold(data_dir: Path) -> NDArray[Any]:
    from tabsa import datasets as data
    from tabsa.encoding.arrays import gold_labels

    return gold_labels(data.load("sentihood", "test", data_dir=data_dir))


@pytest.mark.data
def test_always_none_on_sentihood(sentihood_gold: NDArray[Any]) -> None:
    predicted = np.zeros_like(sentihood_gold)
    scores = metrics.all_metrics(sentihood_gold, one_hot(predicted))
    for family in scores.values():
        assert round(float(family["strict_accuracy"]), 6) == 0.478978
        assert family["aspect_auc"] == family["sentiment_auc"] == 0.5
    assert scores["sun"]["macro_f1"] == 0
    assert round(float(scores["ma"]["macro_f1"]), 6) == 0.478978
    assert round(float(metrics.row_accuracy(sentihood_gold, predicted)), 6) == 0.838212


@pytest.mark.data
def test_always_general_positive_on_sentihood(sentihood_gold: NDArray[Any]) -> None:
    predicted = np.zeros_like(sentihood_gold)
    predicted[:, 0] = 1
    figures = [
        round(float(metric(sentihood_gold, predicted, family)), 6)
        for metric in (metrics.strict_accuracy, metrics.macro_f1)
        for family in metrics.FAMILIES
    ]
    assert figures == [0.169239, 0.224588, 0.551714, 0.287455]


@pytest.mark.data
def test_always_positive_on_sentihood(sentihood_gold: NDArray[Any]) -> None:
    assert (sentihood_gold != 0).sum() == 1216
    probabilities = one_hot(np.ones_like(sentihood_gold))
    assert metrics.sentiment_accuracy(sentihood_gold, probabilities) == 810 / 1216
