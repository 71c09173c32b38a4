"""The memory's step run over whole sentences, each over its own length.

`scan` is the one entry; it picks the fast path where there is one. `scan_by_step` is the reference: autograd through
`memory.step`, word by word over the padded batch. `packed.py` is the fast path of a CPU, `fused.py` that of a GPU.
"""

from importlib.util import find_spec
from typing import NamedTuple

import torch
from torch import Tensor

from tabsa.nn.context import ScanPath
from tabsa.nn.fast.fused import scan_fused
from tabsa.nn.fast.packed import live_rows, scan_packed, supports
from tabsa.nn.memory import MemoryState, MemoryWeights, Projections, Words, project, step


class Scanned(NamedTuple):
    """A read sentence."""

    memory: Tensor  # after each sentence's last word, (G, B, n, d)
    gates: Tensor | None  # where asked for, (G, B, T, n), 0 after a sentence's end; the mean over d of a vector gate


def scan(
    weights: MemoryWeights,
    words: Tensor | Words,
    keys: Tensor,
    lengths: Tensor,
    *,
    nearby: Tensor | None = None,
    live: tuple[int, ...] | None = None,
    path: ScanPath = "auto",
    products: torch.dtype = torch.float32,
    gates: bool = True,
) -> Scanned:
    """Read `words` (G, B, T, d), each sentence up to its `lengths` (G, B), into chains with `keys` (G, n, d).

    The memory starts as the keys and the delay as 0. `nearby` (G, B, T, n) is added inside the gate. `live` is how many
    sentences, from the first, each step computes in a fast path, where that is known already (see `live_rows`).
    `products` is the type that matrix products are computed in by a fast path; states and sums are float32. Without
    `gates` there are none in the answer, and a GPU is spared them.
    """
    if path == "auto":
        path = _best(weights, words.table if isinstance(words, Words) else words)
    if path != "step" and live is None:
        live = live_rows(lengths)
    if path == "fused" and live:
        return Scanned(*scan_fused(weights, words, keys, lengths, nearby, products, live, gates=gates))
    if isinstance(words, Words):
        words = words.padded()
    projections = project(weights, words, keys)
    if nearby is not None:
        extra = nearby.unsqueeze(-1) if weights.vector_gate else nearby
        projections = projections._replace(location=projections.location + extra)
    if path == "step" or live is None:
        result = scan_by_step(weights, projections, keys, lengths)
    else:
        result = Scanned(*scan_packed(weights, projections, keys, lengths, products, live))
    return result if gates else result._replace(gates=None)


def _best(weights: MemoryWeights, words: Tensor) -> ScanPath:
    if not supports(weights, words):
        return "step"
    # Triton's kernels are float32's; PyTorch for NVIDIA GPUs comes with it.
    return "fused" if words.is_cuda and words.dtype == torch.float32 and find_spec("triton") else "packed"


def scan_by_step(weights: MemoryWeights, projections: Projections, keys: Tensor, lengths: Tensor) -> Scanned:
    """The reference: every step over the whole padded batch; a sentence that has ended keeps its state."""
    groups, batch, length, _ = projections.word.shape
    memory = keys.unsqueeze(1).expand(groups, batch, *keys.shape[1:])
    state = MemoryState(memory, torch.zeros_like(memory))
    gates = []
    for i in range(length):
        new, gate = step(
            weights,
            state,
            projections.word[:, :, i],
            projections.candidate[:, :, i],
            projections.location[:, :, i],
            projections.key,
        )
        going = (lengths > i)[..., None, None]  # (G, B, 1, 1)
        state = MemoryState(torch.where(going, new.memory, state.memory), torch.where(going, new.delay, state.delay))
        if weights.vector_gate:
            gate = gate.mean(-1)
        gates.append(gate * going[..., 0])
    return Scanned(state.memory, torch.stack(gates, dim=2))


def reverse(words: Tensor, lengths: Tensor) -> Tensor:
    """Turn each sentence around within its own length: (..., T, d or nothing after T given by `lengths`' rank)."""
    length = words.shape[lengths.dim()]
    position = torch.arange(length, device=words.device)
    source = lengths.unsqueeze(-1) - 1 - position  # negative after the end
    source = torch.where(source >= 0, source, position)
    index = source.reshape(*source.shape, *[1] * (words.dim() - source.dim())).expand(words.shape)
    return words.gather(lengths.dim(), index)
