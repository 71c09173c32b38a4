"""Answers as rows of a table: the input's row with a column for each pair (wide), or once for each opinion (long)."""

import warnings
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Final, NamedTuple, TypeAlias

from tabsa.errors import DataError, DataWarning
from tabsa.inference.results import PredictedOpinion
from tabsa.schema import NONE, UNNAMED, Target
from tabsa.scoring.request import Layout, Request, TableColumns
from tabsa.tables.fields import is_whole
from tabsa.tables.reading import Values

_DIGITS: Final = 6  # of a probability: more than a model's numbers are good for
_EVIDENCE: Final = "evidence"
Opinions: TypeAlias = Sequence[PredictedOpinion]
Sentences: TypeAlias = Mapping[tuple[str, str], str]  # those that carry opinions, by target and aspect


class Item(NamedTuple):
    """A row to score: the values that go to the output, the text, the targets, and those to read it for."""

    number: int
    values: Values
    text: str
    names: tuple[str, ...]
    read_for: Sequence[Target]  # mentioned, or implied


class WideLayout:
    """The input's row with a column for each pair; where rows have their own targets, for each aspect.

    The cells of a row with several targets of its own hold a value for each, in their order.
    """

    def __init__(
        self,
        request: Request,
        columns: TableColumns,
        names: tuple[str, ...] | None,
        aspects: Sequence[str],
        labels: Sequence[str],
    ) -> None:
        self._prefix, self._aspects, self._evidence = request.prefix, aspects, request.evidence
        self._shown = tuple(labels) if request.probabilities else ()
        self._silent = {label: float(label == NONE) for label in labels}
        pairs = [(name, aspect) for name in names or (UNNAMED,) for aspect in aspects]
        none = (self._cells(PredictedOpinion(name, aspect, NONE, self._silent), {}) for name, aspect in pairs)
        cells = [cell for of_pair in none for cell in of_pair]
        self._none = dict(cells) if names is not None else None
        self.added: dict[str, type] = {name: type(value) if names is not None else str for name, value in cells}
        selected = [name for name in columns.names if columns.selected is None or name in columns.selected]
        self.columns = (*selected, *(name for name, _ in cells))
        self.select = columns.select

    def _cells(self, opinion: PredictedOpinion, sentences: Sentences) -> Iterator[tuple[str, object]]:
        stem = opinion.aspect if opinion.target == UNNAMED else f"{opinion.target}/{opinion.aspect}"
        name = self._prefix + stem
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
        given = {(opinion.target, opinion.aspect): opinion for opinion in opinions}
        row = dict(item.values)
        for aspect in self._aspects:
            of_each = []
            for name in item.names:
                opinion = given.get((name, aspect)) or PredictedOpinion(name, aspect, NONE, self._silent)
                unnamed = PredictedOpinion(UNNAMED, aspect, opinion.polarity, opinion.probabilities)
                of_each.append(dict(self._cells(unnamed, {(UNNAMED, aspect): sentences.get((name, aspect), "")})))
            for column, value in of_each[0].items():
                row[column] = value if len(of_each) == 1 else ";".join(str(cells[column]) for cells in of_each)
        yield row


class LongLayout:
    """The input's row, and one opinion of it; where there is no id, the row's number goes first."""

    def __init__(
        self, request: Request, columns: TableColumns, aspects: Sequence[str], labels: Sequence[str], *, nested: bool
    ) -> None:
        prefix = request.prefix
        self._row = [f"{prefix}row"] if columns.id is None else []
        self._names = [prefix + name for name in ("target", "aspect", "polarity", "confidence")]
        self._evidence = [prefix + _EVIDENCE] if request.evidence else []
        self._probabilities = f"{prefix}probabilities" if nested else None
        self._by_label = {label: f"{prefix}probability_{label}" for label in labels}
        shares = [self._probabilities] if self._probabilities else list(self._by_label.values())
        self.added: dict[str, type] = {
            **dict.fromkeys(self._row, int),
            **dict(zip(self._names, (str, str, str, float), strict=True)),
            **dict.fromkeys(self._evidence, str),
            **dict.fromkeys(shares, float),
        }
        # Columns that are called as ours give way, unless the request names them: those of labelled data, mostly.
        selected = [name for name in columns.names if columns.selected is None or name in columns.selected]
        self._dropped = (self.added.keys() & set(selected)) - {*(request.keep or ()), columns.text, columns.id}
        if warned := sorted(self._dropped - {request.target_column}):
            which = ", ".join(map(repr, warned))
            message = f"the table's own {which} left out, because results are called so; a prefix keeps both"
            warnings.warn(message, DataWarning, stacklevel=4)
        of_input = [name for name in selected if name not in self._dropped]
        self.columns = (*self._row, *of_input, *self._names, *self._evidence, *shares)
        self._columns, self._every, self._aspects = columns, request.every, aspects
        self._silent = {label: float(label == NONE) for label in labels}

    def select(self, values: Values) -> Values:
        """Return the part of an input row that goes to the output."""
        return {name: value for name, value in self._columns.select(values).items() if name not in self._dropped}

    def rows(self, item: Item, opinions: Opinions, sentences: Sentences) -> Iterator[Values]:
        """Return the output rows of one input row, given the opinions on the targets that it was read for."""
        first = dict.fromkeys(self._row, item.number) | item.values
        if self._every:
            given = {(opinion.target, opinion.aspect): opinion for opinion in opinions}
            pairs = ((name, aspect) for name in item.names for aspect in self._aspects)
            opinions = [given.get(pair) or PredictedOpinion(*pair, NONE, self._silent) for pair in pairs]
        for opinion in opinions:
            if self._every or opinion.polarity != NONE:
                shares = {label: round(p, _DIGITS) for label, p in opinion.probabilities.items()}
                cells = (opinion.target or None, opinion.aspect, opinion.polarity, shares[opinion.polarity])
                added: Values = dict(zip(self._names, cells, strict=True))
                added |= dict.fromkeys(self._evidence, sentences.get((opinion.target, opinion.aspect), ""))
                if self._probabilities:
                    added[self._probabilities] = shares
                else:
                    added |= {self._by_label[label]: p for label, p in shares.items()}
                yield first | added


def make_layout(
    request: Request,
    columns: TableColumns,
    names: tuple[str, ...] | None,
    aspects: Sequence[str],
    labels: Sequence[str],
    *,
    nested: bool,
) -> WideLayout | LongLayout:
    """Return the request's layout. `names` are every row's targets; with `nested` a cell may hold an object."""
    if request.layout is Layout.LONG:
        layout: WideLayout | LongLayout = LongLayout(request, columns, aspects, labels, nested=nested)
    else:
        layout = WideLayout(request, columns, names, aspects, labels)
    for name, count in Counter(layout.columns).items():
        if not is_whole({name: ""}):
            raise DataError(f"the name of the column {name!r} has half a character in it; write it as UTF-8")
        if count > 1:
            raise DataError(f"the output would have two columns {name!r}", code="column_taken")
    return layout
