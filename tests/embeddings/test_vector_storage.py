import numpy as np
import pytest

from tabsa.embeddings.packing import pack, rounded, unpack


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


def test_int8_takes_a_byte_a_number(matrix):
    arrays = pack(matrix, "int8")
    assert arrays["matrix"].nbytes == matrix.size
    np.testing.assert_allclose(unpack(arrays), arrays["matrix"] * arrays["row_scale"])
