"""One vector for each word, how each was found, and how much of a text that covers.

wanted = {spelling for word in words for spelling in candidates(word)}
vectors = read_vectors("glove.840B.300d.zip", wanted)
table = lookup(words, vectors)      # the vector of "n't" is that of "not", where the file has no "n't"
coverage(table, token_counts).share()
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from tabsa.embeddings.fallbacks import WAYS, How, parts, random_vector, spellings

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
    matrix: npt.NDArray[np.float32]  # (words, dim)
    scale: float
    """The root mean square of the vectors' elements: how large a made-up vector should be to be like them."""
    source: VectorSource | None = None
    index: dict[str, int] = field(init=False, repr=False)
    """The row of each word."""

    def __post_init__(self) -> None:
        index = {word: row for row, word in enumerate(self.words)}
        if len(index) < len(self.words):
            raise ValueError("a word is given twice; give each word once")
        object.__setattr__(self, "index", index)

    @property
    def dim(self) -> int:
        """The length of a vector."""
        return int(self.matrix.shape[1])

    def __len__(self) -> int:
        return len(self.words)

    def __contains__(self, word: object) -> bool:
        return word in self.index

    def __getitem__(self, word: str) -> npt.NDArray[np.float32]:
        row: npt.NDArray[np.float32] = self.matrix[self.index[word]]
        return row


@dataclass(frozen=True, eq=False)
class EmbeddingTable(WordVectors):
    """A vector for every word of a vocabulary, in its order; `how` says for each how it was found."""

    how: tuple[How, ...] = ()


def lookup(words: Iterable[str], vectors: WordVectors) -> EmbeddingTable:
    """Return a row for each word: its vector, or what the fallbacks put in its place.

    `vectors` may be a table, too: that is how a word met later is placed among the words of a vocabulary.
    """
    words = tuple(words)
    matrix = np.zeros((len(words), vectors.dim), dtype=np.float32)
    how: list[How] = []
    for row, word in zip(matrix, words, strict=True):
        way, found = _find(word, vectors.index)
        if not found:
            row[:] = random_vector(word, vectors.dim, seed=0, scale=vectors.scale)
        else:
            row[:] = vectors.matrix[found[0]] if len(found) == 1 else vectors.matrix[found].mean(axis=0)
        how.append(way)
    return EmbeddingTable(words, matrix, vectors.scale, vectors.source, tuple(how))


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


def hashed_vectors(words: Iterable[str], dim: int, *, seed: int = 0, scale: float = GLOVE_SCALE) -> EmbeddingTable:
    """Return a table of random vectors, one for each word, so that everything runs without any file of vectors."""
    words = tuple(words)
    matrix = np.empty((len(words), dim), dtype=np.float32)
    for row, word in zip(matrix, words, strict=True):
        row[:] = random_vector(word, dim, seed=seed, scale=scale)
    how: list[How] = ["random"] * len(words)
    return EmbeddingTable(words, matrix, scale, None, tuple(how))


def coverage(table: EmbeddingTable, token_counts: Mapping[str, int]) -> dict[str, Any]:
    """Count how the words of a text were found, of how often each occurs; one that the table lacks is missing.

    `types` and `tokens` are by way, `known_tokens` is the share with a vector that is not random, and `unknown` has the
    other words with how often they occur, the most frequent first.
    """
    types: Counter[How] = Counter()
    tokens: Counter[How] = Counter()
    unknown = []
    for word, count in token_counts.items():
        way: How = table.how[table.index[word]] if word in table.index else "missing"
        types[way] += 1
        tokens[way] += count
        if way in ("random", "missing"):
            unknown.append([word, count])
    ways = [way for way in WAYS if way in types]
    known = sum(tokens[way] for way in ways if way not in ("random", "missing"))
    return {
        "types": {way: types[way] for way in ways},
        "tokens": {way: tokens[way] for way in ways},
        "known_tokens": known / max(1, tokens.total()),
        "unknown": sorted(unknown, key=lambda pair: (-pair[1], pair[0])),
    }
