"""The words of a batch as rows of a table, spread out into vectors no further than a path needs."""

from typing import NamedTuple

from torch import Tensor


class Words(NamedTuple):
    """Vectors that are not trained, and what a sentence's are multiplied by."""

    table: Tensor  # (V, d)
    rows: Tensor  # (G, B, T)
    factor: Tensor | None = None  # (G, B, d)

    def padded(self) -> Tensor:
        """All of them, (G, B, T, d)."""
        words = self.table[self.rows]
        return words if self.factor is None else words * self.factor.unsqueeze(2)

    def at(self, place: Tensor, sentence: Tensor) -> Tensor:
        """Some of them, (G, P, d): `place` in (B x T), and the sentence that each is of."""
        words = self.table[self.rows.flatten(1).index_select(1, place)]
        return words if self.factor is None else words * self.factor.index_select(1, sentence)
