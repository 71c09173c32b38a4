"""A passage as words: target tokens for mentions, case-folded words for the rest.

A model knows a fixed number of targets, K, each by a token of its own, the one of its slot.
"""

import re
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from tabsa.embeddings.vectors import WordVectors, lookup
from tabsa.encoding.passages import Passage


def target_word(slot: int) -> str:
    """Return the token that stands for the model's target number `slot`, from 0; no text contains it as a word."""
    return f"<target{slot + 1}>"


def passage_words(passage: Passage) -> list[str]:
    """Return the words that a model reads."""
    return [token.word if token.target is None else target_word(token.target) for token in passage.tokens]


def neighbours(mentioned: Sequence[int | None], targets: int) -> NDArray[np.float32]:
    """Return whose mention each word stands after and before, (T, targets, 2), of each word's slot, if any.

    For a target, +1 where the last mention up to the word (first entry) or the next one from it on (second entry) is
    its own, -1 where it is another target's, 0 where there is none.
    """
    result = np.zeros((len(mentioned), targets, 2), np.float32)
    for entry, order in enumerate((range(len(mentioned)), reversed(range(len(mentioned))))):
        whose = None
        for place in order:
            whose = mentioned[place] if mentioned[place] is not None else whose
            if whose is not None:
                result[place, :, entry] = -1
                result[place, whose, entry] = 1
    return result


def aspect_words(aspect: str) -> list[str]:
    """Return the words an aspect's vector is the mean of: `transit-location` is `transit` and `location`."""
    return re.findall(r"[^\W_]+", aspect.lower()) or [aspect.lower()]


def aspect_matrix(aspects: Sequence[str], vectors: WordVectors) -> NDArray[np.float32]:
    """Return the mean vector of each aspect's words, (A, d)."""
    return np.stack([lookup(dict.fromkeys(aspect_words(aspect)), vectors).matrix.mean(0) for aspect in aspects])
