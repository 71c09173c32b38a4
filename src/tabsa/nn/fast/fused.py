"""The scan's fast path for GPUs, of the unchanged cell: three products and three Triton kernels a step, each way.

The same shrinking batch and hand-written gradient as `packed.py`, with the products of a step joined. A record of
`joined` is [delay | candidate | reset * delay], so that one product of its first two parts gives both gates of eq. 3,
and one of its last two gives the new delay. Dimensions are padded to a multiple of 16 with zeros, which stay zero, for
the matrix units. States are float32, and so are the memories and raw candidates that the gradient subtracts from each
other; other records, operands and products have the products' type. The rows of all steps lie behind each other,
(G, rows, D), where a row is one chain of one sentence.
"""

from functools import lru_cache
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable
from torch.nn.functional import pad

from tabsa.nn.fast.packed import project
from tabsa.nn.memory import DelayWeights, MemoryWeights, Words

_ALIGNED = 16
_WARPS = 2  # of a kernel's program, which is one row


def scan_fused(
    weights: MemoryWeights,
    words: Tensor | Words,
    keys: Tensor,
    lengths: Tensor,
    nearby: Tensor | None,
    products: torch.dtype,
    live: tuple[int, ...],
    *,
    gates: bool = True,
) -> tuple[Tensor, Tensor | None]:
    """Read a batch; returns the last memory (G, B, n, d) and, where asked for, the gates (G, B, T, n).

    `live` is as for `scan`, and falls. Words are packed before anything is computed of them: padding costs nothing.
    """
    groups, batch, steps = (words.rows if isinstance(words, Words) else words).shape[:3]
    plan = _plan(live, batch, steps, lengths.device)

    def packed(x: Tensor) -> Tensor:
        return x.reshape(groups, batch * steps, x.shape[-1]).index_select(1, plan.place)

    # (G, words of all steps, d)
    read = words.at(plan.place, plan.sentence) if isinstance(words, Words) else packed(words)
    word, candidate, location, key = project(weights, read.unsqueeze(1), keys)
    location = location.squeeze(1) if nearby is None else location.squeeze(1) + packed(nearby)
    result: tuple[Tensor, Tensor] = _FusedScan.apply(  # type: ignore[no-untyped-call]
        (lengths, weights.normalise, products, plan), keys, word.squeeze(1), candidate.squeeze(1), location, key,
        weights.memory, weights.slope, *(weights.delay or ()),
    )  # fmt: skip
    last, packed_gates = result
    if not gates:
        return last, None
    spread = packed_gates.new_zeros(groups, batch * steps, keys.shape[1]).index_copy_(1, plan.place, packed_gates)
    going = torch.arange(steps, device=lengths.device) < lengths.unsqueeze(-1)
    return last, spread.view(groups, batch, steps, -1) * going.unsqueeze(-1)


class _FusedPlan(NamedTuple):
    """The sentences that each step computes, and where its records lie."""

    batch: int
    live: tuple[int, ...]  # sentences of each step
    first: tuple[int, ...]  # the first record of each step, in sentences; the last entry is their number
    place: Tensor  # of each record's word in (B x T)
    sentence: Tensor  # of each record's word
    before: Tensor  # of each record's memory before the step, among the operands, in sentences


@lru_cache(maxsize=256)
def _plan(live: tuple[int, ...], batch: int, steps: int, device: torch.device) -> _FusedPlan:
    """Kept, because a captured graph cannot copy an index from the CPU."""
    first, place, before = [0], [], []
    for t, count in enumerate(live):
        sentences = torch.arange(count)
        place.append(sentences * steps + t)
        before.append(sentences if t == 0 else batch + first[t - 1] + sentences)
        first.append(first[t] + count)
    places = torch.cat(place)
    return _FusedPlan(
        batch, live, tuple(first), places.to(device), (places // steps).to(device), torch.cat(before).to(device)
    )


class _Joined(NamedTuple):
    """The delay's weights as two matrices, padded: (G, 2D, 2D) and (G, 2D, D), with the bias (G, 3D) and v (G, D)."""

    gates: Tensor  # [delay | candidate] -> reset, update
    new: Tensor  # [candidate | reset * delay] -> new
    bias: Tensor
    vector: Tensor


def _join(weights: DelayWeights, size: int, products: torch.dtype) -> _Joined:
    d = weights.new.shape[-1]

    def parts(matrix: Tensor) -> list[Tensor]:
        return [pad(part, (0, size - d, 0, size - d)) for part in torch.split(matrix, d, dim=2)]

    inputs, gates, new = parts(weights.inputs), parts(weights.gates), parts(weights.new)
    of_gates = torch.cat([torch.cat(gates, 2), torch.cat(inputs[:2], 2)], dim=1)
    of_new = torch.cat([inputs[2], new[0]], dim=1)
    bias = torch.cat([pad(part, (0, size - d)) for part in torch.split(weights.bias, d, dim=1)], dim=1)
    return _Joined(of_gates.to(products), of_new.to(products), bias, pad(weights.vector, (0, size - d)))


def bmm(x: Tensor, matrix: Tensor) -> Tensor:
    """(G, n, k) @ (G, k, m), rounded to the type of the operands, and never in fewer than 32 bits on a CPU.

    Some CPUs announce instructions for bf16 products (AMX) that their virtual machine does not let a process use, and
    PyTorch's products then end the process. Operands rounded to bf16 and multiplied in float32 give what hardware
    gives, whose sums are float32 too.
    """
    if x.is_cuda or x.dtype in (torch.float32, torch.float64):
        return torch.bmm(x, matrix)
    return torch.bmm(x.float(), matrix.float()).to(x.dtype)


def _product(x: Tensor, matrix: Tensor) -> Tensor:
    """(G, a, R) by (G, R, b) in float32 whatever the operands are, for sums over all rows: gradients of weights."""
    if x.dtype == torch.float32:
        return torch.bmm(x, matrix)
    if x.is_cuda:
        return torch.bmm(x, matrix, out_dtype=torch.float32)
    return torch.bmm(x.float(), matrix.float())


def _sum(rows: Tensor) -> Tensor:
    """The sum over (G, R, a)'s rows, (G, a): as a product, which reads faster than a reduction."""
    return _product(rows.new_ones(len(rows), 1, rows.shape[1]), rows).squeeze(1)


class _FusedTape:
    """The records that the backward pass needs."""

    def __init__(self, rows: int, start: Tensor, batch: int, size: int, products: torch.dtype, *, delayed: bool):
        groups, chains, _ = start.shape

        def empty(width: int, dtype: torch.dtype = products, count: int = rows) -> Tensor:
            return torch.empty(groups, count, width, dtype=dtype, device=start.device)

        self.width = 3 * size if delayed else size
        self.joined = empty(self.width)
        if delayed:
            self.joined[:, : batch * chains, :size] = 0  # the delay before the first step
        self.raw = empty(size, torch.float32)
        # With the start in front; for a product, again in its type.
        self.memories = empty(size, torch.float32, batch * chains + rows)
        self.operands = empty(size, count=batch * chains + rows)
        self.gates, self.norms = empty(1, torch.float32), empty(1, torch.float32)
        delay_size = size if delayed else 0
        self.resets, self.updates, self.news, self.delays = (empty(delay_size) for _ in range(4))


class _FusedScan(torch.autograd.Function):
    """Forward as `MemoryCell.step`, row by row; backward as its derivative, in the same notation."""

    @staticmethod
    def forward(
        ctx: Any,
        settings: tuple[Tensor, bool, torch.dtype, _FusedPlan],
        start: Tensor,
        word: Tensor,
        candidate: Tensor,
        location: Tensor,
        key: Tensor,
        matrix: Tensor,
        slope: Tensor,
        *delay_tensors: Tensor,
    ) -> tuple[Tensor, Tensor]:
        from tabsa.nn.fast import kernels

        lengths, normalise, products, plan = settings
        groups, n, d = start.shape
        batch = plan.batch
        size = -(-d // _ALIGNED) * _ALIGNED
        extra = (0, size - d)
        words, slots, records = plan.first[-1], batch * n, plan.first[-1] * n
        delay = _join(DelayWeights(*delay_tensors), size, products) if delay_tensors else None
        tape = _FusedTape(records, start, batch, size, products, delayed=delay is not None)
        block = 1 << (size - 1).bit_length()
        shape = {"D": size, "BLOCK": block, "num_warps": _WARPS}
        whole = shape | {"n": n, "WIDTH": tape.width}

        vectors, candidates = pad(word, extra), pad(candidate, extra)
        locations, lengths = location.contiguous(), lengths.contiguous()
        key_part, slopes = pad(key, extra).contiguous(), pad(slope, extra).contiguous()
        memory_matrix = pad(matrix, (*extra, *extra)).to(products)
        last = pad(start, extra).repeat(1, batch, 1)  # (G, B n, D)
        delays = torch.zeros_like(last)
        tape.memories[:, :slots] = tape.operands[:, :slots] = last
        for t, count in enumerate(plan.live):
            rows, first, grid = count * n, plan.first[t] * n, (count * n, groups)
            begin = 0 if t == 0 else slots + plan.first[t - 1] * n
            at = slice(first, first + rows)
            product = bmm(tape.operands[:, begin : begin + rows], memory_matrix)
            kernels.propose[grid](
                product, key_part, candidates, slopes, tape.raw, tape.joined,
                rows, records, first, words, plan.first[t], OFFSET=size if delay else 0, **whole,
            )  # fmt: skip
            if delay is not None:
                product = bmm(tape.joined[:, at, : 2 * size], delay.gates)
                kernels.reset[grid](
                    product, delay.bias, delays, tape.resets, tape.updates, tape.joined,
                    rows, records, first, slots, **shape,
                )  # fmt: skip
                product = bmm(tape.joined[:, at, size:], delay.new)
            later = plan.live[t + 1] * n if t + 1 < len(plan.live) else 0
            kernels.write[grid](
                product, delay.bias if delay else slopes, delay.vector if delay else slopes, slopes, tape.raw,
                tape.updates, tape.news, tape.delays, delays, tape.joined, vectors, locations, lengths,
                tape.memories, tape.operands, tape.gates, tape.norms, last,
                rows, records, first, words, plan.first[t], slots, begin, later, first + rows, slots + records, t,
                DELAY=delay is not None, NORMALISE=normalise, **whole,
            )  # fmt: skip
        gates = tape.gates.view(groups, words, n)
        ctx.save_for_backward(vectors, memory_matrix, slopes, lengths)
        ctx.plan, ctx.tape, ctx.delay, ctx.normalise = plan, tape, delay, normalise
        ctx.sizes = (groups, batch, n, d, size)
        ctx.mark_non_differentiable(gates)
        return last.view(groups, batch, n, size)[..., :d].contiguous(), gates

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad_last: Tensor, _: Tensor) -> tuple[Tensor | None, ...]:
        from tabsa.nn.fast import kernels

        vectors, matrix, slopes, lengths = ctx.saved_tensors
        plan, tape, delay = ctx.plan, ctx.tape, ctx.delay
        groups, batch, n, d, size = ctx.sizes
        words, slots, records = plan.first[-1], batch * n, plan.first[-1] * n
        products = tape.joined.dtype
        shape = {"D": size, "BLOCK": 1 << (size - 1).bit_length(), "num_warps": _WARPS}
        given = pad(grad_last, (0, size - d)).reshape(groups, slots, size)
        grad_memory, grad_delay = torch.zeros_like(given), torch.zeros_like(given)
        grad_raw, grad_slope = (torch.empty_like(tape.raw, dtype=products) for _ in range(2))
        grad_logit = torch.empty_like(tape.gates)
        grad_gates = tape.joined.new_empty(groups, records, 2 * size if delay else 0)
        grad_new = tape.joined.new_empty(groups, records, size if delay else 0)
        back = matrix.transpose(1, 2)
        later, later_rows = grad_memory, 0
        for t in reversed(range(len(plan.live))):
            rows, first, grid = plan.live[t] * n, plan.first[t] * n, (plan.live[t] * n, groups)
            at = slice(first, first + rows)
            kernels.unwrite[grid](
                later, given, delay.vector if delay else slopes, slopes, tape.raw, tape.updates, tape.news,
                tape.joined, lengths, tape.memories, tape.gates, tape.norms,
                grad_memory, grad_delay, grad_logit, grad_gates, grad_new,
                records, first, slots, slots + records, later_rows, t, n=n,
                WIDTH=tape.width, DELAY=delay is not None, NORMALISE=ctx.normalise, **shape,
            )  # fmt: skip
            from_new = from_gates = slopes
            if delay is not None:
                from_new = bmm(grad_new[:, at], delay.new.transpose(1, 2))
                kernels.unreset[grid](
                    from_new, tape.resets, tape.joined, grad_delay, grad_gates, rows, records, first, slots, **shape
                )
                from_gates = bmm(grad_gates[:, at], delay.gates.transpose(1, 2))
            kernels.unpropose[grid](
                from_new, from_gates, slopes, tape.raw, tape.gates, vectors,
                grad_logit, grad_memory, grad_delay, grad_raw, grad_slope,
                rows, records, first, words, plan.first[t], slots, n=n, DELAY=delay is not None, **shape,
            )  # fmt: skip
            later, later_rows = bmm(grad_raw[:, at], back), rows
        grad_memory[:, :later_rows] += later
        grad_memory += given * (lengths == 0).repeat_interleave(n, dim=1).unsqueeze(-1)

        by_word = grad_raw.view(groups, words, n, size)
        before = tape.operands.view(groups, batch + words, n, size).index_select(1, plan.before)
        grads = [
            _product(before.view(groups, records, size).transpose(1, 2), grad_raw)[:, :d, :d],
            _sum(grad_slope)[:, :d],
        ]
        if delay is not None:
            of_gates = _product(tape.joined[..., : 2 * size].transpose(1, 2), grad_gates)
            of_new = _product(tape.joined[..., size:].transpose(1, 2), grad_new)
            resets, updates = of_gates[..., :d], of_gates[..., size : size + d]
            of_bias = torch.cat([_sum(grad_gates), _sum(grad_new)], dim=1)
            grads += [
                torch.cat([part[:, size : size + d] for part in (resets, updates)] + [of_new[:, :d, :d]], dim=2),
                torch.cat([part[:, :d] for part in (resets, updates)], dim=2),
                of_new[:, size : size + d, :d],
                of_bias.view(groups, 3, size)[..., :d].reshape(groups, 3 * d),
                _product(grad_logit.to(products).transpose(1, 2), tape.delays).squeeze(1)[:, :d],
            ]
        return (
            None,
            grad_memory.view(groups, batch, n, size).sum(1)[..., :d],
            None,
            by_word.sum(2, dtype=torch.float32)[..., :d],
            grad_logit.view(groups, words, n),
            _sum(grad_raw.view(groups, words, n * size)).view(groups, n, size)[..., :d],
            *grads,
        )
