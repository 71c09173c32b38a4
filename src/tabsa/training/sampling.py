"""Which readings and which pairs each update sees: three ways to live with `none` being most of the data.

    mixed      every batch holds as many pairs of each class (the paper's words)
    turns      every batch holds one class, each class in turn (the authors' code)
    sentence   every batch holds whole sentences with all their pairs; the loss weighs the classes

An epoch of `mixed` or `turns` is as many updates as it takes to see the rarest class once in `turns`: 18 on Sentihood
with batches of 128. Rows come out by falling length, which is what the scan shrinks best.
"""

from collections.abc import Iterator
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tabsa.encoding.arrays import UNLABELLED, Encoded
from tabsa.errors import DataError

Balance = Literal["mixed", "turns", "sentence"]


class Drawn(NamedTuple):
    """One batch: readings, and the labels learnt of each."""

    rows: NDArray[np.int64]  # (B,)
    labels: NDArray[np.int8]  # UNLABELLED where a pair is not part of the batch, (B, K, A)


class Sampler:
    """Draws batches for one seed; the same generator state gives the same epoch."""

    def __init__(self, data: Encoded, balance: Balance, batch_size: int, *, seed: int, pool: int = 16) -> None:
        self.data, self.balance, self.batch_size, self.pool = data, balance, batch_size, pool
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
            # What does not divide evenly goes to each class in turn.
            shares = [(self.batch_size + (c + update) % classes) // classes for c in range(classes)]
            yield np.concatenate(
                [_some(of_class, share, rng) for of_class, share in zip(self.pairs, shares, strict=True)]
            )

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
        """Batches of like length: a pool of several batches is sorted and cut, and the batches shuffled."""
        order = rng.permutation(len(self.data))
        size = self.batch_size * self.pool
        batches = []
        for start in range(0, len(order), size):
            pool = order[start : start + size]
            pool = pool[np.argsort(-self.data.lengths[pool], kind="stable")]
            batches += [pool[i : i + self.batch_size] for i in range(0, len(pool), self.batch_size)]
        # The one short batch stays last, so that all seeds of a group have batches of the same size.
        full = [rows for rows in batches if len(rows) == self.batch_size]
        for number in rng.permutation(len(full)):
            yield Drawn(full[number], self.data.labels[full[number]])
        for rows in batches:
            if len(rows) < self.batch_size:
                yield Drawn(rows, self.data.labels[rows])


def _some(pairs: NDArray[np.int64], count: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """`count` pairs at random, none twice unless there are too few."""
    chosen: NDArray[np.int64] = pairs[rng.choice(len(pairs), count, replace=count > len(pairs))]
    return chosen


def class_weights(data: Encoded, labels: int, power: float) -> NDArray[np.float32]:
    """One weight a label, (1 / frequency) ** power, scaled to a mean of 1 over the data's pairs."""
    counts = np.bincount(data.labels[data.labels != UNLABELLED], minlength=labels).astype(np.float64)
    weights = np.where(counts > 0, np.maximum(counts, 1.0) ** -power, 0.0)
    scale = counts.sum() / (weights * counts).sum()
    return np.asarray(weights * scale, np.float32)
