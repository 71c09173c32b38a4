"""The reader as two ONNX graphs: one reads texts, one asks what was read. Their numbers lie in weights.safetensors.

read   `embedded` (T, B, d), word pieces with their places, after a text's end its first one again, and `lengths` (B,)
       -> `entered` (T, B, d), the states where questions come in, and for each layer N of the questions `keys.N` and
       `values.N` (T, B, h, d / h)
ask    those keys and values, `lengths`, for P pairs of a text and a target `texts` (P,), which text it is, and
       `targets` (P, d), the target's state, and for A aspects `aspects` (W, d), the states of their pieces one after
       another, and `aspect_lengths` (A,) -> `probabilities` (P, A, labels), and `attention` (P, A, T), each piece's
       share for the target's row in the last layer, the mean over its heads. An attention bias (A, T) may be added to
       the scores of each aspect's rows: a piece of MASKED has no share

Pieces come before texts because onnxruntime then multiplies the heads of all texts without turning them first. What it
would join to one operator is written so that it does not (Sum, not Add) where the joined one is slower.
Two biases need no work: a key's adds the same to all scores of a question, and a value's is added whole to what is
attended to, because shares sum to one, so it goes with the bias of the product after it. A pair has K rows, A of its
target and then W of all aspects' pieces; those of other questions are masked. Products sum the shares, because they add
one by one, so that nothing is rounded otherwise for what is masked beside it.
Shapes at line ends use B texts, T pieces, N = T B of them in all, or K P rows, h heads, P pairs, A aspects.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np
import onnx
from onnx import TensorProto, helper

from tabsa.checkpoint.model_folder import READER_GRAPHS, ModelFolder, Precision
from tabsa.checkpoint.weight_storage import SCALE
from tabsa.embeddings.packing import COLUMN_STEPS
from tabsa.models.onnx.graph_builder import Graph
from tabsa.models.reader.reader_config import COPIES, ReaderShape, reader_shape
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
_LANES: Final = 16  # columns of ones, so that a sum is a product like others
_GELU_LOWEST: Final = 0.17  # it is never less than minus this


class ProductRows(NamedTuple):
    """Rows of numbers, (N, d), as a product reads them."""

    values: str
    steps: str = ""  # in int8, of each row, (N, 1)
    zero: int = 0  # what stands for zero
    plain: str = ""  # the same in float32


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

    def times(self, rows: ProductRows, name: str, *terms: str, part: slice | None = None) -> str:
        """Rows by a matrix, (N, d) by (d, e), or by some columns; the first of the terms that are added is a bias."""
        g = self.g
        if self.precision == "float32" or self.shape.exact(name):
            matrix = g.part(self.weight(name), part.start, part.stop, 1) if part else self.weight(name)
            product = g.op("Gemm" if terms else "MatMul", rows.plain, matrix, *terms[:1])
            return g.op("Sum", product, *terms[1:]) if terms[1:] else product
        matrix, steps = self.rounded(name)
        if part:
            matrix, steps = g.part(matrix, part.start, part.stop, 1), g.part(steps, part.start, part.stop, 0)
        one, zero = g.raw(np.array(1, np.float32)), g.raw(np.array(rows.zero, np.uint8))
        product = g.op("MatMulIntegerToFloat", rows.values, matrix, one, steps, zero, domain=_OWN)
        product = g.op("Mul", product, rows.steps)
        if not terms[1:]:
            return g.op("Sum", product, *terms) if terms else product
        return g.op("Add", g.op("Sum", product, *terms[1:]), terms[0])

    def projected(self, rows: ProductRows, number: int, layer: str, of_text: str = "") -> str:
        """The queries (0), keys (1) or values (2) of a layer; a bias of these two is by what it is not the text's."""
        start, end = number * self.shape.encoder.size, (number + 1) * self.shape.encoder.size
        biases = [self.g.part(self.weight(f"{name}.qkv_bias"), start, end, 0) for name in (layer, of_text or layer)]
        added = biases[:1] if not number else [self.g.op("Sub", *biases)] if of_text not in ("", layer) else []
        return self.times(rows, f"{layer}.qkv", *added, part=slice(start, end))

    def scores(self, query: str, key: str) -> str:
        """The scores of queries (M, B, h, d / h) over keys (T, B, h, d / h): (B, h, M, T)."""
        scale = math.sqrt(self.shape.encoder.heads / self.shape.encoder.size)
        return self.g.op("FusedMatMul", query, key, transBatchA=1, transB=1, transBatchB=1, alpha=scale, domain=_OWN)

    def sums(self, shares: str, value: str) -> str:
        """Sum values (T, B, h, d / h) by their shares (B, h, M, T): (B, h, M, d / h)."""
        return self.g.op("FusedMatMul", shares, value, transBatchB=1, domain=_OWN)

    def powers(self, scores: Sequence[str], masks: Sequence[str], ones: Sequence[str]) -> tuple[list[str], str]:
        """The exponents of all scores, each (B, h, M, .), of one softmax, and what they sum to, (B, h, M, 1)."""
        g = self.g
        scores = [g.op("Add", *pair) for pair in zip(scores, masks, strict=True)]
        top = g.op("Max", *(g.op("ReduceMax", own, g.constant([-1]), keepdims=1) for own in scores))
        found = [g.op("Exp", g.op("Sub", own, top)) for own in scores]
        whole = g.op("Sum", *(g.op("MatMul", *pair) for pair in zip(found, ones, strict=True)))
        return found, g.part(whole, 0, 1, -1)

    def joined(self, sums: str) -> str:
        """Join the heads of what was summed, (B, h, M, d / h): (M B, d)."""
        return self.g.reshape(self.g.op("Transpose", sums, perm=[2, 0, 1, 3]), -1, self.shape.encoder.size)

    def after_attention(self, states: str, sums: str, layer: str, source: str, of: str = "all") -> str:
        """Add the rest of a layer, whose values are of the layer `source`: LN(x + W sums), LN(x + W2 gelu(W1 x))."""
        g, d = self.g, self.shape.encoder.size
        added = g.reshape(g.part(self.weight(f"{source}.qkv_bias"), 2 * d, 3 * d, 0), 1, d)
        bias = g.op("Gemm", added, self.weight(f"{layer}.out"), self.weight(f"{layer}.out_bias"))
        states = self.times(self.rows(sums, of=of), f"{layer}.out", g.reshape(bias, d), states)
        states = self.normalised(states, f"{layer}.norm")
        inner = self.times(self.rows(states, of=of), f"{layer}.inner", self.weight(f"{layer}.inner_bias"))
        rows = self.rows(g.op("Gelu", inner, domain=_OWN), gelu=True, of=of)
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
        key, value = (g.op("Reshape", b.projected(rows, n, layer), shape) for n in (1, 2))
        if layer in b.shape.shared:
            entered = entered if keys_values else states
            keys_values += [key, value]
            if number == own.layers - 1:
                break
        query = g.op("Reshape", b.projected(rows, 0, layer), shape)
        shares = g.op("Softmax", g.op("Add", b.scores(query, key), mask), axis=-1)
        states = b.after_attention(states, b.joined(b.sums(shares, value)), layer, layer)
    entered = g.op("Reshape", entered, g.op("Concat", around, g.constant([d]), axis=0))
    g.output(entered, "entered", ["pieces", "texts", d])
    for name, value in zip(b.shape.keys_values, keys_values, strict=True):
        g.output(value, name, ["pieces", "texts", own.heads, head])
    return g.model()


def _ask(b: Builder) -> onnx.ModelProto:
    """Build the graph that asks what was read."""
    g, own = b.g, b.shape.encoder
    targets, aspects = g.input("targets", ["pairs", own.size]), g.input("aspects", ["words", own.size])
    widths = g.input("aspect_lengths", ["aspects"], TensorProto.INT64)
    texts = g.input("texts", ["pairs"], TensorProto.INT64)
    pairs, words, inventory = (g.op("Shape", value, start=0, end=1) for value in (targets, aspects, widths))
    heads = [own.heads, own.size // own.heads]
    inputs = [g.input(name, ["pieces", "texts", *heads]) for name in b.shape.keys_values]
    of_texts = [g.op("Gather", value, texts, axis=1) for value in inputs]
    # A pair's row and a piece's enter once; from the first attention on, all rows of all pairs differ.
    enter = [g.op("Add", row, g.part(b.weight("kinds"), n, n + 1, 0)) for n, row in enumerate((targets, aspects))]
    states = g.op("Concat", *enter, axis=0)  # (P + W, d)
    first = g.op("Expand", _range(g, pairs), g.op("Concat", inventory, pairs, axis=0))
    others = g.op("Expand", g.insert(g.op("Add", _range(g, words), pairs), 1), g.op("Concat", words, pairs, axis=0))
    spread = g.reshape(g.op("Concat", first, others, axis=0), -1)  # (K P,)
    masks, ones = _beside(b, widths, inventory, words, texts, g.op("Shape", of_texts[0], start=0, end=1))
    shape = g.op("Concat", g.constant([-1]), pairs, g.constant(heads), axis=0)
    for number, source in enumerate(b.shape.shared):
        layer, last = f"{COPIES}{number}" if b.shape.untied else source, number == b.shape.late_interaction - 1
        rows = b.rows(states, of="rows" if number else "entering")
        parts = [b.projected(rows, n, layer, source) for n in range(last, 3)]
        if not number:
            states, *parts = (g.op("Gather", value, spread, axis=0) for value in (states, *parts))
        if last:  # of which no more than the first rows are needed
            masks = [g.op("Slice", mask, g.constant([0]), inventory, g.constant([-2])) for mask in masks]
            states = g.op("Slice", states, g.constant([0]), g.op("Mul", inventory, pairs), g.constant([0]))
            parts = [b.projected(b.rows(states, of="questions"), 0, layer), *parts]
        query, own_key, own_value = (g.op("Reshape", value, shape) for value in parts)
        scores = [b.scores(query, key) for key in (of_texts[2 * number], own_key)]
        powers, whole = b.powers(scores, masks, ones)
        sums = g.op("Sum", *map(b.sums, powers, (of_texts[2 * number + 1], own_value)))
        sums = b.joined(g.op("Div", sums, whole))
        states = b.after_attention(states, sums, layer, source, "questions" if last else "rows")
    mean = g.op("ReduceMean", g.op("Div", powers[0], whole), g.constant([1]), keepdims=0)
    g.output(mean, "attention", ["pairs", "aspects", "pieces"])
    hidden = g.op("Tanh", b.times(b.rows(states, of="questions"), "hidden", b.weight("hidden_bias")))
    answers = g.op("Softmax", g.op("Gemm", hidden, b.weight("output"), b.weight("output_bias")), axis=-1)
    answers = g.op("Reshape", answers, g.op("Concat", inventory, pairs, g.constant([b.shape.labels]), axis=0))
    g.output(g.op("Transpose", answers, perm=[1, 0, 2]), "probabilities", ["pairs", "aspects", b.shape.labels])
    return g.model()


def _beside(b: Builder, widths: str, inventory: str, words: str, texts: str, count: str) -> tuple[list[str], list[str]]:
    """What is added to scores of the text's pieces, (P, h, K, T), and of all rows, (K, K); ones to sum these by."""
    g = b.g
    ended = g.op("LessOrEqual", g.op("CumSum", widths, g.constant(0)), g.insert(_range(g, words), 1))  # (W, A)
    of_words = g.op("ReduceSum", g.op("Cast", ended, to=TensorProto.INT64), g.constant([1]), keepdims=0)
    owners = g.op("Concat", _range(g, inventory), of_words, axis=0)  # the aspect that each row is of, (K,)
    every, alike = g.op("Shape", owners), g.op("Equal", g.insert(owners, 1), g.insert(owners, 0))
    bias = g.op("Expand", g.default(ATTENTION_BIAS, _NOTHING), g.op("Concat", inventory, g.constant([1]), axis=0))
    lengths = g.op("Gather", g.input("lengths", ["texts"], TensorProto.INT64), texts, axis=0)
    mask = _mask(b, lengths, every, count, g.op("Gather", bias, owners, axis=0))
    ones = [g.op("Expand", g.constant(1.0), g.op("Concat", n, g.constant([_LANES]), axis=0)) for n in (count, every)]
    return [mask, g.op("Where", alike, g.constant(0.0), g.constant(MASKED))], ones


def _range(g: Graph, count: str) -> str:
    """The numbers below `count`, (1,)."""
    return g.op("Range", g.constant(0), g.op("Squeeze", count), g.constant(1))


def _mask(b: Builder, lengths: str, queries: str, count: str, bias: str = "") -> str:
    """Make what is added to scores so that nothing after a text's end is attended to, (B, h, M, T).

    Not minus infinity: numbers that are nearly too small for a float are slow. After a text's end stands its first
    piece again, so it has less than 1e-21 of that one's share, which changes no sum.
    Spread out once, because all layers add it, and rows as short as these are slow to add to many.
    """
    g = b.g
    live = g.op("Less", _range(g, count), g.insert(lengths, 1))
    mask = g.insert(g.op("Where", live, g.constant(0.0), g.constant(MASKED)), 1, 2)
    mask = g.op("Add", mask, bias) if bias else mask
    heads = g.constant([b.shape.encoder.heads])
    return g.op("Expand", mask, g.op("Concat", g.op("Shape", lengths), heads, queries, count, axis=0))


def _relative(b: Builder, count: str) -> str:
    """MPNet's term of each distance, (h, T, T)."""
    g, longest = b.g, b.shape.encoder.longest
    table = g.op("Gather", b.weight(DISTANCES), g.constant(b.shape.encoder.distance_buckets()), axis=0)
    places = _range(g, count)
    distance = g.op("Sub", g.insert(places, 1), g.op("Sub", places, g.constant(longest - 1)))
    return g.op("Transpose", g.op("Gather", table, distance, axis=0), perm=[2, 0, 1])
