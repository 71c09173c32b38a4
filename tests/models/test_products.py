"""Products in float32 and in int8 against NumPy's."""

import numpy as np
import onnxruntime
from hypothesis import given, settings
from hypothesis import strategies as st

from tabsa.models.onnx.graph_builder import Graph, Products


def multiplied(precision, rows, matrix, plus=None, *, within=None):
    g = Graph("product")
    by = Products(g, precision)
    values = g.input("values", [*(f"d{n}" for n in range(rows.ndim - 1)), rows.shape[-1]])
    g.output(by.times(by.rows(values, within=within), matrix, plus), "result", [None] * rows.ndim)
    session = onnxruntime.InferenceSession(g.model().SerializeToString(), providers=["CPUExecutionProvider"])
    return session.run(None, {"values": rows})[0]


def drawn(seed, *shape, scale=1.0):
    return (scale * np.random.default_rng(seed).normal(size=shape)).astype(np.float32)


@given(seed=st.integers(0, 1000), scale=st.sampled_from([1e-3, 1.0, 1e3]), within=st.booleans(), bias=st.booleans())
@settings(max_examples=25, deadline=None)
def test_int8_errs_by_half_a_step_on_each_side(seed, scale, within, bias):
    rows, matrix = drawn(seed, 6, 20, scale=scale), drawn(seed + 1, 20, 5)
    plus = drawn(seed + 2, 5) if bias else None
    largest = np.abs(rows).max() if within else np.abs(rows).max(1, keepdims=True)
    steps, weight_steps = largest / 127, np.abs(matrix).max(0) / 63
    bound = (np.abs(rows) @ np.ones_like(matrix)) * weight_steps / 2 + steps / 2 * (
        np.abs(matrix).sum(0) + 20 * weight_steps
    )
    found = multiplied("int8", rows, matrix, plus, within=float(np.abs(rows).max()) if within else None)
    expected = rows @ matrix + (0 if plus is None else plus)
    assert (np.abs(found - expected) <= 1.01 * bound + 1e-5 * np.abs(expected)).all()


def test_int8_sums_are_exact_at_the_largest_numbers():
    # Where two products do not fit into 16 bits, processors without VNNI would cut them off.
    rows, matrix = np.full((3, 300), -2.0, np.float32), np.full((300, 4), 0.7, np.float32)
    rows[1], matrix[:, 1] = 2, -0.7
    np.testing.assert_allclose(multiplied("int8", rows, matrix), rows @ matrix, rtol=1e-5)


def test_int8_of_nothing_is_nothing():
    assert not multiplied("int8", np.zeros((2, 7), np.float32), drawn(0, 7, 3)).any()
    assert not multiplied("int8", drawn(0, 2, 7), np.zeros((7, 3), np.float32)).any()
