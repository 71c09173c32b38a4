"""The loop for the paper's systems: sentences as rows of a table of word vectors, with fixed aspects."""

from collections.abc import Iterator, Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from tabsa.encoding.arrays import combine
from tabsa.models.base import Model, Vocabulary
from tabsa.nn.context import Context, ScanPath
from tabsa.nn.fast.graphs import Batch, Graphs
from tabsa.nn.fast.packed import live_rows
from tabsa.training.config import RunConfig
from tabsa.training.loop import Loop, SeedScore, cross_entropy
from tabsa.training.preparation import Prepared
from tabsa.training.sampling import Drawn, Sampler, class_weights
from tabsa.training.validation import calibrated, figures_of, reading_probabilities, selected


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


class Trainer(Loop[Sequence[Drawn]]):
    """A run of a system that reads word vectors."""

    model: Model

    def __init__(self, config: RunConfig, prepared: Prepared, seeds: Sequence[int], device: str = "cpu") -> None:
        super().__init__(config, build_model(config, prepared, seeds), seeds, device)
        self.prepared = prepared
        training = config.training
        self.scan_path: ScanPath = "auto"  # which benchmarks compare
        self.samplers = [
            Sampler(prepared.train, training.balance, training.batch_size, seed=seed) for seed in self.seeds
        ]
        self.tokens = torch.from_numpy(prepared.train.tokens).to(self.device, torch.long)
        self.lengths = torch.from_numpy(prepared.train.lengths).to(torch.long)
        concepts = prepared.train.concepts
        self.concepts = None if concepts is None else torch.from_numpy(concepts).to(self.device, torch.long)
        soft = prepared.soft_labels
        self.soft_labels = None if soft is None else torch.from_numpy(soft).to(self.device)
        weights = class_weights(prepared.train, len(prepared.labels), training.class_power)
        self.class_weights = torch.from_numpy(weights).to(self.device) if training.balance == "sentence" else None
        captured = self.device.type == "cuda" and self.model.capturable and training.optimiser != "adagrad"
        self.graphs = Graphs(self.learn_batch, self.draws, self.tokens.shape[1]) if captured else None

    @property
    def updates(self) -> int:
        """Updates in an epoch."""
        return self.samplers[0].updates

    @property
    def texts(self) -> int:
        """Sentences that are learnt from."""
        return len(self.prepared.train)

    def batches(self) -> Iterator[Sequence[Drawn]]:
        """What each seed's sampler draws."""
        return zip(*(s.epoch(rng) for s, rng in zip(self.samplers, self.orders, strict=True)), strict=True)

    def learn(self, batch: Sequence[Drawn]) -> Tensor:
        """One update, replayed as a graph where the GPU has captured one."""
        ready = self.batch(batch)
        return self.learn_batch(ready) if self.graphs is None else self.graphs.learn(ready)

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

    def learn_batch(self, batch: Batch) -> Tensor:
        """Change the weights by what a batch says; returns the losses (S,)."""
        return self.step(*self._losses(batch, self.context(live=batch.live, path=self.scan_path)))

    def losses(self, batch: Sequence[Drawn], context: Context) -> tuple[Tensor, Tensor | None]:
        """Each seed's loss on what was drawn."""
        return self._losses(self.batch(batch), context)

    def _losses(self, batch: Batch, context: Context) -> tuple[Tensor, Tensor | None]:
        answer = self.model(*batch.inputs, context=context)
        return cross_entropy(answer.logits, batch.labels, self.class_weights, batch.soft_labels), answer.penalty

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

    def score(self) -> list[SeedScore]:
        """Every seed on dev."""
        dev, scored = self.prepared.dev, []
        for readings in reading_probabilities(self.model, dev):
            figures = figures_of(dev.gold, self.decided(readings))
            finite = bool(np.isfinite(readings).all())
            scored.append(SeedScore(figures, selected(figures, self.config.training.select), finite))
        return scored


def moved(of_targets: Tensor, slots: Tensor) -> Tensor:
    """What is said of targets, (S, B, K, ...), under their new slots."""
    index = slots.view(*slots.shape, *[1] * (of_targets.dim() - slots.dim())).expand_as(of_targets)
    return torch.empty_like(of_targets).scatter_(2, index, of_targets)
