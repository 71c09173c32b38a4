"""SenticLSTM as an ONNX graph: one ONNX Scan over the words, both directions in one product a step.

Inputs and output are those of `models.lstm.onnx`, and one input more: `concepts` (B, T), rows of the folder's table of
concepts, which is a constant of the graph.
"""

from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto

from tabsa.checkpoint import ModelFolder, Precision
from tabsa.errors import ModelError
from tabsa.models.lstm.onnx import Arrays, answer, marked, sentences
from tabsa.models.onnx.graph import Graph
from tabsa.models.onnx.weights import biased_weights


def graph(folder: ModelFolder, precision: Precision = "float32") -> onnx.ModelProto:  # noqa: ARG001 (float32 is all)
    """The graph of a model folder."""
    config = folder.config
    if folder.concepts is None:
        raise ModelError(f"{folder.path} has no concepts.safetensors, without which a {config.kind} cannot read")
    weights, concepts = biased_weights(folder), folder.concepts.matrix
    return sentic_lstm(weights, concepts, config.targets, config.temperature, half=folder.compact)


def sentic_lstm(
    weights: Arrays, concepts: NDArray[np.float32], targets: int, temperature: float = 1.0, *, half: bool = False
) -> onnx.ModelProto:
    """Build the graph; `weights` are a model folder's, one seed's; `half` stores them in float16."""
    g = Graph("sentic", half=half)
    read = sentences(g, weights["mark"].shape[-1], targets)
    rows = g.input("concepts", ["batch", "length"], TensorProto.INT64)
    known = g.op("Gather", g.constant(concepts), rows)  # (B, T, e)
    states = _read(g, weights, marked(g, read, weights["mark"]), known, read.lengths)
    answer(g, weights, read, states, targets, temperature)
    return g.model()


def _read(g: Graph, weights: Arrays, words: str, known: str, lengths: str) -> str:
    """`nn.sentic.SenticBiLSTM`: the states at each word, (B, T, 2 units); those after the end mean nothing."""
    units = weights["reader.states"].shape[-1]
    inputs, concepts = (_side_by_side(weights[f"reader.{part}"]) for part in ("inputs", "concepts"))
    raw = g.op("MatMul", _both_ways(g, words, lengths), g.constant(inputs))  # (T, 2, B, 5 units)
    raw = g.op("Add", raw, g.constant(weights["reader.bias"].reshape(2, 1, -1)))
    heard = g.op("MatMul", _both_ways(g, known, lengths), g.constant(concepts))
    gates = g.op("Add", g.part(raw, 0, 4 * units, 3), g.part(heard, 0, 4 * units, 3))
    gates = g.op("Concat", gates, g.part(raw, 4 * units, 5 * units, 3), axis=3)
    knowledge = g.op("Tanh", g.part(heard, 4 * units, 5 * units, 3))  # (T, 2, B, units)
    shape = g.op("Concat", g.constant([2]), g.op("Shape", words, start=0, end=1), g.constant([units]), axis=0)
    start = g.op("Expand", g.constant(0.0), shape)
    body = _step(_side_by_side(weights["reader.states"]), half=g.half)
    *_, states = g.ops("Scan", 3, start, start, gates, knowledge, body=body.proto(), num_scan_inputs=2)
    ways = [g.op("Squeeze", g.part(states, way, way + 1, 1), g.constant([1])) for way in (0, 1)]  # (T, B, units)
    ways[1] = g.op("ReverseSequence", ways[1], lengths, batch_axis=1, time_axis=0)
    return g.op("Transpose", g.op("Concat", *ways, axis=2), perm=[1, 0, 2])


def _step(matrix: NDArray[Any], *, half: bool) -> Graph:
    """One word of `nn.sentic.sentic_scan` as the body of a Scan: states first, then the word's inputs."""
    units = matrix.shape[1]
    g = Graph("step", half=half)
    state, cell = (g.input(name, [2, "batch", units]) for name in ("state", "cell"))
    gates = g.input("gates", [2, "batch", 5 * units])
    knowledge = g.input("knowledge", [2, "batch", units])
    raw = g.op("Add", gates, g.op("MatMul", state, g.constant(matrix)))
    opened = g.op("Sigmoid", g.part(raw, 0, 4 * units, 2))
    i, f, o, k = (g.part(opened, n * units, (n + 1) * units, 2) for n in range(4))
    candidate = g.op("Tanh", g.part(raw, 4 * units, 5 * units, 2))
    new_cell = g.op("Add", g.op("Mul", i, candidate), g.op("Mul", f, cell))
    new_state = g.op("Add", g.op("Mul", o, g.op("Tanh", new_cell)), g.op("Mul", k, knowledge))
    g.output(new_state, "new_state", [2, "batch", units])
    g.output(new_cell, "new_cell", [2, "batch", units])
    g.output(new_state, "shown", [2, "batch", units])
    return g


def _both_ways(g: Graph, values: str, lengths: str) -> str:
    """Each sentence and its reverse, time first: (B, T, d) -> (T, 2, B, d)."""
    timed = g.op("Transpose", values, perm=[1, 0, 2])
    turned = g.op("ReverseSequence", timed, lengths, batch_axis=1, time_axis=0)
    return g.op("Concat", g.insert(timed, 1), g.insert(turned, 1), axis=1)


def _side_by_side(matrices: NDArray[Any]) -> NDArray[Any]:
    """(2, 5, d, units) -> (2, d, 5 units)."""
    return matrices.transpose(0, 2, 1, 3).reshape(2, matrices.shape[2], -1)
