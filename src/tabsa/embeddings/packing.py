"""Vectors in fewer bytes, as model folders store them.

Word vectors are float16, or int8 with a scale for each word: off by 0.4% of the word's largest at most. Tables that are
only looked up, such as a reader's word pieces, have four bits, with a scale for every 32 numbers of a row.
"""

from collections.abc import Mapping
from typing import Any, Final, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

Storage: TypeAlias = Literal["float16", "int8"]
# Of a matrix's column, on each side of zero: these very numbers are multiplied, and with more of them the sum of two
# products could leave 16 bits, which processors without VNNI would cut off without a word.
COLUMN_STEPS: Final = 63
BLOCK: Final = 32  # numbers of a row that share a scale in four bits
NARROW: Final = 16  # a matrix with fewer rows or columns is not worth rounding
_LOWEST, _HIGHEST = -8, 7  # in four bits
_SHRUNK: Final = np.linspace(1.0, 0.65, 8)  # scales that are tried, as shares of the one that cuts nothing off


def pack(matrix: NDArray[np.float32], storage: Storage) -> dict[str, NDArray[Any]]:
    """Return the arrays that store vectors, by name."""
    if storage == "float16":
        return {"matrix": matrix.astype(np.float16)}
    scale = np.abs(matrix).max(axis=1, keepdims=True, initial=0.0).astype(np.float32) / 127
    safe = np.where(scale > 0, scale, 1)
    return {"matrix": np.rint(matrix / safe).astype(np.int8), "row_scale": scale}


def unpack(arrays: Mapping[str, NDArray[Any]]) -> NDArray[np.float32]:
    """Return the vectors that `pack` stored, (words, dim)."""
    matrix = arrays["matrix"].astype(np.float32)
    if arrays["matrix"].dtype == np.int8:
        matrix *= arrays["row_scale"].astype(np.float32)
    return matrix


def rounded(matrix: NDArray[np.float32], storage: Storage) -> NDArray[np.float32]:
    """Return the vectors as they come back from being stored; doing it twice changes nothing more."""
    return unpack(pack(matrix, storage))


def pack_table(table: NDArray[Any]) -> tuple[NDArray[np.uint8], NDArray[np.float16]]:
    """Return two numbers a byte, (rows, d / 2), the first in the lower half, and the scales of blocks, (rows, d / 32).

    The number furthest from zero is the lowest step, so a scale may be negative; of several scales the one with the
    least squared error is taken.
    """
    blocks = table.astype(np.float32).reshape(len(table), -1, BLOCK)
    furthest = np.take_along_axis(blocks, np.abs(blocks).argmax(-1, keepdims=True), -1)
    best = np.full(furthest.shape, np.inf, np.float32)
    scale = np.zeros(furthest.shape, np.float16)
    for share in _SHRUNK:
        tried = (furthest / _LOWEST * share).astype(np.float16)
        error = np.square(blocks - _steps(blocks, tried) * tried.astype(np.float32)).sum(-1, keepdims=True)
        scale = np.where(error < best, tried, scale)
        best = np.minimum(error, best)
    codes = (_steps(blocks, scale) - _LOWEST).astype(np.uint8).reshape(table.shape)
    return np.bitwise_or(codes[:, ::2], codes[:, 1::2] << 4, dtype=np.uint8), scale[..., 0]


def _steps(blocks: NDArray[np.float32], scale: NDArray[np.float16]) -> NDArray[np.float32]:
    wide = np.where(scale == 0, np.float16(1), scale).astype(np.float32)
    return np.asarray(np.clip(np.rint(blocks / wide), _LOWEST, _HIGHEST), np.float32)


def unpack_table(packed: NDArray[np.uint8], scales: NDArray[Any]) -> NDArray[np.float32]:
    """Return the rows that `pack_table` packed, or some of them, (..., d)."""
    values: NDArray[np.float32] = _BYTES.take(packed).view(np.float32)  # (..., d)
    blocks = values.reshape(*values.shape[:-1], -1, BLOCK)
    blocks *= scales.astype(np.float32)[..., None]
    return values


_CODES = np.arange(256)
_PAIRS = np.stack([_CODES % 16, _CODES // 16], axis=1) + _LOWEST
_BYTES: Final = _PAIRS.astype(np.float32).view(np.float64)[:, 0]  # both numbers of each byte as one: one look-up a byte
