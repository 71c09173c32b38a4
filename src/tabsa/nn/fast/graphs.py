"""An update captured as one CUDA graph: on a GPU a small model's time is mostly the launching of its kernels.

A graph is of one shape: so many sentences of so many words, so many of them live at each step. Batches are padded to a
few lengths, each of which has a few graphs, from one that allows for few live sentences at each step to one that allows
for many. A batch takes the first that is large enough; where none is, it is learnt from without a graph, and a larger
one is made.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import pad

_WORDS, _SENTENCES = 8, 4  # lengths, and live sentences, are rounded up to a multiple of these
_ROOM = 0.5  # standard deviations of the live sentences that the first graph of a length allows for; more, the others
_MOST = 8  # graphs of a length


@dataclass(frozen=True)
class Batch:
    """The sentences and labels of one update; every tensor has the seeds in front."""

    tokens: Tensor  # (S, B, T)
    lengths: Tensor  # (S, B)
    labels: Tensor  # (S, B, K, A)
    concepts: Tensor | None  # (S, B, T)
    live: tuple[int, ...]  # sentences, from the first, that each step must read
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

    def cloned(self) -> "Batch":
        """In memory of its own."""
        copies: Any = {name: value.clone() for name, value in vars(self).items() if isinstance(value, Tensor)}
        return replace(self, **copies)


class _Graph:
    """One captured update, the batch it reads and the losses it leaves."""

    def __init__(
        self, learn: Callable[[Batch], Tensor], batch: Batch, generators: Sequence[torch.Generator], pool: Any
    ) -> None:
        self.batch = batch
        self.graph = torch.cuda.CUDAGraph()
        for generator in generators:
            self.graph.register_generator_state(generator)
        with torch.cuda.graph(self.graph, pool=pool):
            self.losses = learn(batch)

    def fits(self, batch: Batch) -> bool:
        own = self.batch.live
        return len(own) >= len(batch.live) and all(have >= need for have, need in zip(own, batch.live, strict=False))

    def replay(self, batch: Batch) -> Tensor:
        for own, new in zip(self.batch.tensors, batch.tensors, strict=True):
            own.copy_(new)
        self.graph.replay()
        return self.losses.clone()


class Graphs:
    """Learns from batches, by graph where one fits; `learn` is one update, which must not wait for the GPU."""

    def __init__(self, learn: Callable[[Batch], Tensor], generators: Sequence[torch.Generator], longest: int) -> None:
        self.plainly, self.generators, self.longest = learn, generators, longest
        self.graphs: dict[tuple[int, int], list[_Graph]] = {}
        # One for all: they run one after the other, and what one leaves there is read before the next.
        self.pool: Any = None

    def learn(self, batch: Batch) -> Tensor:
        """One update; returns the losses (S,)."""
        sentences, words = batch.tokens.shape[1:]
        length = min(self.longest, -(-words // _WORDS) * _WORDS)
        batch = batch.padded(length)
        graphs = self.graphs.setdefault((sentences, length), [])
        for graph in graphs:
            if graph.fits(batch):
                return graph.replay(batch)
        if len(graphs) == _MOST:
            return self.plainly(batch)
        # Learning plainly first compiles kernels and makes the optimiser's state, which a capture must find there.
        before = graphs[-1].batch.live if graphs else ()
        live = _allowing(batch.live, length, sentences, before, _ROOM * (len(graphs) + 1))
        batch = replace(batch, live=live)
        losses = self.plainly(batch)
        self.pool = self.pool or torch.cuda.graph_pool_handle()
        graphs.append(_Graph(self.plainly, batch.cloned(), self.generators, self.pool))
        return losses


def _allowing(live: Sequence[int], length: int, most: int, before: Sequence[int], room: float) -> tuple[int, ...]:
    """Live sentences at each of `length` steps for batches like this one, which vary, and all there were before."""
    needed = []
    for t in range(length):
        count = live[t] if t < len(live) else 0
        spread = room * (max(count, 1) * (1 - count / most)) ** 0.5
        rounded = -(-int(count + spread) // _SENTENCES) * _SENTENCES
        needed.append(min(most, max(rounded, before[t] if t < len(before) else 0)))
    for t in reversed(range(length - 1)):  # a sentence that is live was live before
        needed[t] = max(needed[t], needed[t + 1])
    return tuple(count for count in needed if count)
