"""A passage that was read once and is asked again and again, each time with some of its words out of hearing.

A question goes through its layers as one more row that attends to the passage's keys and values. Leaving out those of
a word (attention knockout: Geva et al., 2023) asks what the answer would be had the question not heard the word, and
costs one row, where leaving the word out of the text costs a whole reading.
"""

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from tabsa.encoding.pieces import NO_SLOT, PiecePassage
from tabsa.models.reader.storage import BEHIND, UNHEARD
from tabsa.schema import Span

if TYPE_CHECKING:
    from tabsa.models.reader.engine import ReaderEngine

_AT_ONCE = 256  # ways of hearing that are asked at a time


class ReaderPassage:
    """One passage's states, and what questions hear of it (an `encoding.OpenedPassage`)."""

    def __init__(self, engine: "ReaderEngine", passage: PiecePassage) -> None:
        self.engine = engine
        self.spans = tuple(Span(piece.start, piece.end) for piece in passage.pieces)
        self.slots = tuple(None if piece.slot == NO_SLOT else piece.slot for piece in passage.pieces)
        self.targets, self.inputs = engine.open_states(passage)

    def ask(self, slot: int, aspect: str, heard: NDArray[np.bool_]) -> NDArray[np.float32]:
        """The probabilities where each row of `heard`, (M, pieces), says what a question hears: (M, labels).

        The two pieces around a text are always heard.
        """
        engine, count, length = self.engine, len(heard), len(self.spans) + 2
        unheard = np.zeros((max(count, 2), length), np.float32)  # one row alone would be rounded otherwise
        unheard[:count, 1:-1][~heard] = BEHIND
        vector = engine.aspect_vectors([aspect])
        inputs = {
            **self.inputs,
            "lengths": np.array([length], np.int64),
            "texts": np.zeros(1, np.int64),
            "targets": self.targets[slot : slot + 1],
        }
        said = [
            engine.ask_once({**inputs, "aspects": np.repeat(vector, len(rows), axis=0), UNHEARD: rows})[0]
            for rows in np.array_split(unheard, -(-len(unheard) // _AT_ONCE))
        ]
        answers = np.concatenate(said)[:count]
        if engine.calibration is not None:
            answers = engine.calibration.apply(answers.astype(np.float64)).astype(np.float32)
        return answers
