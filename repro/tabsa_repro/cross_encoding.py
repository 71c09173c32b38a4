"""Cross-encoding teachers: every question is read with its text, which no reader in use could afford.

Texts stand with the words of their questions after them. A question is `[CLS] NAME WORDS [SEP]`: the placeholder of its
target, where the text names it, and the aspect's words. Its places go on from the end of its text, for each question
anew, so that no question depends on another.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from tabsa.encoding.pieces import NO_SLOT
from tabsa.encoding.questions import Questions
from tabsa.errors import DataError
from tabsa.models.reader.reader_network import Reader
from tabsa.training.question_data import PreparedQuestions
from tabsa.training.question_training import Batches, ReaderTrainer

_NAME: Final = 2  # pieces of a placeholder that are read


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
    return CrossEncodingTrainer if model.config.cross_encode else ReaderTrainer
