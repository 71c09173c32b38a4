"""Where a sentence mentions its targets, read from its tokens.

Shapes at line ends use S seeds, B sentences, K targets, T words.
"""

from collections.abc import Sequence

import torch
from torch import Tensor


def live_words(tokens: Tensor, lengths: Tensor) -> Tensor:
    """Which of `tokens` (S, B, T) are words of a sentence and not padding after its end: (S, B, T)."""
    return torch.arange(tokens.shape[-1], device=tokens.device) < lengths.unsqueeze(-1)


def mentions(tokens: Tensor, rows: Sequence[int]) -> Tensor:
    """Where each target's token, a row of the vocabulary, stands in `tokens` (S, B, T): (S, B, K, T)."""
    return torch.stack([tokens == row for row in rows], dim=2)


def mentions_or_all(where: Tensor, live: Tensor) -> Tensor:
    """`where` (S, B, K, T), with every live word (S, B, T) for a target that the sentence does not mention.

    A target without a mention is implied, or was cut off with the end of a long text: the whole sentence is then the
    best guess at where it is.
    """
    return torch.where(where.any(-1, keepdim=True), where, live.unsqueeze(2))
