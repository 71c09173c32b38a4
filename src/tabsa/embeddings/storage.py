"""Vectors in fewer bytes: what a model folder keeps.

float16   two bytes a number
int8      one byte a number, and a scale for each word: a number is off by 0.4% of the word's largest at most
"""

from collections.abc import Mapping
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

Storage = Literal["float16", "int8"]


def pack(matrix: npt.NDArray[np.float32], storage: Storage) -> dict[str, npt.NDArray[Any]]:
    """The arrays to store, by name."""
    if storage == "float16":
        return {"matrix": matrix.astype(np.float16)}
    scale = np.abs(matrix).max(axis=1, keepdims=True, initial=0.0).astype(np.float32) / 127
    safe = np.where(scale > 0, scale, 1)
    return {"matrix": np.rint(matrix / safe).astype(np.int8), "row_scale": scale}


def unpack(arrays: Mapping[str, npt.NDArray[Any]]) -> npt.NDArray[np.float32]:
    """The vectors that `pack` stored, (words, dim)."""
    matrix = arrays["matrix"].astype(np.float32)
    if arrays["matrix"].dtype == np.int8:
        matrix *= arrays["row_scale"].astype(np.float32)
    return matrix


def rounded(matrix: npt.NDArray[np.float32], storage: Storage) -> npt.NDArray[np.float32]:
    """The vectors as they come back from being stored; doing it twice changes nothing more."""
    return unpack(pack(matrix, storage))
