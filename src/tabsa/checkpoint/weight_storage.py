"""A reader's weights in fewer bytes: float32; float16; or int8.

In int8 a matrix is whole numbers from -63 to 63 with a scale for each column, `NAME.scale`; narrow matrices and vectors
are float16, and tables that are only looked up have four bits.
"""

from collections.abc import Collection, Mapping
from typing import Any, Final, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from tabsa.embeddings.packing import BLOCK, COLUMN_STEPS, NARROW, pack_table, unpack_table

WeightStorage: TypeAlias = Literal["float32", "float16", "int8"]
SCALE: Final = ".scale"  # after the name of what it scales


def pack_weights(
    weights: Mapping[str, NDArray[Any]],
    storage: WeightStorage,
    tables: Collection[str] = (),
    exact: Collection[str] = (),
) -> dict[str, NDArray[Any]]:
    """Return the arrays to store, by name; `tables` are only looked up, `exact` ones are not rounded."""
    if storage != "int8":
        return {name: np.ascontiguousarray(array, storage) for name, array in weights.items()}
    packed: dict[str, NDArray[Any]] = {}
    for name, array in weights.items():
        if name in tables and array.shape[1] % BLOCK == 0:
            packed[name], packed[name + SCALE] = pack_table(array)
        elif array.ndim == 2 and min(array.shape) >= NARROW and name not in exact:
            packed[name], packed[name + SCALE] = pack_columns(array)
        else:
            packed[name] = array.astype(np.float16)
    return packed


def unpack_weights(stored: Mapping[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
    """Return what `pack_weights` stored, in float32; raise a ValueError where the arrays do not fit each other."""
    weights: dict[str, NDArray[Any]] = {}
    for name, array in stored.items():
        if name.endswith(SCALE):
            if name.removesuffix(SCALE) not in stored:
                raise ValueError(f"'{name}' scales nothing")
        elif name + SCALE not in stored:
            weights[name] = array.astype(np.float32) if array.dtype == np.float16 else array
        elif array.dtype == np.uint8:
            weights[name] = unpack_table(array, _fitting(name, array, stored[name + SCALE], 2 * array.shape[-1]))
        else:
            weights[name] = array * _fitting(name, array, stored[name + SCALE]).astype(np.float32)
    return weights


def _fitting(name: str, array: NDArray[Any], scale: NDArray[Any], wide: int = 0) -> NDArray[Any]:
    expected = (*array.shape[:1], wide // BLOCK) if wide else array.shape[1:]
    if array.ndim != 2 or scale.shape != expected or wide % BLOCK:
        raise ValueError(f"'{name}' {array.shape} has scales {scale.shape}")
    return scale


def pack_columns(matrix: NDArray[Any]) -> tuple[NDArray[np.int8], NDArray[np.float32]]:
    """Return whole numbers, (d, e), and the scale of each column, (e,)."""
    scale = np.maximum(np.abs(matrix).max(0), 1e-6).astype(np.float32) / np.float32(COLUMN_STEPS)
    return np.rint(matrix / scale).astype(np.int8), scale
