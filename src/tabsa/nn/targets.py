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
