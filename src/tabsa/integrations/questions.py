"""What the rows of scikit-learn's X ask: a text, a target and an aspect each."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from tabsa.datasets.merging import Merger
from tabsa.datasets.own import labels_of
from tabsa.errors import DataError
from tabsa.inference import Predictor
from tabsa.inference.frames import is_missing
from tabsa.schema import NONE, UNNAMED, Dataset, Example, Opinion, Target
from tabsa.text import TargetFinder, all_targets
from tabsa.text.aspects import clean_aspect

_COLUMNS = ("text", "target", "aspect")


class RowsError(DataError, ValueError):
    """X or y is not what a classifier takes; scikit-learn expects a ValueError."""


class AskedRow(NamedTuple):
    """One row of X; an empty target is what the text is about and does not name."""

    text: str
    target: str
    aspect: str


def asked_rows(X: Any, target: str, aspect: str) -> list[AskedRow]:  # noqa: N803
    """The rows of texts, or of up to three columns; what they do not say is the `target` and the `aspect` given."""
    cells = _cells(X)
    if not cells:
        raise RowsError("Found array with 0 sample(s): expected at least one text")
    rest = ("", target, aspect)
    return [_asked(number, row, rest) for number, row in enumerate(cells)]


def _cells(X: Any) -> list[Sequence[object]]:  # noqa: N803
    """Each row as text, target, aspect, or the first of these; None where X does not say."""
    if hasattr(X, "columns") and hasattr(X, "__getitem__"):
        names = list(X.columns)
        if "text" in names:
            by_name = [list(X[name]) if name in names else [None] * len(X) for name in _COLUMNS]
            return list(zip(*by_name, strict=True))
        if len(names) > len(_COLUMNS):
            raise RowsError(f"X has no column 'text'; it has: {', '.join(map(str, names))}")
    if hasattr(X, "toarray"):
        raise RowsError("X is sparse, a matrix of numbers; expected texts")
    table = np.asarray(X, dtype=object)
    if table.ndim == 0:
        raise RowsError(f"X is one {type(X).__name__}; expected a list of texts")
    if table.ndim == 1:
        return [(text,) for text in table]
    if table.ndim != 2 or not 1 <= table.shape[1] <= len(_COLUMNS):
        shape = " x ".join(map(str, table.shape))
        raise RowsError(f"X has the shape {shape}; expected texts, or up to three columns: text, target, aspect")
    return list(table)


def _asked(number: int, row: Sequence[object], rest: tuple[str, str, str]) -> AskedRow:
    given = [*row, *[None] * (len(rest) - len(row))]
    text, target, aspect = (
        _word(number, name, value, other) for name, value, other in zip(_COLUMNS, given, rest, strict=True)
    )
    return AskedRow(text, target.strip(), clean_aspect(aspect))


def _word(number: int, name: str, value: object, other: str) -> str:
    if isinstance(value, str):
        return str(value)  # of NumPy's strings, too
    if is_missing(value):
        return other
    raise RowsError(f"row {number} of X has a {name} of type {type(value).__name__}; expected a string")


def labelled_rows(rows: Sequence[AskedRow], labels: Sequence[str]) -> Dataset:
    """Rows and their labels as a dataset: of every text and target, only what its rows ask is known."""
    merger = Merger()
    groups: dict[tuple[str, str], list[Opinion]] = {}
    for row, label in zip(rows, labels, strict=True):
        if not row.text.strip():
            raise RowsError("X has an empty text; leave it out, as it cannot be learnt from")
        groups.setdefault((row.text, row.target), []).append(Opinion(row.target, row.aspect, label))
    if len({text for text, _ in groups}) < 2:
        raise RowsError(f"n_samples = {len(rows)}, of 1 text; fine-tuning needs at least two texts, and more is better")
    examples = []
    for number, ((text, target), opinions) in enumerate(groups.items()):
        merged = merger.merge(opinions)
        said = tuple(opinion for opinion in merged if opinion.polarity != NONE)
        asked = tuple(opinion.aspect for opinion in merged)
        examples.append(Example(str(number), text, _found(text, target), said, asked))
    merger.warn("X")
    aspects = tuple(dict.fromkeys(row.aspect for row in rows))
    every = labels_of(opinion for opinions in groups.values() for opinion in opinions)
    return Dataset("X", "all", aspects, every, tuple(examples))


def marked(predictor: Predictor, text: str, target: str) -> tuple[Target, ...]:
    """A row's target as the model is asked for it: where the text names it, or as what the text is about."""
    return predictor.implied_targets([target], _found(text, target))


def _found(text: str, target: str) -> tuple[Target, ...]:
    """A target as the text has it: named, or implied."""
    if target == UNNAMED:
        return (Target(UNNAMED, implied=True),)
    return all_targets([target], TargetFinder([target]).find(text), implied=True)
