"""Training of the paper's systems: sentences as rows of a table of word vectors, with fixed aspects.

`none` is most of the data, and there are three ways to live with that (`training.balance`):

    mixed      every batch holds as many pairs of each class (the paper's words)
    turns      every batch holds one class, each class in turn (the authors' code)
    sentence   every batch holds whole sentences with all their pairs; the loss weighs the classes

An epoch of `mixed` or `turns` is as many updates as it takes to see the rarest class once in `turns`: 18 on Sentihood
with batches of 128. Rows come out by falling length, which is what the scan shrinks best.
"""

import dataclasses
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from tabsa.checkpoint.model_config import ModelConfig
from tabsa.checkpoint.model_folder import ModelFolder, write_folder
from tabsa.encoding.arrays import UNLABELLED, Encoded, combine
from tabsa.errors import DataError
from tabsa.evaluation.calibration import Calibration, calibration_error, fit_calibration
from tabsa.models.base import Model, ModelOutput, Vocabulary
from tabsa.models.export import ChangedNetworkError, export
from tabsa.nn.context import EVALUATION
from tabsa.nn.fast.graphs import Batch, Graphs
from tabsa.training.loop import (
    POOL,
    Figures,
    Loop,
    TrainingProgress,
    class_weights,
    cross_entropy,
    figures_of,
    length_batches,
)
from tabsa.training.model_card import model_card
from tabsa.training.run_config import Balance, RunConfig
from tabsa.training.word_data import FolderVocabulary, Prepared

_READ_AT_ONCE = 256


class Drawn(NamedTuple):
    """One batch: readings, and the labels learnt of each."""

    rows: NDArray[np.int64]  # (B,)
    labels: NDArray[np.int8]  # UNLABELLED where a pair is not part of the batch, (B, K, A)


class Sampler:
    """Draws batches for one seed; the same generator state gives the same epoch."""

    def __init__(self, data: Encoded, balance: Balance, batch_size: int, *, seed: int) -> None:
        self.data, self.balance, self.batch_size = data, balance, batch_size
        self.pool = POOL  # which a benchmark changes
        labelled = np.argwhere(data.labels != UNLABELLED)  # (pairs, 3): row, target, aspect
        classes = data.labels[tuple(labelled.T)]
        pairs = [labelled[classes == label] for label in np.unique(classes)]
        if len(pairs) < 2 and balance != "sentence":
            raise DataError(f"the training data has {len(pairs)} class of label; balance '{balance}' needs two or more")
        # The order `turns` cuts its windows from; drawn apart from the epochs, so that resuming needs no record of it.
        order = np.random.default_rng([seed, 1])
        self.pairs = [order.permutation(of_class) for of_class in sorted(pairs, key=len)]

    @property
    def updates(self) -> int:
        """Updates in an epoch."""
        if self.balance == "sentence":
            return -(-len(self.data) // self.batch_size)
        return len(self.pairs) * max(1, len(self.pairs[0]) // self.batch_size)

    def epoch(self, rng: np.random.Generator) -> Iterator[Drawn]:
        """The batches of one epoch."""
        if self.balance == "sentence":
            return self._sentences(rng)
        return map(self._drawn, self._mixed(rng) if self.balance == "mixed" else self._turns(rng))

    def _mixed(self, rng: np.random.Generator) -> Iterator[NDArray[np.int64]]:
        classes = len(self.pairs)
        for update in range(self.updates):
            # What does not divide evenly goes to each class in turn; no pair comes twice unless there are too few.
            shares = [(self.batch_size + (c + update) % classes) // classes for c in range(classes)]
            chosen = [
                of_class[rng.choice(len(of_class), share, replace=share > len(of_class))]
                for of_class, share in zip(self.pairs, shares, strict=True)
            ]
            yield np.concatenate(chosen)

    def _turns(self, rng: np.random.Generator) -> Iterator[NDArray[np.int64]]:
        rarest, *others = self.pairs
        shuffled = rng.permutation(rarest)
        for turn in range(self.updates // len(self.pairs)):
            start = turn * self.batch_size
            yield shuffled[start : start + self.batch_size]
            for of_class in others:
                start = int(rng.integers(max(1, len(of_class) - self.batch_size + 1)))
                yield of_class[start : start + self.batch_size]

    def _drawn(self, pairs: NDArray[np.int64]) -> Drawn:
        pairs = pairs[np.argsort(-self.data.lengths[pairs[:, 0]], kind="stable")]
        rows = pairs[:, 0]
        labels = np.full((len(rows), *self.data.labels.shape[1:]), UNLABELLED, np.int8)
        labels[np.arange(len(rows)), pairs[:, 1], pairs[:, 2]] = self.data.labels[tuple(pairs.T)]
        return Drawn(rows, labels)

    def _sentences(self, rng: np.random.Generator) -> Iterator[Drawn]:
        batches = length_batches(self.data.lengths, rng.permutation(len(self.data)), self.batch_size, self.pool)
        # The one short batch stays last, so that all seeds of a group have batches of the same size.
        full = [rows for rows in batches if len(rows) == self.batch_size]
        short = [rows for rows in batches if len(rows) < self.batch_size]
        for rows in [*(full[number] for number in rng.permutation(len(full))), *short]:
            yield Drawn(rows, self.data.labels[rows])


def build_model(config: RunConfig, prepared: Prepared, seeds: Sequence[int]) -> Model:
    """The untrained model of a run."""
    vocabulary = Vocabulary(
        torch.from_numpy(prepared.matrix),
        prepared.targets,
        torch.from_numpy(prepared.aspect_vectors),
        len(prepared.labels),
        None if prepared.concepts is None else torch.from_numpy(prepared.concepts),
    )
    model: Model = config.system.network_class()(config.model, vocabulary, seeds)
    return model


class Trainer(Loop[Sequence[Drawn]]):
    """A run of a system that reads word vectors."""

    model: Model

    def __init__(self, config: RunConfig, prepared: Prepared, seeds: Sequence[int], device: str = "cpu") -> None:
        super().__init__(config, build_model(config, prepared, seeds), seeds, device)
        self.prepared = prepared
        training, train = config.training, prepared.train
        self.samplers = [Sampler(train, training.balance, training.batch_size, seed=seed) for seed in self.seeds]
        self.texts, self.updates = len(train), self.samplers[0].updates
        self.tokens = torch.from_numpy(train.tokens).to(self.device, torch.long)
        self.lengths = torch.from_numpy(train.lengths).to(torch.long)
        concepts, soft = train.concepts, prepared.soft_labels
        self.concepts = None if concepts is None else torch.from_numpy(concepts).to(self.device, torch.long)
        self.soft_labels = None if soft is None else torch.from_numpy(soft).to(self.device)
        counts = np.bincount(train.labels[train.labels != UNLABELLED], minlength=len(prepared.labels))
        weights = torch.from_numpy(class_weights(counts, training.class_power)).float().to(self.device)
        self.class_weights = weights if training.balance == "sentence" else None
        captured = self.device.type == "cuda" and self.model.capturable
        self.graphs = Graphs(self.learn_batch, self.draws, self.tokens.shape[1]) if captured else None

    def batches(self) -> Iterator[Sequence[Drawn]]:
        """A batch of each seed's sampler."""
        return zip(*(s.epoch(rng) for s, rng in zip(self.samplers, self.orders, strict=True)), strict=True)

    def learn(self, batch: Sequence[Drawn]) -> Tensor:
        """One update, replayed as a graph where the GPU has captured one."""
        ready = self.batch(batch)
        return self.learn_batch(ready) if self.graphs is None else self.graphs.learn(ready)

    def batch(self, drawn: Sequence[Drawn]) -> Batch:
        """Put what was drawn on the device."""
        rows = torch.from_numpy(np.stack([d.rows for d in drawn]))  # (S, B)
        labels = self._send(torch.from_numpy(np.stack([d.labels for d in drawn]).astype(np.int64)))
        lengths = self.lengths[rows]
        longest, rows = int(lengths.max()), self._send(rows)
        tokens, *concepts = (words[rows, :longest] for words in (self.tokens, self.concepts) if words is not None)
        soft = None if self.soft_labels is None else self.soft_labels[rows]
        if self.config.training.shuffle_targets:
            slots = self.drawn_slots(labels)
            tokens, labels = self.with_slots(tokens, slots), moved(labels, slots)
            soft = None if soft is None else moved(soft, slots)
        return Batch(tokens, self._send(lengths), labels, concepts[0] if concepts else None, soft)

    def _send(self, tensor: Tensor) -> Tensor:
        """To the device, without waiting for what it is doing."""
        if self.device.type == "cpu":
            return tensor
        return tensor.pin_memory().to(self.device, non_blocking=True)

    def learn_batch(self, batch: Batch) -> Tensor:
        """Change the weights by what a batch says; returns the losses (S,)."""
        answer = self.model(*batch.inputs, context=self.context())
        losses = cross_entropy(answer.logits, batch.labels, self.class_weights, batch.soft_labels)
        return self.step(losses, answer.penalty)

    def drawn_slots(self, labels: Tensor) -> Tensor:
        """Other slots for each sentence's targets, drawn for each seed, (S, B, K)."""
        places = np.tile(np.arange(labels.shape[2]), (labels.shape[1], 1))
        return self._send(torch.from_numpy(np.stack([order.permuted(places, axis=1) for order in self.orders])))

    def with_slots(self, tokens: Tensor, slots: Tensor) -> Tensor:
        """Targets under the tokens of their new slots."""
        rows = torch.tensor(self.model.targets, device=self.device)
        result = tokens
        for target in range(slots.shape[2]):
            result = torch.where(tokens == rows[target], rows[slots[:, :, target]].unsqueeze(2), result)
        return result

    def score(self) -> list[tuple[Figures, bool]]:
        """Every seed's figures on dev, calibrated where that changes decisions, and whether its answers are finite."""
        dev, scored = self.prepared.dev, []
        for readings in reading_probabilities(self.model, dev):
            finite = bool(np.isfinite(readings).all())
            if self.config.training.calibrate == "classes" and finite:
                readings = np.asarray(fitted_calibration(self.config, dev, readings).apply(readings), np.float64)
            scored.append((figures_of(dev.gold, combine(dev, readings)), finite))
        return scored


def moved(of_targets: Tensor, slots: Tensor) -> Tensor:
    """Move what belongs to targets, (S, B, K, ...), to their new slots."""
    index = slots.view(*slots.shape, *[1] * (of_targets.dim() - slots.dim())).expand_as(of_targets)
    return torch.empty_like(of_targets).scatter_(2, index, of_targets)


@torch.no_grad()
def read(
    model: Model, data: Encoded, batch_size: int = _READ_AT_ONCE
) -> Iterator[tuple[NDArray[np.int64], ModelOutput]]:
    """Answer every reading, in batches of like length: the readings' numbers, and the answer."""
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


def reading_probabilities(model: Model, data: Encoded, batch_size: int = _READ_AT_ONCE) -> NDArray[np.float64]:
    """Probabilities of every reading for every seed, (S, N, K, A, labels)."""
    result = np.zeros((len(model.seeds), *data.labels.shape, model.labels))
    for rows, answer in read(model, data, batch_size):
        result[:, rows] = answer.logits.double().softmax(-1).cpu().numpy()
    return result


def fitted_calibration(config: RunConfig, data: Encoded, readings: NDArray[np.float64]) -> Calibration:
    """The calibration of a run, fitted on dev, of one seed's answers to every reading, (N, K, A, labels)."""
    training = config.training
    labelled = data.gold >= 0
    gold, probabilities = data.gold[labelled], combine(data, readings)[labelled]
    return fit_calibration(gold, probabilities, classes=training.calibrate == "classes", share=training.bias_share)


def write_result(
    path: Path,
    config: RunConfig,
    prepared: Prepared,
    vocabulary: FolderVocabulary,
    seeds: Sequence[int],
    progress: TrainingProgress,
    weights: dict[str, Tensor],
) -> ModelFolder:
    """Write the model of the seed that is best on dev; `weights` are the best of all seeds, (S, ...)."""
    best = progress.best_seed()
    weights = {name: tensor[best : best + 1].cpu() for name, tensor in weights.items()}
    compact = config.vectors.storage == "int8"
    if compact:
        weights = {name: tensor.half().float() for name, tensor in weights.items()}
    fitted, errors, dev = _measured(config, prepared, weights)
    metrics = progress.metrics(config, seeds, dev)
    metrics |= {"calibration": dataclasses.asdict(fitted) | errors, "known_tokens": vocabulary.known_tokens}
    model_config = ModelConfig(
        kind=config.kind,
        model=dataclasses.asdict(config.model),
        aspects=prepared.aspects,
        labels=prepared.labels,
        targets=config.data.targets,
        max_length=config.data.max_length,
        temperature=fitted.temperature,
        bias=fitted.bias,
        implied=prepared.implied,
        named=prepared.named,
    )
    facts = [
        f"aspects: {', '.join(prepared.aspects)}",
        f"targets at a time: {config.data.targets}",
        f"word vectors: {config.vectors.file or 'random'}",
        f"selected by: {config.training.select} on {config.data.dev}, epoch {metrics['epoch']}, seed {seeds[best]}",
    ]
    if vocabulary.concepts is not None and vocabulary.concepts.source is not None:
        facts.append(f"concepts: {vocabulary.concepts.source.name} ({len(vocabulary.concepts):,})")
    card = model_card(config, prepared.labels, facts, dev, implied=prepared.implied)
    arrays = {name: tensor[0].numpy().astype(np.float16 if compact else np.float32) for name, tensor in weights.items()}
    storage = config.vectors.storage
    folder = write_folder(path, model_config, arrays, vocabulary.vectors, metrics, card, vocabulary.concepts, storage)
    if config.system.graph:
        with suppress(ChangedNetworkError):  # then the network itself is run
            export(folder)
    return folder


def _measured(
    config: RunConfig, prepared: Prepared, weights: dict[str, Tensor]
) -> tuple[Calibration, dict[str, float], Figures]:
    """The calibration of what the folder will hold, its error before and after, and the dev figures."""
    model, dev = build_model(config, prepared, (0,)), prepared.dev
    model.load_state_dict(weights)
    readings = reading_probabilities(model, dev)[0]
    fitted = fitted_calibration(config, dev, readings)
    after, labelled = combine(dev, fitted.apply(readings)), dev.gold >= 0
    errors = {
        "error_before": calibration_error(dev.gold[labelled], combine(dev, readings)[labelled]),
        "error_after": calibration_error(dev.gold[labelled], after[labelled]),
    }
    return fitted, errors, figures_of(dev.gold, after)
