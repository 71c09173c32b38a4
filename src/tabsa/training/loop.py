"""The loop that trains every neural model, several seeds at once.

A seed has its own initial weights, its own order of the data and its own dropout, and no seed's numbers enter
another's, so a seed goes the same way alone and in a group, up to the rounding of differently shaped products. (But for
the readers' dropout: its masks have the shape of the padded batch, which is as long as the longest text of any seed.)
A subclass says what a batch is, what is lost on it and how dev is scored: `word_training.Trainer` for the paper's
systems, `question_training.ReaderTrainer` for readers, `cached_features.FrozenEncoderTrainer` for fine-tuning.
"""

import math
import time
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

from tabsa.encoding.arrays import UNLABELLED
from tabsa.errors import ConfigError
from tabsa.evaluation.metrics import all_metrics
from tabsa.models.base import Network
from tabsa.nn.context import Context
from tabsa.training import optimisers
from tabsa.training.run_config import RunConfig, Selection, TrainingConfig

Batch = TypeVar("Batch")
Figures = dict[str, dict[str, float]]  # family, metric
POOL = 16  # batches that are sorted by length together


@dataclass
class TrainingProgress:
    """The state of a run: everything besides tensors that resuming needs."""

    best: list[float]  # a seed's best score
    best_epoch: list[int]
    best_figures: list[Figures]
    stopped: list[bool] = field(default_factory=list)
    epoch: int = 0  # finished
    update: int = 0
    history: list[dict[str, Any]] = field(default_factory=list)  # validations, a line of metrics.jsonl each

    def best_seed(self) -> int:
        """The number of the seed that is best on dev."""
        best = max(range(len(self.best)), key=lambda n: self.best[n])
        if not self.best_figures[best]:
            raise ConfigError("the weights diverged before the first validation; try a lower training.rate")
        return best

    def metrics(self, config: RunConfig, seeds: Sequence[int], dev: Figures) -> dict[str, Any]:
        """What a model folder says of the best seed, whose dev figures are given, and of all."""
        best, own = self.best_seed(), map(plain, self.best_figures)
        found = {"data": config.data.name, "split": config.data.dev, "seed": seeds[best]}
        found |= {"epoch": self.best_epoch[best], "dev": plain(dev)}
        return {**found, "seeds": dict(zip(map(str, seeds), own, strict=True))}


@dataclass(frozen=True)
class Validation:
    """A validation on dev; figures that are not defined are NaN."""

    epoch: int
    update: int
    loss: list[float]  # mean since the last validation, a seed each
    figures: list[Figures]
    improved: list[bool]
    seconds: float

    def to_dict(self) -> dict[str, Any]:
        """As one line of metrics.jsonl."""
        loss, dev = [plain_number(loss) for loss in self.loss], [plain(figures) for figures in self.figures]
        own = {"epoch": self.epoch, "update": self.update, "loss": loss, "dev": dev}
        return {**own, "improved": self.improved, "seconds": round(self.seconds, 3)}


class Loop(ABC, Generic[Batch]):
    """A run in progress: model, optimiser, generators and progress."""

    texts: int  # that are learnt from
    updates: int  # in an epoch

    def __init__(self, config: RunConfig, model: Network, seeds: Sequence[int], device: str = "cpu") -> None:
        self.config, self.seeds, self.device = config, tuple(seeds), torch.device(device)
        training = config.training
        # bf16 is the readers' encoder's; all other products are TF32 then.
        torch.backends.cuda.matmul.allow_tf32 = training.precision != "float32"
        torch.backends.cudnn.allow_tf32 = training.precision != "float32"
        if training.threads:
            torch.set_num_threads(training.threads)
        self.model = model.to(self.device)
        half = training.precision == "bf16" and self.device.type == "cuda"  # a CPU's bf16 products are never chosen
        self.products = torch.bfloat16 if half else torch.float32
        factors = self.model.rate_factors(decay=training.layer_decay, head=training.head_rate)
        groups: dict[float, list[Tensor]] = {}
        for name, parameter in self.model.named_parameters():
            groups.setdefault(factors.get(name, 1.0), []).append(parameter)
        self.optimiser = optimisers.optimiser(training, groups, fused=model.fused)
        self.draws = [torch.Generator(self.device) for _ in seeds]
        self.seed_generators()
        count = len(seeds)
        self.progress = TrainingProgress([-1.0] * count, [0] * count, [{} for _ in seeds], [False] * count)
        self.best = self.weights()
        self.ema = self.weights() if training.ema else {}
        self.floors = [0.0] * count  # a seed's opinion F1 before training, where it must improve
        self.scoring = 0.0  # seconds that a validation takes, where it is known
        self.limit = 0  # updates after which a run ends, whatever its epochs; 0: none

    def seed_generators(self) -> None:
        """Put each seed's generators, of the order of its data and of its dropout, where they are at the start."""
        self.orders = [np.random.default_rng([seed, 0]) for seed in self.seeds]
        for generator, seed in zip(self.draws, self.seeds, strict=True):  # the very ones that graphs draw from
            generator.manual_seed(2**32 + seed)

    @abstractmethod
    def batches(self) -> Iterator[Batch]:
        """The batches of the next epoch, each with a part for every seed."""

    @abstractmethod
    def learn(self, batch: Batch) -> Tensor:
        """Change the weights by what a batch says (`step`); returns the losses (S,)."""

    @abstractmethod
    def score(self) -> list[tuple[Figures, bool]]:
        """Every seed's figures on dev, and whether its answers are finite."""

    @property
    def done(self) -> bool:
        """True where there is nothing left to do."""
        over = bool(self.limit and self.progress.update >= self.limit)
        return over or self.progress.epoch >= self.config.training.epochs or all(self.progress.stopped)

    @property
    def total(self) -> int:
        """Updates of the whole run."""
        planned = self.config.training.epochs * self.updates
        return min(planned, self.limit) if self.limit else planned

    def run(self, on_update: Callable[[int, Tensor], None] = lambda _, __: None) -> Iterator[Validation]:
        """Train, pausing after each validation; `on_update` gets the number and the losses of each update."""
        training = self.config.training
        started, losses = time.perf_counter(), []
        while not self.done:
            for batch in self.batches():
                losses.append(self.update(batch))
                on_update(self.progress.update, losses[-1])
                if self.limit and self.progress.update >= self.limit:
                    break
            self.progress.epoch += 1
            if self.progress.epoch % training.validate_every == 0 or self.done:
                loss = torch.stack(losses).mean(0).tolist()
                yield self.validate(loss, time.perf_counter() - started)
                started, losses = time.perf_counter(), []

    def update(self, batch: Batch) -> Tensor:
        """One update of every seed, each on its own part of a batch; returns the losses (S,)."""
        training = self.config.training
        factor = rate_factor(training, self.progress.update, self.total)
        optimisers.set_rate(self.optimiser, training.rate * factor)
        losses = self.learn(batch)
        self.progress.update = done = self.progress.update + 1
        if self.ema:  # early on its memory is short, so that it forgets the start
            decay, parameters = min(training.ema, done / (done + 10)), dict(self.model.named_parameters())
            with torch.no_grad():
                torch._foreach_lerp_(list(self.ema.values()), [parameters[n] for n in self.ema], 1 - decay)
        return losses

    def context(self, **also: Any) -> Context:
        """The context in which a batch is read in training."""
        return Context(training=True, generators=self.draws, products=self.products, **also)

    def step(self, losses: Tensor, penalty: Tensor | None = None) -> Tensor:
        """Change the weights by losses, (S,). On a GPU nothing here waits for it."""
        training = self.config.training
        total = losses.sum() if penalty is None else (losses + penalty).sum()
        self.optimiser.zero_grad(set_to_none=True)
        total.backward()  # type: ignore[no-untyped-call]
        optimisers.clip(self.model.parameters(), training.clip, training.clip_norm)
        self.optimiser.step()
        return losses.detach()

    def weights(self) -> dict[str, Tensor]:
        """A copy of the model's weights."""
        return {name: tensor.detach().clone() for name, tensor in self.model.named_parameters()}

    @torch.no_grad()
    def put(self, weights: Mapping[str, Tensor]) -> None:
        """Set some of the model's weights."""
        for name, tensor in self.model.named_parameters():
            if name in weights:
                tensor.copy_(weights[name])

    def must_improve(self) -> None:
        """Count the start as the best so far; what finds opinions worse never takes its place, whatever its loss."""
        started = time.perf_counter()
        for number, (figures, _) in enumerate(self.score()):
            self.floors[number] = opinion_f1(figures)
            self.progress.best[number] = selected(figures, self.config.training.select)
            self.progress.best_figures[number] = figures
        self.scoring = time.perf_counter() - started

    def validate(self, loss: list[float], seconds: float) -> Validation:
        """Score every seed on dev, and save each one's best state; a seed that is no longer finite stops.

        Where there is a moving average of the weights, it is what is scored and saved.
        """
        progress, training = self.progress, self.config.training
        own = self.weights() if self.ema else {}
        self.put(self.ema)
        figures, improved = [], []
        for number, (found, finite) in enumerate(self.score()):
            score = float(progress.epoch) if training.select == "last" else selected(found, training.select)
            better = finite and not progress.stopped[number] and score > progress.best[number]
            better &= opinion_f1(found) >= self.floors[number]
            if better:
                progress.best[number], progress.best_epoch[number] = score, progress.epoch
                progress.best_figures[number] = found
                for name, tensor in self.model.named_parameters():
                    self.best[name][number] = tensor.detach()[number]
            if not finite and not progress.stopped[number]:
                problem = f"seed {self.seeds[number]} diverged by epoch {progress.epoch}, and stops there"
                warnings.warn(f"{problem}; try a lower training.rate", stacklevel=2)
            waited, limit = progress.epoch - progress.best_epoch[number], training.patience * training.validate_every
            progress.stopped[number] |= not finite or bool(limit and waited >= limit)
            figures.append(found)
            improved.append(better)
        self.put(own)
        return Validation(progress.epoch, progress.update, loss, figures, improved, seconds)


def rate_factor(training: TrainingConfig, update: int, total: int) -> float:
    """The factor of the learning rate at an update of `total`."""
    if update < training.warmup:
        return (update + 1) / training.warmup
    left = 1 - (update - training.warmup) / max(1, total - training.warmup)
    return left if training.schedule == "linear" else 1.0


def cross_entropy(logits: Tensor, labels: Tensor, weights: Tensor | None, soft: Tensor | None = None) -> Tensor:
    """The mean loss over each seed's labelled pairs, (S,): `logits` (S, B, K, A, labels), `labels` (S, B, K, A).

    Where there are `soft` labels, (S, B, K, A, labels), they are learnt; the label still says what a pair weighs.
    """
    labelled = labels != UNLABELLED
    share = labelled.float() if weights is None else weights[labels.clamp(min=0)] * labelled
    if soft is None:
        each = functional.cross_entropy(
            logits.movedim(-1, 1), labels, weight=weights, ignore_index=UNLABELLED, reduction="none"
        )
    else:
        each = -(soft * logits.log_softmax(-1)).sum(-1) * share
    return each.flatten(1).sum(1) / share.flatten(1).sum(1).clamp(min=1e-12)


def length_batches(
    lengths: NDArray[np.integer], order: NDArray[np.int64], batch_size: int, pool_size: int = POOL
) -> list[NDArray[np.int64]]:
    """The rows of `order` in batches of like length: a pool of several batches is sorted by length and cut."""
    batches: list[NDArray[np.int64]] = []
    for start in range(0, len(order), batch_size * pool_size):
        pool = order[start : start + batch_size * pool_size]
        pool = pool[np.argsort(-lengths[pool], kind="stable")]
        batches += [pool[i : i + batch_size] for i in range(0, len(pool), batch_size)]
    return batches


def class_weights(counts: NDArray[np.integer], power: float) -> NDArray[np.float64]:
    """One weight a label, (1 / frequency) ** power, scaled to a mean of 1 over the labels that were counted."""
    weights = np.where(counts > 0, np.maximum(counts, 1.0) ** -power, 0.0)
    return np.asarray(weights * (counts.sum() / (weights * counts).sum()))


def figures_of(truth: NDArray[np.int64], probabilities: NDArray[np.float64]) -> Figures:
    """Every metric in both families; NaN, all of them, where a probability is."""
    scores = all_metrics(truth, probabilities)
    finite = np.isfinite(probabilities).all()
    return {
        family: {name: float(value) if finite else math.nan for name, value in values.items()}
        for family, values in scores.items()
    }


def selected(figures: Figures, metric: Selection) -> float:
    """The dev score by which states are compared: less of a loss, or more; an undefined figure counts as 0."""
    if "log_loss" in figures.get("questions", {}):
        return -figures["questions"]["log_loss"]
    names = [("ma", "strict_accuracy"), ("sun", "macro_f1")]
    names += [("sun", name) for name in ("aspect_auc", "sentiment_accuracy", "sentiment_auc")]
    if metric == "opinion_f1" or "sun" not in figures:  # which is for the same aspects of every text
        names = [("questions", "opinion_f1")]
    values = [figures[family][name] for family, name in names]
    return sum(0.0 if math.isnan(value) else value for value in values) / len(values)


def opinion_f1(figures: Figures) -> float:
    """The figure to look at first; 0 where it is not defined, or of a system that has other figures."""
    value = figures.get("questions", {}).get("opinion_f1", 0.0)
    return 0.0 if math.isnan(value) else value


def plain(figures: Figures) -> dict[str, dict[str, float | None]]:
    """The figures for JSON, which has no NaN."""
    return {family: {name: plain_number(value) for name, value in values.items()} for family, values in figures.items()}


def plain_number(value: float) -> float | None:
    """The number for JSON: None where it is not finite."""
    return value if math.isfinite(value) else None
