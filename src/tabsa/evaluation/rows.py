"""A dataset's questions as rows of arrays, few or many aspects alike."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tabsa.encoding import NOT_ASKED, gold_labels
from tabsa.errors import DataError
from tabsa.evaluation.metrics import FloatArray, IntArray
from tabsa.schema import Dataset


class AskedRows(NamedTuple):
    """Each group's rows. Where texts ask their own aspects, a group has only the columns of what it was asked."""

    gold: IntArray  # (groups, columns), NOT_ASKED where there is no row
    probabilities: FloatArray  # (groups, columns, labels)
    aspects: IntArray | None = None  # which of the dataset's, (groups, columns); None: the columns are the aspects


class AspectRows(NamedTuple):
    """The rows on one aspect, as arrays with a single column."""

    gold: IntArray  # (rows, 1)
    probabilities: FloatArray  # (rows, 1, labels)
    groups: IntArray  # (rows,)


def asked_rows(dataset: Dataset, probabilities: FloatArray) -> AskedRows:
    """The rows of a dataset, of probabilities in its order: (groups, aspects, labels), or (questions, labels)."""
    own = any(example.aspects is not None for example in dataset.examples)
    aspects = _asked(dataset) if own else None
    columns = len(dataset.aspects) if aspects is None else aspects.shape[1]
    groups = sum(1 for _ in dataset.groups())
    there = np.ones((groups, columns), bool) if aspects is None else aspects >= 0
    if not there.any():
        raise DataError(f"{dataset.name} {dataset.split} asks nothing; expected targets and aspects")
    flat = (int(there.sum()), len(dataset.labels))
    dense = (groups, len(dataset.aspects), len(dataset.labels))
    if probabilities.shape == flat:
        given = probabilities
    elif probabilities.shape != dense:
        raise ValueError(f"probabilities have shape {probabilities.shape}; {dataset.name} needs {dense} or {flat}")
    elif aspects is None:
        return AskedRows(gold_labels(dataset), probabilities)
    else:
        given = probabilities[np.nonzero(there)[0], aspects[there]]
    spread = np.zeros((groups, columns, len(dataset.labels)))
    spread[..., 0] = 1
    spread[there] = given
    if aspects is None:
        return AskedRows(gold_labels(dataset), spread)
    return AskedRows(_own_gold(dataset, there), spread, aspects)


def _asked(dataset: Dataset) -> IntArray:
    """Which aspects each group was asked, as places among the dataset's, -1 after the last: (groups, most asked)."""
    place = {aspect: number for number, aspect in enumerate(dataset.aspects)}
    every = tuple(range(len(dataset.aspects)))
    asked = [
        every if example.aspects is None else tuple(place[aspect] for aspect in example.aspects)
        for example, _ in dataset.groups()
    ]
    table = np.full((len(asked), max(map(len, asked), default=0)), -1, np.int64)
    for row, places in zip(table, asked, strict=True):
        row[: len(places)] = places
    return table


def _own_gold(dataset: Dataset, there: NDArray[np.bool_]) -> IntArray:
    index = {label: number for number, label in enumerate(dataset.labels)}
    gold = np.full(there.shape, NOT_ASKED, np.int64)
    try:
        gold[there] = [index[polarity] for _, _, _, polarity in dataset.questions()]
    except KeyError as e:
        expected = ", ".join(dataset.labels)
        raise DataError(f"{dataset.name} {dataset.split} has the polarity {e}; expected one of {expected}") from e
    return gold


def by_aspect(dataset: Dataset, rows: AskedRows) -> Iterator[tuple[int, AspectRows]]:
    """The rows on each aspect, by its place among the dataset's.

    Where texts ask their own, an aspect that none of them asks is left out.
    """
    if rows.aspects is None:
        groups = np.arange(len(rows.gold))
        for aspect in range(len(dataset.aspects)):
            yield aspect, AspectRows(rows.gold[:, [aspect]], rows.probabilities[:, [aspect]], groups)
        return
    group, column = np.nonzero(rows.aspects >= 0)
    aspects = rows.aspects[group, column]
    order = np.argsort(aspects, kind="stable")
    names, starts = np.unique(aspects[order], return_index=True)
    for name, places in zip(names.tolist(), np.split(order, starts[1:]), strict=True):
        at = group[places], column[places]
        yield name, AspectRows(rows.gold[at][:, None], rows.probabilities[at][:, None], group[places])
