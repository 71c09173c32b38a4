"""The memory's cell run over whole sentences, each over its own length.

`scan` is the one entry. `scan_by_step` runs any cell: autograd through `MemoryCell.step`, word by word over the padded
batch, on a GPU as one CUDA graph (`fast/graphs.py`). `fast/packed.py` serves the unchanged cell on a CPU.
"""

import warnings
from functools import cache
from typing import NamedTuple

import torch
from torch import Tensor

from tabsa.nn.context import ScanPath
from tabsa.nn.fast.packed import project, scan_packed
from tabsa.nn.memory import DelayWeights, MemoryCell, MemoryState, MemoryWeights


class Scanned(NamedTuple):
    """A read sentence."""

    memory: Tensor  # after each sentence's last word, (G, B, n, d)
    gates: Tensor | None  # where requested, (G, B, T, n), 0 after a sentence's end


def scan(
    cell: MemoryCell,
    weights: MemoryWeights,
    words: Tensor,
    keys: Tensor,
    lengths: Tensor,
    *,
    nearby: Tensor | None = None,
    path: ScanPath = "auto",
    gates: bool = True,
) -> Scanned:
    """Read `words` (G, B, T, d), each sentence up to its `lengths` (G, B), into chains with `keys` (G, n, d).

    The memory starts as the keys and the delay as 0. `nearby` (G, B, T, n) is added inside the gate.
    """
    if path == "auto":  # the packed path waits for the device, and has no gradient for words
        packed = not words.is_cuda and not words.requires_grad and is_unchanged(cell)
        path = "packed" if packed else "step"
    if path == "step":
        result = scan_by_step(cell, weights, words, keys, lengths, nearby)
    else:
        result = Scanned(*scan_packed(weights, project(weights, words, keys, nearby), keys, lengths))
    return result if gates else result._replace(gates=None)


def scan_by_step(
    cell: MemoryCell, weights: MemoryWeights, words: Tensor, keys: Tensor, lengths: Tensor, nearby: Tensor | None = None
) -> Scanned:
    """Run every step over the whole padded batch; a sentence that has ended keeps its state."""
    groups, batch, length, _ = words.shape
    memory = keys.unsqueeze(1).expand(groups, batch, *keys.shape[1:])
    state = MemoryState(memory, torch.zeros_like(memory))
    gates = []
    for i in range(length):
        new, gate = cell.step(weights, state, words[:, :, i], keys, None if nearby is None else nearby[:, :, i])
        going = (lengths > i)[..., None, None]  # (G, B, 1, 1)
        state = MemoryState(torch.where(going, new.memory, state.memory), torch.where(going, new.delay, state.delay))
        gates.append(gate * going[..., 0])
    return Scanned(state.memory, torch.stack(gates, dim=2))


def is_unchanged(cell: MemoryCell) -> bool:
    """Check that the fast paths compute a cell: it is a `MemoryCell`, as that was when they were written.

    Values and gradients of a few random sentences are compared once, so that an edit is noticed wherever it is.
    """
    both = (True, False)
    if type(cell) is MemoryCell and all(_computes_the_step(delay, extra) for delay in both for extra in both):
        return True
    name = type(cell).__name__
    warnings.warn(f"{name} is not the memory that the fast paths compute: it is run word by word", stacklevel=2)
    return False


@cache
@torch.inference_mode(mode=False)
@torch.enable_grad()
def _computes_the_step(delay: bool, extra: bool) -> bool:
    """Compare the packed path with the cell's own step, in float64."""
    groups, batch, length, size, chains = 2, 5, 6, 7, 3
    generator = torch.Generator().manual_seed(1)

    def draw(*shape: int) -> Tensor:
        return torch.randn(groups, *shape, generator=generator, dtype=torch.float64)

    sizes = ((size, 3 * size), (size, 2 * size), (size, size), (3 * size,), (size,))
    weights = MemoryWeights(
        draw(size, size), draw(size, size), draw(size, size), draw(size), draw(size) if extra else None,
        DelayWeights(*(draw(*own) for own in sizes)) if delay else None, normalise=extra,
    )  # fmt: skip
    words, keys, towards = draw(batch, length, size), draw(chains, size), draw(batch, chains, size)
    nearby = draw(batch, length, chains) if extra else None
    lengths = torch.randint(0, length + 1, (groups, batch), generator=generator)
    leaves = [keys, *([] if nearby is None else [nearby]), *weights.tensors()]
    for leaf in leaves:
        leaf.requires_grad_()
    found = []
    paths: tuple[ScanPath, ...] = ("step", "packed")
    for path in paths:
        result = scan(MemoryCell(), weights, words, keys, lengths, nearby=nearby, path=path)
        gradients = torch.autograd.grad((result.memory * towards).sum(), leaves, allow_unused=True)
        found.append([result.memory, result.gates, *gradients])
    return all(
        one is not None and other is not None and torch.allclose(one, other, rtol=1e-6, atol=1e-8)
        for one, other in zip(*found, strict=True)
    )


def reverse(words: Tensor, lengths: Tensor) -> Tensor:
    """Turn each sentence around within its own length: (..., T, d or nothing after T given by `lengths`' rank)."""
    length = words.shape[lengths.dim()]
    position = torch.arange(length, device=words.device)
    source = lengths.unsqueeze(-1) - 1 - position  # negative after the end
    source = torch.where(source >= 0, source, position)
    index = source.reshape(*source.shape, *[1] * (words.dim() - source.dim())).expand(words.shape)
    return words.gather(lengths.dim(), index)
