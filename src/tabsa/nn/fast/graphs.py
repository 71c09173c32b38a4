"""An update captured as one CUDA graph: on a GPU a small model's time is mostly the launching of its kernels.

A graph is of one shape, so many sentences of so many words: batches are padded to a few lengths, each with its graph.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import pad

_WORDS = 8  # lengths are rounded up to a multiple of this


@dataclass(frozen=True)
class Batch:
    """The sentences and labels of one update; every tensor has the seeds in front."""

    tokens: Tensor  # (S, B, T)
    lengths: Tensor  # (S, B)
    labels: Tensor  # (S, B, K, A)
    concepts: Tensor | None  # (S, B, T)
    soft_labels: Tensor | None = None  # of teachers, (S, B, K, A, labels)

    @property
    def inputs(self) -> list[Tensor]:
        """The inputs of a model."""
        return [self.tokens, self.lengths, *([] if self.concepts is None else [self.concepts])]

    @property
    def tensors(self) -> list[Tensor]:
        """All of them."""
        return [*self.inputs, self.labels, *([] if self.soft_labels is None else [self.soft_labels])]

    def padded(self, length: int) -> "Batch":
        """With sentences of `length` words."""
        extra = (0, length - self.tokens.shape[2])
        concepts = None if self.concepts is None else pad(self.concepts, extra)
        return replace(self, tokens=pad(self.tokens, extra), concepts=concepts)


class Graphs:
    """Learns from batches by graph, one a shape; `learn` is one update, which must not wait for the GPU."""

    def __init__(self, learn: Callable[[Batch], Tensor], generators: Sequence[torch.Generator], longest: int) -> None:
        self.plainly, self.generators, self.longest = learn, generators, longest
        # Of each shape the graph, the batch that it reads and the losses that it leaves.
        self.graphs: dict[tuple[int, int], tuple[torch.cuda.CUDAGraph, Batch, Tensor]] = {}
        # One for all: they run one after the other, and what one leaves there is read before the next.
        self.pool: Any = None

    def learn(self, batch: Batch) -> Tensor:
        """One update; returns the losses (S,)."""
        sentences, words = batch.tokens.shape[1:]
        length = min(self.longest, -(-words // _WORDS) * _WORDS)
        batch = batch.padded(length)
        if (sentences, length) in self.graphs:
            graph, own, losses = self.graphs[sentences, length]
            for tensor, new in zip(own.tensors, batch.tensors, strict=True):
                tensor.copy_(new)
            graph.replay()
            return losses.clone()
        losses = self.plainly(batch)  # makes the optimiser's state, too, which a capture must find there
        self.graphs[sentences, length] = self.captured(batch)
        return losses

    def captured(self, batch: Batch) -> tuple[torch.cuda.CUDAGraph, Batch, Tensor]:
        """Capture an update without making it."""
        copies: Any = {name: value.clone() for name, value in vars(batch).items() if value is not None}
        batch = replace(batch, **copies)
        self.pool = self.pool or torch.cuda.graph_pool_handle()
        graph = torch.cuda.CUDAGraph()
        for generator in self.generators:
            graph.register_generator_state(generator)
        with torch.cuda.graph(graph, pool=self.pool):
            losses = self.plainly(batch)
        return graph, batch, losses
