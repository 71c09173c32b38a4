"""Bi-directional LSTMs over sentences, several seeds side by side: a plain one, and the sentic one (Ma et al., 2018).

    i, f, o = sigmoid(W x + U h + b)        c' = f c + i g
    g = tanh(W x + U h + b)                 h' = o tanh(c')

One layer of one seed is one call of PyTorch's kernel, which on a GPU is cuDNN's: it computes W x for all words at once
and spends nothing on padding. A seed's call sees that seed's numbers alone, so it gives the same bits in any group.

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

from tabsa.nn.context import Context, constant, dropout, parameter, xavier
from tabsa.nn.scan import reverse

_FORGET = 1  # the gates' order is that of PyTorch: i, f, g, o


class LSTMStates(NamedTuple):
    """A read sentence: forward states, then backward ones, along the last dimension; 0 in a sentence of no words."""

    states: Tensor  # at each word, 0 after the end, (S, B, T, 2 units)
    last: Tensor  # forward after the last word, backward after the first, (S, B, 2 units)


class BiLSTM(nn.Module):
    """A stack of bi-directional LSTM layers, `units` a direction, with `rate` of dropout between them."""

    def __init__(
        self,
        starts: Sequence[torch.Generator],
        size: int,
        units: int,
        *,
        layers: int = 1,
        rate: float = 0.0,
        forget_bias: float = 0.0,
    ) -> None:
        super().__init__()
        self.rate = rate
        sizes = [size] + [2 * units] * (layers - 1)
        self.inputs = nn.ParameterList()  # W, (S, 2, 4, size, units) a layer
        self.states = nn.ParameterList()  # U, (S, 2, 4, units, units)
        self.bias = nn.ParameterList()  # b, (S, 2, 4, units)
        for layer_size in sizes:
            self.inputs.append(parameter(starts, 2, 4, layer_size, units, init=xavier))
            self.states.append(parameter(starts, 2, 4, units, units, init=xavier))
            bias = parameter(starts, 2, 4, units, init=constant(0))
            with torch.no_grad():
                bias[:, :, _FORGET] = forget_bias
            self.bias.append(bias)

    def forward(self, x: Tensor, lengths: Tensor, context: Context) -> LSTMStates:
        """Read `x` (S, B, T, size), each sentence up to its `lengths` (S, B)."""
        ends = lengths.cpu()
        for layer, weights in enumerate(zip(self.inputs, self.states, self.bias, strict=True)):
            if layer:
                x = dropout_alike(x, self.rate, context)
            of_seeds = [
                _read(of_seed, end, _block(*(w[n] for w in weights)))
                for n, (of_seed, end) in enumerate(zip(x, ends, strict=True))
            ]
            x, last = (torch.stack(parts) for parts in zip(*of_seeds, strict=True))
        return LSTMStates(x, last)


def dropout_alike(x: Tensor, rate: float, context: Context) -> Tensor:
    """Dropout with one mask for all words of a sentence, `x` (S, B, T, n).

    A mask a word would make what a seed draws depend on the padding, and so on the seeds it is trained beside.
    """
    return dropout(x, rate, context, shape=(x.shape[1], 1, x.shape[3]))


def _block(inputs: Tensor, states: Tensor, bias: Tensor) -> list[Tensor]:
    """One layer of one seed as the kernel takes it.

    The weights are views of one block, all matrices before all biases: cuDNN's own layout, which it then need not copy
    them into. Its second bias of each gate says nothing that the first does not, and is 0.
    """
    nothing = torch.zeros_like(bias[0]).flatten()
    matrices = [m.transpose(1, 2).flatten(0, 1) for way in (0, 1) for m in (inputs[way], states[way])]  # (4 units, in)
    biases = [b for way in (0, 1) for b in (bias[way].flatten(), nothing)]
    parts = [*matrices, *biases]
    views = torch.split(torch.cat([part.flatten() for part in parts]), [part.numel() for part in parts])
    shaped = [view.view_as(part) for view, part in zip(views, parts, strict=True)]
    return [*shaped[0:2], *shaped[4:6], *shaped[2:4], *shaped[6:8]]


def _read(x: Tensor, ends: Tensor, weights: list[Tensor]) -> tuple[Tensor, Tensor]:
    """One layer over the sentences of one seed: `x` (B, T, size), `ends` (B,) on the CPU."""
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


_FORGET = 1  # the gates' order: i, f, o, k, g; of the concepts' products: i, f, o, k, Cm


class SenticBiLSTM(nn.Module):
    """One bi-directional layer, `units` a direction, over words of `size` and concept vectors of `concept_size`."""

    def __init__(
        self,
        starts: Sequence[torch.Generator],
        size: int,
        concept_size: int,
        units: int,
        *,
        forget_bias: float = -1.0,
    ) -> None:
        super().__init__()
        self.inputs = parameter(starts, 2, 5, size, units, init=xavier)  # W
        self.states = parameter(starts, 2, 5, units, units, init=xavier)  # U
        self.concepts = parameter(starts, 2, 5, concept_size, units, init=xavier)  # C, and Cm
        self.bias = parameter(starts, 2, 5, units, init=constant(0))
        with torch.no_grad():
            self.bias[:, :, _FORGET] = forget_bias

    def forward(self, x: Tensor, concepts: Tensor, lengths: Tensor) -> Tensor:
        """The states at each word, forward then backward, 0 after the end: (S, B, T, 2 units).

        `x` (S, B, T, size) and `concepts` (S, B, T, concept_size) are read up to each sentence's `lengths` (S, B).
        """
        seeds, batch, length, _ = x.shape
        units = self.states.shape[-1]
        ends = lengths.unsqueeze(1).expand(-1, 2, -1).flatten(0, 1)  # (G, B)
        raw = _products(_both_ways(x, lengths), self.inputs) + self.bias.flatten(2).flatten(0, 1)[:, None, None]
        known = _products(_both_ways(concepts, lengths), self.concepts)  # (G, T, B, 5 units)
        gates = torch.cat([raw[..., : 4 * units] + known[..., : 4 * units], raw[..., 4 * units :]], dim=-1)
        knowledge = torch.tanh(known[..., 4 * units :])
        states = sentic_scan(gates, knowledge, _side_by_side(self.states), ends)
        states = states.view(seeds, 2, length, batch, units).transpose(2, 3)  # (S, 2, B, T, units)
        return torch.cat([states[:, 0], reverse(states[:, 1], lengths)], dim=-1)


def _both_ways(x: Tensor, lengths: Tensor) -> Tensor:
    """Each sentence and its reverse, time before the batch: (S, B, T, d) -> (G, T, B, d)."""
    return torch.stack([x, reverse(x, lengths)], dim=1).flatten(0, 1).transpose(1, 2)


def _side_by_side(matrices: Tensor) -> Tensor:
    """(S, 2, 5, d, units) -> (G, d, 5 units)."""
    return matrices.flatten(0, 1).transpose(1, 2).flatten(2)


def _products(x: Tensor, matrices: Tensor) -> Tensor:
    """All steps' products with all gates' matrices in one: (G, T, B, d) -> (G, T, B, 5 units)."""
    matrix = _side_by_side(matrices)
    return torch.bmm(x.flatten(1, 2), matrix).view(*x.shape[:3], matrix.shape[2])


def sentic_scan(gates: Tensor, knowledge: Tensor, matrix: Tensor, lengths: Tensor) -> Tensor:
    """The recurrence, from states of 0: the state h at each word, 0 after a sentence's end, (G, T, B, u).

    `gates` W x + C mu + b (G, T, B, 5u), `knowledge` tanh(Cm mu) (G, T, B, u), `matrix` U (G, u, 5u),
    `lengths` (G, B).
    """
    states: Tensor = _SenticScan.apply(gates, knowledge, matrix, lengths)  # type: ignore[no-untyped-call]
    going = torch.arange(gates.shape[1], device=gates.device)[:, None] < lengths.unsqueeze(1)  # (G, T, B)
    return states * going.unsqueeze(-1)


def _live_rows(lengths: Tensor, steps: int) -> list[int]:
    """How many rows each step computes: up to the last one, of any group, that is still going."""
    longest = lengths.amax(0).cpu().flip(0).cummax(0).values  # the longest of each row and those behind it
    rows: list[int] = (longest > torch.arange(steps).unsqueeze(1)).sum(1).tolist()
    return rows


class _SenticScan(torch.autograd.Function):
    """The loop over steps, and its derivative by hand: the gradient of U is one product over all steps.

    A row's numbers after its end are finite and mean nothing; the caller wipes them.
    """

    @staticmethod
    def forward(ctx: Any, gates: Tensor, knowledge: Tensor, matrix: Tensor, lengths: Tensor) -> Tensor:
        groups, steps, batch, u = knowledge.shape
        rows = _live_rows(lengths, steps)
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
    """What stood before each step, given what stands after it; 0 before the first: (G, T, B, u)."""
    return torch.cat([torch.zeros_like(records[:, :1]), records[:, :-1]], dim=1)
