"""Logistic regression, the linear baseline `lr`: one an aspect over the n-grams of all, fitted by scikit-learn.

The training split alone decides the features, their weighting and, for a given strength of regularisation, the weights.
The dev split chooses that strength, and the one number that moves the border of `none` (`models.linear`).
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from tabsa.checkpoint.model_folder import ModelFolder
from tabsa.datasets.checking import any_named, mostly_implied, notes_on, warn_of
from tabsa.encoding.answers import softmax
from tabsa.encoding.arrays import UNLABELLED, combine_readings, gold_labels, passage_labels, readings
from tabsa.errors import ConfigError, TabsaError
from tabsa.evaluation.metrics import FAMILIES, METRICS
from tabsa.evaluation.report import Report, evaluate
from tabsa.models.linear.linear_features import (
    Decision,
    FeatureSpace,
    LRConfig,
    SparseRows,
    Tagger,
    passage_ngrams,
)
from tabsa.models.linear.linear_model import LinearEngine, LinearModel, tagger_for, write_model
from tabsa.schema import Dataset
from tabsa.training.callbacks import Callback
from tabsa.training.loop import figures_of, selected
from tabsa.training.model_card import flattering_card, implied_line, percent
from tabsa.training.run_config import RunConfig, Selection
from tabsa.training.run_folder import Fitted, FittedRow, RunFolder
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
    implied: bool = False  # most targets that it learnt from are not named in their texts
    named: bool = True  # some are
    notes: tuple[str, ...] = ()  # what to know of dev beside the figures


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


def fit_folder(
    config: RunConfig, out: Path, run: RunFolder, callbacks: Sequence[Callback] = (), data_dir: Path | None = None
) -> Fitted:
    """Fit, and write the model folder; it has no seeds, and resuming it is fitting it again."""

    def on_step(name: str, share: float) -> None:
        for callback in callbacks:
            callback.on_step(name, share)

    try:
        fitted = fit_model(config, data_dir, on_step)
    finally:
        for callback in callbacks:
            callback.on_steps_end()
    run.config.unlink(missing_ok=True)
    run.start(config, (config.training.seed,))
    folder = write_fitted(out, config, fitted)
    rows = (FittedRow(name, None, {"sun": one.sun, "ma": one.ma}) for name, one in fitted.reports.items())
    warn_of(fitted.notes)
    about = f"{len(fitted.model.space.ngrams):,} n-grams, C {fitted.best.c:g} and {config.model.decision} kept"
    return Fitted(folder, tuple(rows), about)


def fit_model(config: RunConfig, data_dir: Path | None = None, on_step: OnStep = lambda *_: None) -> FittedModel:
    """Fit what a run's configuration describes; of its training section only `select` matters here."""
    on_step("reading", 0.0)
    train, dev = datasets(config, data_dir)
    tagger = tagger_for(config.model, data_dir)
    return fit_datasets(config.model, train, dev, tagger, config.data.max_length, config.training.select, on_step)


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
    learnt = _features(train, config, tagger, max_length)
    judged = _features(dev, config, tagger, max_length)
    space = FeatureSpace.of(learnt.ngrams, config)
    if not space.ngrams:
        raise ConfigError(f"{train.name} {train.split} has no n-gram to learn from")
    rows, dev_rows = space.encode(learnt.ngrams), space.encode(judged.ngrams)
    regressions = _Regressions(rows, learnt.labels, len(space.ngrams), len(train.labels), config.class_power)
    models, trials = [], []
    for number, c in enumerate(strengths):
        for aspect in regressions.fit(c):
            on_step(f"C = {c:g}", (number + aspect / len(train.aspects)) / len(strengths))
        weights, intercepts = regressions.weights.astype(np.float32), regressions.intercepts.astype(np.float32)
        model = LinearModel(space, weights, intercepts, train.aspects, train.labels, max_length)
        bias, score = choose_bias(model.logits(dev_rows), judged, select, config.decision)
        models.append(model)
        trials.append(Trial(c, bias, score))
    best = max(range(len(trials)), key=lambda n: trials[n].score)
    logits = models[best].logits(dev_rows)
    biases: dict[Decision, float] = {"argmax": 0.0, "threshold": choose_bias(logits, judged, select, "threshold")[0]}
    return FittedModel(
        replace(models[best], none_bias=trials[best].none_bias),
        trials[best],
        tuple(trials),
        {name: evaluate(dev, judged.probabilities(logits, bias), bootstrap=0) for name, bias in biases.items()},
        mostly_implied(train),
        any_named(train),
        (*notes_on(train, start=True), *notes_on(dev)),
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


class _Regressions:
    """One regression for each aspect, F features and L labels; each fit starts from the one before.

    For an aspect with the labels y, the weights W (F, L) and the intercepts b (L,) are those with the least

        |W|^2 / 2  +  sum over rows n of  C * s_n * -log softmax(x_n W + b)[y_n]

    where s_n is 1 / frequency ** power of the row's class, and 1 on average. Of two labels only the second has numbers.
    """

    def __init__(self, rows: SparseRows, gold: NDArray[np.int64], features: int, labels: int, power: float) -> None:
        try:
            from scipy.sparse import csr_matrix
            from sklearn.linear_model import LogisticRegression
        except ImportError as e:
            raise TabsaError("fitting 'lr' needs scikit-learn: pip install 'tabsa[train]'") from e
        matrix = csr_matrix((rows.values, rows.columns, rows.starts), shape=(len(gold), features))
        aspects = gold.shape[1]
        self.weights, self.intercepts = np.zeros((features, aspects, labels)), np.full((aspects, labels), _NEVER)
        self.tasks: list[tuple[Any, NDArray[np.int64], NDArray[np.float64], Any]] = []
        for own in gold.T:
            labelled = own != UNLABELLED
            counts = np.bincount(own[labelled], minlength=labels).astype(np.float64)
            importance = np.where(counts > 0, np.maximum(counts, 1) ** -power, 0)
            importance *= counts.sum() / max((importance * counts).sum(), 1e-300)
            model = LogisticRegression(solver="newton-cg", tol=_TOLERANCE, max_iter=1000, warm_start=True)
            self.tasks.append((matrix[labelled], own[labelled], importance[own[labelled]], model))

    def fit(self, c: float) -> Iterator[int]:
        """Fit one aspect after another, which changes `weights` and `intercepts`; yields how many are done."""
        for aspect, (matrix, labels, importance, model) in enumerate(self.tasks):
            classes = np.unique(labels)
            self.intercepts[aspect, classes] = 0.0
            if len(classes) > 1:
                model.set_params(C=c).fit(matrix, labels, sample_weight=importance)
                numbered = classes if len(classes) > 2 else classes[1:]
                self.weights[:, aspect, numbered] = model.coef_.T
                self.intercepts[aspect, numbered] = model.intercept_
            yield aspect + 1


def choose_bias(
    logits: NDArray[np.float64], judged: _Features, select: Selection, decision: Decision
) -> tuple[float, float]:
    """The number to add to the logits of `none` for the best score on dev, and that score; with `argmax`, 0."""

    def score(bias: float) -> float:
        return selected(figures_of(judged.gold, judged.probabilities(logits, bias)), select)

    scores = [(bias, score(bias)) for bias in (_BIASES if decision == "threshold" else (0.0,))]
    return max(scores, key=lambda pair: pair[1])


def write_fitted(path: Path, config: RunConfig, fitted: FittedModel) -> ModelFolder:
    """Write the model folder; its metrics hold the dev report of either decision, by name."""
    reports = {name: report.to_dict() for name, report in fitted.reports.items()}
    chosen = reports[config.model.decision]
    metrics: dict[str, Any] = {
        "data": config.data.name,
        "split": config.data.dev,
        "decision": config.model.decision,
        "c": fitted.best.c,
        "none_bias": fitted.best.none_bias,
        "features": len(fitted.model.space.ngrams),
        "dev": {family: chosen[family] for family in FAMILIES},
        "decisions": reports,
        "trials": [trial._asdict() for trial in fitted.trials],
    }
    card = _card(config, fitted, reports)
    return write_model(path, fitted.model, metrics, card, implied=fitted.implied, named=fitted.named)


def _card(config: RunConfig, fitted: FittedModel, reports: dict[Decision, dict[str, Any]]) -> str:
    """A model card of what is known at the end of a fit."""
    model, options = fitted.model, fitted.model.config
    columns = [(decision, family) for decision in reports for family in FAMILIES]
    table = [[f"{config.data.name} {config.data.dev}, %", *(f"{decision}, {family}" for decision, family in columns)]]
    table += [[name, *(percent(reports[decision][family][name]) for decision, family in columns)] for name in METRICS]
    lengths = f"{options.word_ngrams} of words, {options.pos_ngrams} of tags, {options.char_ngrams} of characters"
    facts = [
        f"aspects: {', '.join(model.aspects)}",
        f"features: {len(model.space.ngrams):,} n-grams",
        f"longest n-gram: {lengths}",
        f"words behind a negation that are read as negated: {options.negation}",
        f"C: {fitted.best.c:g}, selected by {config.training.select} on {config.data.dev}",
        f"decision: {options.decision}, which adds {model.none_bias:g} to the logit of `none`",
        *implied_line(fitted.implied),
    ]
    return flattering_card(config, model.labels, facts, table)
