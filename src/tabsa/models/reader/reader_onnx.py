"""The reader as two ONNX graphs: one reads texts, one asks what was read. Their numbers lie in weights.safetensors.

read   `embedded` (T, B, d), word pieces with their places, after a text's end its first one again, and `lengths` (B,)
       -> `entered` (T, B, d), the states where questions come in, `states` (T, B, d), those before the last layer,
       which is the questions' alone, and for each layer N of the questions `keys.N` and `values.N` (T, B, h, d / h)
ask    those keys and values, `lengths`, and for P pairs of a text and a target `texts` (P,), which text it is, and
       `targets` (P, d), the target's state, and `aspects` (A, d) -> `probabilities` (P, A, labels), and `attention`
       (P, A, T), the share of each piece in the last of their layers, the mean over its heads. The attention bias
       (A, T), which may be left out, is added to the scores of each aspect's questions: a piece of MASKED has no share

Pieces come before texts because onnxruntime then multiplies the heads of all texts without turning them first. What it
would join to one operator is written so that it does not (Sum, not Add) where the joined one is slower.
Two biases need no work: a key's adds the same to all scores of a question, and a value's is added whole to what is
attended to, because shares sum to one, so it goes with the bias of the product after it.
Shapes at line ends use B texts, T pieces, N = T B of them in all, h heads, P pairs, A aspects, Q = A P questions.
"""

import math
from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np
import onnx
from onnx import TensorProto, helper

from tabsa.checkpoint.model_folder import READER_GRAPHS, ModelFolder, Precision
from tabsa.checkpoint.weight_storage import SCALE
from tabsa.embeddings.packing import COLUMN_STEPS
from tabsa.models.onnx.graph_builder import Graph
from tabsa.models.reader.reader_config import ReaderShape, reader_shape
from tabsa.models.reader.reader_storage import (
    ATTENTION_BIAS,
    DIGEST,
    DISTANCES,
    MASKED,
    WEIGHTS,
    StoredTensor,
    stored_tensors,
)

_OWN: Final = "com.microsoft"  # operators of onnxruntime's own
_KINDS: Final = {"F32": TensorProto.FLOAT, "F16": TensorProto.FLOAT16, "I8": TensorProto.INT8, "U8": TensorProto.UINT8}
_NOTHING: Final = np.zeros((1, 1), np.float32)  # is masked
_ZERO: Final = 128  # what stands for zero in a row in int8
_GELU_ZERO: Final = 32  # in a row of what gelu gave
_GELU_LOWEST: Final = 0.17  # it is never less than minus this


class ProductRows(NamedTuple):
    """Rows of numbers, (N, d), as a product reads them."""

    values: str
    steps: str = ""  # in int8, of each row, (N, 1)
    zero: int = 0  # what stands for zero
    plain: str = ""  # the same in float32


class MatrixPart(NamedTuple):
    """Some columns of a matrix, or, of axis 0, some rows."""

    start: int
    end: int
    axis: int


def graph(folder: ModelFolder, precision: Precision, *, half: bool) -> dict[str, onnx.ModelProto]:  # noqa: ARG001
    """Build both graphs of a model folder, by the names of their files; how numbers are stored is the folder's."""
    shape, (stored, digest) = reader_shape(folder), stored_tensors(folder)
    models = [build(Builder(Graph("g"), shape, stored, precision)) for build in (_read, _ask)]
    for model in models:
        helper.set_model_props(model, {DIGEST: digest})
    return dict(zip(READER_GRAPHS[precision], models, strict=True))


@dataclass
class Builder:
    """A graph under construction, and the weights it takes from the folder's file."""

    g: Graph
    shape: ReaderShape
    stored: dict[str, StoredTensor]
    precision: Precision

    def __post_init__(self) -> None:
        self.made: dict[str, str] = {}

    def tensor(self, name: str) -> str:
        """An array of the file, as it is stored."""
        if name not in self.made:
            kind, shape, start, size = self.stored[name]
            self.made[name] = self.g.stored(name, _KINDS[kind], shape, file=WEIGHTS, start=start, size=size)
        return self.made[name]

    def weight(self, name: str) -> str:
        """A weight in float32; onnxruntime computes it once, when it loads the graph."""
        if (key := f"{name} in float32") not in self.made:
            value, kind = self.tensor(name), self.stored[name].kind
            value = value if kind == "F32" else self.g.op("Cast", value, to=TensorProto.FLOAT)
            self.made[key] = self.g.op("Mul", value, self.tensor(name + SCALE)) if kind == "I8" else value
        return self.made[key]

    def rounded(self, name: str) -> tuple[str, str]:
        """A matrix in whole numbers, and the steps of its columns."""
        if self.stored[name].kind == "I8":
            return self.tensor(name), self.tensor(name + SCALE)
        if (key := f"{name} rounded") not in self.made:
            g, matrix = self.g, self.weight(name)
            largest = g.op("ReduceMax", g.op("Abs", matrix), g.constant([0]), keepdims=0)
            steps = g.op("Mul", g.op("Max", largest, g.constant(1e-6)), g.constant(1 / COLUMN_STEPS))
            self.made[key] = g.op("Cast", g.op("Round", g.op("Div", matrix, steps)), to=TensorProto.INT8)
            self.made[key + " steps"] = steps
        return self.made[key], self.made[key + " steps"]

    def rows(self, values: str, *, gelu: bool = False, of: str = "all") -> ProductRows:
        """Rows ready to be multiplied: in int8 each in steps of its own, so none depends on what is beside it.

        Of what `gelu` gave hardly anything is below zero, so most of the steps lie above. `of` says what rows they are:
        of each kind there are as many.
        """
        if self.precision == "float32":
            return ProductRows(values, plain=values)
        g, zero = self.g, _GELU_ZERO if gelu else _ZERO
        largest = g.op("ReduceMax", values if gelu else g.op("Abs", values), g.constant([-1]), keepdims=0)
        least = _GELU_LOWEST / zero if gelu else 1e-6 / (255 - zero)
        steps = g.op("Max", g.op("Mul", largest, g.constant(1 / (255 - zero))), g.constant(least))  # (N,)
        if (key := f"zeros {zero} of {of}") not in self.made:
            self.made[key] = g.op("Expand", g.raw(np.array([zero], np.uint8)), g.op("Shape", steps))
        rounded = g.op("QuantizeLinear", values, steps, self.made[key], axis=0)
        return ProductRows(rounded, g.insert(steps, 1), zero, values)

    def times(self, rows: ProductRows, name: str, *terms: str, part: MatrixPart | None = None) -> str:
        """Rows by a matrix, (N, d) by (d, e), or by a part of it; the first of the terms that are added is a bias."""
        g = self.g
        if self.precision == "float32" or self.shape.exact(name):
            matrix = g.part(self.weight(name), *part) if part else self.weight(name)
            product = g.op("Gemm" if terms else "MatMul", rows.plain, matrix, *terms[:1])
            return g.op("Sum", product, *terms[1:]) if terms[1:] else product
        matrix, steps = self.rounded(name)
        if part:
            matrix = g.part(matrix, *part)
            steps = g.part(steps, part.start, part.end, 0) if part.axis else steps
        one, zero = g.raw(np.array(1, np.float32)), g.raw(np.array(rows.zero, np.uint8))
        product = g.op("MatMulIntegerToFloat", rows.values, matrix, one, steps, zero, domain=_OWN)
        product = g.op("Mul", product, rows.steps)
        bias, others = terms[:1], terms[1:]
        if not others:
            return g.op("Sum", product, *bias) if bias else product
        return g.op("Add", g.op("Sum", product, *others), *bias)

    def query(self, rows: ProductRows, name: str) -> str:
        """The queries of a layer, (N, d), from the first columns of a matrix."""
        d = self.shape.encoder.size
        bias = self.g.part(self.weight(f"{name}_bias"), 0, d, 0)
        return self.times(rows, name, bias, part=MatrixPart(0, d, 1))

    def attend(self, query: str, key: str, value: str, mask: str, shape: str) -> tuple[str, str]:
        """Attend from M queries to T pieces: the sums, (N, d), and the shares of the pieces, (B, h, M, T).

        Queries, (N, d), are given `shape`, (M, B, h, d / h); keys and values have (T, B, h, d / h).
        """
        g, d = self.g, self.shape.encoder.size
        options = {"domain": _OWN, "transBatchB": 1}
        scale = math.sqrt(self.shape.encoder.heads / d)
        query = g.op("Reshape", query, shape)
        shares = g.op("FusedMatMul", query, key, transBatchA=1, transB=1, alpha=scale, **options)
        shares = g.op("Softmax", g.op("Add", shares, mask), axis=-1)
        sums = g.op("Transpose", g.op("FusedMatMul", shares, value, **options), perm=[2, 0, 1, 3])
        return g.reshape(sums, -1, d), shares

    def after_attention(self, states: str, sums: str, layer: str, source: str) -> str:
        """Add the rest of a layer, whose values are of the layer `source`: LN(x + W sums), LN(x + W2 gelu(W1 x))."""
        g, d = self.g, self.shape.encoder.size
        added = g.reshape(g.part(self.weight(f"{source}.qkv_bias"), 2 * d, 3 * d, 0), 1, d)
        bias = g.op("Gemm", added, self.weight(f"{layer}.out"), self.weight(f"{layer}.out_bias"))
        states = self.times(self.rows(sums), f"{layer}.out", g.reshape(bias, d), states)
        states = self.normalised(states, f"{layer}.norm")
        inner = self.times(self.rows(states), f"{layer}.inner", self.weight(f"{layer}.inner_bias"))
        rows = self.rows(g.op("Gelu", inner, domain=_OWN), gelu=True)
        states = self.times(rows, f"{layer}.outer", self.weight(f"{layer}.outer_bias"), states)
        return self.normalised(states, f"{layer}.last_norm")

    def normalised(self, states: str, norm: str) -> str:
        """Add a layer normalisation."""
        weights = self.weight(norm), self.weight(f"{norm}_bias")
        return self.g.op("LayerNormalization", states, *weights, axis=-1, epsilon=self.shape.encoder.epsilon)


def _read(b: Builder) -> onnx.ModelProto:
    """Build the graph that reads texts."""
    g, own = b.g, b.shape.encoder
    d, head = own.size, own.size // own.heads
    embedded = g.input("embedded", ["pieces", "texts", d])
    lengths = g.input("lengths", ["texts"], TensorProto.INT64)
    around = g.op("Shape", embedded, start=0, end=2)
    shape = g.op("Concat", around, g.constant([own.heads, head]), axis=0)
    count = g.op("Shape", embedded, start=0, end=1)
    mask = _mask(b, lengths, count, count)
    if own.buckets:
        mask = g.op("Add", mask, _relative(b, count))
    states = b.normalised(g.reshape(embedded, -1, d), "encoder.norm")  # (N, d)
    entered, keys_values = states, list[str]()
    for number in range(own.layers):
        layer = f"encoder.layers.{number}"
        rows = b.rows(states)
        parts = (b.times(rows, f"{layer}.qkv", part=MatrixPart(n * d, n * d + d, 1)) for n in (1, 2))
        key, value = (g.op("Reshape", part, shape) for part in parts)
        if layer in b.shape.shared:
            entered = entered if keys_values else states
            keys_values += [key, value]
            if number == own.layers - 1:
                break
        sums, _ = b.attend(b.query(rows, f"{layer}.qkv"), key, value, mask, shape)
        states = b.after_attention(states, sums, layer, layer)
    whole = g.op("Concat", around, g.constant([d]), axis=0)
    for name, value in {"states": states, "entered": entered}.items():
        g.output(g.op("Reshape", value, whole), name, ["pieces", "texts", d])
    for name, value in zip(b.shape.keys_values, keys_values, strict=True):
        g.output(value, name, ["pieces", "texts", own.heads, head])
    return g.model()


def _ask(b: Builder) -> onnx.ModelProto:
    """Build the graph that asks what was read."""
    g, own = b.g, b.shape.encoder
    d, head = own.size, own.size // own.heads
    targets, aspects = g.input("targets", ["pairs", d]), g.input("aspects", ["aspects", d])
    counts = g.op("Concat", *(g.op("Shape", value, start=0, end=1) for value in (aspects, targets)), axis=0)  # A, P
    shape = g.op("Concat", counts, g.constant([own.heads, head]), axis=0)
    question = _questions(b, targets, aspects)  # (Q, d)
    texts = g.input("texts", ["pairs"], TensorProto.INT64)
    mask = shares = ""
    for number, source in enumerate(b.shape.shared):
        layer, query = (f"question_layers.{number}", "query") if b.shape.untied else (source, "qkv")
        names = b.shape.keys_values[2 * number :][:2]
        inputs = (g.input(name, ["pieces", "texts", own.heads, head]) for name in names)
        key, value = (g.op("Gather", values, texts, axis=1) for values in inputs)
        if not mask:
            lengths = g.op("Gather", g.input("lengths", ["texts"], TensorProto.INT64), texts, axis=0)
            count, bias = g.op("Shape", key, start=0, end=1), g.default(ATTENTION_BIAS, _NOTHING)
            mask = _mask(b, lengths, g.op("Shape", aspects, start=0, end=1), count, bias)
        sums, shares = b.attend(b.query(b.rows(question), f"{layer}.{query}"), key, value, mask, shape)
        question = b.after_attention(question, sums, layer, source)
    hidden = g.op("Tanh", b.times(b.rows(question), "hidden", b.weight("hidden_bias")))
    answers = g.op("Softmax", g.op("Gemm", hidden, b.weight("output"), b.weight("output_bias")), axis=-1)
    answers = g.op("Reshape", answers, g.op("Concat", counts, g.constant([b.shape.labels]), axis=0))
    answers = g.op("Transpose", answers, perm=[1, 0, 2])
    g.output(answers, "probabilities", ["pairs", "aspects", b.shape.labels])
    mean = g.op("ReduceMean", shares, g.constant([1]), keepdims=0)
    g.output(mean, "attention", ["pairs", "aspects", "pieces"])
    return g.model()


def _questions(b: Builder, targets: str, aspects: str) -> str:
    """W [t; a; t * a] of every aspect and pair, (Q, d): the first two parts once a pair and once an aspect."""
    g, d = b.g, b.shape.encoder.size
    of_pair = b.times(b.rows(targets, of="pairs"), "question", part=MatrixPart(0, d, 0))
    of_aspect = b.times(
        b.rows(aspects, of="aspects"), "question", b.weight("question_bias"), part=MatrixPart(d, 2 * d, 0)
    )
    alone = g.reshape(g.op("Add", g.insert(of_aspect, 1), of_pair), -1, d)
    both = g.reshape(g.op("Mul", g.insert(aspects, 1), targets), -1, d)
    return g.op("Add", b.times(b.rows(both), "question", part=MatrixPart(2 * d, 3 * d, 0)), alone)


def _mask(b: Builder, lengths: str, queries: str, count: str, bias: str = "") -> str:
    """Make what is added to scores so that nothing after a text's end is attended to, (B, h, M, T).

    Not minus infinity: numbers that are nearly too small for a float are slow. After a text's end stands its first
    piece again, so it has less than 1e-21 of that one's share, which changes no sum.
    Spread out once, because all layers add it, and rows as short as these are slow to add to many.
    """
    g = b.g
    places = g.op("Range", g.constant(0), g.op("Squeeze", count), g.constant(1))
    live = g.op("Less", places, g.insert(lengths, 1))
    mask = g.insert(g.op("Where", live, g.constant(0.0), g.constant(MASKED)), 1, 2)
    mask = g.op("Add", mask, bias) if bias else mask
    heads = g.constant([b.shape.encoder.heads])
    return g.op("Expand", mask, g.op("Concat", g.op("Shape", lengths), heads, queries, count, axis=0))


def _relative(b: Builder, count: str) -> str:
    """MPNet's term of each distance, (h, T, T)."""
    g, longest = b.g, b.shape.encoder.longest
    table = g.op("Gather", b.weight(DISTANCES), g.constant(b.shape.encoder.distance_buckets()), axis=0)
    places = g.op("Range", g.constant(0), g.op("Squeeze", count), g.constant(1))
    distance = g.op("Sub", g.insert(places, 1), g.op("Sub", places, g.constant(longest - 1)))
    return g.op("Transpose", g.op("Gather", table, distance, axis=0), perm=[2, 0, 1])
