"""EntNet and Delayed EntNet with the unchanged cell as an ONNX graph: one ONNX Scan over the words for each direction.

Inputs: `words` (B, T, d), the words' vectors, `lengths` (B,), and with a mention term `neighbours` (B, T, K, 2), whose
mention each word stands after and before (`encoding.neighbours`). Outputs: `probabilities` (B, K, A, labels), `gates`
(B, directions, T, n) in the order of the words, and `attention` (K, A, n).

Written for speed: products of two dimensions with their sums in them, no pass over the numbers that can be spared.
Rows are sentences by chains, R = B n.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto

from tabsa.checkpoint.model_folder import ModelFolder, Precision
from tabsa.embeddings.vectors import lookup
from tabsa.encoding.target_words import aspect_matrix, target_word
from tabsa.models.onnx.graph_builder import Array, Arrays, Graph

Options = Mapping[str, Any]


def graph(folder: ModelFolder, precision: Precision, *, half: bool) -> onnx.ModelProto:  # noqa: ARG001 (float32 is all)
    """Build the graph of a model folder; `half` stores constants in float16."""
    config, weights, options = folder.config, folder.weights, folder.config.model
    target_vectors = lookup([target_word(slot) for slot in range(config.targets)], folder.vectors).matrix
    aspect_vectors, temperature = aspect_matrix(config.aspects, folder.vectors), config.temperature
    tied = target_vectors if options["keys"] != "free" else target_vectors[:0]
    keys = np.concatenate([tied, weights["free_keys"]])
    chains, d = keys.shape
    g = Graph("entnet", half=half)
    words = g.input("words", ["batch", "length", d])
    lengths = g.input("lengths", ["batch"], TensorProto.INT64)
    memory, gates = _read(g, options, weights, keys, words, lengths)
    attention = _attention(options, weights, keys, target_vectors, aspect_vectors)  # (K, A, n)
    count, aspects, _ = attention.shape
    # The product first: there are more questions than chains.
    hidden = g.op("MatMul", memory, g.constant(weights["hidden"]))  # (B, n, d)
    hidden = g.op("MatMul", g.constant(attention.reshape(-1, chains)), hidden)  # (B, K x A, d)
    hidden = g.op("Add", g.reshape(hidden, -1, count, aspects, d), g.constant(aspect_vectors))
    hidden = g.prelu(hidden, weights["slope"][-1])
    logits = g.op("MatMul", hidden, g.constant(weights["output"] / temperature))
    if config.bias:
        logits = g.op("Add", logits, g.constant(np.asarray(config.bias, np.float32)))
    labels, ways = weights["output"].shape[1], len(weights["memory"])
    g.output(g.op("Softmax", logits, axis=-1), "probabilities", ["batch", count, aspects, labels])
    g.output(gates, "gates", ["batch", ways, "length", chains])
    g.output(g.constant(attention), "attention", [count, aspects, chains])
    return g.model()


def _attention(options: Options, weights: Arrays, keys: Array, targets: Array, aspects: Array) -> Array:
    """Compute the share of each chain in each question, (K, A, n); it does not depend on the sentence."""
    question = np.repeat(targets[:, None], len(aspects), axis=1)
    if options["attention"] == "target-aspect":
        question = np.concatenate([question, np.broadcast_to(aspects, question.shape)], axis=-1)
    scores = options["attention_scale"] * (question @ weights["attend"] @ keys.T)
    scores = np.exp(scores - scores.max(-1, keepdims=True))
    return np.asarray(scores / scores.sum(-1, keepdims=True), np.float32)


def _read(g: Graph, options: Options, weights: Arrays, keys: Array, words: str, lengths: str) -> tuple[str, str]:
    """Add both readings: memories summed, (B, n, d), and gates, (B, directions, T, n)."""
    chains, d = keys.shape
    timed = g.op("Transpose", words, perm=[1, 0, 2])  # (T, B, d)
    length = g.op("Squeeze", g.op("Shape", words, start=1, end=2))
    steps = g.op("Range", g.constant(0), length, g.constant(1))
    going = g.insert(g.op("Less", g.insert(steps, 1), g.insert(lengths, 0)), 2)  # (T, B, 1)
    batch = g.op("Shape", words, start=0, end=1)
    start = g.op("Expand", g.constant(keys), g.op("Concat", batch, g.constant(keys.shape), axis=0))
    start = g.reshape(start, -1, d)  # (R, d)
    whose, tied = "", len(keys) - len(weights["free_keys"])
    if "mention" in weights:
        whose = g.op("Transpose", g.input("neighbours", ["batch", "length", tied, 2]), perm=[1, 0, 2, 3])
        whose = g.reshape(whose, 0, 0, 2 * tied)  # (T, B, 2 K)

    def turned(values: str) -> str:
        """Each sentence of (T, B, ...) the other way round, what is after its end where it was."""
        return g.op("ReverseSequence", values, lengths, batch_axis=1, time_axis=0)

    memories, gates = [], []
    for way in range(len(weights["memory"])):
        backward = way == 1
        reading = turned(timed) if backward else timed
        nearby = ""
        if whose:
            spread = np.kron(np.eye(tied, chains), weights["mention"][way][:, None])  # (2 K, n)
            nearby = g.op("MatMul", whose, g.constant(spread))
            nearby = turned(nearby) if backward else nearby
        own = {name: weights[name][way] for name in weights if name in _STEP or name.startswith("delay_")}
        own["slope"] = weights["slope"][way if len(weights["slope"]) > 1 else 0]
        memory, gate = _scan(g, own, keys, reading, going, nearby, start, normalise=options["normalise"])
        memories.append(memory)
        gate = turned(gate) if backward else gate
        gates.append(g.insert(g.op("Transpose", gate, perm=[1, 0, 2]), 1))  # (B, 1, T, n)
    memory = g.op("Add", *memories) if len(memories) > 1 else memories[0]
    return g.reshape(memory, -1, chains, d), g.op("Concat", *gates, axis=1)


_STEP = ("memory", "key", "word", "bias")  # besides the slope and the delay's, one set a direction


def _scan(
    g: Graph, weights: Arrays, keys: Array, words: str, going: str, nearby: str, start: str, *, normalise: bool
) -> tuple[str, str]:
    """Add one reading of `words` (T, B, d): the memory at the end, (R, d), and the gates, (T, B, n)."""
    candidate = g.op("MatMul", words, g.constant(weights["word"]))
    by_key = keys @ weights["key"] + weights.get("bias", 0)  # V k, (n, d)
    candidate = g.reshape(g.op("Add", g.insert(candidate, 2), g.constant(by_key)), 0, -1, keys.shape[1])
    given = g.op("MatMul", words, g.constant(keys.T))  # (T, B, n)
    given = g.op("Add", given, nearby) if nearby else given
    states = [start, g.op("Mul", start, g.constant(0.0))] if "delay_new" in weights else [start]
    body = _step(weights, keys, half=g.half, normalise=normalise)
    inputs = [words, candidate, going, given]
    results = g.ops("Scan", len(states) + 1, *states, *inputs, body=body.proto(), num_scan_inputs=len(inputs))
    return results[0], results[-1]


def _step(weights: Arrays, keys: Array, *, half: bool, normalise: bool) -> Graph:
    """Build `nn.memory.MemoryCell` as the body of a Scan: states first, then one word's inputs.

    `memory` and with a delay `delay` (R, d); `word` (B, d), `candidate` V k + W w (R, d), `going` (B, 1), whether the
    sentence has not ended, and `given` (B, n), what the gates need of words and mentions alone. Gives the states and
    the gates, (B, n), 0 after a sentence's end.
    """
    chains, d = keys.shape
    delayed = "delay_new" in weights
    g = Graph("step", half=half)
    memory = g.input("memory", ["rows", d])
    past = g.input("delay", ["rows", d]) if delayed else ""
    word = g.input("word", ["batch", d])
    candidate = g.input("candidate", ["rows", d])
    going = g.input("going", ["batch", 1], TensorProto.BOOL)
    given = g.input("given", ["batch", chains])

    raw = g.op("Gemm", memory, g.constant(weights["memory"]), candidate)
    proposal = g.prelu(raw, weights["slope"])
    delay = _gru(g, weights, proposal, past) if delayed else ""
    content = g.op("MatMul", g.reshape(memory, -1, chains, d), g.insert(word, 2))  # (B, n, 1)
    logit = g.op("Add", g.op("Squeeze", content, g.constant([2])), given)
    if delayed:
        remembered = g.op("MatMul", delay, g.constant(weights["delay_vector"][:, None]))
        logit = g.op("Add", logit, g.reshape(remembered, -1, chains))
    gate = g.op("Where", going, g.op("Sigmoid", logit), g.constant(0.0))
    new = g.op("Add", memory, g.op("Mul", g.reshape(gate, -1, 1), proposal))
    if normalise:
        # By the norm; by 1 where that is 0, or the sentence has ended.
        square = g.op("ReduceSum", g.op("Mul", new, new), g.constant([1]), keepdims=0)
        norm = g.reshape(g.op("Sqrt", square), -1, chains)
        divides = g.op("And", going, g.op("Greater", norm, g.constant(0.0)))
        new = g.op("Div", new, g.reshape(g.op("Where", divides, norm, g.constant(1.0)), -1, 1))
    g.output(new, "new_memory", ["rows", d])
    if delayed:
        g.output(delay, "new_delay", ["rows", d])
    g.output(gate, "gate", ["batch", chains])
    return g


def _gru(g: Graph, weights: Arrays, proposal: str, past: str) -> str:
    """Add `nn.memory.gru`."""
    inputs, gates, bias = weights["delay_inputs"], weights["delay_gates"], weights["delay_bias"]

    def times(rows: str, matrix: Array, plus: str) -> str:
        return g.op("Gemm", rows, g.constant(matrix), plus)

    def opened(part: int) -> str:
        from_past = times(past, gates[part], g.constant(bias[part]))
        return g.op("Sigmoid", times(proposal, inputs[part], from_past))

    reset, update = opened(0), opened(1)
    from_past = times(g.op("Mul", reset, past), weights["delay_new"], g.constant(bias[2]))
    new = g.op("Tanh", times(proposal, inputs[2], from_past))
    return g.op("Add", new, g.op("Mul", update, g.op("Sub", past, new)))
