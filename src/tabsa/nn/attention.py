"""Attention over the words of a sentence: from its targets, and from its targets and aspects (Ma et al., 2018).

Shapes at line ends use S seeds, B sentences, K targets, A aspects, T words, d dimensions of a state, m of a score.
"""

from dataclasses import dataclass

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
    """What a sentence says at its targets: the words `where` (S, B, K, T), each with its share; (S, B, K, d).

    e_t = w . h_t        alpha = softmax of e over the target's words        v = sum of alpha_t h_t

    `states` h (S, B, T, d), `vector` w (S, d). A bias in e would cancel in the softmax.
    """
    scores = (states * vector[:, None, None]).sum(-1)  # (S, B, T)
    return share(scores.unsqueeze(2).expand(where.shape), where) @ states


@dataclass(frozen=True)
class SentenceWeights:
    """Weights of `sentence_attention`; W1 of the paper is its two halves, and matrices act from the right."""

    state: Tensor  # (S, d, m)
    target: Tensor  # (S, d, m)
    bias: Tensor  # b1, (S, m)
    aspects: Tensor  # w_k, a column an aspect, (S, m, A)


def sentence_attention(weights: SentenceWeights, states: Tensor, targets: Tensor, live: Tensor) -> Tensor:
    """What a sentence says of each target and aspect: (S, B, K, A, d).

    beta = softmax over t of w_k . tanh(W1 [h_t; v] + b1)        s_k = sum of beta_t h_t

    `states` h (S, B, T, d), `targets` v (S, B, K, d), `live` words (S, B, T).
    """
    from_state = states @ weights.state.unsqueeze(1)  # (S, B, T, m)
    from_target = targets @ weights.target.unsqueeze(1) + weights.bias[:, None, None]  # (S, B, K, m)
    hidden = torch.tanh(from_state.unsqueeze(2) + from_target.unsqueeze(3))  # (S, B, K, T, m)
    scores = (hidden @ weights.aspects[:, None, None]).transpose(3, 4)  # (S, B, K, A, T)
    return share(scores, live[:, :, None, None]) @ states.unsqueeze(2)
