"""Cross-encoding teachers: every question is read with its text, which no reader in use could afford.

Texts stand with the words of their questions after them. A question is `[CLS] NAME WORDS [SEP]`: the placeholder of its
target, where the text names it, and the aspect's words. Its places go on from the end of its text, for each question
anew, so that no question depends on another. A text's pieces attend to each other; a question's attend to the text and
to each other. `repro/reader/run.py` makes the system known, as a configuration's `kind`.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

from tabsa.config import option
from tabsa.encoding.pieces import NO_SLOT
from tabsa.encoding.questions import Questions
from tabsa.errors import DataError
from tabsa.models.reader.reader_config import ReaderConfig
from tabsa.models.reader.reader_network import QuestionBatch, Reader
from tabsa.models.registry import SYSTEMS
from tabsa.nn.attention import mean_over
from tabsa.nn.context import Context
from tabsa.training.question_data import PreparedQuestions
from tabsa.training.question_training import Batches, ReaderTrainer

_NAME: Final = 2  # pieces of a placeholder that are read
CROSS_ENCODER: Final = replace(
    SYSTEMS["reader-large"],
    name="cross-encoder",
    about="a reader that reads the words of each question in all layers beside the text: a teacher",
    config=f"{__name__}:CrossEncoderConfig",
    network=f"{__name__}:CrossEncoder",
    graph="",
    engine="",
)


@dataclass(frozen=True, kw_only=True)
class CrossEncoderConfig(ReaderConfig):
    """A reader's choices."""

    late_interaction: int = option(0, "none: a question's words are read in all layers", low=0, high=0)


@dataclass(frozen=True, kw_only=True)
class CrossEncodedBatch(QuestionBatch):
    """Texts whose `pieces` have those of their questions after them."""

    owners: Tensor  # 0 for the text's pieces, 1 for those of its first question, ..., (S, B, T)
    places: Tensor  # where each piece stands, (S, B, T)


class CrossEncoder(Reader):
    """An encoder that reads texts with their questions."""

    def logits(self, batch: QuestionBatch, context: Context) -> Tensor:
        """Answer each question from the mean state of its pieces: (S, B, M, labels)."""
        if not isinstance(batch, CrossEncodedBatch):
            raise TypeError("the questions of this batch have no pieces")
        states = self.cross_encode(batch, context)
        number = torch.arange(1, batch.labels.shape[2] + 1, device=states.device)
        own = mean_over(states, batch.owners.unsqueeze(2) == number[:, None])  # over (S, B, M, T)
        return self.classify(own, context)

    def cross_encode(self, batch: CrossEncodedBatch, context: Context) -> Tensor:
        """The states of texts and questions, each piece in its place: (S, B, T, d)."""
        encoder, pieces, places, owners = self.encoder, batch.pieces, batch.places, batch.owners
        first = encoder.shape.longest * torch.arange(len(pieces), device=pieces.device)[:, None, None]
        states = encoder.embedded(pieces, functional.embedding(places + first, encoder.places.flatten(0, 1)), context)
        live = torch.arange(pieces.shape[2], device=pieces.device) < batch.lengths.unsqueeze(-1)  # (S, B, T)
        visible = (owners.unsqueeze(2) == 0) | (owners.unsqueeze(2) == owners.unsqueeze(3))  # (S, B, T, T)
        visible = visible & live.unsqueeze(2)
        mask = torch.zeros(visible.shape, device=pieces.device).masked_fill(~visible, -torch.inf).unsqueeze(2)
        if encoder.distances is not None:  # as they were learnt before: the gradient of such an index is slow
            # Of the key behind the query.
            distance = places.unsqueeze(2) - places.unsqueeze(3) + encoder.shape.longest - 1
            biases = encoder.buckets @ encoder.distances.detach()  # type: ignore[operator]  # (S, 2 P - 1, h)
            mask = mask + torch.stack([own[at].movedim(-1, 1) for own, at in zip(biases, distance, strict=True)])
        mask = mask.to(context.products) if context.products == torch.bfloat16 else mask
        for number in range(encoder.shape.layers):
            states = encoder.layer(context)(states, encoder.weights(number), mask)
        return states


@dataclass(frozen=True)
class PackedTexts:
    """N texts, each with its questions after it."""

    pieces: NDArray[np.int32]
    owners: NDArray[np.int16]  # 0 for a text's own pieces, 1 for those of its first question, ...
    places: NDArray[np.int16]
    starts: NDArray[np.int64]  # (N + 1,)

    @property
    def lengths(self) -> NDArray[np.int64]:
        """Pieces of each text and its questions."""
        return np.diff(self.starts)


def packed_texts(
    data: Questions, aspect_pieces: NDArray[np.int32], first: int, last: int, names: Sequence[Sequence[int]]
) -> PackedTexts:
    """Put the pieces of every question after its text's; `names` are the placeholders of the slots."""
    table = np.array([(*name, *name)[:_NAME] for name in names], np.int32)
    counts = np.diff(data.first)
    text_of = np.repeat(np.arange(len(data)), counts)
    named = data.targets != NO_SLOT
    words = (aspect_pieces != NO_SLOT).sum(1)  # with the two around them
    sizes = words[data.aspects] + _NAME * named
    before = np.concatenate([[0], np.cumsum(sizes)])  # of all questions
    own_pieces = before[data.first[1:]] - before[data.first[:-1]]  # pieces of a text's questions
    starts = np.concatenate([[0], np.cumsum(data.lengths + own_pieces)])
    pieces = np.empty(starts[-1], np.int32)
    owners = np.zeros(starts[-1], np.int16)
    places = np.empty(starts[-1], np.int16)

    own = np.repeat(np.arange(len(data)), data.lengths - 2)
    inside = np.arange(len(data.pieces)) - data.starts[own] + 1
    pieces[starts[own] + inside] = data.pieces
    places[starts[own] + inside] = inside
    pieces[starts[:-1]], places[starts[:-1]] = first, 0
    pieces[starts[:-1] + data.lengths - 1] = last
    places[starts[:-1] + data.lengths - 1] = data.lengths - 1

    question = np.repeat(np.arange(len(sizes)), sizes)
    number = np.arange(before[-1]) - before[question]  # of a piece in its question
    text = text_of[question]
    at = starts[text] + data.lengths[text] + before[question] + number - before[data.first[text]]
    shift = _NAME * named[question]
    is_name = (number > 0) & (number <= shift)
    column = np.maximum(number - shift, 0)
    slot = np.where(is_name, data.targets[question], 0)
    name = table[np.minimum(slot, len(table) - 1), np.clip(number - 1, 0, _NAME - 1)]
    pieces[at] = np.where(is_name, name, aspect_pieces[data.aspects[question], column])
    owners[at] = question - data.first[text] + 1
    places[at] = data.lengths[text] + number + np.where((number > 0) & (shift == 0), _NAME, 0)
    return PackedTexts(pieces, owners, places, starts)


class CrossEncodedBatches(Batches):
    """Texts with their questions as batches for a model that reads both together."""

    made = CrossEncodedBatch

    def __init__(self, model: Reader, prepared: PreparedQuestions, data: Questions) -> None:
        super().__init__(model, prepared, data)
        known, longest = self.known, model.encoder.shape.longest
        self.packed = packed_texts(data, self.aspects, known.first, known.last, known.placeholders)
        if int(self.packed.places.max(initial=0)) >= longest:
            raise DataError(f"a text and its question have over {longest} pieces; try a lower 'data.max_length'")
        self.lengths = self.packed.lengths

    def texts(self, rows: NDArray[np.int64], number: NDArray[np.int64]) -> dict[str, NDArray[Any]]:
        """The texts with their questions' pieces behind them, and no table of aspects."""
        packed, lengths = self.packed, self.lengths[rows]
        place = np.arange(int(lengths.max()))
        inside = place < lengths[..., None]
        index = np.where(inside, packed.starts[rows][..., None] + place, 0)  # (S, B, T)
        return {
            "pieces": np.where(inside, packed.pieces[index], self.known.padding),
            "owners": np.where(inside, packed.owners[index], 0),
            "places": np.where(inside, packed.places[index], 0),
            "slots": np.full(index.shape, NO_SLOT),
            "aspects": np.zeros((len(rows), 1, 1)),
            "aspect_lengths": np.ones((len(rows), 1)),
            "aspect_rows": np.zeros_like(number),
        }


class CrossEncodingTrainer(ReaderTrainer):
    """A run of such a teacher."""

    arrange = CrossEncodedBatches


def trainer_class(model: Reader) -> type[ReaderTrainer]:
    """The class that trains a model, by how it reads questions."""
    return CrossEncodingTrainer if isinstance(model, CrossEncoder) else ReaderTrainer
