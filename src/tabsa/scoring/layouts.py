"""Answers as rows of a table: the input's row with a column for each pair (wide), or once for each opinion (long)."""

import warnings
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple, Protocol, TypeAlias

from tabsa.errors import DataError, DataWarning
from tabsa.inference.results import PredictedOpinion
from tabsa.schema import NONE, UNNAMED, Target
from tabsa.scoring.reading import TableColumns
from tabsa.scoring.request import Layout, Request
from tabsa.tables.fields import is_whole
from tabsa.tables.formats import OutputColumns
from tabsa.tables.rows import Values

_DIGITS = 6  # of a probability: more than a model's numbers are good for
Opinions: TypeAlias = Sequence[PredictedOpinion]
Sentences: TypeAlias = Mapping[tuple[str, str], str]  # those that carry opinions, by target and aspect
_EVIDENCE = "evidence"


class Item(NamedTuple):
    """A row to score: the values that go to the output, the text, the targets asked for, and those to read it for."""

    number: int
    kept: Values
    text: str
    names: tuple[str, ...]
    read_for: Sequence[Target]  # mentioned, or implied


class RowMaker(OutputColumns, Protocol):
    """Makes the output's rows."""

    def keep(self, values: Values) -> Values:
        """The part of an input row that goes to the output."""

    def rows(self, item: Item, opinions: Opinions, sentences: Sentences) -> Iterator[Values]:
        """The output rows of one input row, given the opinions on the targets that it was read for."""


def row_maker(
    request: Request,
    columns: TableColumns,
    names: tuple[str, ...] | None,
    aspects: Sequence[str],
    labels: Sequence[str],
    *,
    nested: bool,
) -> RowMaker:
    """The layout asked for. `names` are every row's targets; `nested` tells whether a cell may hold an object."""
    maker: RowMaker
    if request.layout is Layout.LONG:
        maker = _Long(request, columns, aspects, labels, nested=nested)
    elif names is not None:
        maker = _WideShared(request, columns, names, aspects, labels)
    else:
        maker = _WideOwn(request, columns, aspects, labels)
    for name, count in Counter(maker.columns).items():
        if not is_whole({name: ""}):
            raise DataError(f"the name of the column {name!r} has half a character in it; write it as UTF-8")
        if count > 1:
            raise DataError(f"the output would have two columns {name!r}", code="column_taken")
    return maker


class _Wide:
    """What both wide layouts share: which columns an opinion has."""

    def __init__(self, request: Request, columns: TableColumns, stems: Sequence[str], labels: Sequence[str]) -> None:
        shown = tuple(labels) if request.probabilities else ()
        added: list[tuple[str, type]] = []
        for stem in stems:
            added.append((request.prefix + stem, str))
            added.extend((f"{request.prefix}{stem}/{label}", float) for label in shown)
            if request.evidence:
                added.append((f"{request.prefix}{stem}/{_EVIDENCE}", str))
        self.columns = (*columns.kept_names, *(name for name, _ in added))
        self.added = dict(added)
        self.keep = columns.keep
        self._prefix, self._shown, self._silent = request.prefix, shown, _silent(labels)
        self._evidence = request.evidence

    def _cells(self, stem: str, opinion: PredictedOpinion, sentences: Sentences) -> Iterator[tuple[str, object]]:
        name = self._prefix + stem
        yield name, opinion.polarity
        for label in self._shown:
            yield f"{name}/{label}", round(opinion.probabilities[label], _DIGITS)
        if self._evidence:
            yield f"{name}/{_EVIDENCE}", sentences.get((opinion.target, opinion.aspect), "")


class _WideShared(_Wide):
    """A column for each target-aspect pair."""

    def __init__(
        self,
        request: Request,
        columns: TableColumns,
        names: Sequence[str],
        aspects: Sequence[str],
        labels: Sequence[str],
    ) -> None:
        pairs = [(name, aspect) for name in names for aspect in aspects]
        super().__init__(request, columns, [_pair(name, aspect) for name, aspect in pairs], labels)
        self._none = dict(
            cell
            for name, aspect in pairs
            for cell in self._cells(_pair(name, aspect), PredictedOpinion(name, aspect, NONE, self._silent), {})
        )

    def rows(self, item: Item, opinions: Opinions, sentences: Sentences) -> Iterator[Values]:
        row = item.kept | self._none
        for opinion in opinions:
            row.update(self._cells(_pair(opinion.target, opinion.aspect), opinion, sentences))
        yield row


class _WideOwn(_Wide):
    """A column for each aspect; the cells of a row with several targets hold a value for each, in their order."""

    def __init__(self, request: Request, columns: TableColumns, aspects: Sequence[str], labels: Sequence[str]) -> None:
        super().__init__(request, columns, aspects, labels)
        self._aspects = aspects
        self.added = dict.fromkeys(self.added, str)

    def rows(self, item: Item, opinions: Opinions, sentences: Sentences) -> Iterator[Values]:
        given = {(opinion.target, opinion.aspect): opinion for opinion in opinions}
        row = dict(item.kept)
        for aspect in self._aspects:
            silent = PredictedOpinion("", aspect, NONE, self._silent)
            of_each = [dict(self._cells(aspect, given.get((name, aspect), silent), sentences)) for name in item.names]
            for column, value in of_each[0].items():
                row[column] = value if len(of_each) == 1 else ";".join(str(cells[column]) for cells in of_each)
        yield row


class _Long:
    """The input's row, and one opinion of it; where there is no id, the row's number goes first."""

    def __init__(
        self, request: Request, columns: TableColumns, aspects: Sequence[str], labels: Sequence[str], *, nested: bool
    ) -> None:
        prefix = request.prefix
        self._row = f"{prefix}row" if columns.id is None else None
        self._names = [prefix + name for name in ("target", "aspect", "polarity", "confidence")]
        self._probabilities = f"{prefix}probabilities" if nested else None
        self._by_label = {label: f"{prefix}probability_{label}" for label in labels}
        shares = [self._probabilities] if self._probabilities else list(self._by_label.values())
        self._evidence = [prefix + _EVIDENCE] if request.evidence else []
        # Columns that are called as ours give way, unless they were asked for: those of labelled data, mostly.
        new = {*self._names, *self._evidence, *shares, *([self._row] if self._row else [])}
        self._dropped = new & set(columns.kept_names) - set(request.keep or ()) - {columns.text, columns.id}
        _tell_dropped(self._dropped - {request.target_column})
        self._columns = columns
        kept = (name for name in columns.kept_names if name not in self._dropped)
        self.columns = (*([self._row] if self._row else []), *kept, *self._names, *self._evidence, *shares)
        self.added: dict[str, type] = dict.fromkeys(shares, float) | dict.fromkeys(self._evidence, str)
        self.added |= dict(zip(self._names, (str, str, str, float), strict=True))
        if self._row:
            self.added[self._row] = int
        self._every, self._aspects, self._silent = request.every, aspects, _silent(labels)

    def keep(self, values: Values) -> Values:
        return {name: value for name, value in self._columns.keep(values).items() if name not in self._dropped}

    def rows(self, item: Item, opinions: Opinions, sentences: Sentences) -> Iterator[Values]:
        first = {self._row: item.number} | item.kept if self._row else item.kept
        for opinion in self._all(item, opinions) if self._every else opinions:
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

    def _all(self, item: Item, opinions: Opinions) -> Iterator[PredictedOpinion]:
        """The opinions, and in their places those on targets that the text was not read for."""
        given = {(opinion.target, opinion.aspect): opinion for opinion in opinions}
        for name in item.names:
            for aspect in self._aspects:
                yield given.get((name, aspect)) or PredictedOpinion(name, aspect, NONE, self._silent)


def _tell_dropped(names: set[str]) -> None:
    if names:
        which = ", ".join(repr(name) for name in sorted(names))
        message = f"the table's own {which} left out, because results are called so; a prefix keeps both"
        warnings.warn(message, DataWarning, stacklevel=4)


def _pair(target: str, aspect: str) -> str:
    """What a pair's column is called; that of a target without a name as its aspect."""
    return aspect if target == UNNAMED else f"{target}/{aspect}"


def _silent(labels: Sequence[str]) -> dict[str, float]:
    return {label: float(label == NONE) for label in labels}
