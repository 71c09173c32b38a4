"""Texts with the words of their questions behind them, for models that read both through all of their layers.

A question is `[CLS] NAME WORDS [SEP]`: the placeholder of its target, where the text names it, and the aspect's words.
Its places go on from the end of its text, for each question anew, so that no question depends on another.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tabsa.encoding.questions import Questions
from tabsa.encoding.windows import NO_SLOT

_NAME = 2  # pieces of a placeholder that are read


@dataclass(frozen=True)
class PackedTexts:
    """N texts with their questions, behind each other."""

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
    """Put the pieces of every question behind its text's; `names` are the placeholders of the slots."""
    table = np.array([(*name, *name)[:_NAME] for name in names], np.int32)
    counts = np.diff(data.first)
    text_of = np.repeat(np.arange(len(data)), counts)
    named = data.targets != NO_SLOT
    words = (aspect_pieces != NO_SLOT).sum(1)  # with the two around them
    sizes = words[data.aspects] + _NAME * named
    before = np.concatenate([[0], np.cumsum(sizes)])  # of all questions behind each other
    asked = before[data.first[1:]] - before[data.first[:-1]]  # pieces of a text's questions
    starts = np.concatenate([[0], np.cumsum(data.lengths + asked)])
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
