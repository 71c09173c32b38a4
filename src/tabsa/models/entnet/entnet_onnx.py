"""EntNet and Delayed EntNet as an ONNX graph: one ONNX Scan over the words for each direction.

Inputs: `words` (B, T, d), the words' vectors, `lengths` (B,), and with a mention term `neighbours` (B, T, K, 2), whose
mention each word stands after and before (`encoding.neighbours`). Outputs: `probabilities` (B, K, A, labels), `gates`
(B, directions, T, n) in the order of the words, and `attention` (K, A, n).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto

from tabsa.checkpoint.model_folder import ModelFolder, Precision
from tabsa.embeddings.vectors import lookup
from tabsa.encoding.target_words import aspect_matrix, target_word
from tabsa.models.onnx.graph_builder import Graph, Products, biased_weights, products

Arrays = Mapping[str, NDArray[Any]]


@dataclass(frozen=True)
class Delay:
    """The delay's GRU and its gate vector, as `nn.memory.DelayWeights` names them."""

    inputs: NDArray[Any]  # (3, d, d): reset, update, new
    gates: NDArray[Any]  # (2, d, d)
    new: NDArray[Any]  # (d, d)
    bias: NDArray[Any]  # (3, d)
    vector: NDArray[Any]  # (d,)


@dataclass(frozen=True)
class Direction:
    """One direction's weights, as `nn.memory.MemoryWeights` names them."""

    memory: NDArray[Any]  # (d, d)
    key: NDArray[Any]  # (d, d)
    word: NDArray[Any]  # (d, d)
    slope: NDArray[Any]  # (d,)
    bias: NDArray[Any] | None  # (d,)
    delay: Delay | None
    vector_gate: bool
    normalise: bool

    @classmethod
    def of(cls, weights: Mapping[str, NDArray[Any]], way: int, *, vector_gate: bool, normalise: bool) -> Self:
        """Those of a model folder."""
        delay = None
        if "delay_new" in weights:
            delay = Delay(*(weights[f"delay_{part}"][way] for part in ("inputs", "gates", "new", "bias", "vector")))
        return cls(
            memory=weights["memory"][way],
            key=weights["key"][way],
            word=weights["word"][way],
            slope=weights["slope"][way if len(weights["slope"]) > 1 else 0],
            bias=weights["bias"][way] if "bias" in weights else None,
            delay=delay,
            vector_gate=vector_gate,
            normalise=normalise,
        )


def step(direction: Direction, keys: NDArray[Any], products: Products, *, given: bool, half: bool) -> Graph:
    """The body: states first, then one word's inputs.

    `memory` and with a delay `delay` (R, d); `word` (B, d), `candidate` V k + W w (R, d), `going` (B, 1), whether the
    sentence has not ended, and if `given` (B, n), what the gates need of words and mentions alone. Gives the states
    and the gates, (B, n).
    """
    chains, d = keys.shape
    g = Graph("step", half=half)
    memory = g.input("memory", ["rows", d])
    past = g.input("delay", ["rows", d]) if direction.delay else ""
    word = g.input("word", ["batch", d])
    candidate = g.input("candidate", ["rows", d])
    going = g.input("going", ["batch", 1], TensorProto.BOOL)
    extra = g.input("given", ["batch", chains]) if given else ""

    raw = products.times(g, products.rows(g, memory), direction.memory, candidate)
    proposal = g.prelu(raw, direction.slope)
    delay = _gru(g, direction.delay, products, proposal, past) if direction.delay else ""
    vector = direction.delay.vector if direction.delay else None
    opened = _vector_gate if direction.vector_gate else _scalar_gate
    shown, gate = opened(g, keys, memory, word, delay, vector, going, extra)
    new = g.op("Add", memory, g.op("Mul", gate, proposal))
    if direction.normalise:
        new = g.op("Div", new, _norm(g, new, going, chains))
    g.output(new, "new_memory", ["rows", d])
    if delay:
        g.output(delay, "new_delay", ["rows", d])
    g.output(shown, "gate", ["batch", chains])
    return g


def _gru(g: Graph, weights: Delay, products: Products, proposal: str, past: str) -> str:
    """`nn.memory.gru`; every number of a delay is between -1 and 1, because it starts at 0."""
    read, kept = products.rows(g, proposal), products.rows(g, past, within=1.0)

    def opened(part: int) -> str:
        from_past = products.times(g, kept, weights.gates[part], weights.bias[part])
        return g.op("Sigmoid", products.times(g, read, weights.inputs[part], from_past))

    reset, update = opened(0), opened(1)
    from_past = products.times(g, products.rows(g, g.op("Mul", reset, past), within=1.0), weights.new, weights.bias[2])
    new = g.op("Tanh", products.times(g, read, weights.inputs[2], from_past))
    return g.op("Add", new, g.op("Mul", update, g.op("Sub", past, new)))


def _scalar_gate(
    g: Graph,
    keys: NDArray[Any],
    memory: str,
    word: str,
    delay: str,
    vector: NDArray[Any] | None,
    going: str,
    given: str,
) -> tuple[str, str]:
    """One number a chain: as it is shown, (B, n), and as it multiplies, (R, 1); 0 after a sentence's end."""
    chains, d = keys.shape
    content = g.op("MatMul", g.reshape(memory, -1, chains, d), g.insert(word, 2))  # (B, n, 1)
    logit = g.op("Add", g.op("Squeeze", content, g.constant([2])), given)
    if vector is not None:
        logit = g.op("Add", logit, g.reshape(g.op("MatMul", delay, g.constant(vector[:, None])), -1, chains))
    gate = g.op("Where", going, g.op("Sigmoid", logit), g.constant(0.0))
    return gate, g.reshape(gate, -1, 1)


def _vector_gate(
    g: Graph,
    keys: NDArray[Any],
    memory: str,
    word: str,
    delay: str,
    vector: NDArray[Any] | None,
    going: str,
    given: str,
) -> tuple[str, str]:
    """One number a dimension: their mean, (B, n), and they as they multiply, (R, d); 0 after a sentence's end."""
    chains, d = keys.shape
    known = g.op("Add", g.reshape(memory, -1, chains, d), g.constant(keys))
    logit = g.op("Mul", known, g.insert(word, 1))  # (B, n, d)
    if vector is not None:
        logit = g.op("Add", logit, g.reshape(g.op("Mul", delay, g.constant(vector)), -1, chains, d))
    if given:
        logit = g.op("Add", logit, g.insert(given, 2))
    gate = g.op("Where", g.insert(going, 2), g.op("Sigmoid", logit), g.constant(0.0))
    return g.op("ReduceMean", gate, g.constant([2]), keepdims=0), g.reshape(gate, -1, d)


def _norm(g: Graph, memory: str, going: str, chains: int) -> str:
    """What a memory is divided by, (R, 1): its norm; 1 where that is 0, or the sentence has ended."""
    norm = g.op("Sqrt", g.total(g.op("Mul", memory, memory), 1))
    norm = g.reshape(norm, -1, chains)
    divides = g.op("And", going, g.op("Greater", norm, g.constant(0.0)))
    return g.reshape(g.op("Where", divides, norm, g.constant(1.0)), -1, 1)


def graph(folder: ModelFolder, precision: Precision = "float32") -> onnx.ModelProto:
    """The graph of a model folder."""
    config = folder.config
    targets = lookup([target_word(slot) for slot in range(config.targets)], folder.vectors).matrix
    aspects = aspect_matrix(config.aspects, folder.vectors)
    weights = biased_weights(folder)
    return entnet(config.model, weights, targets, aspects, config.temperature, half=folder.compact, precision=precision)


def entnet(
    options: Mapping[str, Any],
    weights: Arrays,
    target_vectors: NDArray[np.float32],
    aspect_vectors: NDArray[np.float32],
    temperature: float = 1.0,
    *,
    half: bool = False,
    precision: Precision = "float32",
) -> onnx.ModelProto:
    """Build the graph; `options` and `weights` are a model folder's, one seed's.

    `half` stores constants in float16. `precision` is that of the products in the readings, nearly all the work.
    """
    tied = target_vectors if options["keys"] != "free" else target_vectors[:0]
    keys = np.concatenate([tied, weights["free_keys"]])
    chains, d = keys.shape
    g = Graph("entnet", half=half)
    words = g.input("words", ["batch", "length", d])
    lengths = g.input("lengths", ["batch"], TensorProto.INT64)
    memory, gates = _read(g, options, weights, keys, words, lengths, precision)
    attention = _attention(options, weights, keys, target_vectors, aspect_vectors)  # (K, A, n)
    count, aspects, _ = attention.shape
    # The product first: there are more questions than chains.
    hidden = g.op("MatMul", memory, g.constant(weights["hidden"]))  # (B, n, d)
    hidden = g.op("MatMul", g.constant(attention.reshape(-1, chains)), hidden)  # (B, K x A, d)
    hidden = g.op("Add", g.reshape(hidden, -1, count, aspects, d), g.constant(aspect_vectors))
    hidden = g.prelu(hidden, weights["slope"][-1])
    logits = g.op("MatMul", hidden, g.constant(weights["output"] / temperature))
    if "output_bias" in weights:  # a calibration's: the model itself has none
        logits = g.op("Add", logits, g.constant(weights["output_bias"] / temperature))
    labels = weights["output"].shape[1]
    ways = weights["memory"].shape[0]
    g.output(g.op("Softmax", logits, axis=-1), "probabilities", ["batch", count, aspects, labels])
    g.output(gates, "gates", ["batch", ways, "length", chains])
    g.output(g.constant(attention), "attention", [count, aspects, chains])
    return g.model()


def _read(
    g: Graph,
    options: Mapping[str, Any],
    weights: Arrays,
    keys: NDArray[Any],
    words: str,
    lengths: str,
    precision: Precision,
) -> tuple[str, str]:
    """Both readings: memories summed, (B, n, d), and gates, (B, directions, T, n)."""
    chains, d = keys.shape
    timed = g.op("Transpose", words, perm=[1, 0, 2])  # (T, B, d)
    length = g.op("Squeeze", g.op("Shape", words, start=1, end=2))
    steps = g.op("Range", g.constant(0), length, g.constant(1))
    going = g.insert(g.op("Less", g.insert(steps, 1), g.insert(lengths, 0)), 2)  # (T, B, 1)
    batch = g.op("Shape", words, start=0, end=1)
    start = g.op("Expand", g.constant(keys), g.op("Concat", batch, g.constant(keys.shape), axis=0))
    start = g.reshape(start, -1, d)  # (B n, d)
    whose, tied = "", len(keys) - len(weights["free_keys"])
    if "mention" in weights:
        whose = g.op("Transpose", g.input("neighbours", ["batch", "length", tied, 2]), perm=[1, 0, 2, 3])
    memories, gates = [], []
    for way in range(len(weights["memory"])):
        backward = options["directions"] == "backward" or way == 1
        direction = Direction.of(weights, way, vector_gate=options["gate"] == "vector", normalise=options["normalise"])
        reading = _turned(g, timed, lengths) if backward else timed
        nearby = _nearby(g, weights["mention"][way], tied, chains, whose) if whose else ""
        nearby = _turned(g, nearby, lengths) if nearby and backward else nearby
        memory, gate = _scan(g, direction, keys, reading, going, nearby, start, precision)
        gate = _turned(g, gate, lengths) if backward else gate
        memories.append(memory)
        gates.append(g.insert(g.op("Transpose", gate, perm=[1, 0, 2]), 1))  # (B, 1, T, n)
    memory = g.op("Add", *memories) if len(memories) > 1 else memories[0]
    return g.reshape(memory, -1, chains, d), g.op("Concat", *gates, axis=1)


def _scan(
    g: Graph,
    direction: Direction,
    keys: NDArray[Any],
    words: str,
    going: str,
    nearby: str,
    start: str,
    precision: Precision,
) -> tuple[str, str]:
    """One reading of `words` (T, B, d): the memory at the end, (B n, d), and the gates, (T, B, n)."""
    by_word = products(precision)
    candidate = by_word.times(g, by_word.rows(g, words), direction.word)
    by_key = keys @ direction.key + (0 if direction.bias is None else direction.bias)  # V k, (n, d)
    candidate = g.reshape(g.op("Add", g.insert(candidate, 2), g.constant(by_key)), 0, -1, keys.shape[1])
    given = nearby
    if not direction.vector_gate:
        given = g.op("MatMul", words, g.constant(keys.T))  # (T, B, n)
        given = g.op("Add", given, nearby) if nearby else given
    states = [start, g.op("Mul", start, g.constant(0.0))] if direction.delay else [start]
    inputs = [words, candidate, going, *([given] if given else [])]
    body = step(direction, keys, products(precision), given=bool(given), half=g.half)
    results = g.ops("Scan", len(states) + 1, *states, *inputs, body=body.proto(), num_scan_inputs=len(inputs))
    return results[0], results[-1]


def _nearby(g: Graph, factors: NDArray[Any], tied: int, chains: int, whose: str) -> str:
    """The mention term of every gate, (T, B, n), of `whose` (T, B, K, 2)."""
    spread = np.kron(np.eye(tied, chains), factors[:, None])  # (2 K, n)
    return g.op("MatMul", g.reshape(whose, 0, 0, 2 * tied), g.constant(spread))


def _turned(g: Graph, values: str, lengths: str) -> str:
    """Each sentence of (T, B, ...) the other way round, what is after its end where it was."""
    return g.op("ReverseSequence", values, lengths, batch_axis=1, time_axis=0)


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
