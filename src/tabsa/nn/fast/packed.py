"""The scan's fast path for CPUs, of the unchanged cell: live rows alone are computed, and the gradient by hand.

Two savings over autograd through the cell's step. A batch shrinks as its sentences end: step t computes the rows up to
the last one that is still going (no other row where they are sorted by falling length). And the gradient of a weight is
one large product over all steps instead of a small one a step. The records of all steps lie behind each other:
(G, rows of step 0 + rows of step 1 + ..., n, d), with R for the rows of one step.
"""

from itertools import accumulate, pairwise
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from tabsa.nn.memory import DelayWeights, MemoryWeights, rows, unit_norm


class Projections(NamedTuple):
    """The products of words and keys that do not depend on the memory: computed once a sentence."""

    word: Tensor  # w, (G, B, T, d)
    candidate: Tensor  # W w (+ bias), (G, B, T, d)
    location: Tensor  # w . k, and what the gates are given besides, (G, B, T, n)
    key: Tensor  # V k, (G, n, d)


def project(weights: MemoryWeights, words: Tensor, keys: Tensor, nearby: Tensor | None = None) -> Projections:
    """Compute the products that do not depend on the memory: `words` (G, B, T, d) and `keys` (G, n, d)."""
    groups, batch, length, size = words.shape
    flat = words.reshape(groups, batch * length, size)
    candidate = flat @ weights.word
    if weights.bias is not None:
        candidate = candidate + weights.bias.unsqueeze(1)
    location = (flat @ keys.transpose(1, 2)).view(groups, batch, length, -1)
    location = location if nearby is None else location + nearby
    return Projections(words, candidate.view(words.shape), location, keys @ weights.key)


def scan_packed(
    weights: MemoryWeights, projections: Projections, keys: Tensor, lengths: Tensor
) -> tuple[Tensor, Tensor]:
    """Read a batch; returns the last memory (G, B, n, d) and the gates (G, B, T, n)."""
    settings = lengths, weights.normalise, _live_rows(lengths)
    result: tuple[Tensor, Tensor] = _PackedScan.apply(  # type: ignore[no-untyped-call]
        settings, keys, *projections, weights.memory, weights.slope, *(weights.delay or ())
    )
    return result


def _records(live: tuple[int, ...]) -> tuple[list[slice], list[slice]]:
    """Where the records of each step lie, and for the same rows those of the step before it."""
    first = [0, *accumulate(live)]
    before = (slice(start, start + count) for start, count in zip(first, live[1:], strict=False))
    return [slice(start, end) for start, end in pairwise(first)], [slice(0, 0), *before]


def _live_rows(lengths: Tensor) -> tuple[int, ...]:
    """Count the sentences that each step computes: up to the last, of any group, that is longer; (G, B) -> steps."""
    longest = lengths.amax(0).cpu()  # (B,)
    steps = torch.arange(int(longest.max()) if len(longest) else 0).unsqueeze(1)
    position = torch.arange(1, len(longest) + 1)
    return tuple(((longest > steps) * position).amax(1).tolist()) if len(steps) else ()


class _PackedTape:
    """The records that the backward pass needs; each (G, total, n, d) unless said otherwise."""

    def __init__(self, like: Tensor, total: int, chains: int, *, delayed: bool) -> None:
        def empty(width: int) -> Tensor:
            return like.new_empty(like.shape[0], total, chains, width)

        size = like.shape[-1]
        self.raw = empty(size)  # the candidate before its PReLU
        self.memory = empty(size)  # after the step
        self.norm = empty(1)
        self.gate = empty(1)
        delay_size = size if delayed else 0
        self.delay = empty(delay_size)  # after the step
        self.reset = empty(delay_size)
        self.update = empty(delay_size)
        self.new = empty(delay_size)


def _outer(x: Tensor, y: Tensor) -> Tensor:
    """Sum x^T y over rows, (G, d, e): a weight's gradient in one product."""
    return torch.bmm(x.flatten(1, 2).transpose(1, 2), y.flatten(1, 2))


def _prelu(raw: Tensor, slope: Tensor) -> Tensor:
    """In one pass; torch's own function of that name takes one slope a channel."""
    return torch._prelu_kernel(raw, slope[:, None, None])


def _unprelu(grad: Tensor, raw: Tensor, slope: Tensor, out: Tensor) -> Tensor:
    """The gradient of `raw` into `out`; returns the slope's, (G, d).

    By threshold and difference, because `torch.where` is many times slower than either on a CPU.
    """
    above: Tensor = torch.ops.aten.threshold_backward(grad, raw, 0.0)  # 0 where raw is not above 0
    below = grad - above
    torch.addcmul(above, below, slope[:, None, None], out=out)
    return (below * raw).sum((1, 2))


def _read_delay(weights: DelayWeights, proposal: Tensor, past: Tensor, tape: _PackedTape, here: slice) -> Tensor:
    """Eq. 3, recorded."""
    size = past.shape[-1]
    inputs = rows(proposal, weights.inputs) + weights.bias[:, None, None]
    gates = torch.sigmoid(inputs[..., : 2 * size] + rows(past, weights.gates))
    tape.reset[:, here], tape.update[:, here] = gates[..., :size], gates[..., size:]
    tape.new[:, here] = torch.tanh(inputs[..., 2 * size :] + rows(tape.reset[:, here] * past, weights.new))
    torch.lerp(tape.new[:, here], past, tape.update[:, here], out=tape.delay[:, here])
    return tape.delay[:, here]


def _unread_delay(
    weights: DelayWeights, grad: Tensor, past: Tensor, tape: _PackedTape, here: slice, grad_inputs: Tensor
) -> Tensor:
    """Eq. 3 backwards: turns `grad`, of the delay after the step, into that before it; returns the candidate's."""
    reset, update, new = tape.reset[:, here], tape.update[:, here], tape.new[:, here]
    size = past.shape[-1]
    grad_new = grad * (1 - update) * (1 - new * new)
    grad_reset = rows(grad_new, weights.new.transpose(1, 2))  # of reset * past
    grad_inputs[..., :size] = grad_reset * past * reset * (1 - reset)
    grad_inputs[..., size : 2 * size] = grad * (past - new) * update * (1 - update)
    grad_inputs[..., 2 * size :] = grad_new
    grad *= update
    grad += grad_reset * reset
    grad += rows(grad_inputs[..., : 2 * size], weights.gates.transpose(1, 2))
    return rows(grad_inputs, weights.inputs.transpose(1, 2))


class _PackedScan(torch.autograd.Function):
    """Forward as `MemoryCell.step`, row by row; backward as its derivative, in the same notation."""

    @staticmethod
    def forward(
        ctx: Any,
        settings: tuple[Tensor, bool, tuple[int, ...]],
        start: Tensor,
        word: Tensor,
        candidate: Tensor,
        location: Tensor,
        key: Tensor,
        matrix: Tensor,
        slope: Tensor,
        *delay_tensors: Tensor,
    ) -> tuple[Tensor, Tensor]:
        lengths, normalise, live = settings
        delay = DelayWeights(*delay_tensors) if delay_tensors else None
        groups, batch, steps, _ = word.shape
        chains = start.shape[1]
        places, _ = _records(live)
        tape = _PackedTape(word, sum(live), chains, delayed=delay is not None)
        gates = word.new_zeros(groups, batch, steps, chains)
        last = start.unsqueeze(1).repeat(1, batch, 1, 1)
        memory, past = last, torch.zeros_like(last)
        for t, (count, here) in enumerate(zip(live, places, strict=True)):
            memory, past = memory[:, :count], past[:, :count]
            torch.add(rows(memory, matrix), key.unsqueeze(1), out=tape.raw[:, here])
            tape.raw[:, here] += candidate[:, :count, t].unsqueeze(2)
            proposal = _prelu(tape.raw[:, here], slope)
            logit = (word[:, :count, t].unsqueeze(2) * memory).sum(-1) + location[:, :count, t]
            if delay is not None:
                past = _read_delay(delay, proposal, past, tape, here)
                logit += (past * delay.vector[:, None, None]).sum(-1)
            gates[:, :count, t] = logit.sigmoid_()
            tape.gate[:, here] = logit.unsqueeze(-1)
            torch.addcmul(memory, tape.gate[:, here], proposal, out=tape.memory[:, here])
            memory = tape.memory[:, here]
            if normalise:
                tape.norm[:, here] = unit_norm(memory)
                memory /= tape.norm[:, here]
            ended = (lengths[:, :count] == t + 1).nonzero(as_tuple=True)  # few sentences, or none
            last[ended] = memory[ended]
            gates[:, :count, t] *= (lengths[:, :count] > t).unsqueeze(-1)
        ctx.save_for_backward(start, word, matrix, slope, lengths, *delay_tensors)
        ctx.live, ctx.tape, ctx.normalise = live, tape, normalise
        ctx.mark_non_differentiable(gates)
        return last, gates

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad_last: Tensor, _: Tensor) -> tuple[Tensor | None, ...]:
        start, word, matrix, slope, lengths, *delay_tensors = ctx.saved_tensors
        delay = DelayWeights(*delay_tensors) if delay_tensors else None
        (places, before), tape = _records(ctx.live), ctx.tape
        chains, size = start.shape[1:]
        grad_raw, grad_logit = torch.empty_like(tape.raw), torch.empty_like(tape.gate)
        grad_inputs = tape.raw.new_empty(*tape.raw.shape[:3], 3 * size if delay else 0)
        grad_slope = torch.zeros_like(slope)
        grad_candidate = torch.zeros_like(word)
        grad_location = word.new_zeros(*word.shape[:3], chains)
        grad_memory, grad_delay, nothing = (torch.zeros_like(grad_last) for _ in range(3))
        for t in reversed(range(len(ctx.live))):
            count, here = ctx.live[t], places[t]
            grad, raw, gate = grad_memory[:, :count], tape.raw[:, here], tape.gate[:, here]
            ended = (lengths[:, :count] == t + 1).nonzero(as_tuple=True)
            grad[ended] += grad_last[ended]
            if ctx.normalise:
                memory = tape.memory[:, here]
                grad -= memory * (memory * grad).sum(-1, keepdim=True)
                grad /= tape.norm[:, here]
            proposal_grad = gate * grad
            torch.mul((grad * _prelu(raw, slope)).sum(-1, keepdim=True), gate * (1 - gate), out=grad_logit[:, here])
            if delay is not None:
                grad_delay[:, :count] += grad_logit[:, here] * delay.vector[:, None, None]
                past = nothing[:, :count] if t == 0 else tape.delay[:, before[t]]
                proposal_grad += _unread_delay(delay, grad_delay[:, :count], past, tape, here, grad_inputs[:, here])
            grad_slope += _unprelu(proposal_grad, raw, slope, grad_raw[:, here])
            grad += grad_logit[:, here] * word[:, :count, t].unsqueeze(2)
            grad += rows(grad_raw[:, here], matrix.transpose(1, 2))
            grad_candidate[:, :count, t] = grad_raw[:, here].sum(2)
            grad_location[:, :count, t] = grad_logit[:, here].squeeze(-1)
        grad_memory += grad_last * (lengths == 0)[..., None, None]  # of a sentence without words

        def previous(records: Tensor, first: Tensor) -> Tensor:
            """Each step's state before it, packed like `records`, which hold the states after."""
            parts = [records[:, rows_before] for rows_before in before[1:]]
            return torch.cat([first[:, : sum(ctx.live[:1])], *parts], dim=1)

        first = start.unsqueeze(1).expand_as(grad_last)
        grads = [_outer(previous(tape.memory, first), grad_raw), grad_slope]
        if delay is not None:
            past = previous(tape.delay, nothing)
            grads += [
                _outer(_prelu(tape.raw, slope), grad_inputs),
                _outer(past, grad_inputs[..., : 2 * size]),
                _outer(tape.reset * past, grad_inputs[..., 2 * size :]),
                grad_inputs.sum((1, 2)),
                (grad_logit * tape.delay).sum((1, 2)),
            ]
        return (None, grad_memory.sum(1), None, grad_candidate, grad_location, grad_raw.sum(1), *grads)
