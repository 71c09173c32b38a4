"""One step of the recurrent entity memory, with delayed update (Liu, Cohn and Baldwin, 2018) or without (EntNet).

`MemoryCell` is the model, and the cell that is written is the cell that trains and answers: a subclass of it, or an
edit of this file, is run word by word as it stands. The fast paths (`nn/fast/` and the graph of `models/entnet/`)
compute the unchanged cell alone, and are compared with it before they are used (`nn.scan`, `models.export`).

Everything carries a leading dimension `groups`: independent networks computed side by side (directions x seeds).
Shapes at line ends use G groups, B sentences, n chains, d dimensions.

Paper symbols, mapped once:
    w_i  word       (G, B, d)       h^j  memory of chain j   (G, B, n, d)
    k^j  key        (G, n, d)       d^j  delay of chain j    (G, B, n, d)
    g^j  gate       (G, B, n, 1)
"""

from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor


class MemoryState(NamedTuple):
    """The state that a step hands to the next one."""

    memory: Tensor  # (G, B, n, d)
    delay: Tensor  # (G, B, n, d); zeros, and never read, without a delay


class DelayWeights(NamedTuple):
    """The delay's GRU (eq. 3; Chung et al., 2014: the reset gate acts before the product) and its gate vector."""

    inputs: Tensor  # (G, d, 3d), candidate -> reset, update, new
    gates: Tensor  # (G, d, 2d), delay -> reset, update
    new: Tensor  # (G, d, d), reset * delay -> new
    bias: Tensor  # (G, 3d)
    vector: Tensor  # v, (G, d)


@dataclass(frozen=True)
class MemoryWeights:
    """Weights of one memory; all matrices act from the right (`x @ M`)."""

    memory: Tensor  # U, (G, d, d)
    key: Tensor  # V, (G, d, d)
    word: Tensor  # W, (G, d, d)
    slope: Tensor  # of the PReLU, (G, d)
    bias: Tensor | None = None  # (G, d); Paper: absent, the authors' code has it
    delay: DelayWeights | None = None  # None: EntNet
    normalise: bool = True

    def tensors(self) -> list[Tensor]:
        """Every weight, for a caller that treats them alike."""
        return [*(value for value in vars(self).values() if isinstance(value, Tensor)), *(self.delay or ())]


class MemoryCell:
    """One word read into every chain.

    h~  = phi(U h + V k + W w)              (2)
    d'  = GRU(h~, d)                        (3)
    g   = sigmoid(w . h + w . k + v . d')   (1)
    h*  = h + g h~                          (4)
    h'  = h* / ||h*||, or h* where that norm is 0
    """

    def step(
        self, weights: MemoryWeights, state: MemoryState, word: Tensor, keys: Tensor, nearby: Tensor | None = None
    ) -> tuple[MemoryState, Tensor]:
        """Read `word` (G, B, d) into chains with `keys` (G, n, d); the new state, and the gates to look at (G, B, n).

        `nearby` (G, B, n) is what the gates are given besides: `model.mention_term`.
        """
        memory, delay = state
        candidate = self.candidate(weights, memory, word, keys)
        if weights.delay is not None:
            delay = gru(weights.delay, candidate, delay)
        gate = self.gate(weights, MemoryState(memory, delay), word, keys, nearby)
        memory = memory + gate * candidate
        if weights.normalise:
            memory = memory / unit_norm(memory)
        return MemoryState(memory, delay), gate.mean(-1)

    def candidate(self, weights: MemoryWeights, memory: Tensor, word: Tensor, keys: Tensor) -> Tensor:
        """Eq. 2: what could be added to each memory, (G, B, n, d)."""
        from_word = torch.bmm(word, weights.word).unsqueeze(2)
        raw = rows(memory, weights.memory) + torch.bmm(keys, weights.key).unsqueeze(1) + from_word
        raw = raw if weights.bias is None else raw + weights.bias[:, None, None]
        return prelu(raw, weights.slope[:, None, None])

    def gate(
        self, weights: MemoryWeights, state: MemoryState, word: Tensor, keys: Tensor, nearby: Tensor | None
    ) -> Tensor:
        """Eq. 1: how much of the candidate is added, (G, B, n, 1), or (G, B, n, d) where a cell weighs dimensions.

        `state` has the memory before the step, and the delay after it.
        """
        logit = (word.unsqueeze(2) * (state.memory + keys.unsqueeze(1))).sum(-1, keepdim=True)
        if weights.delay is not None:
            logit = logit + (weights.delay.vector[:, None, None] * state.delay).sum(-1, keepdim=True)
        return torch.sigmoid(logit if nearby is None else logit + nearby.unsqueeze(-1))


def gru(weights: DelayWeights, x: Tensor, past: Tensor) -> Tensor:
    """Eq. 3: the delay after reading the candidate `x`; both (G, B, n, d)."""
    from_x = rows(x, weights.inputs) + weights.bias[:, None, None]  # (G, B, n, 3d)
    size = x.shape[-1]
    reset, update = torch.sigmoid(from_x[..., : 2 * size] + rows(past, weights.gates)).chunk(2, dim=-1)
    new = torch.tanh(from_x[..., 2 * size :] + rows(reset * past, weights.new))
    return update * past + (1 - update) * new


def prelu(x: Tensor, slope: Tensor) -> Tensor:
    """The parametric ReLU (He et al., 2015), `slope` broadcast over `x`."""
    return x.clamp(min=0) + slope * x.clamp(max=0)


def rows(x: Tensor, matrix: Tensor) -> Tensor:
    """`x @ matrix` with one product a group: (G, B, n, d) by (G, d, e) -> (G, B, n, e)."""
    groups, batch, chains, size = x.shape
    return torch.bmm(x.reshape(groups, batch * chains, size), matrix).view(groups, batch, chains, -1)


def unit_norm(x: Tensor) -> Tensor:
    """The Euclidean norm along the last dimension, kept, and 1 where it is 0."""
    square = x.square().sum(-1, keepdim=True)
    # The double `where` keeps the gradient of a zero vector finite.
    return torch.where(square > 0, torch.where(square > 0, square, 1.0).sqrt(), 1.0)
