"""A stacked bi-directional LSTM over packed sentences, several seeds side by side.

    i, f, o = sigmoid(W x + U h + b)        c' = f c + i g
    g = tanh(W x + U h + b)                 h' = o tanh(c')

One layer of one seed is one call of PyTorch's kernel, which on a GPU is cuDNN's: it computes W x for all words at once
and spends nothing on padding. A seed's call sees that seed's numbers alone, so it gives the same bits in any group.
"""

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import PackedSequence, pack_padded_sequence, pad_packed_sequence

from tabsa.nn.context import Context
from tabsa.nn.seeds import constant, dropout, parameter, xavier

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
