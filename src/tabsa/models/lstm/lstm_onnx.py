"""The LSTM baselines as ONNX graphs: ONNX's own bi-directional LSTM, and for SenticLSTM a Scan over the words.

Inputs: `words` (B, T, d), the words' vectors, `slots` (B, T), the target that each word mentions or -1, `lengths` (B,),
and for SenticLSTM `concepts` (B, T), rows of the folder's table of concepts, which is a constant of the graph.
Output: `probabilities` (B, K, A, labels). The vectors of words that mention a target are replaced inside.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto

from tabsa.checkpoint.model_folder import ModelFolder, Precision
from tabsa.errors import ModelError
from tabsa.models.onnx.graph_builder import Graph, biased_weights

Arrays = Mapping[str, NDArray[Any]]
_GATES = [0, 3, 1, 2]  # ONNX's order i, o, f, c out of PyTorch's i, f, g, o
_LOWEST = float(np.finfo(np.float32).min)


def graph(folder: ModelFolder, precision: Precision, *, half: bool) -> onnx.ModelProto:  # noqa: ARG001 (float32 is all)
    """Build the graph of a model folder."""
    config, weights = folder.config, biased_weights(folder)
    if "reader.concepts" not in weights:
        return lstm(config.kind, weights, config.targets, config.temperature, half=half)
    if folder.concepts is None:
        raise ModelError(f"{folder.path} has no concepts.safetensors, without which a {config.kind} cannot read")
    return sentic_lstm(weights, folder.concepts.matrix, config.targets, config.temperature, half=half)


@dataclass(frozen=True)
class Sentences:
    """The inputs of a graph, by name, and what is read off them."""

    words: str  # (B, T, d)
    slots: str  # (B, T)
    lengths: str  # (B,)
    live: str  # which words are before the end, (B, T)
    mentions: str  # which words mention each target, (B, K, T)


def lstm(kind: str, weights: Arrays, targets: int, temperature: float = 1.0, *, half: bool = False) -> onnx.ModelProto:
    """Build the graph; `weights` are a model folder's, one seed's; `half` stores them in float16."""
    g = Graph("lstm", half=half)
    if kind == "lstm-ta-sa":
        read = sentences(g, weights["mark"].shape[-1], targets)
        timed = g.op("Transpose", marked(g, read, weights["mark"]), perm=[1, 0, 2])  # (T, B, d)
        states, _ = _read(g, weights, timed, read.lengths)
        answer(g, weights, read, g.op("Transpose", states, perm=[1, 0, 2]), targets, temperature)
    else:
        _once_a_target(g, kind, weights, targets, temperature)
    return g.model()


def sentences(g: Graph, size: int, targets: int) -> Sentences:
    """Declare the inputs; `size` is a word vector's."""
    words = g.input("words", ["batch", "length", size])
    slots = g.input("slots", ["batch", "length"], TensorProto.INT64)
    lengths = g.input("lengths", ["batch"], TensorProto.INT64)
    length = g.op("Squeeze", g.op("Shape", words, start=1, end=2))
    places = g.op("Range", g.constant(0), length, g.constant(1))
    live = g.op("Less", g.insert(places, 0), g.insert(lengths, 1))
    mentions = g.op("Equal", g.insert(slots, 1), g.constant(np.arange(targets)[:, None]))
    return Sentences(words, slots, lengths, live, mentions)


def marked(g: Graph, read: Sentences, mark: NDArray[Any]) -> str:
    """The words' vectors, every target under one mark: (B, T, d)."""
    is_target = g.op("GreaterOrEqual", read.slots, g.constant(0))
    return g.op("Where", g.insert(is_target, 2), g.constant(mark), read.words)


def answer(g: Graph, weights: Arrays, read: Sentences, states: str, targets: int, temperature: float) -> None:
    """`models.attentive`: what `states` (B, T, 2 units) say of every target and aspect."""
    where = _mentions_or_all(g, read)
    scores = g.op("MatMul", states, g.constant(weights["target_attention"][:, None]))  # (B, T, 1)
    scores = g.op("Transpose", scores, perm=[0, 2, 1])
    of_targets = g.op("MatMul", _share(g, scores, where), states)  # v, (B, K, 2 units)
    from_state = g.op("MatMul", states, g.constant(weights["from_state"]))  # (B, T, m)
    from_target = g.op("MatMul", of_targets, g.constant(weights["from_target"]))  # (B, K, m)
    from_target = g.op("Add", from_target, g.constant(weights["attention_bias"]))
    hidden = g.op("Tanh", g.op("Add", g.insert(from_state, 1), g.insert(from_target, 2)))  # (B, K, T, m)
    scores = g.op("MatMul", hidden, g.constant(weights["from_aspect"]))
    scores = g.op("Transpose", scores, perm=[0, 1, 3, 2])  # (B, K, A, T)
    summary = g.op("MatMul", _share(g, scores, g.insert(read.live, 1, 2)), g.insert(states, 1))  # (B, K, A, 2 units)
    aspects, labels = weights["from_aspect"].shape[1], weights["output"].shape[1]
    logits = g.op("MatMul", summary, g.constant(weights["output"] / temperature))
    logits = g.op("Add", logits, g.constant(weights["output_bias"] / temperature))
    g.output(g.op("Softmax", logits, axis=-1), "probabilities", ["batch", targets, aspects, labels])


def _once_a_target(g: Graph, kind: str, weights: Arrays, targets: int, temperature: float) -> None:
    """`models.lstm_final` and `models.lstm_loc`: R = B x K readings."""
    marks, wide = weights["marks"], weights["output"].shape[1]
    read = sentences(g, marks.shape[-1], targets)
    words = g.insert(marked(g, read, marks[-1]), 1)  # (B, 1, T, d)
    words = g.op("Where", g.insert(read.mentions, 3), g.constant(marks[0]), words)  # (B, K, T, d)
    timed = g.reshape(g.op("Transpose", words, perm=[2, 0, 1, 3]), 0, -1, marks.shape[-1])  # (T, R, d)
    ends = g.op("Add", g.insert(read.lengths, 1), g.constant(np.zeros((1, targets), np.int64)))
    states, last = _read(g, weights, timed, g.reshape(ends, -1))
    if kind == "lstm-final":
        summary = g.reshape(g.op("Transpose", last, perm=[1, 0, 2]), -1, wide)
    else:
        places = g.op("Cast", _mentions_or_all(g, read), to=TensorProto.FLOAT)
        places = g.reshape(g.op("Transpose", places, perm=[2, 0, 1]), 0, -1)  # (T, R)
        count = g.op("Max", g.total(places, 0, keep=True), g.constant(1.0))
        summary = g.total(g.op("Mul", states, g.insert(g.op("Div", places, count), 2)), 0)
    output, bias = weights["output"] / temperature, weights["output_bias"] / temperature
    aspects, _, labels = output.shape
    logits = g.op("MatMul", summary, g.constant(output.transpose(1, 0, 2).reshape(wide, -1)))  # (R, A x labels)
    logits = g.op("Add", g.reshape(logits, -1, targets, aspects, labels), g.constant(bias))
    g.output(g.op("Softmax", logits, axis=-1), "probabilities", ["batch", targets, aspects, labels])


def _read(g: Graph, weights: Arrays, timed: str, lengths: str) -> tuple[str, str]:
    """`nn.lstm.BiLSTM` over `timed` (T, R, d): the states at each word, (T, R, 2 units), and the last ones.

    Those are (2, R, units). A state after a sentence's end means nothing.
    """
    ends = g.op("Cast", lengths, to=TensorProto.INT32)
    last = ""
    for layer in range(sum(name.startswith("reader.states.") for name in weights)):
        inputs, states, bias = (weights[f"reader.{part}.{layer}"] for part in ("inputs", "states", "bias"))
        units = states.shape[-1]
        # ONNX's second bias of each gate says nothing that the first does not.
        biases = np.concatenate([bias[:, _GATES].reshape(2, -1), np.zeros((2, 4 * units), np.float32)], axis=1)
        arrays = (_stacked(inputs), _stacked(states), biases)
        constants = [g.constant(array) for array in arrays]
        timed, last = g.ops("LSTM", 2, timed, *constants, ends, direction="bidirectional", hidden_size=units)
        timed = g.reshape(g.op("Transpose", timed, perm=[0, 2, 1, 3]), 0, 0, 2 * units)
    return timed, last


def _stacked(matrices: NDArray[Any]) -> NDArray[Any]:
    """The gates' matrices as ONNX takes them: (2, 4, d, units) -> (2, 4 units, d)."""
    ordered = matrices[:, _GATES].transpose(0, 1, 3, 2)
    return ordered.reshape(2, -1, matrices.shape[2])


def _mentions_or_all(g: Graph, read: Sentences) -> str:
    """`nn.targets.mentions_or_all`, (B, K, T)."""
    counts = g.total(g.op("Cast", read.mentions, to=TensorProto.FLOAT), 2, keep=True)
    absent = g.op("Equal", counts, g.constant(0.0))
    return g.op("Or", read.mentions, g.op("And", absent, g.insert(read.live, 1)))


def _share(g: Graph, scores: str, where: str) -> str:
    """`nn.attention.share`."""
    shares = g.op("Softmax", g.op("Where", where, scores, g.constant(_LOWEST)), axis=-1)
    return g.op("Mul", shares, g.op("Cast", where, to=TensorProto.FLOAT))


def sentic_lstm(
    weights: Arrays, concepts: NDArray[np.float32], targets: int, temperature: float = 1.0, *, half: bool = False
) -> onnx.ModelProto:
    """Build the graph; `weights` are a model folder's, one seed's; `half` stores them in float16."""
    g = Graph("sentic", half=half)
    read = sentences(g, weights["mark"].shape[-1], targets)
    rows = g.input("concepts", ["batch", "length"], TensorProto.INT64)
    known = g.op("Gather", g.constant(concepts), rows)  # (B, T, e)
    states = _read_sentic(g, weights, marked(g, read, weights["mark"]), known, read.lengths)
    answer(g, weights, read, states, targets, temperature)
    return g.model()


def _read_sentic(g: Graph, weights: Arrays, words: str, known: str, lengths: str) -> str:
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
    body = _sentic_step(_side_by_side(weights["reader.states"]), half=g.half)
    *_, states = g.ops("Scan", 3, start, start, gates, knowledge, body=body.proto(), num_scan_inputs=2)
    ways = [g.op("Squeeze", g.part(states, way, way + 1, 1), g.constant([1])) for way in (0, 1)]  # (T, B, units)
    ways[1] = g.op("ReverseSequence", ways[1], lengths, batch_axis=1, time_axis=0)
    return g.op("Transpose", g.op("Concat", *ways, axis=2), perm=[1, 0, 2])


def _sentic_step(matrix: NDArray[Any], *, half: bool) -> Graph:
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
