"""The reader: a text is read once into states, and every question is answered from them.

    t   the mean state of the target's mentions, or the first state where the text is about it and does not name it
    a   the mean state of the aspect's own words, read by the same encoder
    q   = W [t; a; t * a]                                   the question
    q   = LN(q + attention(q, states)); LN(q + W2 gelu(W1 q))      in each question layer
    y   = R tanh(H q)

Questions can go through the encoder's own last layers (`along`): q is then made where the first of these begins, and
each layer attends to the text's states of its own level. A large model can read the words of each question through all
of its layers (`through`): better, and many times the work.

The text does not depend on the questions and no question on another, so no answer changes with what else is asked.
Shapes at line ends use S seeds, B texts, T word pieces, M questions of a text, U aspects, d dimensions.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, Final

import torch
from torch import Tensor, nn
from torch.nn import functional

from tabsa.errors import ModelError
from tabsa.models.base import Answer, Network
from tabsa.models.reader.encoder import Arrays, Encoder, EncoderShape, ReadTexts
from tabsa.models.reader.reader_config import ReaderConfig
from tabsa.nn.attention import mean_over
from tabsa.nn.context import Context, Init, constant, dropout, normal, parameter, xavier
from tabsa.nn.transformer import attend, block, fake_quantise, feed_forward, layer_norm, linear, padding_mask, quantised

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


@dataclass(frozen=True)
class QuestionBatch:
    """Texts and what is asked of them; each seed has its own."""

    pieces: Tensor  # (S, B, T)
    lengths: Tensor  # (S, B)
    slots: Tensor  # the slot of the target that a piece stands for, -1 for none, (S, B, T)
    aspects: Tensor  # word pieces of the aspects that are asked of any of the texts, (S, U, L)
    aspect_lengths: Tensor  # (S, U)
    targets: Tensor  # the slot of each question's target, -1 where the text only implies it, (S, B, M)
    asked: Tensor  # the row in `aspects` of its aspect, (S, B, M)
    labels: Tensor  # UNLABELLED where there is no question, (S, B, M)
    soft_labels: Tensor | None = None  # (S, B, M, labels)
    # Where questions are read through all layers, `pieces` has theirs behind the text's.
    owners: Tensor | None = None  # 0 for the text's pieces, 1 for those of its first question, ..., (S, B, T)
    places: Tensor | None = None  # where each piece stands, (S, B, T)

    def pinned(self) -> "QuestionBatch":
        """The same in memory that a GPU copies from without waiting."""
        return self._mapped(lambda tensor: tensor.pin_memory())

    def cloned(self) -> "QuestionBatch":
        """The same in memory of its own."""
        return self._mapped(lambda tensor: tensor.clone())

    def to(self, device: torch.device) -> "QuestionBatch":
        """The same on a device."""
        return self._mapped(lambda tensor: tensor.to(device, non_blocking=True))

    def expanded(self, seeds: int) -> "QuestionBatch":
        """What one seed is asked, asked of several."""
        return self._mapped(lambda tensor: tensor.expand(seeds, *tensor.shape[1:]))

    def _mapped(self, change: Callable[[Tensor], Tensor]) -> "QuestionBatch":
        own = {field.name: getattr(self, field.name) for field in fields(self)}
        changed: dict[str, Any] = {name: None if value is None else change(value) for name, value in own.items()}
        return QuestionBatch(**changed)


class Reader(QuestionPath):
    """An encoder with question layers."""

    capturable = True
    fused = True

    def __init__(
        self, config: ReaderConfig, shape: EncoderShape, weights: Arrays, labels: int, seeds: Sequence[int]
    ) -> None:
        if config.depth:
            shape = replace(shape, layers=min(config.depth, shape.layers))
        if config.along > shape.layers:
            raise ModelError(f"questions go along {config.along} layers; the encoder has {shape.layers}")
        if config.along and config.through:
            raise ModelError("'along' and 'through' are two ways for a question; expected one of them")
        encoder = Encoder(shape, weights, len(seeds), config.dropout, rounded=config.rounded)
        super().__init__(config, shape, labels, seeds, encoder)
        if config.untied:
            own = {f"encoder.{name}": tensor for name, tensor in encoder.named_parameters()}
            copies = untied_weights(own, shape.layers, config.along)
            with torch.no_grad():
                for name, tensor in self.along.named_parameters():
                    tensor.copy_(copies[f"along.{name}"])

    def forward(self, batch: QuestionBatch, *, context: Context) -> Answer:
        """Read, ask, answer: logits (S, B, M, labels)."""
        context.check(batch.pieces.device)
        half = context.products == torch.bfloat16
        with torch.autocast(batch.pieces.device.type, torch.bfloat16, enabled=half):
            if batch.owners is not None:
                logits = self.classify(self.read_through(batch, context), context)
            else:
                reading = self.encoder.read(batch.pieces, batch.lengths, context, along=self.config.along)
                question = self.questions(batch, reading.entered, self.aspect_states(batch, context))
                logits = self.answer(batch, reading, question, context)
        return Answer(logits.float())

    def read_through(self, batch: QuestionBatch, context: Context) -> Tensor:
        """The mean state of the pieces of each question, read beside its text: (S, B, M, d)."""
        if batch.owners is None or batch.places is None:
            raise ValueError("the questions of this batch have no pieces")
        states = self.encoder.read_through(batch.pieces, batch.places, batch.owners, batch.lengths, context)
        number = torch.arange(1, batch.labels.shape[2] + 1, device=states.device)
        own = batch.owners.unsqueeze(2) == number[:, None]  # (S, B, M, T)
        return mean_over(states, own)

    def aspect_states(self, batch: QuestionBatch, context: Context) -> Tensor:
        """The mean state of each aspect's word pieces, the encoder's own two included: (S, U, d)."""
        states = self.encoder.read(batch.aspects, batch.aspect_lengths, context, along=self.config.along).states
        live = torch.arange(batch.aspects.shape[-1], device=states.device) < batch.aspect_lengths.unsqueeze(-1)
        return mean_over(states, live.unsqueeze(2)).squeeze(2)

    def target_states(self, batch: QuestionBatch, states: Tensor) -> Tensor:
        """The state of each question's target: (S, B, M, d)."""
        named = batch.targets.clamp(min=0).unsqueeze(-1) == batch.slots.unsqueeze(2)  # (S, B, M, T)
        first = torch.zeros_like(named)
        first[..., 0] = True
        return mean_over(states, torch.where((batch.targets >= 0).unsqueeze(-1), named, first))

    def questions(self, batch: QuestionBatch, states: Tensor, aspects: Tensor) -> Tensor:
        """What is asked, as vectors: (S, B, M, d)."""
        target = self.target_states(batch, states)
        first = aspects.shape[1] * torch.arange(len(aspects), device=states.device)[:, None, None]
        aspect = functional.embedding(batch.asked + first, aspects.flatten(0, 1)).to(target.dtype)  # (S, B, M, d)
        return self.ask(target, aspect)

    def answer(self, batch: QuestionBatch, reading: ReadTexts, question: Tensor, context: Context) -> Tensor:
        """What was read says to each question."""
        mask = padding_mask(batch.lengths, batch.pieces.shape[-1])
        return self.classify(self.carry(question, reading, mask, context), context)

    def rate_factors(self, *, decay: float = 1.0, head: float = 1.0) -> dict[str, float]:
        """Layer-wise rates: `decay` less for each layer further down, `head` for what is not the encoder's."""
        depth = self.encoder.shape.layers
        factors = {}
        for name, _ in self.named_parameters():
            match name.split("."):
                case ["encoder", "layers", number, *_]:
                    factors[name] = decay ** (depth - 1 - int(number))
                case ["encoder", *_]:
                    factors[name] = decay**depth
                case _:
                    factors[name] = head
        return factors
