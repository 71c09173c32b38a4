"""More sentences about two targets, made of those about one.

Few sentences judge two targets differently, and a model that sees few of them says the same of both. Two sentences
about one target each, joined by a word such as `but`, are one sentence about two, whose labels are known.
"""

from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from tabsa.batch import NOT_ASKED, Encoded

JOINTS: Final = ("and", "but", ",", ";", ".", "while", "whereas", "although")


def compose(data: Encoded, targets: Sequence[int], joints: Sequence[int], *, share: float, seed: int) -> Encoded:
    """`data` and, behind it, `share` times as many composed sentences as it has readings.

    Args:
        data: readings; those that ask of one target only, in the first slot, are the parts.
        targets: the vocabulary row of each target token, two or more.
        joints: rows of the words to join with.
        share: composed sentences for each reading there is.
        seed: the same one gives the same sentences.
    """
    rng = np.random.default_rng(seed)
    asked = (data.labels != NOT_ASKED).any(2)  # (N, K)
    longest = data.tokens.shape[1]
    parts = np.flatnonzero(asked[:, 0] & ~asked[:, 1:].any(1) & (data.lengths < longest))
    count = int(share * len(data)) if len(parts) else 0
    tokens = np.zeros((count, longest), np.int32)
    labels = np.full((count, *data.labels.shape[1:]), NOT_ASKED, np.int8)
    lengths = np.zeros(count, np.int32)
    for n in range(count):
        first, second = _fitting(data.lengths, parts, longest, rng)
        other = data.tokens[second, : data.lengths[second]]
        words = [
            *data.tokens[first, : data.lengths[first]],
            rng.choice(joints),
            *np.where(other == targets[0], targets[1], other),
        ]
        tokens[n, : len(words)], lengths[n] = words, len(words)
        labels[n, 0], labels[n, 1] = data.labels[first, 0], data.labels[second, 0]
    groups = np.full((count, data.groups.shape[1]), -1, np.int32)
    groups[:, :2] = int(data.groups.max(initial=-1)) + 1 + np.arange(2 * count).reshape(count, 2)
    return Encoded(
        np.concatenate([data.tokens, tokens]),
        np.concatenate([data.lengths, lengths]),
        np.concatenate([data.labels, labels]),
        np.concatenate([data.groups, groups]),
    )


def _fitting(
    lengths: NDArray[np.int32], parts: NDArray[np.int64], longest: int, rng: np.random.Generator
) -> tuple[int, int]:
    """Two parts that fit into the longest sentence together with a joint; the shortest one after 100 tries."""
    first = int(rng.choice(parts))
    for _ in range(100):
        second = int(rng.choice(parts))
        if lengths[first] + 1 + lengths[second] <= longest:
            return first, second
    shortest = int(parts[lengths[parts].argmin()])
    return shortest, shortest
