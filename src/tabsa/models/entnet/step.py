"""One step of the memory (`nn.memory.step`) as the body of an ONNX Scan, one direction's.

Written for speed: products of two dimensions with their sums in them, no pass over the numbers that can be spared.
Rows are sentences by chains, R = B n.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

from numpy.typing import NDArray
from onnx import TensorProto

from tabsa.models.onnx.graph import Graph
from tabsa.models.onnx.products import Products


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
