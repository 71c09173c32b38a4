"""Attention over the words of a sentence: from its targets, and from its targets and aspects (Ma et al., 2018).

Shapes at line ends use S seeds, B sentences, K targets, A aspects, T words, d dimensions of a state, m of a score.
"""

from collections.abc import Sequence

import torch
from torch import Tensor


def share(scores: Tensor, where: Tensor) -> Tensor:
    """Softmax along the last dimension over the entries that are True in `where`; all 0 where there are none."""
    lowest = torch.finfo(scores.dtype).min
    return scores.masked_fill(~where, lowest).softmax(-1) * where


def mean_over(states: Tensor, where: Tensor) -> Tensor:
    """The mean of `states` (S, B, T, d) over the words `where` (S, B, K, T); 0 where there are none: (S, B, K, d)."""
    weights = where.to(states.dtype)
    return weights / weights.sum(-1, keepdim=True).clamp(min=1) @ states


def target_attention(states: Tensor, vector: Tensor, where: Tensor) -> Tensor:
    """Attend to a sentence's targets: the words `where` (S, B, K, T), each with its share; (S, B, K, d).

    e_t = w . h_t        alpha = softmax of e over the target's words        v = sum of alpha_t h_t

    `states` h (S, B, T, d), `vector` w (S, d). A bias in e would cancel in the softmax.
    """
    scores = (states * vector[:, None, None]).sum(-1)  # (S, B, T)
    return share(scores.unsqueeze(2).expand(where.shape), where) @ states


def sentence_attention(
    states: Tensor, targets: Tensor, live: Tensor, *, state: Tensor, target: Tensor, bias: Tensor, aspects: Tensor
) -> Tensor:
    """Attend from each target and aspect to a sentence: (S, B, K, A, d).

    beta = softmax over t of w_k . tanh(W1 [h_t; v] + b1)        s_k = sum of beta_t h_t

    `states` h (S, B, T, d), `targets` v (S, B, K, d), `live` words (S, B, T). W1 is two halves, `state` and `target`
    (S, d, m), which act from the right; `bias` b1 (S, m); `aspects` w_k, a column an aspect (S, m, A).
    """
    from_state = states @ state.unsqueeze(1)  # (S, B, T, m)
    from_target = targets @ target.unsqueeze(1) + bias[:, None, None]  # (S, B, K, m)
    hidden = torch.tanh(from_state.unsqueeze(2) + from_target.unsqueeze(3))  # (S, B, K, T, m)
    scores = (hidden @ aspects[:, None, None]).transpose(3, 4)  # (S, B, K, A, T)
    return share(scores, live[:, :, None, None]) @ states.unsqueeze(2)


def live_words(tokens: Tensor, lengths: Tensor) -> Tensor:
    """Mark those of `tokens` (S, B, T) that are words of a sentence and not padding after its end: (S, B, T)."""
    return torch.arange(tokens.shape[-1], device=tokens.device) < lengths.unsqueeze(-1)


def mentions(tokens: Tensor, rows: Sequence[int]) -> Tensor:
    """Mark where each target's token, a row of the vocabulary, stands in `tokens` (S, B, T): (S, B, K, T)."""
    return torch.stack([tokens == row for row in rows], dim=2)


def mentions_or_all(where: Tensor, live: Tensor) -> Tensor:
    """`where` (S, B, K, T), with every live word (S, B, T) for a target that the sentence does not mention.

    A target without a mention is implied, or was cut off with the end of a long text: the whole sentence is then the
    best guess at where it is.
    """
    return torch.where(where.any(-1, keepdim=True), where, live.unsqueeze(2))


def neighbours(where: Tensor) -> Tensor:
    """Whose mention each word stands after and before: (S, B, K, T) -> (S, B, T, K, 2).

    For target k, +1 where the last mention up to the word (first entry) or the next one from it on (second entry) is
    k's, -1 where it is another target's, 0 where there is none.
    """
    return torch.stack([_latest(where), _latest(where.flip(-1)).flip(-1)], dim=-1).transpose(2, 3)


def _latest(where: Tensor) -> Tensor:
    """Whose the last mention up to each word is, (S, B, K, T): +1 the target's, -1 another's, 0 nobody's yet."""
    place = torch.arange(1, where.shape[-1] + 1, device=where.device)
    last = (where * place).cummax(-1).values  # (S, B, K, T)
    latest = last.amax(2, keepdim=True)
    return torch.where(latest == 0, 0.0, torch.where(last == latest, 1.0, -1.0))
