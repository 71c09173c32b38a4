"""Word vectors: read GloVe as published, and find a vector for every word.

    wanted = {spelling for word in words for spelling in candidates(word)}
    vectors = read_vectors("glove.840B.300d.zip", wanted)
    table = lookup(words, vectors)      # the vector of "n't" is that of "not", where the file has no "n't"
    print(coverage(table, token_counts))

Parts: `sources` (files to bytes), `reading` (bytes to rows), `fallbacks` (what stands in for a missing word), `table`
(one row for each word), `alignment` (words from another file), `storage` (fewer bytes), `concepts` (SenticLSTM's).
"""

from tabsa.embeddings.alignment import align
from tabsa.embeddings.fallbacks import How, candidates, random_vector
from tabsa.embeddings.reading import WordVectors, read_vectors
from tabsa.embeddings.sources import VectorSource
from tabsa.embeddings.table import Coverage, EmbeddingTable, coverage, hashed_vectors, lookup

__all__ = [
    "Coverage",
    "EmbeddingTable",
    "How",
    "VectorSource",
    "WordVectors",
    "align",
    "candidates",
    "coverage",
    "hashed_vectors",
    "lookup",
    "random_vector",
    "read_vectors",
]
