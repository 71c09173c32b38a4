"""Word vectors: GloVe as published, a vector for every word, alignment, storage; concepts."""
