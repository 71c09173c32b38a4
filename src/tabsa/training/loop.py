"""The loop that trains every neural model, several seeds at once.

A seed has its own initial weights, its own order of the data and its own dropout, and no seed's numbers enter
another's, so a seed goes the same way alone and in a group, up to the rounding of differently shaped products.
"""

import math
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

from tabsa.encoding import NOT_ASKED, combine
from tabsa.models.base import Model, Vocabulary
from tabsa.nn.context import Context, ScanPath
from tabsa.nn.fast.graphs import Batch, Graphs
from tabsa.nn.fast.packed import live_rows
from tabsa.training import optimisers
from tabsa.training.config import RunConfig, TrainingConfig
from tabsa.training.preparation import Prepared
from tabsa.training.sampling import Drawn, Sampler, class_weights
from tabsa.training.validation import (
    Figures,
    calibrated,
    figures_of,
    plain,
    plain_number,
    reading_probabilities,
    selected,
)


@dataclass
class TrainingProgress:
    """Where a run stands: everything besides tensors that resuming needs."""

    epoch: int = 0  # finished
    update: int = 0
    best: list[float] = field(default_factory=list)  # a seed's best score
    best_epoch: list[int] = field(default_factory=list)
    best_figures: list[Figures] = field(default_factory=list)
    stopped: list[bool] = field(default_factory=list)


@dataclass(frozen=True)
class Validation:
    """What a validation on dev found; figures that are not defined are NaN."""

    epoch: int
    update: int
    loss: list[float]  # mean since the last validation, a seed each
    figures: list[Figures]
    improved: list[bool]
    seconds: float

    def to_dict(self) -> dict[str, Any]:
        """As one line of metrics.jsonl."""
        return {
            "epoch": self.epoch,
            "update": self.update,
            "loss": [plain_number(loss) for loss in self.loss],
            "dev": [plain(figures) for figures in self.figures],
            "improved": self.improved,
            "seconds": round(self.seconds, 3),
        }


def build_model(config: RunConfig, prepared: Prepared, seeds: Sequence[int]) -> Model:
    """The untrained model of a run."""
    vocabulary = Vocabulary(
        torch.from_numpy(prepared.matrix),
        prepared.targets,
        torch.from_numpy(prepared.aspect_vectors),
        len(prepared.labels),
        None if prepared.concepts is None else torch.from_numpy(prepared.concepts),
    )
    return config.system.network_class()(config.model, vocabulary, seeds)


class Trainer:
    """A run in progress: model, optimiser, generators and progress."""

    def __init__(self, config: RunConfig, prepared: Prepared, seeds: Sequence[int], device: str = "cpu") -> None:
        self.config, self.prepared, self.seeds = config, prepared, tuple(seeds)
        self.device = torch.device(device)
        training = config.training
        # bf16 is the recurrence's; the few other products are as precise as that is.
        torch.backends.cuda.matmul.allow_tf32 = training.precision != "float32"
        torch.backends.cudnn.allow_tf32 = training.precision != "float32"
        if training.threads:
            torch.set_num_threads(training.threads)
        self.model = build_model(config, prepared, seeds).to(self.device)
        half = training.precision == "bf16" and self.device.type == "cuda"  # a CPU's bf16 products are never chosen
        self.products = torch.bfloat16 if half else torch.float32
        self.scan_path: ScanPath = "auto"  # which benchmarks compare
        self.optimiser = optimisers.optimiser(
            training.optimiser, self.model.parameters(), rate=training.rate, weight_decay=training.weight_decay
        )
        self.samplers = [
            Sampler(prepared.train, training.balance, training.batch_size, seed=seed) for seed in self.seeds
        ]
        self.orders = [np.random.default_rng([seed, 0]) for seed in self.seeds]
        self.draws = [torch.Generator(self.device).manual_seed(2**32 + seed) for seed in self.seeds]
        self.progress = TrainingProgress(
            best=[-1.0] * len(seeds),
            best_epoch=[0] * len(seeds),
            best_figures=[{} for _ in seeds],
            stopped=[False] * len(seeds),
        )
        self.best = self.weights()
        self.ema = self.weights() if training.ema else {}
        self.tokens = torch.from_numpy(prepared.train.tokens).to(self.device, torch.long)
        self.lengths = torch.from_numpy(prepared.train.lengths).to(torch.long)
        concepts = prepared.train.concepts
        self.concepts = None if concepts is None else torch.from_numpy(concepts).to(self.device, torch.long)
        soft = prepared.soft_labels
        self.soft_labels = None if soft is None else torch.from_numpy(soft).to(self.device)
        weights = class_weights(prepared.train, len(prepared.labels), training.class_power)
        self.class_weights = torch.from_numpy(weights).to(self.device) if training.balance == "sentence" else None
        captured = self.device.type == "cuda" and self.model.capturable and training.optimiser != "adagrad"
        self.graphs = Graphs(self.learn, self.draws, self.tokens.shape[1]) if captured else None

    @property
    def updates(self) -> int:
        """Updates in an epoch."""
        return self.samplers[0].updates

    @property
    def done(self) -> bool:
        """Whether there is nothing left to do."""
        return self.progress.epoch >= self.config.training.epochs or all(self.progress.stopped)

    def run(self, on_update: Callable[[int, Tensor], None] = lambda _, __: None) -> Iterator[Validation]:
        """Train, pausing after each validation; `on_update` hears of every update and its losses."""
        training = self.config.training
        started, losses = time.perf_counter(), []
        while not self.done:
            for drawn in zip(*(s.epoch(rng) for s, rng in zip(self.samplers, self.orders, strict=True)), strict=True):
                losses.append(self.update(drawn))
                on_update(self.progress.update, losses[-1])
            self.progress.epoch += 1
            if self.progress.epoch % training.validate_every == 0 or self.progress.epoch == training.epochs:
                loss = torch.stack(losses).mean(0).tolist()
                yield self.validate(loss, time.perf_counter() - started)
                started, losses = time.perf_counter(), []

    def update(self, drawn: Sequence[Drawn]) -> Tensor:
        """One update of every seed, each on its own batch; returns the losses (S,)."""
        training = self.config.training
        factor = rate_factor(training, self.progress.update, training.epochs * self.updates)
        optimisers.set_rate(self.optimiser, training.rate * factor)
        batch = self.batch(drawn)
        losses = self.learn(batch) if self.graphs is None else self.graphs.learn(batch)
        self.progress.update += 1
        self.move_ema()
        return losses

    def batch(self, drawn: Sequence[Drawn]) -> Batch:
        """What was drawn, on the device."""
        rows = torch.from_numpy(np.stack([d.rows for d in drawn]))  # (S, B)
        labels = self.send(torch.from_numpy(np.stack([d.labels for d in drawn]).astype(np.int64)))
        lengths = self.lengths[rows]
        live = live_rows(lengths)
        rows = self.send(rows)
        tokens, *concepts = (words[rows, : len(live)] for words in (self.tokens, self.concepts) if words is not None)
        soft = None if self.soft_labels is None else self.soft_labels[rows]
        if self.config.training.shuffle_targets:
            slots = self.drawn_slots(labels)
            tokens, labels = self.renamed(tokens, slots), moved(labels, slots)
            soft = None if soft is None else moved(soft, slots)
        return Batch(tokens, self.send(lengths), labels, concepts[0] if concepts else None, live, soft)

    def send(self, tensor: Tensor) -> Tensor:
        """To the device, without waiting for what it is doing."""
        if self.device.type == "cpu":
            return tensor
        return tensor.pin_memory().to(self.device, non_blocking=True)

    def learn(self, batch: Batch) -> Tensor:
        """Change the weights by what a batch says; returns the losses (S,). On a GPU nothing here waits for it."""
        training = self.config.training
        context = Context(
            training=True, generators=self.draws, live=batch.live, products=self.products, path=self.scan_path
        )
        answer = self.model(*batch.inputs, context=context)
        losses = cross_entropy(answer.logits, batch.labels, self.class_weights, batch.soft_labels)
        total = losses.sum() if answer.penalty is None else (losses + answer.penalty).sum()
        self.optimiser.zero_grad(set_to_none=True)
        total.backward()
        optimisers.clip(self.model.parameters(), training.clip, training.clip_norm)
        self.optimiser.step()
        return losses.detach()

    def weights(self) -> dict[str, Tensor]:
        """A copy of the model's weights."""
        return {name: tensor.detach().clone() for name, tensor in self.model.named_parameters()}

    @torch.no_grad()
    def move_ema(self) -> None:
        """Take the weights into their moving average; early on its memory is short, so that it forgets the start."""
        done = self.progress.update
        decay = min(self.config.training.ema, done / (done + 10))
        if self.ema:
            parameters = dict(self.model.named_parameters())
            torch._foreach_lerp_(list(self.ema.values()), [parameters[n] for n in self.ema], 1 - decay)

    @contextmanager
    def with_ema(self) -> Iterator[None]:
        """Put the moving average of the weights, where there is one, into the model for a while."""
        own = self.weights() if self.ema else {}
        self.put(self.ema)
        yield
        self.put(own)

    @torch.no_grad()
    def put(self, weights: Mapping[str, Tensor]) -> None:
        """Set some of the model's weights."""
        for name, tensor in self.model.named_parameters():
            if name in weights:
                tensor.copy_(weights[name])

    def drawn_slots(self, labels: Tensor) -> Tensor:
        """Other slots for each sentence's targets, drawn for each seed, (S, B, K)."""
        places = np.tile(np.arange(labels.shape[2]), (labels.shape[1], 1))
        return self.send(torch.from_numpy(np.stack([order.permuted(places, axis=1) for order in self.orders])))

    def renamed(self, tokens: Tensor, slots: Tensor) -> Tensor:
        """Targets under the tokens of their new slots."""
        rows = torch.tensor(self.model.targets, device=self.device)
        result = tokens
        for target in range(slots.shape[2]):
            result = torch.where(tokens == rows[target], rows[slots[:, :, target]].unsqueeze(2), result)
        return result

    def decided(self, readings: NDArray[np.float64]) -> NDArray[np.float64]:
        """A seed's dev probabilities, (groups, A, labels), by which it is judged, of those of every reading.

        They are calibrated where that changes decisions.
        """
        dev = self.prepared.dev
        if self.config.training.calibrate == "classes" and np.isfinite(readings).all():
            readings = np.asarray(calibrated(self.config, dev, readings).apply(readings), np.float64)
        return combine(dev, readings)

    def validate(self, loss: list[float], seconds: float) -> Validation:
        """Score every seed on dev, and keep each one's best state; a seed that is no longer finite stops."""
        with self.with_ema():
            return self._validate(loss, seconds)

    def _validate(self, loss: list[float], seconds: float) -> Validation:
        progress = self.progress
        readings = reading_probabilities(self.model, self.prepared.dev)
        figures, improved = [], []
        for number in range(len(self.seeds)):
            finite = bool(np.isfinite(readings[number]).all())
            of_seed = figures_of(self.prepared.dev.gold, self.decided(readings[number]))
            score = selected(of_seed, self.config.training.select)
            better = finite and not progress.stopped[number] and score > progress.best[number]
            if better:
                progress.best[number], progress.best_epoch[number] = score, progress.epoch
                progress.best_figures[number] = of_seed
                for name, tensor in self.model.named_parameters():
                    self.best[name][number] = tensor.detach()[number]
            if not finite and not progress.stopped[number]:
                problem = f"seed {self.seeds[number]} diverged by epoch {progress.epoch}, and stops there"
                warnings.warn(f"{problem}; try a lower training.rate", stacklevel=2)
            waited = progress.epoch - progress.best_epoch[number]
            limit = self.config.training.patience * self.config.training.validate_every
            progress.stopped[number] |= not finite or bool(limit and waited >= limit)
            figures.append(of_seed)
            improved.append(better)
        return Validation(progress.epoch, progress.update, loss, figures, improved, seconds)


def rate_factor(training: TrainingConfig, update: int, total: int) -> float:
    """What the learning rate is multiplied by at an update of `total`."""
    if update < training.warmup:
        return (update + 1) / training.warmup
    left = 1 - (update - training.warmup) / max(1, total - training.warmup)
    return {"constant": 1.0, "linear": left, "cosine": 0.5 * (1 + math.cos(math.pi * (1 - left)))}[training.schedule]


def moved(of_targets: Tensor, slots: Tensor) -> Tensor:
    """What is said of targets, (S, B, K, ...), under their new slots."""
    index = slots.view(*slots.shape, *[1] * (of_targets.dim() - slots.dim())).expand_as(of_targets)
    return torch.empty_like(of_targets).scatter_(2, index, of_targets)


def cross_entropy(logits: Tensor, labels: Tensor, weights: Tensor | None, soft: Tensor | None = None) -> Tensor:
    """The mean loss over each seed's labelled pairs, (S,): `logits` (S, B, K, A, labels), `labels` (S, B, K, A).

    Where there are `soft` labels, (S, B, K, A, labels), they are learnt; the label still says what a pair weighs.
    """
    labelled = labels != NOT_ASKED
    share = labelled.float() if weights is None else weights[labels.clamp(min=0)] * labelled
    if soft is None:
        each = functional.cross_entropy(
            logits.movedim(-1, 1), labels, weight=weights, ignore_index=NOT_ASKED, reduction="none"
        )
    else:
        each = -(soft * logits.log_softmax(-1)).sum(-1) * share
    return each.flatten(1).sum(1) / share.flatten(1).sum(1).clamp(min=1e-12)
