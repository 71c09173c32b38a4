"""The classes of neural systems: what they are built from, and what they answer."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor, nn

from tabsa.nn.context import Context


@dataclass(frozen=True)
class Vocabulary:
    """The frozen vectors a model reads with. Row 0 of `words` is padding and zero."""

    words: Tensor  # (vocabulary, d)
    targets: tuple[int, ...]  # the row of each target's token
    aspects: Tensor  # the mean vector of each aspect's words, (A, d)
    labels: int  # none and the polarities
    concepts: Tensor | None = None  # for a model that reads them, row 0 zero, (concepts + 1, e)


@dataclass(frozen=True)
class ModelOutput:
    """The answer to a batch: every target-aspect pair of each sentence, from one reading."""

    logits: Tensor  # (S, B, K, A, labels)
    gates: Tensor | None = None  # (S, directions, B, T, n)
    attention: Tensor | None = None  # over the chains, (S, K, A, n)
    penalty: Tensor | None = None  # added to the loss of each seed, (S,)


class Network(nn.Module):
    """A neural system for `S` seeds at once; parameters and answers carry the seeds in front."""

    capturable: ClassVar[bool] = False  # whether `forward` never waits for the GPU
    fused: ClassVar[bool] = False  # whether the optimiser is worth a kernel of its own

    def __init__(self, labels: int, seeds: Sequence[int]) -> None:
        super().__init__()
        self.labels, self.seeds = labels, tuple(seeds)

    def starts(self) -> list[torch.Generator]:
        """Make one generator a seed, for drawing the initial weights."""
        return [torch.Generator().manual_seed(seed) for seed in self.seeds]

    def rate_factors(self, *, decay: float = 1.0, head: float = 1.0) -> dict[str, float]:  # noqa: ARG002
        """Return what rates of parameters are multiplied by: `decay` an encoder's layer, `head` what is not its own."""
        return {}

    @property
    def size(self) -> int:
        """Trained numbers of one seed."""
        return sum(p[0].numel() for p in self.parameters())


class Model(Network):
    """A system of Table 1. A sentence is read once: `forward` answers all its targets and aspects."""

    words: Tensor
    target_vectors: Tensor
    aspect_vectors: Tensor

    def __init__(self, vocabulary: Vocabulary, seeds: Sequence[int]) -> None:
        super().__init__(vocabulary.labels, seeds)
        self.targets = vocabulary.targets
        self.register_buffer("words", vocabulary.words, persistent=False)
        self.register_buffer("target_vectors", vocabulary.words[list(vocabulary.targets)], persistent=False)
        self.register_buffer("aspect_vectors", vocabulary.aspects, persistent=False)

    def forward(self, tokens: Tensor, lengths: Tensor, *, context: Context) -> ModelOutput:
        """Read sentences `tokens` (S, B, T), rows of `words`, of `lengths` (S, B)."""
        raise NotImplementedError
