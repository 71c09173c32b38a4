import numpy as np
import pytest

from tabsa.embeddings.packing import rounded


@pytest.fixture
def matrix():
    matrix = np.random.default_rng(0).normal(0, 0.4, (50, 30)).astype(np.float32)
    matrix[7] = 0
    return matrix


@pytest.mark.parametrize(("storage", "limit"), [("float16", 2**-11), ("int8", 0.5 / 127)])
def test_numbers_come_back_within_the_limit(matrix, storage, limit):
    back = rounded(matrix, storage)
    assert back.dtype == np.float32
    assert (np.abs(back - matrix) <= limit * np.abs(matrix).max(axis=1, keepdims=True) * 1.0001).all()
    assert not back[7].any()
