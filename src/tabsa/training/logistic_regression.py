"""Logistic regression, the linear baseline `lr`: one an aspect over the n-grams of all, fitted by scikit-learn.

The training split alone decides the features, their weighting and, for a given strength of regularisation, the weights.
The dev split chooses that strength, and the one number that moves the border of `none` (`models.linear`).
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Final, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from tabsa.checkpoint.model_folder import ModelFolder
from tabsa.datasets.checking import any_named, mostly_implied, notes_on, warn_of
from tabsa.encoding.answers import softmax
from tabsa.encoding.arrays import UNLABELLED, combine_readings, gold_labels, passage_labels, readings
from tabsa.errors import ConfigError, TabsaError
from tabsa.evaluation.metrics import FAMILIES
from tabsa.evaluation.report import Report, evaluate
from tabsa.models.linear.linear_features import Decision, FeatureSpace, LRConfig, SparseRows, Tagger, passage_ngrams
from tabsa.models.linear.linear_model import LinearEngine, LinearModel, tagger_for, write_model
from tabsa.schema import Dataset
from tabsa.training.loop import class_weights, figures_of, selected
from tabsa.training.model_card import model_card
from tabsa.training.run_config import RunConfig, Selection
from tabsa.training.run_folder import Fitted, FittedRow, Run, RunFolder
from tabsa.training.word_data import datasets

_NEVER: Final = -100.0  # the logit of a label that an aspect never has in the training data
_TOLERANCE: Final = 1e-8  # of scikit-learn's gradient: logits are then within 1e-4 of the best ones
# Tried from 0 outwards, so that of equally good ones the smallest change wins.
_BIASES: Final = tuple(sorted((round(0.1 * step, 1) for step in range(-60, 61)), key=abs))

OnStep: TypeAlias = Callable[[str, float], None]  # what is being done, and how far all of it is, from 0 to 1


class Trial(NamedTuple):
    """One strength of regularisation on dev, under the decision that the configuration names."""

    c: float
    none_bias: float
    score: float


@dataclass(frozen=True)
class FittedModel:
    """A fitted model, how its C was chosen, and what it is worth on dev under either decision."""

    model: LinearModel
    best: Trial
    trials: tuple[Trial, ...]
    reports: dict[Decision, Report]


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
    try:
        run.call("on_step", "reading", 0.0)
        train, dev = datasets(config, run.data_dir)
        tagger, length = tagger_for(config.model, run.data_dir), config.data.max_length
        on_step = partial(run.call, "on_step")
        fitted = fit_datasets(config.model, train, dev, tagger, length, config.training.select, on_step)
    finally:
        run.call("on_steps_end")
    folder = RunFolder(out / "run")
    folder.config.unlink(missing_ok=True)
    folder.start(config, (config.training.seed,))
    written = write_fitted(out, config, fitted, implied=mostly_implied(train), named=any_named(train))
    rows = (FittedRow(name, None, {"sun": one.sun, "ma": one.ma}) for name, one in fitted.reports.items())
    warn_of((*notes_on(train, start=True), *notes_on(dev)))
    about = f"{len(fitted.model.space.ngrams):,} n-grams, C {fitted.best.c:g} and {config.model.decision} kept"
    return Fitted(written, tuple(rows), about)


def fit_datasets(
    config: LRConfig,
    train: Dataset,
    dev: Dataset,
    tagger: Tagger | None = None,
    max_length: int = 0,
    select: Selection = "mean",
    on_step: OnStep = lambda *_: None,
) -> FittedModel:
    """Fit on `train`, choose on `dev`; both have the same aspects and labels."""
    if not config.c:
        raise ConfigError("'model.c' is empty; expected at least one number")
    strengths = sorted(set(config.c))
    learnt, judged = (_features(data, config, tagger, max_length) for data in (train, dev))
    space = FeatureSpace.of(learnt.ngrams, config)
    if not space.ngrams:
        raise ConfigError(f"{train.name} {train.split} has no n-gram to learn from")
    rows, dev_rows = space.encode(learnt.ngrams), space.encode(judged.ngrams)
    shape = (len(strengths), len(space.ngrams), len(train.aspects), len(train.labels))
    weights, intercepts = np.zeros(shape, np.float32), np.full((shape[0], *shape[2:]), _NEVER, np.float32)
    for aspect, name in enumerate(train.aspects):
        on_step(name, aspect / len(train.aspects))
        fits = _regressions(rows, learnt.labels[:, aspect], strengths, len(space.ngrams), config.class_power)
        for n, (classes, slopes, starts) in enumerate(fits):
            weights[n][:, aspect, classes], intercepts[n, aspect, classes] = slopes, starts
    models, trials = [], []
    for c, of_c, own in zip(strengths, weights, intercepts, strict=True):
        models.append(LinearModel(space, of_c, own, train.aspects, train.labels, max_length))
        trials.append(Trial(c, *choose_bias(models[-1].logits(dev_rows), judged, select, config.decision)))
    on_step("choosing", 1.0)
    best = max(range(len(trials)), key=lambda n: trials[n].score)
    logits = models[best].logits(dev_rows)
    biases: dict[Decision, float] = {"argmax": 0.0, "threshold": choose_bias(logits, judged, select, "threshold")[0]}
    return FittedModel(
        replace(models[best], none_bias=trials[best].none_bias),
        trials[best],
        tuple(trials),
        {name: evaluate(dev, judged.probabilities(logits, bias), bootstrap=0) for name, bias in biases.items()},
    )


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


def choose_bias(
    logits: NDArray[np.float64], judged: _Features, select: Selection, decision: Decision
) -> tuple[float, float]:
    """The number to add to the logits of `none` for the best score on dev, and that score; with `argmax`, 0."""

    def score(bias: float) -> float:
        return selected(figures_of(judged.gold, judged.probabilities(logits, bias)), select)

    scores = [(bias, score(bias)) for bias in (_BIASES if decision == "threshold" else (0.0,))]
    return max(scores, key=lambda pair: pair[1])


def write_fitted(path: Path, config: RunConfig, fitted: FittedModel, *, implied: bool, named: bool) -> ModelFolder:
    """Write the model folder; its metrics hold the dev report of either decision, by name."""
    model, options, data = fitted.model, fitted.model.config, config.data
    reports = {name: report.to_dict() for name, report in fitted.reports.items()}
    metrics: dict[str, Any] = {
        "data": data.name,
        "split": data.dev,
        "decision": options.decision,
        "c": fitted.best.c,
        "none_bias": fitted.best.none_bias,
        "features": len(model.space.ngrams),
        "dev": {family: reports[options.decision][family] for family in FAMILIES},
        "decisions": reports,
        "trials": [trial._asdict() for trial in fitted.trials],
    }
    lengths = f"{options.word_ngrams} of words, {options.pos_ngrams} of tags, {options.char_ngrams} of characters"
    facts = [
        f"aspects: {', '.join(model.aspects)}",
        f"features: {len(model.space.ngrams):,} n-grams",
        f"longest n-gram: {lengths}",
        f"words behind a negation that are read as negated: {options.negation}",
        f"C: {fitted.best.c:g}, selected by {config.training.select} on {data.dev}",
        f"decision: {options.decision}, which adds {model.none_bias:g} to the logit of `none`",
    ]
    figures = {f"{name}, {f}": getattr(report, f) for name, report in fitted.reports.items() for f in FAMILIES}
    card = model_card(config, model.labels, facts, figures, implied=implied)
    return write_model(path, model, metrics, card, implied=implied, named=named)
