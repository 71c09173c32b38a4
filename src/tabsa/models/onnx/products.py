"""Products of rows of numbers with a weight matrix, in float32 or in whole numbers of eight bits.

In int8 both sides are rounded to steps: a matrix to 127 of them in each of its columns, a row of numbers to 255. The
steps of a row depend on that row alone, so what is read beside a sentence does not change its answer. Sums are exact.
"""

from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from tabsa.checkpoint import Precision
from tabsa.models.onnx.graph import Graph

_STEPS = 127  # on each side of zero in a row
_ZERO = 128  # what stands for zero in a row: processors multiply rows without a sign by columns with one
# On each side of zero in a column. With 127 the sum of two products can leave 16 bits, which processors without VNNI
# would cut off without a word.
_WEIGHT_STEPS = 63
_TINY = 1e-6  # the largest number of a row of zeros


class Rows(NamedTuple):
    """Rows of numbers, (..., d), as a product reads them."""

    values: str
    step: str | float = 1.0  # of each row, (..., 1), or of all


class Products(Protocol):
    """How rows are multiplied."""

    def rows(self, g: Graph, values: str, *, within: float | None = None) -> Rows:
        """Make rows ready; `within` is what no number in them exceeds, where that is known."""

    def times(self, g: Graph, rows: Rows, matrix: NDArray[Any], plus: str | NDArray[Any] | None = None) -> str:
        """Rows by a matrix, (..., d) by (d, e), plus a row or as many; with `plus` there are two dimensions."""


class Float32:
    """As they are; onnxruntime packs each matrix once, which it does only for matrices of two dimensions."""

    def rows(self, g: Graph, values: str, *, within: float | None = None) -> Rows:  # noqa: ARG002
        """Nothing to do."""
        return Rows(values)

    def times(self, g: Graph, rows: Rows, matrix: NDArray[Any], plus: str | NDArray[Any] | None = None) -> str:
        """One operator, the sum included."""
        if plus is None:
            return g.op("MatMul", rows.values, g.constant(matrix))
        return g.op("Gemm", rows.values, g.constant(matrix), _named(g, plus))


class Int8:
    """Rounded; with an operator of onnxruntime's own, because ONNX has none that multiplies so and gives float32."""

    def rows(self, g: Graph, values: str, *, within: float | None = None) -> Rows:
        """Round each row to steps of its largest number, or all to steps of `within`."""
        zero = g.raw(np.array(_ZERO, np.uint8))
        if within is not None:
            step = np.array(within / _STEPS, np.float32)
            return Rows(g.op("QuantizeLinear", values, g.raw(step), zero), float(step))
        largest = g.op("ReduceMax", g.op("Abs", values), g.constant([-1]), keepdims=1)
        steps = g.op("Mul", g.op("Max", largest, g.constant(_TINY)), g.constant(1 / _STEPS))
        return Rows(g.op("QuantizeLinear", g.op("Div", values, steps), g.raw(np.array(1, np.float32)), zero), steps)

    def times(self, g: Graph, rows: Rows, matrix: NDArray[Any], plus: str | NDArray[Any] | None = None) -> str:
        """Whole numbers multiplied, and the sums back in float32."""
        steps = np.maximum(np.abs(matrix).max(0), _TINY) / _WEIGHT_STEPS
        rounded = np.round(matrix / steps).astype(np.int8)
        of_all = isinstance(rows.step, float)
        factors = (np.array(rows.step if of_all else 1, np.float32), steps.astype(np.float32))
        inputs = [rows.values, g.raw(rounded), *map(g.raw, factors), g.raw(np.array(_ZERO, np.uint8))]
        if of_all and isinstance(plus, np.ndarray):
            return g.op("MatMulIntegerToFloat", *inputs, "", g.raw(plus.astype(np.float32)), domain="com.microsoft")
        product = g.op("MatMulIntegerToFloat", *inputs, domain="com.microsoft")
        if isinstance(rows.step, str):
            product = g.op("Mul", product, rows.step)
        return product if plus is None else g.op("Add", product, _named(g, plus))


def products(precision: Precision) -> Products:
    """The way to multiply at a precision."""
    return Int8() if precision == "int8" else Float32()


def _named(g: Graph, value: str | NDArray[Any]) -> str:
    return value if isinstance(value, str) else g.constant(value)
