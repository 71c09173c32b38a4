"""One step of the recurrent entity memory, with delayed update (Liu, Cohn and Baldwin, 2018) or without (EntNet).

Everything carries a leading dimension `groups`: independent networks computed side by side (directions x seeds).
Shapes at line ends use G groups, B sentences, n chains, d dimensions.

Paper symbols, mapped once:
    w_i  word       (G, B, d)       h^j  memory of chain j   (G, B, n, d)
    k^j  key        (G, n, d)       d^j  delay of chain j    (G, B, n, d)
    g^j  gate       (G, B, n) or, with a vector gate, (G, B, n, d)
"""

from dataclasses import dataclass, fields
from typing import NamedTuple

import torch
from torch import Tensor


class MemoryState(NamedTuple):
    """What a step hands to the next one."""

    memory: Tensor  # (G, B, n, d)
    delay: Tensor  # (G, B, n, d); zeros, and never read, without a delay


@dataclass(frozen=True)
class DelayWeights:
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
    vector_gate: bool = False

    def tensors(self) -> list[Tensor]:
        """Every weight, for a caller that treats them alike."""
        own = [value for f in fields(self) if isinstance(value := getattr(self, f.name), Tensor)]
        delay = [getattr(self.delay, f.name) for f in fields(self.delay)] if self.delay else []
        return own + delay


class Projections(NamedTuple):
    """What a step needs of words and keys and does not depend on time: computed once a sentence."""

    word: Tensor  # w, (G, B, T, d)
    candidate: Tensor  # W w (+ bias), (G, B, T, d)
    location: Tensor  # w . k, (G, B, T, n); (G, B, T, n, d) with a vector gate
    key: Tensor  # V k, (G, n, d)


def project(weights: MemoryWeights, words: Tensor, keys: Tensor) -> Projections:
    """Compute the products that do not depend on the memory: `words` (G, B, T, d) and `keys` (G, n, d)."""
    groups, batch, length, size = words.shape
    flat = words.reshape(groups, batch * length, size)
    candidate = flat @ weights.word
    if weights.bias is not None:
        candidate = candidate + weights.bias.unsqueeze(1)
    if weights.vector_gate:
        location = words.unsqueeze(3) * keys[:, None, None]  # (G, B, T, n, d)
    else:
        location = (flat @ keys.transpose(1, 2)).view(groups, batch, length, -1)
    return Projections(words, candidate.view(words.shape), location, keys @ weights.key)


def prelu(x: Tensor, slope: Tensor) -> Tensor:
    """The parametric ReLU (He et al., 2015), `slope` broadcast over `x`."""
    return x.clamp(min=0) + slope * x.clamp(max=0)


def step(
    weights: MemoryWeights, state: MemoryState, word: Tensor, candidate: Tensor, location: Tensor, key: Tensor
) -> tuple[MemoryState, Tensor]:
    """Read one word into every chain; `word`, `candidate` and `location` are one time step of `Projections`.

    h~  = phi(U h + V k + W w)              (2)
    d'  = GRU(h~, d)                        (3)
    g   = sigmoid(w . h + w . k + v . d')   (1)
    h*  = h + g h~                          (4)
    h'  = h* / ||h*||, or h* where that norm is 0
    """
    memory, delay = state
    proposal = rows(memory, weights.memory) + key.unsqueeze(1) + candidate.unsqueeze(2)  # (G, B, n, d)
    proposal = prelu(proposal, weights.slope[:, None, None])
    content = word.unsqueeze(2) * memory  # (G, B, n, d)
    logit = (content if weights.vector_gate else content.sum(-1)) + location
    if weights.delay is not None:
        delay = gru(weights.delay, proposal, delay)
        past = weights.delay.vector[:, None, None] * delay
        logit = logit + (past if weights.vector_gate else past.sum(-1))
    gate = torch.sigmoid(logit)
    memory = memory + (gate if weights.vector_gate else gate.unsqueeze(-1)) * proposal
    if weights.normalise:
        memory = memory / unit_norm(memory)
    return MemoryState(memory, delay), gate


def gru(weights: DelayWeights, x: Tensor, past: Tensor) -> Tensor:
    """Eq. 3: the delay after reading the candidate `x`; both (G, B, n, d)."""
    from_x = rows(x, weights.inputs) + weights.bias[:, None, None]  # (G, B, n, 3d)
    size = x.shape[-1]
    reset, update = torch.sigmoid(from_x[..., : 2 * size] + rows(past, weights.gates)).chunk(2, dim=-1)
    new = torch.tanh(from_x[..., 2 * size :] + rows(reset * past, weights.new))
    return update * past + (1 - update) * new


def rows(x: Tensor, matrix: Tensor) -> Tensor:
    """`x @ matrix` with one product a group: (G, B, n, d) by (G, d, e) -> (G, B, n, e)."""
    groups, batch, chains, size = x.shape
    return torch.bmm(x.reshape(groups, batch * chains, size), matrix).view(groups, batch, chains, -1)


def unit_norm(x: Tensor) -> Tensor:
    """The Euclidean norm along the last dimension, kept, and 1 where it is 0."""
    square = x.square().sum(-1, keepdim=True)
    # The double `where` keeps the gradient of a zero vector finite.
    return torch.where(square > 0, torch.where(square > 0, square, 1.0).sqrt(), 1.0)


class Words(NamedTuple):
    """Vectors that are not trained, and what a sentence's are multiplied by."""

    table: Tensor  # (V, d)
    rows: Tensor  # (G, B, T)
    factor: Tensor | None = None  # (G, B, d)

    def padded(self) -> Tensor:
        """All of them, (G, B, T, d)."""
        words = self.table[self.rows]
        return words if self.factor is None else words * self.factor.unsqueeze(2)

    def at(self, place: Tensor, sentence: Tensor) -> Tensor:
        """Some of them, (G, P, d): `place` in (B x T), and the sentence that each is of."""
        words = self.table[self.rows.flatten(1).index_select(1, place)]
        return words if self.factor is None else words * self.factor.index_select(1, sentence)
