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

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from tabsa.errors import ModelError
from tabsa.models.base import Answer
from tabsa.models.reader.config import ReaderConfig
from tabsa.models.reader.encoder import Arrays, Encoder, EncoderShape, ReadTexts
from tabsa.models.reader.question_path import QuestionPath, untied_weights
from tabsa.nn.attention import mean_over
from tabsa.nn.context import Context
from tabsa.nn.transformer import padding_mask


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
