"""Answers as rows of a table: the input's row with a column for each pair (wide), or once for each opinion (long)."""

import warnings
from collections.abc import Iterator, Mapping, Sequence
from typing import Final, NamedTuple, TypeAlias

from tabsa.errors import DataWarning
from tabsa.inference.results import PredictedOpinion
from tabsa.schema import NONE, UNNAMED
from tabsa.scoring.request import Request, RowQuestion, TableColumns
from tabsa.tables.reading import Values

_DIGITS: Final = 6  # of a probability: more than a model's numbers are good for
_EVIDENCE, _SHARES = "evidence", "probabilities"
_NAMES: Final[dict[str, type]] = {"target": str, "aspect": str, "polarity": str, "confidence": float}
Opinions: TypeAlias = Sequence[PredictedOpinion]
Sentences: TypeAlias = Mapping[tuple[str, str], str]  # those that carry opinions, by target and aspect


class Item(NamedTuple):
    """A row to score: its number, the values that go to the output, and what is asked of it."""

    number: int
    values: Values
    question: RowQuestion


class WideLayout:
    """The input's row with a column for each pair; where rows have their own targets, for each aspect.

    The cells of a row with several targets of its own hold a value for each, in their order.
    """

    left_out: frozenset[str] = frozenset()

    def __init__(
        self,
        request: Request,
        columns: TableColumns,
        names: tuple[str, ...] | None,
        aspects: Sequence[str],
        labels: Sequence[str],
    ) -> None:
        self._aspects, self._evidence = aspects, request.evidence
        self._shown = tuple(labels) if request.probabilities else ()
        self._silent = {label: float(label == NONE) for label in labels}
        pairs = [(name, aspect) for name in names or (UNNAMED,) for aspect in aspects]
        none = (self._cells(PredictedOpinion(*pair, NONE, self._silent), {}) for pair in pairs)
        cells = [cell for of_pair in none for cell in of_pair]
        self._none = dict(cells) if names is not None else None
        self.added: dict[str, type] = {name: type(value) if names is not None else str for name, value in cells}
        self.columns = (*columns.names, *(name for name, _ in cells))

    def _cells(
        self, opinion: PredictedOpinion, sentences: Sentences, *, own: bool = False
    ) -> Iterator[tuple[str, object]]:
        unnamed = own or opinion.target == UNNAMED
        name = opinion.aspect if unnamed else f"{opinion.target}/{opinion.aspect}"
        yield name, opinion.polarity
        for label in self._shown:
            yield f"{name}/{label}", round(opinion.probabilities[label], _DIGITS)
        if self._evidence:
            yield f"{name}/{_EVIDENCE}", sentences.get((opinion.target, opinion.aspect), "")

    def rows(self, item: Item, opinions: Opinions, sentences: Sentences) -> Iterator[Values]:
        """Return the output rows of one input row, given the opinions on the targets that it was read for."""
        if self._none is not None:
            row = item.values | self._none
            for opinion in opinions:
                row.update(self._cells(opinion, sentences))
            yield row
            return
        cells: dict[str, list[object]] = {}
        for opinion in _every(item, self._aspects, opinions, self._silent):
            for column, value in self._cells(opinion, sentences, own=True):
                cells.setdefault(column, []).append(value)
        joined = {column: found[0] if len(found) == 1 else ";".join(map(str, found)) for column, found in cells.items()}
        yield item.values | joined


class LongLayout:
    """The input's row, and one opinion of it; where there is no id, the row's number goes first."""

    def __init__(
        self, request: Request, columns: TableColumns, aspects: Sequence[str], labels: Sequence[str], *, nested: bool
    ) -> None:
        self._row = ["row"] if columns.id is None else []
        self._evidence = [_EVIDENCE] if request.evidence else []
        self._by_label = None if nested else {label: f"probability_{label}" for label in labels}
        shares = [_SHARES] if self._by_label is None else list(self._by_label.values())
        self.added: dict[str, type] = {
            **dict.fromkeys(self._row, int),
            **_NAMES,
            **dict.fromkeys(self._evidence, str),
            **dict.fromkeys(shares, float),
        }
        # Columns that are called as ours give way, unless they are the texts or ids: those of labelled data, mostly.
        self.left_out = frozenset((self.added.keys() & set(columns.names)) - {columns.text, columns.id})
        if warned := sorted(self.left_out - {request.target_column}):
            which = ", ".join(map(repr, warned))
            message = f"the table's own {which} left out, because results are called so"
            warnings.warn(message, DataWarning, stacklevel=4)
        of_input = [name for name in columns.names if name not in self.left_out]
        self.columns = (*self._row, *of_input, *_NAMES, *self._evidence, *shares)
        self._every, self._aspects = request.every, aspects
        self._silent = {label: float(label == NONE) for label in labels}

    def rows(self, item: Item, opinions: Opinions, sentences: Sentences) -> Iterator[Values]:
        """Return the output rows of one input row, given the opinions on the targets that it was read for."""
        first = dict.fromkeys(self._row, item.number) | item.values
        shown = _every(item, self._aspects, opinions, self._silent) if self._every else opinions
        for opinion in shown:
            if self._every or opinion.polarity != NONE:
                shares = {label: round(p, _DIGITS) for label, p in opinion.probabilities.items()}
                cells = (opinion.target or None, opinion.aspect, opinion.polarity, shares[opinion.polarity])
                added: Values = dict(zip(_NAMES, cells, strict=True))
                added |= dict.fromkeys(self._evidence, sentences.get((opinion.target, opinion.aspect), ""))
                by_label = self._by_label
                added |= {by_label[k]: p for k, p in shares.items()} if by_label else {_SHARES: shares}
                yield first | added


def _every(item: Item, aspects: Sequence[str], opinions: Opinions, silent: dict[str, float]) -> list[PredictedOpinion]:
    """Return an opinion on each pair of a row; what was not read is silent."""
    given = {(opinion.target, opinion.aspect): opinion for opinion in opinions}
    pairs = ((name, aspect) for name in item.question.names for aspect in aspects)
    return [given.get(pair) or PredictedOpinion(*pair, NONE, silent) for pair in pairs]
