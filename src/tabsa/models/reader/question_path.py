"""What carries a question to its answer, from what was read of a text: all of a reader but its encoder.

Shapes at line ends use S seeds, B texts, T word pieces, M questions of a text, d dimensions.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

import torch
from torch import Tensor, nn

from tabsa.errors import ModelError
from tabsa.models.base import Network
from tabsa.models.reader.config import ReaderConfig
from tabsa.models.reader.encoder import Encoder, EncoderShape, ReadTexts
from tabsa.nn.context import Context
from tabsa.nn.rounding import fake_quantise, quantised
from tabsa.nn.seeds import Init, constant, dropout, normal, parameter, xavier
from tabsa.nn.transformer import attend, block, feed_forward, layer_norm, linear

EPSILON: Final = 1e-6  # of the question layers' normalisation
_NORMS: Final = ("norm", "last_norm")


class QuestionPath(Network):
    """The question, the layers it goes through, and the classifier at their end.

    Layers of the encoder that questions go along are the encoder's own, or, `untied`, copies that are theirs alone.
    """

    encoder: Encoder  # of a whole reader

    def __init__(
        self,
        config: ReaderConfig,
        shape: EncoderShape,
        labels: int,
        seeds: Sequence[int],
        encoder: Encoder | None = None,
    ) -> None:
        super().__init__(labels, seeds)
        self.config, self.shape = config, shape
        # Whether weights are used as int8 keeps them. A path of its own is kept in float16: what fine-tuning changes
        # is mostly less than a step of int8.
        self.rounds = config.rounded and not config.untied
        if encoder is not None:
            self.encoder = encoder
        d, starts = shape.size, self.starts()
        self.question = parameter(starts, 3 * d, d, init=_between if config.along else xavier)
        self.question_bias = parameter(starts, d, init=constant(0))
        self.add_head(starts, d)
        self.hidden = parameter(starts, d, d, init=xavier)
        self.hidden_bias = parameter(starts, d, init=constant(0))
        self.output = parameter(starts, d, labels, init=normal(0.02))
        self.output_bias = parameter(starts, labels, init=constant(0))
        if config.untied:
            sizes = {"query": (d, d), "out": (d, d), "inner": (d, shape.inner), "outer": (shape.inner, d)}
            self.along = nn.ModuleList(self._layer(starts, sizes) for _ in range(config.along))

    def add_head(self, starts: list[torch.Generator], d: int) -> None:
        """The layers of cross-attention that are the questions' own."""
        inner = self.config.inner * d
        sizes = {
            "query": (d, d), "keys_values": (d, 2 * d), "out": (d, d), "inner": (d, inner), "outer": (inner, d),
        }  # fmt: skip
        self.layers = nn.ModuleList(self._layer(starts, sizes) for _ in range(self.config.layers))

    def _layer(self, starts: list[torch.Generator], sizes: Mapping[str, tuple[int, int]]) -> nn.Module:
        layer, (d, _) = nn.Module(), sizes["query"]
        matrices: list[tuple[str, tuple[int, ...], Init]] = [(name, size, xavier) for name, size in sizes.items()]
        for name, size, init in matrices:
            layer.register_parameter(name, parameter(starts, *size, init=init))
            layer.register_parameter(f"{name}_bias", parameter(starts, size[1], init=constant(0)))
        for name in _NORMS:
            layer.register_parameter(name, parameter(starts, d, init=constant(1)))
            layer.register_parameter(f"{name}_bias", parameter(starts, d, init=constant(0)))
        return layer

    def ask(self, target: Tensor, aspect: Tensor) -> Tensor:
        """The questions after aspects, (S, B, M, d), of targets, (S, B, M, d)."""
        parts = torch.cat([target, aspect, target * aspect], dim=-1)
        return linear(parts, self.matrix(self.question), self.question_bias)

    def carry(self, question: Tensor, reading: ReadTexts, mask: Tensor, context: Context) -> Tensor:
        """Questions through all of their layers, hearing what was read: (S, B, M, d)."""
        question = self.hear(question, reading, mask, context)
        rate, shape = self.config.dropout, question.shape[1:]
        for number, layer in enumerate(self.layers):
            weights: dict[str, Tensor] = dict(layer.named_parameters())
            weights = dict(quantised(weights)) if self.rounds else weights
            query = linear(question, weights["query"], weights["query_bias"])
            if reading.own:
                key, value = reading.own[number]
            else:
                both = linear(reading.states, weights["keys_values"], weights["keys_values_bias"])
                key, value = both.chunk(2, dim=-1)
            heard = attend(query, key, value, mask, self.shape.heads)
            heard = dropout(linear(heard, weights["out"], weights["out_bias"]), rate, context, shape=shape)
            question = layer_norm(question + heard, weights["norm"], weights["norm_bias"], EPSILON)
            question = feed_forward(question, weights, epsilon=EPSILON, rate=rate, context=context)
        return question

    def hear(self, question: Tensor, reading: ReadTexts, mask: Tensor, context: Context) -> Tensor:
        """Questions, (S, B, M, d), through the encoder's last layers, or their copies."""
        shape = self.shape
        for number, heard in enumerate(reading.heard):
            question = block(
                question, self.along_weights(number), mask, heads=shape.heads, epsilon=shape.epsilon,
                rate=self.config.dropout, context=context, heard=heard,
            )  # fmt: skip
        return question

    def along_weights(self, number: int) -> dict[str, Tensor]:
        """The weights, as they are used, of a layer that questions go along."""
        if not self.config.untied:
            return self.encoder.weights(self.shape.layers - self.config.along + number)
        own: dict[str, Tensor] = dict(self.along[number].named_parameters())
        own["qkv"], own["qkv_bias"] = own.pop("query"), own.pop("query_bias")  # a block looks for its queries there
        return dict(quantised(own)) if self.rounds else own

    def matrix(self, weight: Tensor) -> Tensor:
        """A weight as it is used."""
        return fake_quantise(weight) if self.rounds else weight

    def classify(self, question: Tensor, context: Context) -> Tensor:
        """The last two layers."""
        hidden = torch.tanh(linear(question, self.matrix(self.hidden), self.hidden_bias))
        hidden = dropout(hidden, self.config.dropout, context, shape=hidden.shape[1:])
        return linear(hidden, self.output, self.output_bias)


def untied_weights(weights: Mapping[str, Any], layers: int, along: int) -> dict[str, Any]:
    """The copies of an encoder's last layers that questions start with, by name, of a reader's weights."""
    found: dict[str, Any] = {}
    for number in range(along):
        source, own = f"encoder.layers.{layers - along + number}.", f"along.{number}."
        d = weights[source + "qkv"].shape[-2]
        found[own + "query"], found[own + "query_bias"] = (
            weights[source + "qkv"][..., :d], weights[source + "qkv_bias"][..., :d],
        )  # fmt: skip
        for name in ("out", "inner", "outer", *_NORMS):
            found |= {own + name: weights[source + name], own + name + "_bias": weights[f"{source}{name}_bias"]}
    return found


def load_weights(model: Network, weights: Mapping[str, Any]) -> None:
    """Put a folder's weights, (...), into every seed of a model, (S, ...)."""
    with torch.no_grad():
        for name, tensor in model.named_parameters():
            if name not in weights:
                raise ModelError(f"the weights have no '{name}'; expected those of a reader of this shape")
            tensor.copy_(torch.as_tensor(weights[name]).expand_as(tensor))


def _between(tensor: Tensor, generator: torch.Generator) -> Tensor:
    """A question that starts between its target and its aspect, so that an encoder's layers know what to do with it."""
    tensor.normal_(0, 0.02, generator=generator)
    d = tensor.shape[-1]
    for first in (0, d):
        tensor[first : first + d].add_(0.6 * torch.eye(d))
    return tensor
