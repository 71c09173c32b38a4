import numpy as np
import pytest

from tabsa.encoding.answers import PresenceCalibration
from tabsa.evaluation.calibration import (
    Calibration,
    calibration_error,
    fit_calibration,
    fit_presence_calibration,
    fit_temperature,
    polarity_reliability,
    presence_reliability,
)


def drawn(temperature, rows=20_000, seed=0):
    """Labels drawn from softmax(logits), and predictions that are off by `temperature`."""
    rng = np.random.default_rng(seed)
    logits = rng.normal(0, 2, (rows, 1, 3))
    true = np.exp(logits) / np.exp(logits).sum(-1, keepdims=True)
    gold = (true.cumsum(-1) < rng.random((rows, 1, 1))).sum(-1)
    probabilities = np.exp(logits * temperature)
    return gold, probabilities / probabilities.sum(-1, keepdims=True)


@pytest.mark.parametrize("temperature", [0.4, 1.0, 3.0])
def test_the_temperature_that_was_put_in_is_found(temperature):
    gold, probabilities = drawn(temperature)
    fitted = fit_temperature(gold, probabilities)
    assert fitted == pytest.approx(temperature, rel=0.06)
    assert calibration_error(gold, Calibration(fitted).apply(probabilities)) < 0.01


def softmax(logits):
    return np.exp(logits) / np.exp(logits).sum(-1, keepdims=True)


@pytest.mark.parametrize("bias", [(0.0, -1.5, -0.5), (0.0, 1.0, 2.0)])
def test_the_class_biases_that_were_put_in_are_found(bias):
    rng = np.random.default_rng(1)
    logits = rng.normal(0, 2, (20_000, 1, 3))
    true = softmax(logits)
    gold = (true.cumsum(-1) < rng.random((20_000, 1, 1))).sum(-1)
    probabilities = softmax(1.7 * (logits - np.array(bias)))
    fitted = fit_calibration(gold, probabilities, classes=True)
    assert fitted.temperature == pytest.approx(1.7, rel=0.06)
    assert fitted.bias == pytest.approx(bias, abs=0.1)
    np.testing.assert_allclose(fitted.apply(probabilities), true, atol=0.05)


def test_presence_and_polarities_by_hand():
    calibration = PresenceCalibration(presence_temperature=2, presence_bias=0.3, polarity_temperature=0.5)
    ((none, good, bad),) = calibration.apply(np.array([[0.2, 0.6, 0.2]]))
    presence = 1 / (1 + np.exp(-(np.log(0.8 / 0.2) / 2 + 0.3)))
    np.testing.assert_allclose([none, good, bad], [1 - presence, presence * 0.9, presence * 0.1])
    rng = np.random.default_rng(0)
    any_shares = rng.dirichlet([1, 1, 1, 1], (5, 7))
    np.testing.assert_allclose(PresenceCalibration().apply(any_shares), any_shares)


def test_the_presence_calibration_that_was_put_in_is_found():
    rng = np.random.default_rng(1)
    probabilities = rng.dirichlet([2, 1, 1], (40_000, 1))
    true = PresenceCalibration(1.8, -0.6, 0.7)
    gold = (true.apply(probabilities).cumsum(-1) < rng.random((40_000, 1, 1))).sum(-1)
    found = fit_presence_calibration(gold, probabilities)
    assert found.presence_temperature == pytest.approx(1.8, rel=0.06)
    assert found.presence_bias == pytest.approx(-0.6, abs=0.05)
    assert found.polarity_temperature == pytest.approx(0.7, rel=0.06)


def test_dev_without_any_opinion_or_with_nothing_else():
    probabilities = np.random.default_rng(2).dirichlet([1, 1, 1], (50, 2))
    for gold in (np.zeros((50, 2), int), np.ones((50, 2), int)):
        after = fit_presence_calibration(gold, probabilities).apply(probabilities)
        assert np.isfinite(after).all()
        np.testing.assert_allclose(after.sum(-1), 1)


def test_reliability_against_a_slow_loop():
    rng = np.random.default_rng(4)
    gold = rng.integers(0, 4, 300)
    probabilities = rng.dirichlet(np.ones(4), 300)
    probabilities[0] = [0, 1, 0, 0]  # certain
    for found, confidence, right in (
        (presence_reliability(gold, probabilities), 1 - probabilities[:, 0], gold > 0),
        (
            polarity_reliability(gold, probabilities),
            np.array([max(p[1:]) / sum(p[1:]) for p in probabilities])[gold > 0],
            np.array([1 + int(np.argmax(p[1:])) == g for p, g in zip(probabilities, gold, strict=True)])[gold > 0],
        ),
    ):
        expected = []
        for low in range(10):
            inside = [n for n, c in enumerate(confidence) if low / 10 <= c < (low + 1) / 10 or (c == 1 and low == 9)]
            if inside:
                expected.append((np.mean(confidence[inside]), np.mean(right[inside]), len(inside)))
        assert [(b.confidence, b.accuracy, b.count) for b in found.bins] == [pytest.approx(row) for row in expected]
        gap = sum(n * abs(c - r) for c, r, n in expected) / len(confidence)
        assert found.error == pytest.approx(gap)
