"""EntNet and Delayed EntNet as an ONNX graph: one ONNX Scan over the words, both directions in one product a step.

Inputs: `words` (B, T, d), the words' vectors, `lengths` (B,), and with a mention term `neighbours` (B, T, K, 2), whose
mention each word stands after and before (`batch.neighbours`). Outputs: `probabilities` (B, K, A, labels), `gates`
(B, directions, T, n) in the order of the words, and `attention` (K, A, n).
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto

from tabsa.export.graph import Graph

Arrays = Mapping[str, NDArray[Any]]


def entnet(
    options: Mapping[str, Any],
    weights: Arrays,
    target_vectors: NDArray[np.float32],
    aspect_vectors: NDArray[np.float32],
    temperature: float = 1.0,
    *,
    half: bool = False,
) -> onnx.ModelProto:
    """Build the graph; `options` and `weights` are a model folder's, one seed's; `half` stores them in float16."""
    tied = target_vectors if options["keys"] != "free" else target_vectors[:0]
    keys = np.concatenate([tied, weights["free_keys"]])
    chains, d = keys.shape
    g = Graph("entnet", half=half)
    words = g.input("words", ["batch", "length", d])
    lengths = g.input("lengths", ["batch"], TensorProto.INT64)
    memory, gates = _read(g, options, weights, keys, words, lengths)
    attention = _attention(options, weights, keys, target_vectors, aspect_vectors)  # (K, A, n)
    count, aspects, _ = attention.shape
    summary = g.op("MatMul", g.constant(attention.reshape(-1, chains)), memory)  # (B, K x A, d)
    hidden = g.reshape(g.op("MatMul", summary, g.constant(weights["hidden"])), -1, count, aspects, d)
    hidden = g.prelu(g.op("Add", hidden, g.constant(aspect_vectors)), weights["slope"][-1])
    logits = g.op("MatMul", hidden, g.constant(weights["output"] / temperature))
    labels = weights["output"].shape[1]
    ways = weights["memory"].shape[0]
    g.output(g.op("Softmax", logits, axis=-1), "probabilities", ["batch", count, aspects, labels])
    g.output(gates, "gates", ["batch", ways, "length", chains])
    g.output(g.constant(attention), "attention", [count, aspects, chains])
    return g.model()


def _read(
    g: Graph, options: Mapping[str, Any], weights: Arrays, keys: NDArray[Any], words: str, lengths: str
) -> tuple[str, str]:
    """Both readings: memories summed, (B, n, d), and gates, (B, directions, T, n)."""
    ways = len(weights["memory"])
    backward = {"forward": [], "backward": [0], "both": [1]}[options["directions"]]
    timed = g.op("Transpose", words, perm=[1, 0, 2])  # (T, B, d)
    readings = []
    for way in range(ways):
        reading = g.op("ReverseSequence", timed, lengths, batch_axis=1, time_axis=0) if way in backward else timed
        readings.append(g.insert(reading, 1))
    each = g.op("Concat", *readings, axis=1) if ways > 1 else readings[0]  # (T, directions, B, d)
    candidate = g.op("MatMul", each, g.constant(weights["word"]))
    if "bias" in weights:
        candidate = g.op("Add", candidate, g.constant(weights["bias"][:, None]))
    scalar = options["gate"] == "scalar"
    location = g.op("MatMul", each, g.constant(keys.T)) if scalar else each  # (T, directions, B, n)
    length = g.op("Shape", words, start=1, end=2)
    steps = g.op("Range", g.constant(0), g.op("Squeeze", length), g.constant(1))
    going = g.op("Less", g.insert(steps, 1), g.insert(lengths, 0))  # (T, B)
    batch = g.op("Shape", words, start=0, end=1)
    shape = g.op("Concat", g.constant([ways]), batch, g.constant(keys.shape), axis=0)
    start = g.op("Expand", g.constant(keys), shape)  # (directions, B, n, d)
    delayed = "delay_new" in weights
    zeros = g.op("Mul", start, g.constant(0.0))
    states = [start, zeros] if delayed else [start]
    body = _step(options, weights, keys, half=g.half)
    inputs = [each, candidate, location, going, *_nearby(g, weights, keys, backward, lengths)]
    results = g.ops("Scan", len(states) + 1, *states, *inputs, body=body.proto(), num_scan_inputs=len(inputs))
    memory = g.total(results[0], 0)
    gates = results[-1]  # (T, directions, B, n)
    split = [g.part(gates, way, way + 1, 1) for way in range(ways)]
    flat = [g.op("Squeeze", part, g.constant([1])) for part in split]  # (T, B, n)
    for way in backward:
        flat[way] = g.op("ReverseSequence", flat[way], lengths, batch_axis=1, time_axis=0)
    ordered = [g.insert(g.op("Transpose", part, perm=[1, 0, 2]), 1) for part in flat]  # (B, 1, T, n)
    return memory, g.op("Concat", *ordered, axis=1) if ways > 1 else ordered[0]


def _nearby(g: Graph, weights: Arrays, keys: NDArray[Any], backward: list[int], lengths: str) -> list[str]:
    """The mention term of every gate, (T, directions, B, n), where the model has one."""
    if "mention" not in weights:
        return []
    tied = len(keys) - len(weights["free_keys"])
    whose = g.op("Transpose", g.input("neighbours", ["batch", "length", tied, 2]), perm=[1, 0, 2, 3])  # (T, B, K, 2)
    terms = []
    for way, factors in enumerate(weights["mention"]):
        term = g.op("Squeeze", g.op("MatMul", whose, g.constant(factors[:, None])), g.constant([3]))  # (T, B, K)
        if way in backward:
            term = g.op("ReverseSequence", term, lengths, batch_axis=1, time_axis=0)
        terms.append(g.insert(g.op("MatMul", term, g.constant(np.eye(tied, len(keys)))), 1))
    return [g.op("Concat", *terms, axis=1) if len(terms) > 1 else terms[0]]


def _step(options: Mapping[str, Any], weights: Arrays, keys: NDArray[Any], *, half: bool) -> Graph:
    """`layers.memory.step` as the body of a Scan: states first, then one word's inputs."""
    ways, d = weights["memory"].shape[:2]
    chains = len(keys)
    g = Graph("step", half=half)
    memory = g.input("memory", [ways, "batch", chains, d])
    delayed, scalar = "delay_new" in weights, options["gate"] == "scalar"
    past = g.input("delay", [ways, "batch", chains, d]) if delayed else ""
    word = g.input("word", [ways, "batch", d])
    candidate = g.input("candidate", [ways, "batch", d])
    location = g.input("location", [ways, "batch", chains if scalar else d])
    going = g.input("going", ["batch"], TensorProto.BOOL)
    nearby = g.input("nearby", [ways, "batch", chains]) if "mention" in weights else ""

    def rows(value: str, matrix: NDArray[Any]) -> str:
        """(directions, B, n, d) by (directions, d, e), one product a direction."""
        product = g.op("MatMul", g.reshape(value, ways, -1, d), g.constant(matrix))
        return g.reshape(product, ways, -1, chains, matrix.shape[-1])

    by_key = keys @ weights["key"]  # V k, (directions, n, d)
    raw = g.op("Add", g.op("Add", rows(memory, weights["memory"]), g.constant(by_key[:, None])), g.insert(candidate, 2))
    slope = weights["slope"]
    slope = np.repeat(slope[:1], ways, axis=0) if len(slope) == 1 else slope[:ways]
    proposal = g.prelu(raw, slope[:, None, None])
    content = g.op("Mul", g.insert(word, 2), memory)  # (directions, B, n, d)
    if scalar:
        logit = g.op("Add", g.total(content, 3), location)
    else:
        logit = g.op("Add", content, g.op("Mul", g.insert(location, 2), g.constant(keys)))
    new_delay = ""
    if delayed:
        new_delay = _gru(g, rows, weights, proposal, past)
        heard = g.op("Mul", new_delay, g.constant(weights["delay_vector"][:, None, None]))
        logit = g.op("Add", logit, g.total(heard, 3) if scalar else heard)
    if nearby:
        logit = g.op("Add", logit, nearby if scalar else g.insert(nearby, 3))
    gate = g.op("Sigmoid", logit)
    update = g.op("Mul", g.insert(gate, 3) if scalar else gate, proposal)
    new_memory = g.op("Add", memory, update)
    if options["normalise"]:
        norm = g.op("Sqrt", g.total(g.op("Mul", new_memory, new_memory), 3, keep=True))
        none = g.op("Equal", norm, g.constant(0.0))
        new_memory = g.op("Div", new_memory, g.op("Where", none, g.constant(1.0), norm))
    live = g.insert(going, 0, 2, 3)
    g.output(g.op("Where", live, new_memory, memory), "new_memory", [ways, "batch", chains, d])
    if delayed:
        g.output(new_delay, "new_delay", [ways, "batch", chains, d])
    if not scalar:
        gate = g.op("ReduceMean", gate, g.constant([3]), keepdims=0)
    shown = g.op("Where", g.insert(going, 0, 2), gate, g.constant(0.0))
    g.output(shown, "gate", [ways, "batch", chains])
    return g


def _gru(g: Graph, rows: Any, weights: Arrays, proposal: str, past: str) -> str:
    """`layers.memory.gru`."""
    d = weights["delay_new"].shape[-1]

    def side_by_side(matrices: NDArray[Any]) -> NDArray[Any]:
        """(directions, m, d, d) -> (directions, d, m d)."""
        return matrices.transpose(0, 2, 1, 3).reshape(len(matrices), d, -1)

    bias = weights["delay_bias"].reshape(len(weights["delay_bias"]), 1, 1, 3 * d)
    inputs = g.op("Add", rows(proposal, side_by_side(weights["delay_inputs"])), g.constant(bias))
    gates = g.op("Add", g.part(inputs, 0, 2 * d, 3), rows(past, side_by_side(weights["delay_gates"])))
    gates = g.op("Sigmoid", gates)
    reset, update = g.part(gates, 0, d, 3), g.part(gates, d, 2 * d, 3)
    kept = rows(g.op("Mul", reset, past), weights["delay_new"])
    new = g.op("Tanh", g.op("Add", g.part(inputs, 2 * d, 3 * d, 3), kept))
    return g.op("Add", new, g.op("Mul", update, g.op("Sub", past, new)))


def _attention(
    options: Mapping[str, Any],
    weights: Arrays,
    keys: NDArray[Any],
    targets: NDArray[np.float32],
    aspects: NDArray[np.float32],
) -> NDArray[np.float32]:
    """The share of each chain in each question, (K, A, n); it does not depend on the sentence."""
    question = np.repeat(targets[:, None], len(aspects), axis=1)
    if options["attention"] == "target-aspect":
        question = np.concatenate([question, np.broadcast_to(aspects, question.shape)], axis=-1)
    scores = options["attention_scale"] * (question @ weights["attend"] @ keys.T)
    scores = np.exp(scores - scores.max(-1, keepdims=True))
    return np.asarray(scores / scores.sum(-1, keepdims=True), np.float32)
