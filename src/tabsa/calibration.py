"""Probabilities that mean what they say: one temperature, fitted on dev (Guo et al., 2017).

Shapes as in `metrics`: `gold` (groups, aspects), `probabilities` (groups, aspects, labels).
"""

import math

import numpy as np

from tabsa.metrics import FloatArray, IntArray

_GOLDEN = (math.sqrt(5) - 1) / 2


def scaled(probabilities: FloatArray, temperature: float) -> FloatArray:
    """The probabilities after dividing their logits by `temperature`."""
    logs = np.log(np.maximum(probabilities, 1e-30)) / temperature
    raised = np.exp(logs - logs.max(-1, keepdims=True))
    return np.asarray(raised / raised.sum(-1, keepdims=True))


def calibration_error(gold: IntArray, probabilities: FloatArray, bins: int = 15) -> float:
    """How far confidence is from accuracy, on average over rows, in bins of equal width of confidence."""
    confidence = probabilities.max(-1).ravel()
    right = (probabilities.argmax(-1) == gold).ravel()
    number = np.minimum((confidence * bins).astype(np.int64), bins - 1)
    gaps = np.bincount(number, confidence, bins) - np.bincount(number, right, bins)
    return float(np.abs(gaps).sum() / len(confidence))


def fit_temperature(gold: IntArray, probabilities: FloatArray) -> float:
    """The temperature that makes the gold labels likeliest, between 0.05 and 20."""

    def loss(log_temperature: float) -> float:
        after = scaled(probabilities, math.exp(log_temperature))
        chosen = np.take_along_axis(after, gold[..., None], axis=-1)
        return float(-np.log(np.maximum(chosen, 1e-30)).mean())

    low, high = math.log(0.05), math.log(20)
    while high - low > 1e-4:  # golden section: the loss has one minimum in 1 / temperature
        left, right = high - _GOLDEN * (high - low), low + _GOLDEN * (high - low)
        if loss(left) < loss(right):
            high = right
        else:
            low = left
    return math.exp((low + high) / 2)
