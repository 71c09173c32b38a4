"""Logistic regression, the linear baseline `lr`: one an aspect over the n-grams of all, fitted by scikit-learn.

The training split alone decides the features, their weighting and, for a given strength of regularisation, the weights.
The dev split chooses that strength, and the one number that moves the border of `none` (`models.linear`).
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from tabsa.datasets.checking import any_named, mostly_implied, notes_on, warn_of
from tabsa.encoding.answers import softmax
from tabsa.encoding.arrays import UNLABELLED, combine_readings, gold_labels, passage_labels, readings
from tabsa.errors import TabsaError
from tabsa.evaluation.report import Report, evaluate
from tabsa.models.linear.linear_features import FeatureSpace, LRConfig, SparseRows, Tagger, passage_ngrams
from tabsa.models.linear.linear_model import LinearEngine, LinearModel, tagger_for, write_model
from tabsa.schema import Dataset
from tabsa.training.loop import class_weights, figures_of, plain, selected
from tabsa.training.model_card import model_card
from tabsa.training.run_config import RunConfig, Selection
from tabsa.training.run_folder import Fitted, FittedRow, Run, RunFolder
from tabsa.training.word_data import datasets

_NEVER: Final = -100.0  # the logit of a label that an aspect never has in the training data
_TOLERANCE: Final = 1e-8  # of scikit-learn's gradient: logits are then within 1e-4 of the best ones
# Tried from 0 outwards, so that of equally good ones the smallest change wins.
_BIASES: Final = tuple(sorted((round(0.1 * step, 1) for step in range(-60, 61)), key=abs))


@dataclass(frozen=True)
class FittedModel:
    """A fitted model, the C that was chosen for it, and what it is worth on dev."""

    model: LinearModel
    c: float
    report: Report


@dataclass(frozen=True)
class _Features:
    """A dataset as the regressions see it: a row for each target of each passage."""

    ngrams: list[list[str]]
    groups: NDArray[np.int64]  # the dataset's group of each row, (N,)
    labels: NDArray[np.int64]  # what a row teaches, (N, A)
    gold: NDArray[np.int64]  # what is right of a group, (G, A)

    def probabilities(self, logits: NDArray[np.float64], none_bias: float = 0.0) -> NDArray[np.float64]:
        """Probabilities of every group, (G, A, labels), of the logits of every row."""
        moved = logits.copy()
        moved[..., 0] += none_bias
        return combine_readings(self.groups[:, None], len(self.gold), softmax(moved)[:, None])


def fit_folder(config: RunConfig, out: Path, run: Run) -> Fitted:
    """Fit, and write the model folder; it has no seeds, and resuming it is fitting it again."""
    train, dev = datasets(config, run.data_dir)
    data, options = config.data, config.model
    tagger = tagger_for(options, run.data_dir)
    fitted = fit_datasets(options, train, dev, tagger, data.max_length, config.training.select)
    folder = RunFolder(out / "run")
    folder.config.unlink(missing_ok=True)
    folder.start(config, (config.training.seed,))
    model, figures = fitted.model, {"sun": fitted.report.sun, "ma": fitted.report.ma}
    count, bias = len(model.space.ngrams), model.none_bias
    metrics: dict[str, Any] = {"data": data.name, "split": data.dev, "dev": plain(figures)}
    metrics |= {"c": fitted.c, "none_bias": bias, "features": count}
    lengths = f"{options.word_ngrams} of words, {options.pos_ngrams} of tags, {options.char_ngrams} of characters"
    facts = [
        f"aspects: {', '.join(model.aspects)}",
        f"features: {count:,} n-grams, the longest {lengths}",
        f"words behind a negation that are read as negated: {options.negation}",
        f"C: {fitted.c:g}, and {bias:g} added to the logit of `none`: the best {config.training.select} on {data.dev}",
    ]
    implied = mostly_implied(train)
    card = model_card(config, model.labels, facts, figures, implied=implied)
    written = write_model(out, model, metrics, card, implied=implied, named=any_named(train))
    warn_of((*notes_on(train, start=True), *notes_on(dev)))
    return Fitted(written, (FittedRow(data.dev, None, figures),), f"{count:,} n-grams, C {fitted.c:g} kept")


def fit_datasets(
    config: LRConfig,
    train: Dataset,
    dev: Dataset,
    tagger: Tagger | None = None,
    max_length: int = 0,
    select: Selection = "mean",
) -> FittedModel:
    """Fit on `train`, choose on `dev`; both have the same aspects and labels."""
    strengths = sorted(set(config.c))
    learnt, judged = (_features(data, config, tagger, max_length) for data in (train, dev))
    space = FeatureSpace.of(learnt.ngrams, config)
    rows, dev_rows = space.encode(learnt.ngrams), space.encode(judged.ngrams)
    shape = (len(strengths), len(space.ngrams), len(train.aspects), len(train.labels))
    weights, intercepts = np.zeros(shape, np.float32), np.full((shape[0], *shape[2:]), _NEVER, np.float32)
    for aspect in range(len(train.aspects)):
        fits = _regressions(rows, learnt.labels[:, aspect], strengths, len(space.ngrams), config.class_power)
        for n, (classes, slopes, starts) in enumerate(fits):
            weights[n][:, aspect, classes], intercepts[n, aspect, classes] = slopes, starts
    found = []
    for c, of_c, own in zip(strengths, weights, intercepts, strict=True):
        model = LinearModel(space, of_c, own, train.aspects, train.labels, max_length)
        bias, score = choose_bias(model.logits(dev_rows), judged, select)
        found.append((score, c, replace(model, none_bias=bias)))
    _, c, model = max(found, key=lambda one: one[0])
    return FittedModel(model, c, evaluate(dev, judged.probabilities(model.logits(dev_rows)), bootstrap=0))


def probabilities_of(model: LinearModel, data: Dataset, data_dir: Path | None = None) -> NDArray[np.float64]:
    """A fitted model's probabilities of a dataset, (groups, aspects, labels)."""
    features = _features(data, model.config, tagger_for(model.config, data_dir), model.max_length)
    return features.probabilities(model.logits(model.space.encode(features.ngrams)))


def _features(data: Dataset, config: LRConfig, tagger: Tagger | None, max_length: int) -> _Features:
    gold = gold_labels(data)
    ngrams: list[list[str]] = []
    groups: list[int] = []
    labels: list[NDArray[np.int64]] = []
    seen: set[int] = set()
    for reading in readings(data, targets=LinearEngine.at_once, max_length=max_length):
        ngrams += passage_ngrams(reading.passage, config, tagger)
        labels += [passage_labels(gold[group], first=group not in seen) for group in reading.groups]
        groups += reading.groups
        seen.update(reading.groups)
    shape = (len(groups), len(data.aspects))
    return _Features(ngrams, np.array(groups, np.int64), np.array(labels, np.int64).reshape(shape), gold)


def _regressions(
    rows: SparseRows, gold: NDArray[np.int64], strengths: Sequence[float], features: int, power: float
) -> Iterator[tuple[NDArray[np.int64], Any, Any]]:
    """Fit one aspect, F features, with each C, from the fit before: its L labels, weights (F, L), intercepts (L,).

    Of the labels y, the weights W and the intercepts b are those with the least

        |W|^2 / 2  +  sum over rows n of  C * s_n * -log softmax(x_n W + b)[y_n]

    where s_n is 1 / frequency ** power of the row's class, and 1 on average. Of two labels only the second has numbers.
    """
    try:
        from scipy.sparse import csr_matrix
        from sklearn.linear_model import LogisticRegression
    except ImportError as e:
        raise TabsaError("fitting 'lr' needs scikit-learn: pip install 'tabsa[train]'") from e
    labelled = gold != UNLABELLED
    matrix = csr_matrix((rows.values, rows.columns, rows.starts), shape=(len(gold), features))[labelled]
    labels, classes = gold[labelled], np.unique(gold[labelled])
    importance = class_weights(np.bincount(labels), power)[labels]
    model = LogisticRegression(solver="newton-cg", tol=_TOLERANCE, max_iter=1000, warm_start=True)
    for c in strengths:
        if len(classes) < 2:
            yield classes, 0.0, 0.0
            continue
        model.set_params(C=c).fit(matrix, labels, sample_weight=importance)
        slopes, starts = model.coef_.T, model.intercept_
        if len(classes) == 2:
            slopes, starts = np.pad(slopes, ((0, 0), (1, 0))), np.pad(starts, (1, 0))
        yield classes, slopes, starts


def choose_bias(logits: NDArray[np.float64], judged: _Features, select: Selection) -> tuple[float, float]:
    """The number to add to the logits of `none` for the best score on dev, and that score."""

    def score(bias: float) -> float:
        return selected(figures_of(judged.gold, judged.probabilities(logits, bias)), select)

    return max(((bias, score(bias)) for bias in _BIASES), key=lambda pair: pair[1])
