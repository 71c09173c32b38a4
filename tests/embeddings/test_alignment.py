import numpy as np

from tabsa.embeddings.vectors import WordVectors, align


def spaces(shared=60, noise=0.0, seed=0):
    """Two files of one language: the second has more words, in fewer dimensions, and the first is a map of it."""
    rng = np.random.default_rng(seed)
    small = rng.normal(size=(shared + 5, 4)).astype(np.float32)
    matrix, shift = rng.normal(size=(4, 6)), rng.normal(size=6)
    large = (small @ matrix + shift + noise * rng.normal(size=(shared + 5, 6))).astype(np.float32)
    words = tuple(f"w{n}" for n in range(shared + 5))
    return WordVectors(words[:shared], large[:shared], 1.0, None), WordVectors(words, small, 1.0, None)


def test_words_come_out_where_the_least_squares_map_takes_them():
    vectors, other = spaces(noise=0.5)
    aligned = align(["w61", "w64"], vectors, other)
    assert aligned.words == (*vectors.words, "w61", "w64")
    np.testing.assert_array_equal(aligned.matrix[:60], vectors.matrix)
    x = np.concatenate([other.matrix, np.ones((65, 1))], axis=1)
    solution = np.linalg.lstsq(x[:60], vectors.matrix, rcond=None)[0]
    np.testing.assert_allclose(aligned.matrix[60:], x[[61, 64]] @ solution, atol=0.02)
