"""What a model says of data, and how good that is: how states are compared, and what is reported of a run."""

import math

import numpy as np
import torch
from numpy.typing import NDArray

from tabsa.batch import Encoded
from tabsa.calibration import Calibration, fit
from tabsa.metrics import all_metrics
from tabsa.models import Model
from tabsa.training.config import RunConfig, Selection

Figures = dict[str, dict[str, float]]  # family, metric


def plain(figures: Figures) -> dict[str, dict[str, float | None]]:
    """The figures for JSON, which has no NaN."""
    return {family: {name: plain_number(value) for name, value in values.items()} for family, values in figures.items()}


def plain_number(value: float) -> float | None:
    """For JSON: nothing where it is not finite."""
    return value if math.isfinite(value) else None


@torch.no_grad()
def predict(model: Model, data: Encoded, batch_size: int = 256) -> NDArray[np.float64]:
    """Probabilities of every group for every seed, (S, groups, A, labels); sentences are read in order of length."""
    model.eval()
    model.generators = None
    device = model.words.device
    order = np.argsort(-data.lengths, kind="stable")
    groups = int(data.groups.max(initial=-1)) + 1
    result = np.zeros((len(model.seeds), groups, data.labels.shape[2], model.labels))
    for start in range(0, len(order), batch_size):
        rows = order[start : start + batch_size]
        lengths = torch.from_numpy(data.lengths[rows]).to(torch.long)
        copies = len(model.seeds)
        tokens, *concepts = (
            torch.from_numpy(words[rows][:, : int(lengths.max())]).to(device, torch.long).expand(copies, -1, -1)
            for words in (data.tokens, data.concepts)
            if words is not None
        )
        answer = model(tokens, lengths.to(device).expand(copies, -1), *concepts)
        probabilities = answer.logits.double().softmax(-1).cpu().numpy()  # (S, B, K, A, labels)
        asked = data.groups[rows] >= 0
        result[:, data.groups[rows][asked]] = probabilities[:, asked]
    return result


def calibrated(config: RunConfig, truth: NDArray[np.int64], probabilities: NDArray[np.float64]) -> Calibration:
    """What a run fits on dev, as it asks for."""
    training = config.training
    return fit(truth, probabilities, classes=training.calibrate == "classes", share=training.bias_share)


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
    family, _, name = metric.rpartition(".")
    return _number(figures[family or "sun"][name])


def _number(value: float) -> float:
    return 0.0 if math.isnan(value) else value
