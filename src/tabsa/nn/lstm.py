"""Bi-directional LSTMs over sentences, several seeds side by side: a plain one, and the sentic one (Ma et al., 2018).

    i, f, o = sigmoid(W x + U h + b)        c' = f c + i g
    g = tanh(W x + U h + b)                 h' = o tanh(c')

One seed is one call of PyTorch's kernel, which on a GPU is cuDNN's: it computes W x for all words at once and spends
nothing on padding. A seed's call sees that seed's numbers alone, so it gives the same bits in any group.

The gates of the sentic LSTM also read the vector mu of the concept at each word, 0 where there is none:

    i, f, o, k = sigmoid(W x + U h + C mu + b)        c' = f c + i g
    g = tanh(W x + U h + b)                           h' = o tanh(c') + k tanh(Cm mu)

k is the authors' o^c, the knowledge gate. All products with x and mu are computed for all words, directions and seeds
at once; a step is then one product. Shapes use G = S x 2 groups (seeds, directions), B sentences, T words.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable
from torch.nn.utils.rnn import PackedSequence, pack_padded_sequence, pad_packed_sequence

from tabsa.nn.context import Context, constant, dropout, parameter, side_by_side, xavier
from tabsa.nn.scan import reverse

_FORGET = 1  # the gates' order: i, f, g, o as PyTorch has it; i, f, o, k, g; of concepts i, f, o, k, Cm


def dropout_alike(x: Tensor, rate: float, context: Context) -> Tensor:
    """Drop out with one mask for all words of a sentence, `x` (S, B, T, n).

    A mask a word would make what a seed draws depend on the padding, and so on the seeds it is trained beside.
    """
    return dropout(x, rate, context, shape=(x.shape[1], 1, x.shape[3]))


class LSTMStates(NamedTuple):
    """A read sentence: forward states, then backward ones, along the last dimension; 0 in a sentence of no words."""

    states: Tensor  # at each word, 0 after the end, (S, B, T, 2 units)
    last: Tensor  # forward after the last word, backward after the first, (S, B, 2 units)


class BiLSTM(nn.Module):
    """A bi-directional LSTM layer, `units` a direction."""

    def __init__(self, starts: Sequence[torch.Generator], size: int, units: int, *, forget_bias: float = 0.0) -> None:
        super().__init__()
        self.inputs = parameter(starts, 2, 4, size, units, init=xavier)  # W
        self.states = parameter(starts, 2, 4, units, units, init=xavier)  # U
        self.bias = parameter(starts, 2, 4, units, init=constant(0))
        with torch.no_grad():
            self.bias[:, :, _FORGET] = forget_bias

    def forward(self, x: Tensor, lengths: Tensor) -> LSTMStates:
        """Read `x` (S, B, T, size), each sentence up to its `lengths` (S, B)."""
        seeds = zip(x, lengths.cpu(), self.inputs, self.states, self.bias, strict=True)
        read = [_read(words, ends, _block(*weights)) for words, ends, *weights in seeds]
        return LSTMStates(*(torch.stack(parts) for parts in zip(*read, strict=True)))


def _block(inputs: Tensor, states: Tensor, bias: Tensor) -> list[Tensor]:
    """Arrange one seed's weights as the kernel takes them.

    They are views of one block, all matrices before all biases: cuDNN's own layout, which it then need not copy them
    into. Its second bias of each gate says nothing that the first does not, and is 0.
    """
    nothing = torch.zeros_like(bias[0]).flatten()
    matrices = [m.transpose(1, 2).flatten(0, 1) for way in (0, 1) for m in (inputs[way], states[way])]  # (4 units, in)
    biases = [b for way in (0, 1) for b in (bias[way].flatten(), nothing)]
    parts = [*matrices, *biases]
    views = torch.split(torch.cat([part.flatten() for part in parts]), [part.numel() for part in parts])
    shaped = [view.view_as(part) for view, part in zip(views, parts, strict=True)]
    return [*shaped[0:2], *shaped[4:6], *shaped[2:4], *shaped[6:8]]


def _read(x: Tensor, ends: Tensor, weights: list[Tensor]) -> tuple[Tensor, Tensor]:
    """Read the sentences of one seed: `x` (B, T, size), `ends` (B,) on the CPU."""
    batch, length, _ = x.shape
    units = weights[1].shape[1]
    if length == 0:
        return x.new_zeros(batch, 0, 2 * units), x.new_zeros(batch, 2 * units)
    # A packed sentence has a word at least; the states of one that has none are wiped below.
    packed = pack_padded_sequence(x, ends.clamp(min=1), batch_first=True, enforce_sorted=False)
    start = x.new_zeros(2, batch, units)
    data, last, _ = torch.lstm(
        packed.data, packed.batch_sizes, (start, start), weights, True, 1, 0.0, torch.is_grad_enabled(), True
    )
    read = PackedSequence(data, packed.batch_sizes, packed.sorted_indices, packed.unsorted_indices)
    states, _ = pad_packed_sequence(read, batch_first=True, total_length=length)
    last = last[:, packed.unsorted_indices].transpose(0, 1).flatten(1)  # (B, 2 units)
    if not ends.all():
        some = (ends > 0).to(x.device, x.dtype)
        states, last = states * some[:, None, None], last * some[:, None]
    return states, last


class SenticBiLSTM(nn.Module):
    """A bi-directional sentic LSTM, `units` a direction, over words of `size` and concept vectors of `concept_size`."""

    def __init__(
        self, starts: Sequence[torch.Generator], size: int, concept_size: int, units: int, *, forget_bias: float = -1.0
    ) -> None:
        super().__init__()
        self.inputs = parameter(starts, 2, 5, size, units, init=xavier)  # W
        self.states = parameter(starts, 2, 5, units, units, init=xavier)  # U
        self.concepts = parameter(starts, 2, 5, concept_size, units, init=xavier)  # C, and Cm
        self.bias = parameter(starts, 2, 5, units, init=constant(0))
        with torch.no_grad():
            self.bias[:, :, _FORGET] = forget_bias

    def forward(self, x: Tensor, concepts: Tensor, lengths: Tensor) -> Tensor:
        """Compute the states at each word, forward then backward, 0 after the end: (S, B, T, 2 units).

        `x` (S, B, T, size) and `concepts` (S, B, T, concept_size) are read up to each sentence's `lengths` (S, B).
        """
        seeds, batch, length, _ = x.shape
        units = self.states.shape[-1]
        ends = lengths.unsqueeze(1).expand(-1, 2, -1).flatten(0, 1)  # (G, B)
        raw = _products(x, lengths, self.inputs) + self.bias.flatten(2).flatten(0, 1)[:, None, None]
        known = _products(concepts, lengths, self.concepts)  # (G, T, B, 5 units)
        gates = torch.cat([raw[..., : 4 * units] + known[..., : 4 * units], raw[..., 4 * units :]], dim=-1)
        knowledge = torch.tanh(known[..., 4 * units :])
        states = sentic_scan(gates, knowledge, side_by_side(self.states), ends)
        states = states.view(seeds, 2, length, batch, units).transpose(2, 3)  # (S, 2, B, T, units)
        return torch.cat([states[:, 0], reverse(states[:, 1], lengths)], dim=-1)


def _products(x: Tensor, lengths: Tensor, matrices: Tensor) -> Tensor:
    """Multiply each sentence (S, B, T, d) and its reverse with all gates' matrices: (G, T, B, 5 units)."""
    both = torch.stack([x, reverse(x, lengths)], dim=1).flatten(0, 1).transpose(1, 2)  # (G, T, B, d)
    matrix = side_by_side(matrices)
    return torch.bmm(both.flatten(1, 2), matrix).view(*both.shape[:3], matrix.shape[2])


def sentic_scan(gates: Tensor, knowledge: Tensor, matrix: Tensor, lengths: Tensor) -> Tensor:
    """Run the recurrence from states of 0: the state h at each word, 0 after a sentence's end, (G, T, B, u).

    `gates` W x + C mu + b (G, T, B, 5u), `knowledge` tanh(Cm mu) (G, T, B, u), `matrix` U (G, u, 5u),
    `lengths` (G, B).
    """
    states: Tensor = _SenticScan.apply(gates, knowledge, matrix, lengths)  # type: ignore[no-untyped-call]
    going = torch.arange(gates.shape[1], device=gates.device)[:, None] < lengths.unsqueeze(1)  # (G, T, B)
    return states * going.unsqueeze(-1)


class _SenticScan(torch.autograd.Function):
    """The loop over steps, and its derivative by hand: the gradient of U is one product over all steps.

    A step computes the rows up to the last one, of any group, that is still going. A row's numbers after its end are
    finite and mean nothing; the caller wipes them.
    """

    @staticmethod
    def forward(ctx: Any, gates: Tensor, knowledge: Tensor, matrix: Tensor, lengths: Tensor) -> Tensor:
        groups, steps, batch, u = knowledge.shape
        longest = lengths.amax(0).cpu().flip(0).cummax(0).values  # the longest of each row and those behind it
        rows: list[int] = (longest > torch.arange(steps).unsqueeze(1)).sum(1).tolist()
        acts = torch.zeros_like(gates)  # i, f, o, k, g after their sigmoid or tanh
        cells, states = torch.zeros_like(knowledge), torch.zeros_like(knowledge)
        cell, state = knowledge.new_zeros(2, groups, batch, u)
        for t, n in enumerate(rows):
            act = gates[:, t, :n] + torch.bmm(state[:, :n], matrix)
            act[..., : 4 * u].sigmoid_()
            act[..., 4 * u :].tanh_()
            i, f, o, k, g = act.chunk(5, dim=-1)
            cell = torch.addcmul(i * g, f, cell[:, :n])
            state = torch.addcmul(o * cell.tanh(), k, knowledge[:, t, :n])
            acts[:, t, :n], cells[:, t, :n], states[:, t, :n] = act, cell, state
        ctx.save_for_backward(knowledge, matrix, acts, cells, states)
        ctx.rows = rows
        return states

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad_states: Tensor) -> tuple[Tensor | None, ...]:
        knowledge, matrix, acts, cells, states = ctx.saved_tensors
        groups, _, batch, u = knowledge.shape
        i, f, o, k, g = acts.chunk(5, dim=-1)
        shown = cells.tanh()
        # The derivatives of h' and c' by what the gates are computed from, in the gates' order, for all steps at once.
        by_cell = o * (1 - shown * shown)
        by_gates = [i * g * (1 - i), f * _before(cells) * (1 - f), o * shown * (1 - o), k * knowledge * (1 - k)]
        by_gate = torch.cat([*by_gates, i * (1 - g * g)], dim=-1)
        grad_gates, grads = torch.zeros_like(acts), torch.zeros_like(states)
        grad_state, grad_cell = knowledge.new_zeros(2, groups, batch, u)
        for t in reversed(range(len(ctx.rows))):
            n = ctx.rows[t]
            grad = grad_state[:, :n] + grad_states[:, t, :n]
            cell = torch.addcmul(grad_cell[:, :n], grad, by_cell[:, t, :n])
            here = by_gate[:, t, :n] * torch.cat([cell, cell, grad, grad, cell], dim=-1)
            grad_gates[:, t, :n], grads[:, t, :n] = here, grad
            grad_state[:, :n] = torch.bmm(here, matrix.transpose(1, 2))
            grad_cell[:, :n] = cell * f[:, t, :n]
        grad_matrix = torch.bmm(_before(states).flatten(1, 2).transpose(1, 2), grad_gates.flatten(1, 2))
        return grad_gates, grads * k, grad_matrix, None


def _before(records: Tensor) -> Tensor:
    """Shift records of states after each step to those before it; 0 before the first: (G, T, B, u)."""
    return torch.cat([torch.zeros_like(records[:, :1]), records[:, :-1]], dim=1)
