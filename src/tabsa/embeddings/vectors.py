"""One vector for each word, how each was found, and alignment with another file (docs/vectors.md)."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np
from numpy.typing import NDArray

from tabsa.embeddings.fallbacks import How, parts, random_vector, spellings

_RIDGE: Final = 1e-3  # of the mean variance: enough for a map to exist, too little to matter where words are many
GLOVE_SCALE: Final = 0.38  # of GloVe 840B: for a file of zeros, and where there is no file


@dataclass(frozen=True, slots=True)
class VectorSource:
    """The name of the file that vectors come from, and its SHA-256."""

    name: str
    sha256: str


@dataclass(frozen=True, eq=False)
class WordVectors:
    """Words and their vectors, a row each."""

    words: tuple[str, ...]
    matrix: NDArray[np.float32]  # (words, dim)
    scale: float  # the root mean square of the vectors' elements, for made-up ones
    source: VectorSource | None = None
    how: tuple[How, ...] = ()  # for each word how it was found, where it was looked up

    @cached_property
    def index(self) -> dict[str, int]:
        """The row of each word."""
        return {word: row for row, word in enumerate(self.words)}

    @property
    def dim(self) -> int:
        """The length of a vector."""
        return int(self.matrix.shape[1])

    def __len__(self) -> int:
        return len(self.words)

    def __getitem__(self, word: str) -> NDArray[np.float32]:
        row: NDArray[np.float32] = self.matrix[self.index[word]]
        return row


def lookup(words: Iterable[str], vectors: WordVectors) -> WordVectors:
    """Return a row for each word, in order: its vector, or what the fallbacks put in its place."""
    words = tuple(words)
    matrix = np.zeros((len(words), vectors.dim), dtype=np.float32)
    how: list[How] = []
    for row, word in zip(matrix, words, strict=True):
        way, found = _find(word, vectors.index)
        if not found:
            row[:] = random_vector(word, vectors.dim, scale=vectors.scale)
        else:
            row[:] = vectors.matrix[found[0]] if len(found) == 1 else vectors.matrix[found].mean(axis=0)
        how.append(way)
    return WordVectors(words, matrix, vectors.scale, vectors.source, tuple(how))


def _find(word: str, index: Mapping[str, int]) -> tuple[How, list[int]]:
    """Return the way the word was found, and the rows whose mean is its vector; no rows where it was not."""
    for way, spelling in spellings(word):
        if spelling in index:
            return way, [index[spelling]]
    rows = []
    for part in parts(word):
        found = next((index[spelling] for _, spelling in spellings(part) if spelling in index), None)
        if found is None:
            return "random", []
        rows.append(found)
    return ("parts", rows) if rows else ("random", [])


def hashed_vectors(words: Iterable[str], dim: int, *, scale: float = GLOVE_SCALE) -> WordVectors:
    """Return a table of random vectors, one for each word, so that everything runs without any file of vectors."""
    return lookup(words, WordVectors((), np.zeros((0, dim), np.float32), scale))


def known_share(table: WordVectors, token_counts: Mapping[str, int]) -> float:
    """Return the share of a text's tokens that have a vector in `table` which is not random."""
    known = sum(count for word, count in token_counts.items() if table.how[table.index[word]] != "random")
    return known / max(1, sum(token_counts.values()))


def align(words: Iterable[str], vectors: WordVectors, other: WordVectors) -> WordVectors:
    """Return `vectors` and, after them, those of `words` that they lack and `other` has, aligned.

    Two GloVe files are two views of the same language, so a linear map learnt on the words they share (Mikolov et al.,
    2013) takes a word from the one with many words and few dimensions to where the other would have it, roughly.
    """
    added = [word for word in dict.fromkeys(words) if word not in vectors.index and word in other.index]
    if not added:
        return vectors
    shared = [(row, other.index[word]) for row, word in enumerate(vectors.words) if word in other.index]
    here, there = (np.array(side) for side in zip(*shared, strict=True))
    x, y = other.matrix[there], vectors.matrix[here]
    from_mean, to_mean = x.mean(0, dtype=np.float64), y.mean(0, dtype=np.float64)
    centred = x - from_mean
    square = centred.T @ centred
    square[np.diag_indices_from(square)] += _RIDGE * np.trace(square) / len(square)
    least_squares = np.linalg.solve(square, centred.T @ (y - to_mean))
    new = other.matrix[[other.index[word] for word in added]]
    moved = np.asarray((new - from_mean) @ least_squares + to_mean, np.float32)
    matrix = np.concatenate([vectors.matrix, moved])
    return WordVectors((*vectors.words, *added), matrix, vectors.scale, vectors.source)
