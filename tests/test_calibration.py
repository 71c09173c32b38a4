import numpy as np
import pytest

from tabsa.calibration import calibration_error, fit_temperature, scaled


def drawn(temperature, rows=20_000, seed=0):
    """Labels drawn from softmax(logits), and predictions that are off by `temperature`."""
    rng = np.random.default_rng(seed)
    logits = rng.normal(0, 2, (rows, 1, 3))
    true = np.exp(logits) / np.exp(logits).sum(-1, keepdims=True)
    gold = (true.cumsum(-1) < rng.random((rows, 1, 1))).sum(-1)
    said = np.exp(logits * temperature)
    return gold, said / said.sum(-1, keepdims=True)


@pytest.mark.parametrize("temperature", [0.4, 1.0, 3.0])
def test_the_temperature_that_was_put_in_is_found(temperature):
    gold, said = drawn(temperature)
    fitted = fit_temperature(gold, said)
    assert fitted == pytest.approx(temperature, rel=0.06)
    assert calibration_error(gold, scaled(said, fitted)) < 0.01


def test_scaling_divides_logits():
    logits = np.array([[[1.0, 2.0, -1.0]]])
    p = np.exp(logits) / np.exp(logits).sum(-1, keepdims=True)
    q = np.exp(logits / 2.5) / np.exp(logits / 2.5).sum(-1, keepdims=True)
    np.testing.assert_allclose(scaled(p, 2.5), q)
    np.testing.assert_allclose(scaled(p, 1.0), p)


def test_calibration_error_by_hand():
    # Two bins of ten are used: 0.95 (right, right) and 0.6 (right, wrong, wrong).
    confidence = np.array([0.95, 0.95, 0.6, 0.6, 0.6])
    probabilities = np.stack([confidence, 1 - confidence], axis=-1)[:, None]
    gold = np.array([[0], [0], [0], [1], [1]])
    expected = (2 * abs(0.95 - 1) + 3 * abs(0.6 - 1 / 3)) / 5
    assert calibration_error(gold, probabilities, bins=10) == pytest.approx(expected)
    assert calibration_error(np.array([[0]]), np.array([[[1.0, 0.0]]])) == 0


def test_a_certain_and_right_model_stays_finite():
    gold, sure = np.array([[0, 1]]), np.array([[[1.0, 0.0], [0.0, 1.0]]])
    assert np.isfinite(scaled(sure, fit_temperature(gold, sure))).all()
