"""The reader: a text is read once into states, and every question is answered from them.

    t   the mean state of the target's mentions, or the first state where the text is about it and does not name it
    a   the mean state of the aspect's own words, read by the same encoder
    q   = W [t; a; t * a]                                   the question
    q   = LN(q + attention(q, states)); LN(q + W2 gelu(W1 q))      in each of the encoder's last layers
    y   = R tanh(H q)

q is made where the first of these layers begins (`late_interaction` of them), and attends in each to the text's states
of that level.

The text does not depend on the questions and no question on another, so no answer changes with what else is asked.
Shapes at line ends use S seeds, B texts, T word pieces, M questions of a text, U aspects, d dimensions.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from tabsa.errors import ModelError
from tabsa.models.base import ModelOutput, Network
from tabsa.models.reader.encoder import Arrays, EncodedTexts, Encoder
from tabsa.models.reader.reader_config import EncoderShape, ReaderConfig, ReaderShape
from tabsa.nn.attention import mean_over
from tabsa.nn.context import Context, constant, dropout, normal, parameter, xavier
from tabsa.nn.transformer import block, fake_quantise, linear, padding_mask, quantised

_COPIES = "question_layers."


@dataclass(frozen=True)
class QuestionBatch:
    """Texts and the questions about them; each seed has its own."""

    pieces: Tensor  # (S, B, T)
    lengths: Tensor  # (S, B)
    slots: Tensor  # the slot of the target that a piece stands for, -1 for none, (S, B, T)
    aspects: Tensor  # word pieces of the aspects in any question about the texts, (S, U, L)
    aspect_lengths: Tensor  # (S, U)
    targets: Tensor  # the slot of each question's target, -1 where the text only implies it, (S, B, M)
    aspect_rows: Tensor  # the row in `aspects` of its aspect, (S, B, M)
    labels: Tensor  # UNLABELLED where there is no question, (S, B, M)
    soft_labels: Tensor | None = None  # (S, B, M, labels)

    def to(self, device: torch.device) -> "QuestionBatch":
        """Copy it to a device."""
        return self.mapped(lambda tensor: tensor.to(device, non_blocking=True))

    def mapped(self, change: Callable[[Tensor], Tensor]) -> "QuestionBatch":
        """Change every tensor in one way."""
        return replace(self, **{name: change(value) for name, value in vars(self).items() if value is not None})


class QuestionPath(Network):
    """The way of a question to its answer: all of a reader but its encoder.

    The layers that questions go through are the encoder's own, or, `untied`, copies that are theirs alone.
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
        self.late = config.late_interaction
        self.rounds = config.rounded and not config.untied  # whether weights are used as int8 stores them
        if encoder is not None:
            self.encoder = encoder
        d, starts = shape.size, self.starts()
        self.question = parameter(starts, 3 * d, d, init=_between if self.late else xavier)
        self.question_bias = parameter(starts, d, init=constant(0))
        self.add_head(starts, d)
        self.hidden = parameter(starts, d, d, init=xavier)
        self.hidden_bias = parameter(starts, d, init=constant(0))
        self.output = parameter(starts, d, labels, init=normal(0.02))
        self.output_bias = parameter(starts, labels, init=constant(0))
        if config.untied:
            sizes = ReaderShape(shape, self.late, labels, untied=True).weight_sizes()
            self.question_layers = nn.ModuleList(nn.Module() for _ in range(self.late))
            for name, size in sizes.items():
                if name.startswith(_COPIES):
                    _, number, own = name.split(".")
                    copy = parameter(starts, *size, init=constant(0))
                    self.question_layers[int(number)].register_parameter(own, copy)

    def add_head(self, starts: list[torch.Generator], d: int) -> None:
        """Make weights between the question and the classifier, in a subclass that has some."""

    def ask(self, target: Tensor, aspect: Tensor) -> Tensor:
        """Make the questions after aspects, (S, B, M, d), of targets, (S, B, M, d)."""
        parts = torch.cat([target, aspect, target * aspect], dim=-1)
        return linear(parts, self.matrix(self.question), self.question_bias)

    def interact(
        self, question: Tensor, keys_values: Sequence[tuple[Tensor, Tensor]], mask: Tensor, context: Context
    ) -> Tensor:
        """Take questions, (S, B, M, d), through their layers, where they attend to a text's keys and values."""
        for number, of_text in enumerate(keys_values):
            question = block(
                question, self.layer_weights(number), mask, heads=self.shape.heads, epsilon=self.shape.epsilon,
                rate=self.config.dropout, context=context, keys_values=of_text,
            )  # fmt: skip
        return question

    def layer_weights(self, number: int) -> dict[str, Tensor]:
        """Return the weights, as they are used, of a layer that questions go through."""
        if not self.config.untied:
            return self.encoder.weights(self.shape.layers - self.late + number)
        own: dict[str, Tensor] = dict(self.question_layers[number].named_parameters())
        own["qkv"], own["qkv_bias"] = own.pop("query"), own.pop("query_bias")  # a block looks for its queries there
        return quantised(own) if self.rounds else own

    def matrix(self, weight: Tensor) -> Tensor:
        """Return a weight as it is used."""
        return fake_quantise(weight) if self.rounds else weight

    def classify(self, question: Tensor, context: Context) -> Tensor:
        """Run the last two layers."""
        hidden = torch.tanh(linear(question, self.matrix(self.hidden), self.hidden_bias))
        hidden = dropout(hidden, self.config.dropout, context, shape=hidden.shape[1:])
        return linear(hidden, self.output, self.output_bias)


class Reader(QuestionPath):
    """An encoder, and questions about what it has read."""

    capturable = True
    fused = True

    def __init__(
        self, config: ReaderConfig, shape: EncoderShape, weights: Arrays, labels: int, seeds: Sequence[int]
    ) -> None:
        if config.depth:
            shape = replace(shape, layers=min(config.depth, shape.layers))
        encoder = Encoder(shape, weights, len(seeds), config.dropout, rounded=config.rounded)
        super().__init__(config, shape, labels, seeds, encoder)
        if self.late > shape.layers:
            raise ModelError(f"'late_interaction' is {self.late}; the encoder has {shape.layers} layers")
        if config.untied:
            own = {f"encoder.{name}": tensor for name, tensor in encoder.named_parameters()}
            copies = untied_weights(own, shape.layers, self.late)
            with torch.no_grad():
                for name, tensor in self.question_layers.named_parameters():
                    tensor.copy_(copies[_COPIES + name])

    def forward(self, batch: QuestionBatch, *, context: Context) -> ModelOutput:
        """Compute logits in the number format of the context."""
        context.check(batch.pieces.device)
        half = context.products == torch.bfloat16
        with torch.autocast(batch.pieces.device.type, torch.bfloat16, enabled=half):
            logits = self.logits(batch, context)
        return ModelOutput(logits.float())

    def logits(self, batch: QuestionBatch, context: Context) -> Tensor:
        """Read, ask, answer: (S, B, M, labels)."""
        reading = self.read(batch.pieces, batch.lengths, context)
        question = self.questions(batch, reading.entered, self.aspect_states(batch, context))
        return self.answer(batch, reading, question, context)

    def read(self, pieces: Tensor, lengths: Tensor, context: Context) -> EncodedTexts:
        """Read texts as questions need them."""
        return self.encoder.read(pieces, lengths, context, late_interaction=self.late)

    def aspect_states(self, batch: QuestionBatch, context: Context) -> Tensor:
        """Compute the mean state of each aspect's word pieces, the encoder's own two included: (S, U, d)."""
        states = self.read(batch.aspects, batch.aspect_lengths, context).states
        live = torch.arange(batch.aspects.shape[-1], device=states.device) < batch.aspect_lengths.unsqueeze(-1)
        return mean_over(states, live.unsqueeze(2)).squeeze(2)

    def questions(self, batch: QuestionBatch, states: Tensor, aspects: Tensor) -> Tensor:
        """Make the questions of a batch: (S, B, M, d)."""
        named = batch.targets.clamp(min=0).unsqueeze(-1) == batch.slots.unsqueeze(2)  # (S, B, M, T)
        implied = torch.zeros_like(named)
        implied[..., 0] = True
        target = mean_over(states, torch.where((batch.targets >= 0).unsqueeze(-1), named, implied))
        first = aspects.shape[1] * torch.arange(len(aspects), device=states.device)[:, None, None]
        aspect = functional.embedding(batch.aspect_rows + first, aspects.flatten(0, 1)).to(target.dtype)  # (S, B, M, d)
        return self.ask(target, aspect)

    def answer(self, batch: QuestionBatch, reading: EncodedTexts, question: Tensor, context: Context) -> Tensor:
        """Answer questions from what was read."""
        mask = padding_mask(batch.lengths, batch.pieces.shape[-1])
        return self.classify(self.interact(question, reading.keys_values, mask, context), context)

    def rate_factors(self, *, decay: float = 1.0, head: float = 1.0) -> dict[str, float]:
        """Return layer-wise rates: `decay` less for each layer further down, `head` for what is not the encoder's."""
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


def untied_weights(weights: Mapping[str, Any], layers: int, late_interaction: int) -> dict[str, Any]:
    """Copy an encoder's last layers, as questions start with them, by name, of a reader's weights."""
    found: dict[str, Any] = {}
    for number in range(late_interaction):
        source, own = f"encoder.layers.{layers - late_interaction + number}.", f"{_COPIES}{number}."
        d = weights[source + "qkv"].shape[-2]
        for bias in ("", "_bias"):
            found[f"{own}query{bias}"] = weights[f"{source}qkv{bias}"][..., :d]
            copied = ("out", "inner", "outer", "norm", "last_norm")
            found |= {f"{own}{n}{bias}": weights[f"{source}{n}{bias}"] for n in copied}
    return found


def load_weights(model: Network, weights: Mapping[str, Any]) -> None:
    """Put a folder's weights, (...), into every seed of a model, (S, ...)."""
    with torch.no_grad():
        for name, tensor in model.named_parameters():
            if name not in weights:
                raise ModelError(f"the weights have no '{name}'; expected those of a reader of this shape")
            tensor.copy_(torch.as_tensor(weights[name]).expand_as(tensor))


def _between(tensor: Tensor, generator: torch.Generator) -> Tensor:
    """Start a question between its target and its aspect, so that an encoder's layers know what to do with it."""
    tensor.normal_(0, 0.02, generator=generator)
    d = tensor.shape[-1]
    for first in (0, d):
        tensor[first : first + d].add_(0.6 * torch.eye(d))
    return tensor
