"""More training sentences, made of those there are: two composed into one, and words replaced by near ones.

Few sentences judge two targets differently, and a model that sees few of them says the same of both. Two sentences
about one target each, joined by a word such as `but`, are one sentence about two, whose labels are known. A word near
another (as Jiao et al., 2020, replace them) keeps a sentence's sense roughly, which will do where teachers answer it.
"""

from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from tabsa.encoding.arrays import UNLABELLED, Encoded

JOINTS: Final = ("and", "but", ",", ";", ".", "while", "whereas", "although")
_NEAR: Final = 8  # words that may stand for a word
_LEAST: Final = 0.4  # cosine of a word that may
_BLOCK: Final = 1024


def compose(data: Encoded, targets: Sequence[int], joints: Sequence[int], *, share: float, seed: int) -> Encoded:
    """`data` and, behind it, `share` times as many composed sentences as it has readings.

    Args:
        data: readings; those that are of one target only, in the first slot, are the parts.
        targets: the vocabulary row of each target token, two or more.
        joints: rows of the words to join with.
        share: composed sentences for each reading there is.
        seed: the same one gives the same sentences.
    """
    rng = np.random.default_rng(seed)
    labelled = (data.labels != UNLABELLED).any(2)  # (N, K)
    longest = data.tokens.shape[1]
    parts = np.flatnonzero(labelled[:, 0] & ~labelled[:, 1:].any(1) & (data.lengths < longest))
    count = int(share * len(data)) if len(parts) else 0
    tokens = np.zeros((count, longest), np.int32)
    labels = np.full((count, *data.labels.shape[1:]), UNLABELLED, np.int8)
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
    groups[:, :2] = np.arange(2 * count).reshape(count, 2)
    gold = labels[:, :2].reshape(2 * count, labels.shape[2]).astype(np.int64)
    return joined([data, Encoded(tokens, lengths, labels, groups, gold)])


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


def near_words(
    tokens: NDArray[np.int32], words: Sequence[str], targets: Sequence[int], matrix: NDArray[np.float32]
) -> NDArray[np.int32]:
    """For each row of the vocabulary, rows of the nearest words among `tokens`, (V, 8), 0 where there are fewer.

    Target tokens do not come in, nor does whatever is not made of letters. `words` and `matrix` are the vocabulary's.
    """
    used = np.unique(tokens)
    known = np.array([row for row in used if words[row].isalpha() and row not in targets], np.int32)
    result = np.zeros((len(matrix), _NEAR), np.int32)
    norms = np.linalg.norm(matrix, axis=1, keepdims=True)
    unit = matrix / np.maximum(norms, 1e-12)
    for start in range(0, len(known), _BLOCK):
        block = known[start : start + _BLOCK]
        cosine = unit[block] @ unit[known].T
        cosine[np.arange(len(block)), start + np.arange(len(block))] = -1  # not itself
        best = np.argsort(-cosine, axis=1, kind="stable")[:, :_NEAR]
        close = np.take_along_axis(cosine, best, axis=1) >= _LEAST
        result[block, : best.shape[1]] = np.where(close, known[best], 0)
    return result


def replace_words(
    tokens: NDArray[np.int32], near: NDArray[np.int32], share: float, rng: np.random.Generator
) -> NDArray[np.int32]:
    """Tokens, each of which gives way with probability `share` to one of its near words, if that one is there."""
    others = near[tokens, rng.integers(near.shape[1], size=tokens.shape)]
    chosen = (rng.random(tokens.shape) < share) & (others > 0)
    return np.where(chosen, others, tokens)


def first_readings(data: Encoded, count: int) -> Encoded:
    """The first `count` readings, and their groups."""
    groups = data.groups[:count]
    gold = data.gold[: int(groups.max(initial=-1)) + 1]
    return Encoded(data.tokens[:count], data.lengths[:count], data.labels[:count], groups, gold)


def joined(parts: Sequence[Encoded]) -> Encoded:
    """Several sets of readings behind each other, their groups numbered anew."""
    before = np.cumsum([0, *(len(part.gold) for part in parts[:-1])])
    groups = [np.where(part.groups >= 0, part.groups + start, -1) for part, start in zip(parts, before, strict=True)]
    return Encoded(
        np.concatenate([part.tokens for part in parts]),
        np.concatenate([part.lengths for part in parts]),
        np.concatenate([part.labels for part in parts]),
        np.concatenate(groups).astype(np.int32),
        np.concatenate([part.gold for part in parts]),
    )
