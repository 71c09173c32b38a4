"""The reader: a text is read once into states, and every question is answered from them.

    t     the mean state of the target's mentions, or the first state where the text is about it and does not name it
    A     the states of the aspect's own word pieces, which are read alone; without those of the two around them
    r_0 = t + e_0        r_i = A_i + e_1                          the rows of a question; e is `kinds`
    r_i = LN(r_i + attention(r_i, text and r)); LN(r_i + W2 gelu(W1 r_i))      in each of the encoder's last layers
    y   = R tanh(H r_0)

t, A and the rows are of the level where the first of these layers begins (`late_interaction` of them). In each, a row
attends to the text's keys and values of that level and to those of its own question's rows, under one softmax; what
MPNet adds for distances is between the text's own pieces alone. Of the last layer, only the first row is needed.

The text does not depend on the questions and no question on another, so no answer changes with what else is asked.
Shapes at line ends use S seeds, B texts, T word pieces, M questions of a text of R rows, U aspects of L word pieces.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from tabsa.errors import ModelError
from tabsa.models.base import ModelOutput, Network
from tabsa.models.reader.encoder import Arrays, Encoder, KeysValues
from tabsa.models.reader.reader_config import COPIES, EncoderShape, ReaderConfig
from tabsa.nn.attention import mean_over
from tabsa.nn.context import Context, constant, dropout, normal, parameter, xavier
from tabsa.nn.transformer import after_attention, fake_quantise, linear, padding_mask, project

Rows = tuple[Tensor, Tensor]  # of questions, (S, B, M, R, d), and which of them there are, (S, B, M, R)
Reading = tuple[Tensor, KeysValues]
_OF_LAYER = re.compile(r"encoder\.layers\.(\d+)\.(\w+)")


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
    """The way of a question to its answer: all of a reader but its encoder; `untied`, through layers of its own."""

    encoder: Encoder  # of a whole reader

    def __init__(
        self, config: ReaderConfig, shape: EncoderShape, labels: int, seeds: Sequence[int], encoder: Any = None
    ) -> None:
        super().__init__(labels, seeds)
        self.config, self.shape = config, shape
        self.late = config.late_interaction
        self.rounds = config.rounded and not config.untied  # whether weights are used as int8 stores them
        if encoder is not None:
            self.encoder = encoder
        d, starts = shape.size, self.starts()
        self.kinds = parameter(starts, 2, d, init=constant(0))
        self.add_head(starts, d)
        self.hidden = parameter(starts, d, d, init=xavier)
        self.hidden_bias = parameter(starts, d, init=constant(0))
        self.output = parameter(starts, d, labels, init=normal(0.02))
        self.output_bias = parameter(starts, labels, init=constant(0))
        if config.untied and encoder is not None:
            self.question_layers = deepcopy(encoder.layers[shape.layers - self.late :])
        elif config.untied:
            self.question_layers = nn.ModuleList(nn.Module() for _ in range(self.late))
            for layer, (name, size) in product(self.question_layers, shape.layer_sizes("").items()):
                layer.register_parameter(name, parameter(starts, *size, init=constant(0)))

    def add_head(self, starts: list[torch.Generator], d: int) -> None:
        """Make weights between the question and the classifier, in a subclass that has some."""

    def rows(self, target: Tensor, aspect: Tensor, lengths: Tensor) -> Rows:
        """Make questions of targets, (S, B, M, d), and aspects' pieces, (S, B, M, L, d), of `lengths` (S, B, M)."""
        first, others = self.kinds[:, :, None, None].unbind(1)  # (S, 1, 1, d)
        states = torch.cat([(target + first).unsqueeze(3), aspect + others.unsqueeze(3)], dim=3)
        return states, torch.arange(states.shape[3], device=states.device) <= lengths.unsqueeze(-1)

    def interact(
        self, rows: Rows, of_texts: KeysValues, mask: Tensor, context: Context, *, packed: bool = False
    ) -> Tensor:
        """Take questions through their layers, where they meet a text's keys and values: (S, B, M, d).

        `packed`, rows that only pad cost nothing; a captured graph cannot know which these are.
        """
        states, live = rows
        gather, spread = packing(live) if packed else (Tensor.contiguous, Tensor.contiguous)
        for number, of_text in enumerate(of_texts):
            weights, own = self.layer_weights(number), gather(states)
            beside = tuple(map(spread, project(own, weights, 1)))
            if number == self.late - 1:  # of which only the first rows are needed
                own, gather, spread = states[:, :, :, :1], Tensor.contiguous, Tensor.contiguous
            query = spread(project(own, weights, 0, 1)[0])
            learnt = gather(attend_beside(query, beside, live, of_text, mask, self.shape.heads))
            states = spread(after_attention(own, learnt, weights, self.shape.epsilon, self.config.dropout, context))
        return states[:, :, :, 0]

    def layer_weights(self, number: int) -> dict[str, Tensor]:
        """Return the weights, as they are used, of a layer that questions go through."""
        if self.config.untied:
            return dict(self.question_layers[number].named_parameters())
        return self.encoder.weights(self.shape.layers - self.late + number)

    def classify(self, question: Tensor, context: Context) -> Tensor:
        """Run the last two layers."""
        weight = fake_quantise(self.hidden) if self.rounds else self.hidden
        hidden = torch.tanh(linear(question, weight, self.hidden_bias))
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
        if config.late_interaction > shape.layers:
            raise ModelError(f"'late_interaction' is {config.late_interaction}; the encoder has {shape.layers} layers")
        encoder = Encoder(shape, weights, len(seeds), config.dropout, rounded=config.rounded)
        super().__init__(config, shape, labels, seeds, encoder)

    def forward(self, batch: QuestionBatch, *, context: Context) -> ModelOutput:
        """Compute logits in the number format of the context."""
        context.check(batch.pieces.device)
        half = context.products == torch.bfloat16
        with torch.autocast(batch.pieces.device.type, torch.bfloat16, enabled=half):
            logits = self.logits(batch, context)
        return ModelOutput(logits.float())

    def logits(self, batch: QuestionBatch, context: Context) -> Tensor:
        """Read, ask, answer: (S, B, M, labels)."""
        reading = self.encoder.read(batch.pieces, batch.lengths, context, self.late)
        return self.answer(batch, reading, self.questions(batch, reading[0], context), context)

    def questions(self, batch: QuestionBatch, states: Tensor, context: Context) -> Rows:
        """Make the questions of a batch, whose texts have these states where questions come in."""
        named = batch.targets.clamp(min=0).unsqueeze(-1) == batch.slots.unsqueeze(2)  # (S, B, M, T)
        implied = torch.zeros_like(named)
        implied[..., 0] = True
        target = mean_over(states, torch.where((batch.targets >= 0).unsqueeze(-1), named, implied))
        aspects, _ = self.encoder.lower(batch.aspects, batch.aspect_lengths, context, self.late)
        aspects = aspects[:, :, 1:-1]  # (S, U, L, d); where one is shorter, its last piece is one too many
        first = aspects.shape[1] * torch.arange(len(aspects), device=states.device)[:, None, None]
        at = batch.aspect_rows + first
        aspect = functional.embedding(at, aspects.flatten(2).flatten(0, 1)).view(*at.shape, *aspects.shape[2:])
        lengths = batch.aspect_lengths.flatten()[at] - 2
        return self.rows(target, aspect.to(target.dtype), lengths.clamp(min=0))

    def answer(self, batch: QuestionBatch, reading: Reading, rows: Rows, context: Context) -> Tensor:
        """Answer questions from what was read."""
        mask = padding_mask(batch.lengths, batch.pieces.shape[2])
        return self.classify(self.interact(rows, reading[1], mask, context), context)

    def rate_factors(self, *, decay: float = 1.0, head: float = 1.0) -> dict[str, float]:
        """Return layer-wise rates: `decay` less for each layer further down, `head` for what is not the encoder's."""
        depth, factors = self.encoder.shape.layers, dict[str, float]()
        for name, _ in self.named_parameters():
            layer = _OF_LAYER.fullmatch(name)
            below = depth - 1 - int(layer[1]) if layer else depth
            factors[name] = decay**below if name.startswith("encoder.") else head
        return factors


def packing(live: Tensor) -> tuple[Callable[[Tensor], Tensor], Callable[[Tensor], Tensor]]:
    """Two functions: leave out rows that only pad, (S, ..., d) to (S, N, d), for products; put rows in their places."""
    flat = live.flatten(1)
    places = flat.int().argsort(dim=1, descending=True, stable=True)[:, : int(flat.sum(1).max())]
    places = (places + flat.shape[1] * torch.arange(len(flat), device=live.device)[:, None]).flatten()

    def gather(states: Tensor) -> Tensor:
        return states.flatten(0, -2).index_select(0, places).view(len(states), -1, states.shape[-1])

    def spread(states: Tensor) -> Tensor:
        whole = states.new_zeros(live.numel(), states.shape[-1])
        return whole.index_copy(0, places, states.flatten(0, 1)).view(*live.shape, -1)

    return gather, spread


def attend_beside(
    query: Tensor, own: tuple[Tensor, ...], live: Tensor, of_text: tuple[Tensor, ...], mask: Tensor, heads: int
) -> Tensor:
    """Attend from rows (S, B, M, Q, d) to a text (S, B, T, d) and to the live rows (S, B, M, R, d) beside them."""

    def split(x: Tensor) -> Tensor:
        return x.reshape(*x.shape[:-1], heads, -1).movedim(-2, 2)  # (S, B, h, ..., d / h)

    query = split(query) * (heads / query.shape[-1]) ** 0.5
    key, value, own_key, own_value = map(split, (*of_text, *own))
    beside = query.flatten(3, 4) @ key.mT + mask  # (S, B, h, M Q, T)
    among = (query @ own_key.mT).masked_fill(~live[:, :, None, :, None], -torch.inf)  # (S, B, h, M, Q, R)
    shares = torch.cat([beside.view(*among.shape[:-1], -1), among], dim=-1).softmax(-1).to(value.dtype)
    beside, among = shares.tensor_split([key.shape[3]], dim=-1)
    learnt = (beside.flatten(3, 4) @ value).view_as(query) + among @ own_value
    return learnt.movedim(2, -2).flatten(-2)


def untied_weights(weights: Mapping[str, Any], layers: int, late_interaction: int) -> dict[str, Any]:
    """Copy an encoder's last layers, as questions start with them, by name, of a reader's weights."""
    first, found = layers - late_interaction, [(_OF_LAYER.fullmatch(name), weights[name]) for name in weights]
    return {f"{COPIES}{int(m[1]) - first}.{m[2]}": array for m, array in found if m and int(m[1]) >= first}


def load_weights(model: Network, weights: Mapping[str, Any]) -> None:
    """Put a folder's weights, (...), into every seed of a model, (S, ...)."""
    with torch.no_grad():
        for name, tensor in model.named_parameters():
            if name not in weights:
                raise ModelError(f"the weights have no '{name}'; expected those of a reader of this shape")
            tensor.copy_(torch.as_tensor(weights[name]).expand_as(tensor))
