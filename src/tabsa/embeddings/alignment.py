"""Alignment: words that one file of vectors lacks, taken from another that has them by a linear map.

Two GloVe files are two views of the same language, so a linear map learnt on the words they share (Mikolov et al.,
2013) takes a word from the one with many words and few dimensions to where the other would have it, roughly.
"""

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from tabsa.embeddings.vectors import WordVectors
from tabsa.errors import DataError

_RIDGE = 1e-3  # of the mean variance: enough for a map to exist, too little to matter where words are many


def align(words: Iterable[str], vectors: WordVectors, other: WordVectors) -> WordVectors:
    """Return `vectors` and, after them, those of `words` that they lack and `other` has."""
    own = set(vectors.words)
    rows = {word: row for row, word in enumerate(other.words)}
    added = [word for word in dict.fromkeys(words) if word not in own and word in rows]
    if not added:
        return vectors
    shared = [(row, rows[word]) for row, word in enumerate(vectors.words) if word in rows]
    if len(shared) <= other.dim:
        raise DataError(
            f"the two files of word vectors share {len(shared)} words; "
            f"aligning one with the other takes more than {other.dim}"
        )
    here, there = (np.array(side) for side in zip(*shared, strict=True))
    moved = _mapped(other.matrix[there], vectors.matrix[here], other.matrix[[rows[word] for word in added]])
    matrix = np.concatenate([vectors.matrix, moved])
    return WordVectors((*vectors.words, *added), matrix, vectors.scale, vectors.source)


def _mapped(x: NDArray[np.float32], y: NDArray[np.float32], new: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return where the least squares map from rows of `x` to rows of `y` takes the rows of `new`."""
    from_mean, to_mean = x.mean(0, dtype=np.float64), y.mean(0, dtype=np.float64)
    centred = x - from_mean
    square = centred.T @ centred
    square[np.diag_indices_from(square)] += _RIDGE * np.trace(square) / len(square)
    matrix = np.linalg.solve(square, centred.T @ (y - to_mean))
    return np.asarray((new - from_mean) @ matrix + to_mean, np.float32)
