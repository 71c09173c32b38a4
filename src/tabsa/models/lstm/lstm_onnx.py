"""The LSTM baselines as ONNX graphs: ONNX's own bi-directional LSTM, and for SenticLSTM a Scan over the words.

Inputs: `words` (B, T, d), the words' vectors, `slots` (B, T), the target that each word mentions or -1, `lengths` (B,),
and for SenticLSTM `concepts` (B, T), rows of the folder's table of concepts, which is a constant of the graph.
Output: `probabilities` (B, K, A, labels). The vectors of words that mention a target are replaced inside.
"""

from typing import NamedTuple

import numpy as np
import onnx
from onnx import TensorProto

from tabsa.checkpoint.model_folder import ModelFolder, Precision
from tabsa.models.onnx.graph_builder import Array, Arrays, Graph, biased_weights

_GATES = [0, 3, 1, 2]  # ONNX's order i, o, f, c out of PyTorch's i, f, g, o
_LOWEST = float(np.finfo(np.float32).min)


class _Sentences(NamedTuple):
    """The inputs of a graph, by name, and what is read off them."""

    words: str  # (B, T, d)
    slots: str  # (B, T)
    lengths: str  # (B,)
    live: str  # which words are before the end, (B, T)
    mentions: str  # which words mention each target, (B, K, T)


def graph(folder: ModelFolder, precision: Precision, *, half: bool) -> onnx.ModelProto:  # noqa: ARG001 (float32 is all)
    """Build the graph of a model folder; `half` stores constants in float16.

    What the weights are says which system it is, but for LSTM-Final, which reads off the last states.
    """
    config, weights, concepts = folder.config, biased_weights(folder), folder.concepts
    targets, temperature = config.targets, config.temperature
    g = Graph("lstm", half=half)
    marks = weights["marks"] if "marks" in weights else weights["mark"][None]
    read = _sentences(g, marks.shape[-1], targets)
    is_target = g.op("GreaterOrEqual", read.slots, g.constant(0))
    words = g.op("Where", g.insert(is_target, 2), g.constant(marks[-1]), read.words)  # (B, T, d)
    if "marks" in weights:
        last_states = config.kind == "lstm-final"
        _once_a_target(g, weights, read, words, targets, temperature, last_states=last_states)
        return g.model()
    if concepts is not None:
        rows = g.input("concepts", ["batch", "length"], TensorProto.INT64)
        states = _read_sentic(g, weights, words, g.op("Gather", g.constant(concepts.matrix), rows), read.lengths)
    else:
        timed, _ = _read(g, weights, g.op("Transpose", words, perm=[1, 0, 2]), read.lengths)
        states = g.op("Transpose", timed, perm=[1, 0, 2])
    _attend(g, weights, read, states, targets, temperature)
    return g.model()


def _sentences(g: Graph, size: int, targets: int) -> _Sentences:
    """Declare the inputs; `size` is a word vector's."""
    words = g.input("words", ["batch", "length", size])
    slots = g.input("slots", ["batch", "length"], TensorProto.INT64)
    lengths = g.input("lengths", ["batch"], TensorProto.INT64)
    length = g.op("Squeeze", g.op("Shape", words, start=1, end=2))
    places = g.op("Range", g.constant(0), length, g.constant(1))
    live = g.op("Less", g.insert(places, 0), g.insert(lengths, 1))
    mentions = g.op("Equal", g.insert(slots, 1), g.constant(np.arange(targets)[:, None]))
    return _Sentences(words, slots, lengths, live, mentions)


def _attend(g: Graph, weights: Arrays, read: _Sentences, states: str, targets: int, temperature: float) -> None:
    """Add `LSTMTASA.answer` of `states` (B, T, 2 units)."""
    scores = g.op("MatMul", states, g.constant(weights["target_attention"][:, None]))  # (B, T, 1)
    scores = g.op("Transpose", scores, perm=[0, 2, 1])
    of_targets = g.op("MatMul", _share(g, scores, _mentions_or_all(g, read)), states)  # v, (B, K, 2 units)
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


def _once_a_target(
    g: Graph, weights: Arrays, read: _Sentences, words: str, targets: int, temperature: float, *, last_states: bool
) -> None:
    """Add `LSTMFinal` or `LSTMLoc`: R = B x K readings."""
    output, bias, mark = weights["output"] / temperature, weights["output_bias"] / temperature, weights["marks"][0]
    aspects, wide, labels = output.shape
    words = g.op("Where", g.insert(read.mentions, 3), g.constant(mark), g.insert(words, 1))  # (B, K, T, d)
    timed = g.reshape(g.op("Transpose", words, perm=[2, 0, 1, 3]), 0, -1, mark.shape[0])  # (T, R, d)
    ends = g.op("Add", g.insert(read.lengths, 1), g.constant(np.zeros((1, targets), np.int64)))
    states, last = _read(g, weights, timed, g.reshape(ends, -1))
    if last_states:
        summary = g.reshape(g.op("Transpose", last, perm=[1, 0, 2]), -1, wide)
    else:
        places = g.op("Cast", _mentions_or_all(g, read), to=TensorProto.FLOAT)
        places = g.reshape(g.op("Transpose", places, perm=[2, 0, 1]), 0, -1)  # (T, R)
        count = g.op("Max", g.total(places, 0, keep=True), g.constant(1.0))
        summary = g.total(g.op("Mul", states, g.insert(g.op("Div", places, count), 2)), 0)
    logits = g.op("MatMul", summary, g.constant(output.transpose(1, 0, 2).reshape(wide, -1)))  # (R, A x labels)
    logits = g.op("Add", g.reshape(logits, -1, targets, aspects, labels), g.constant(bias))
    g.output(g.op("Softmax", logits, axis=-1), "probabilities", ["batch", targets, aspects, labels])


def _read(g: Graph, weights: Arrays, timed: str, lengths: str) -> tuple[str, str]:
    """Add `nn.lstm.BiLSTM` over `timed` (T, R, d): states at each word (T, R, 2 units), and the last (2, R, units)."""
    units = weights["reader.states"].shape[-1]
    # The gates' matrices as ONNX takes them: (2, 4, d, units) -> (2, 4 units, d).
    matrices = [weights[f"reader.{part}"][:, _GATES].transpose(0, 1, 3, 2) for part in ("inputs", "states")]
    bias = weights["reader.bias"][:, _GATES].reshape(2, -1)
    bias = np.concatenate([bias, np.zeros_like(bias)], axis=1)  # the second of each gate says nothing more
    constants = [g.constant(array) for array in (*(m.reshape(2, 4 * units, -1) for m in matrices), bias)]
    ends = g.op("Cast", lengths, to=TensorProto.INT32)
    states, last = g.ops("LSTM", 2, timed, *constants, ends, direction="bidirectional", hidden_size=units)
    return g.reshape(g.op("Transpose", states, perm=[0, 2, 1, 3]), 0, 0, 2 * units), last


def _mentions_or_all(g: Graph, read: _Sentences) -> str:
    """Add `nn.attention.mentions_or_all`, (B, K, T)."""
    counts = g.total(g.op("Cast", read.mentions, to=TensorProto.FLOAT), 2, keep=True)
    absent = g.op("Equal", counts, g.constant(0.0))
    return g.op("Or", read.mentions, g.op("And", absent, g.insert(read.live, 1)))


def _share(g: Graph, scores: str, where: str) -> str:
    """Add `nn.attention.share`."""
    shares = g.op("Softmax", g.op("Where", where, scores, g.constant(_LOWEST)), axis=-1)
    return g.op("Mul", shares, g.op("Cast", where, to=TensorProto.FLOAT))


def _read_sentic(g: Graph, weights: Arrays, words: str, known: str, lengths: str) -> str:
    """Add `nn.lstm.SenticBiLSTM` as one Scan, both directions in a step: states at each word, (B, T, 2 units)."""
    units = weights["reader.states"].shape[-1]

    def turned(timed: str) -> str:
        return g.op("ReverseSequence", timed, lengths, batch_axis=1, time_axis=0)

    def products(values: str, part: str) -> str:
        """Each sentence and its reverse by all gates' matrices: (B, T, d) -> (T, 2, B, 5 units)."""
        timed = g.op("Transpose", values, perm=[1, 0, 2])
        both = g.op("Concat", g.insert(timed, 1), g.insert(turned(timed), 1), axis=1)
        return g.op("MatMul", both, g.constant(_side_by_side(weights[f"reader.{part}"])))

    raw = g.op("Add", products(words, "inputs"), g.constant(weights["reader.bias"].reshape(2, 1, -1)))
    of_concepts = products(known, "concepts")
    gates = g.op("Add", g.part(raw, 0, 4 * units, 3), g.part(of_concepts, 0, 4 * units, 3))
    gates = g.op("Concat", gates, g.part(raw, 4 * units, 5 * units, 3), axis=3)
    knowledge = g.op("Tanh", g.part(of_concepts, 4 * units, 5 * units, 3))  # (T, 2, B, units)
    shape = g.op("Concat", g.constant([2]), g.op("Shape", words, start=0, end=1), g.constant([units]), axis=0)
    start = g.op("Expand", g.constant(0.0), shape)
    body = _sentic_step(_side_by_side(weights["reader.states"]), half=g.half)
    *_, states = g.ops("Scan", 3, start, start, gates, knowledge, body=body.proto(), num_scan_inputs=2)
    forward, backward = (g.op("Squeeze", g.part(states, way, way + 1, 1), g.constant([1])) for way in (0, 1))
    return g.op("Transpose", g.op("Concat", forward, turned(backward), axis=2), perm=[1, 0, 2])


def _sentic_step(matrix: Array, *, half: bool) -> Graph:
    """Build one word of `nn.lstm.sentic_scan` as the body of a Scan: states first, then the word's inputs."""
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
    for value, name in ((new_state, "new_state"), (new_cell, "new_cell"), (new_state, "shown")):
        g.output(value, name, [2, "batch", units])
    return g


def _side_by_side(matrices: Array) -> Array:
    """(2, 5, d, units) -> (2, d, 5 units)."""
    return matrices.transpose(0, 2, 1, 3).reshape(2, matrices.shape[2], -1)
