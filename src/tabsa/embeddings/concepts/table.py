"""A table of concepts, and which of them stand in a sentence."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from tabsa.embeddings.concepts.forms import forms
from tabsa.embeddings.sources import VectorSource


@dataclass(frozen=True, eq=False)
class ConceptTable:
    """Concepts, words joined with _, and a vector each. Row 0 is no concept: its name is empty and its vector 0."""

    names: tuple[str, ...]
    matrix: NDArray[np.float32]  # (concepts + 1, e)
    source: VectorSource | None = None

    def __post_init__(self) -> None:
        if len(self.names) != len(self.matrix) or self.names[:1] != ("",) or self.matrix[:1].any():
            raise ValueError("a table of concepts needs one vector a name, and an empty name with the vector 0 first")

    def __len__(self) -> int:
        return len(self.names) - 1

    @cached_property
    def index(self) -> dict[str, int]:
        """The row of each concept."""
        return {name: row for row, name in enumerate(self.names) if row}

    @cached_property
    def beginnings(self) -> frozenset[str]:
        """What a concept of several words begins with, up to any of its joints."""
        return frozenset(name[:end] for name in self.names for end, letter in enumerate(name) if letter == "_")

    def match(self, words: Sequence[str]) -> NDArray[np.int32]:
        """The row of the concept that each word is part of, 0 where it is part of none.

        From left to right, the longest phrase that is a concept is taken, and all its words get its row. A word
        counts in its own form before any form it may be an inflection of.
        """
        rows = np.zeros(len(words), np.int32)
        start = 0
        while start < len(words):
            length, row = self._longest(words, start)
            rows[start : start + length] = row
            start += max(1, length)
        return rows

    def _longest(self, words: Sequence[str], start: int) -> tuple[int, int]:
        """How many words the longest concept that begins at `start` has, and its row; (0, 0) where there is none."""
        found = (0, 0)
        open_phrases = [""]
        for end in range(start, len(words)):
            of_word = forms(words[end])
            phrases = [f"{phrase}_{form}" if phrase else form for phrase in open_phrases for form in of_word]
            row = next((self.index[phrase] for phrase in phrases if phrase in self.index), 0)
            if row:
                found = (end + 1 - start, row)
            open_phrases = [phrase for phrase in phrases if phrase in self.beginnings]
            if not open_phrases:
                break
        return found
