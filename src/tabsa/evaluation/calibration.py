"""Probabilities that mean what they say, fitted on dev (Guo et al., 2017): one temperature, and a bias for each class.

The biases are for models that were trained on other shares of the classes than there are. A reader's answers are
calibrated in two parts (`PresenceCalibration`): whether a text speaks of an aspect at all, and how.
Shapes as in `metrics`: `gold` (groups, aspects), `probabilities` (groups, aspects, labels).
"""

import math
from dataclasses import dataclass
from typing import Final

import numpy as np

from tabsa.encoding.answers import PresenceCalibration, presence_log_odds, softmax
from tabsa.evaluation.metrics import BoolArray, FloatArray, IntArray

_GOLDEN: Final = (math.sqrt(5) - 1) / 2
_PENALTY: Final = 1e-4  # on the biases, so that a class that dev does not have keeps a finite one
_LEAST: Final = 1e-30  # a probability whose logarithm is taken


@dataclass(frozen=True)
class Calibration:
    """Logits are divided by the temperature, and the bias is added."""

    temperature: float = 1.0
    bias: tuple[float, ...] = ()  # one a label, or none at all

    def apply(self, probabilities: FloatArray) -> FloatArray:
        """Return calibrated probabilities."""
        logits = np.log(np.maximum(probabilities, _LEAST)) / self.temperature
        return softmax(logits + (np.asarray(self.bias) if self.bias else 0.0))


def fit_presence_calibration(gold: IntArray, probabilities: FloatArray) -> PresenceCalibration:
    """Fit the one that makes the gold labels likeliest; of polarities, where there are opinions."""
    odds = presence_log_odds(probabilities)
    presence = 1 / (1 + np.exp(np.clip(np.concatenate([odds, -odds], axis=-1), -80, 80)))
    fitted = fit_calibration((gold > 0).astype(np.int64), presence, classes=True)
    found = probabilities[gold > 0][:, 1:]
    polarity = 1.0
    if len(found) and found.shape[-1] > 1:
        shares = found / np.maximum(found.sum(-1, keepdims=True), _LEAST)
        polarity = fit_temperature(gold[gold > 0] - 1, shares)
    return PresenceCalibration(fitted.temperature, fitted.bias[1], polarity)


def fit_temperature(gold: IntArray, probabilities: FloatArray) -> float:
    """Return the temperature that makes the gold labels likeliest, between 0.05 and 20."""

    def loss(log_temperature: float) -> float:
        after = Calibration(math.exp(log_temperature)).apply(probabilities)
        chosen = np.take_along_axis(after, gold[..., None], axis=-1)
        return float(-np.log(np.maximum(chosen, _LEAST)).mean())

    low, high = math.log(0.05), math.log(20)
    while high - low > 1e-4:  # golden section: the loss has one minimum in 1 / temperature
        left, right = high - _GOLDEN * (high - low), low + _GOLDEN * (high - low)
        if loss(left) < loss(right):
            high = right
        else:
            low = left
    return math.exp((low + high) / 2)


def fit_calibration(gold: IntArray, probabilities: FloatArray, *, classes: bool, share: float = 1.0) -> Calibration:
    """Fit the calibration that makes the gold labels likeliest; with `classes`, a bias for each, `none` at 0.

    The biases are multiplied by `share`: with less than 1 a model finds more, and errs more often in it.
    """
    if not classes:
        return Calibration(fit_temperature(gold, probabilities))
    labels = probabilities.shape[-1]
    logs = np.log(np.maximum(probabilities, _LEAST)).reshape(-1, labels)
    # The features of a label are its logit and which label it is; the loss is convex in their weights: Newton's way.
    own = np.broadcast_to(np.eye(labels)[:, 1:], (len(logs), labels, labels - 1))
    features = np.concatenate([logs[..., None], own], axis=-1)  # (rows, labels, labels)
    observed = features[np.arange(len(logs)), gold.ravel()].mean(0)
    ridge = np.array([0.0, *[_PENALTY] * (labels - 1)])
    weights = np.array([1.0, *[0.0] * (labels - 1)])
    for _ in range(50):
        shares = softmax(features @ weights)
        expected = np.einsum("rl,rlf->rf", shares, features)
        gradient = expected.mean(0) - observed + ridge * weights
        square = np.einsum("rl,rlf,rlg->fg", shares, features, features) - expected.T @ expected
        step = np.linalg.solve(square / len(logs) + np.diag(ridge + 1e-9), gradient)
        weights = weights - np.clip(step, -0.5, 0.5)
        weights[0] = min(max(weights[0], 0.05), 20.0)
        if np.abs(step).max() < 1e-8:
            break
    return Calibration(1 / float(weights[0]), (0.0, *(share * float(bias) for bias in weights[1:])))


@dataclass(frozen=True, slots=True)
class ReliabilityBin:
    """Answers of like confidence: how sure they are on average, how often they are right, and how many they are."""

    confidence: float
    accuracy: float
    count: int


@dataclass(frozen=True, slots=True)
class Reliability:
    """Confidence against accuracy (Guo et al., 2017)."""

    error: float  # the distance of confidence from accuracy, on average over answers; NaN where there are none
    bins: tuple[ReliabilityBin, ...]


def reliability(confidence: FloatArray, right: BoolArray, bins: int = 10) -> Reliability:
    """Return a reliability diagram as numbers: bins of equal width from 0 to 1, empty ones left out."""
    number = np.minimum((np.asarray(confidence) * bins).astype(np.int64), bins - 1)
    counts = np.bincount(number, minlength=bins)
    sums = (np.bincount(number, values, bins) for values in (confidence, np.asarray(right, np.float64)))
    rows = zip(*(total / np.maximum(counts, 1) for total in sums), counts, strict=True)
    found = tuple(ReliabilityBin(float(c), float(r), int(n)) for c, r, n in rows if n)
    gaps = sum(one.count * abs(one.confidence - one.accuracy) for one in found)
    return Reliability(gaps / len(number) if found else math.nan, found)


def calibration_error(gold: IntArray, probabilities: FloatArray, bins: int = 15) -> float:
    """Return how far confidence is from accuracy, on average over rows, in bins of equal width of confidence."""
    return reliability(probabilities.max(-1).ravel(), (probabilities.argmax(-1) == gold).ravel(), bins).error


def presence_reliability(gold: IntArray, probabilities: FloatArray) -> Reliability:
    """Compare how likely an opinion is with whether there is one; (questions,) and (questions, labels)."""
    return reliability(1 - probabilities[:, 0], gold > 0)


def polarity_reliability(gold: IntArray, probabilities: FloatArray) -> Reliability:
    """Compare how sure the polarity of a true opinion is with whether it is right."""
    there = gold > 0
    shares = probabilities[there][:, 1:]
    shares = shares / np.maximum(shares.sum(-1, keepdims=True), _LEAST)
    return reliability(shares.max(-1), shares.argmax(-1) + 1 == gold[there])
