"""Word vectors: read GloVe as published, find a vector for every word, and keep the result for the next run.

    table = load_vectors("glove.840B.300d.zip", vocabulary, cache_dir="cache")
    table["n't"]                        # the vector of "not", where the file has no "n't"
    print(coverage(table, token_counts))

Parts: `sources` (files to bytes), `reading` (bytes to rows), `fallbacks` (what stands in for a missing word), `table`
(one row for each word asked), `placing` (words from another file), `cache` (that table on disk).
"""

from tabsa.vectors.cache import load_vectors
from tabsa.vectors.fallbacks import Fallbacks, How, candidates, random_vector
from tabsa.vectors.placing import place
from tabsa.vectors.reading import WordVectors, read_vectors
from tabsa.vectors.sources import Source
from tabsa.vectors.table import Coverage, EmbeddingTable, coverage, hashed_vectors, lookup

__all__ = [
    "Coverage",
    "EmbeddingTable",
    "Fallbacks",
    "How",
    "Source",
    "WordVectors",
    "candidates",
    "coverage",
    "hashed_vectors",
    "load_vectors",
    "lookup",
    "place",
    "random_vector",
    "read_vectors",
]
