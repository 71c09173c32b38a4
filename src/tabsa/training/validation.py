"""What a model says of data, and how good that is: how states are compared, and what is reported of a run."""

import math
from collections.abc import Iterator

import numpy as np
import torch
from numpy.typing import NDArray

from tabsa.encoding.arrays import Encoded, combine
from tabsa.evaluation.calibration import Calibration, fit_calibration
from tabsa.evaluation.metrics import all_metrics
from tabsa.models.base import Answer, Model
from tabsa.nn.context import EVALUATION
from tabsa.training.config import RunConfig, Selection

Figures = dict[str, dict[str, float]]  # family, metric
_BATCH = 256


def plain(figures: Figures) -> dict[str, dict[str, float | None]]:
    """The figures for JSON, which has no NaN."""
    return {family: {name: plain_number(value) for name, value in values.items()} for family, values in figures.items()}


def plain_number(value: float) -> float | None:
    """For JSON: nothing where it is not finite."""
    return value if math.isfinite(value) else None


@torch.no_grad()
def read(model: Model, data: Encoded, batch_size: int = _BATCH) -> Iterator[tuple[NDArray[np.int64], Answer]]:
    """What a model answers to every reading, in batches of like length: the readings' numbers, and the answer."""
    device, seeds = model.words.device, len(model.seeds)
    order = np.argsort(-data.lengths, kind="stable")
    for start in range(0, len(order), batch_size):
        rows = order[start : start + batch_size]
        lengths = torch.from_numpy(data.lengths[rows]).to(torch.long)
        inputs = [
            torch.from_numpy(words[rows][:, : int(lengths.max())]).to(device, torch.long).expand(seeds, -1, -1)
            for words in (data.tokens, data.concepts)
            if words is not None
        ]
        yield rows, model(inputs[0], lengths.to(device).expand(seeds, -1), *inputs[1:], context=EVALUATION)


def reading_probabilities(model: Model, data: Encoded, batch_size: int = _BATCH) -> NDArray[np.float64]:
    """Probabilities of every reading for every seed, (S, N, K, A, labels)."""
    result = np.zeros((len(model.seeds), *data.labels.shape, model.labels))
    for rows, answer in read(model, data, batch_size):
        result[:, rows] = answer.logits.double().softmax(-1).cpu().numpy()
    return result


def predict(model: Model, data: Encoded, batch_size: int = _BATCH) -> NDArray[np.float64]:
    """Probabilities of every group for every seed, (S, groups, A, labels)."""
    return combine(data, reading_probabilities(model, data, batch_size))


def calibrated(config: RunConfig, data: Encoded, readings: NDArray[np.float64]) -> Calibration:
    """What a run fits on dev, as it asks for, of one seed's answers to every reading, (N, K, A, labels)."""
    training = config.training
    classes = training.calibrate == "classes"
    labelled = data.gold >= 0
    gold, probabilities = data.gold[labelled], combine(data, readings)[labelled]
    return fit_calibration(gold, probabilities, classes=classes, share=training.bias_share)


def figures_of(truth: NDArray[np.int64], probabilities: NDArray[np.float64]) -> Figures:
    """Every metric in both families; NaN, all of them, where a probability is."""
    scores = all_metrics(truth, probabilities)
    finite = np.isfinite(probabilities).all()
    return {
        family: {name: float(value) if finite else math.nan for name, value in values.items()}
        for family, values in scores.items()
    }


def selected(figures: Figures, metric: Selection) -> float:
    """The dev score by which states are compared; an undefined one counts as 0."""
    if metric == "mean":
        names = [("ma", "strict_accuracy"), ("sun", "macro_f1")]
        names += [("sun", name) for name in ("aspect_auc", "sentiment_accuracy", "sentiment_auc")]
        return sum(_number(figures[family][name]) for family, name in names) / len(names)
    if metric == "opinion_f1":
        return _number(figures["questions"]["opinion_f1"])
    family, _, name = metric.rpartition(".")
    return _number(figures[family or "sun"][name])


def _number(value: float) -> float:
    return 0.0 if math.isnan(value) else value
