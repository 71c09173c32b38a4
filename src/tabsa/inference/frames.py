"""Opinions beside the rows of a frame of any library, and pandas' frames with them; whoever has one has pandas."""

import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias, cast

import numpy as np

from tabsa.errors import DataError, DataWarning
from tabsa.inference.predictor import Predictor, Targets
from tabsa.inference.results import Prediction
from tabsa.schema import NONE, UNNAMED, Target
from tabsa.tables.fields import guess_text_column, list_columns, require_columns

if TYPE_CHECKING:
    import pandas as pd

FrameLayout: TypeAlias = Literal["long", "wide"]
_WORDS = ("target", "aspect", "polarity")  # of the columns that follow, those of text
_FIRST = 1000  # rows that the column of texts is guessed by
_ADDED = (*_WORDS, "confidence")


class AddedColumns(NamedTuple):
    """New columns for a frame, and where they repeat or leave out its rows, the row of each line."""

    values: dict[str, list[Any]]
    rows: list[int] | None  # None: every row once


def predict_frame(
    predictor: Predictor,
    frame: "pd.DataFrame",
    text_column: str | None = None,
    targets: Targets | None = None,
    target_column: str | None = None,
    aspects: Sequence[str] | None = None,
    layout: FrameLayout = "long",
    **options: Any,
) -> "pd.DataFrame":
    """Return the opinions in a column of texts, beside the frame's own columns and under its own index.

    Args:
        predictor: the model to ask.
        frame: one text a row; it is not changed. A missing text has no opinions.
        text_column: the column of the texts; None is `text`, or the column with most words, which a warning names.
        targets: who may be judged, the same for every row, as for `Predictor.predict`.
        target_column: instead, the column of each row's own targets: a name, or a list of names.
        aspects: as for `Predictor.predict`; the model's own by default.
        layout: `long` repeats a row for each of its opinions, with the columns target, aspect, polarity, confidence
            and one `probability_...` a label. `wide` keeps the rows and adds a column of polarities for each pair
            (`Camden/price`), or with `target_column` for each aspect (`price`), which then takes one target a row.
        **options: `every`: in the long layout, rows for `none` as well; `exclusive`: as for `Predictor.predict`;
            `implied`: take a name that a text does not mention as that of what the text is about (None is what the
            model was trained for): with it, `targets` and `target_column` may both be left out.

    Raises:
        DataError: a column is missing or in the way, or a text or target is of the wrong kind.
    """
    import pandas as pd

    where = (text_column, targets, target_column)
    added = added_columns(predictor, list(frame.columns), frame.__getitem__, *where, aspects, layout, **options)
    rows = frame if added.rows is None else frame.iloc[added.rows]
    columns = {}
    for name, cells in added.values.items():
        # Of no cells, pandas would make numbers.
        kind = "float64" if layout == "long" and name not in _WORDS else pd.Series(["a"]).dtype
        columns[name] = pd.Series(cells, rows.index, None if cells else kind)
    return pd.concat([rows, pd.DataFrame(columns, rows.index)], axis=1)


def added_columns(
    predictor: Predictor,
    names: Sequence[object],
    column: Callable[[str], Iterable[object]],
    text_column: str | None = None,
    targets: Targets | None = None,
    target_column: str | None = None,
    aspects: Sequence[str] | None = None,
    layout: FrameLayout = "long",
    *,
    every: bool = False,
    implied: bool | None = None,
    exclusive: bool = False,
) -> AddedColumns:
    """Return what `predict_frame` adds to a frame of any library, by its columns' `names` and each `column`'s cells."""
    if layout not in ("long", "wide"):
        raise DataError(f"layout is {layout!r}; expected 'long' or 'wide'")
    words = [name for name in names if isinstance(name, str)]
    require_columns("the frame", words, (text_column, target_column))
    text_column = text_column or _text_column(words, column, target_column)
    implied = predictor.implied if implied is None else implied
    texts = ["" if is_missing(value) else cast("str", value) for value in column(text_column)]
    own: list[list[str] | list[Target]] | None = None
    if target_column is not None:
        nobody = [Target(UNNAMED, implied=True)] if implied else []
        own = [_names(value, row) or nobody for row, value in enumerate(column(target_column))]
        if layout == "wide" and any(len(listed) > 1 for listed in own):
            raise DataError(f"the wide layout takes one target a row, but {target_column!r} has more; use 'long'")
    shared = targets if targets is None or isinstance(targets, Mapping) else cast("list[str]", list(targets))
    predictions = predictor.predict_many(
        texts, shared, aspects, targets_of_each=own, implied=implied, exclusive=exclusive
    )
    pairs = list(predictor.choose_aspects(aspects))
    if own is None:
        opinions = predictor.predict("", shared, aspects, implied=implied).opinions
        pairs = [f"{o.target}/{o.aspect}" if o.target != UNNAMED else o.aspect for o in opinions]
    added = _long(predictions, predictor.labels, every=every) if layout == "long" else _wide(predictions, pairs)
    clash = [name for name in added.values if name in names]
    if clash:
        raise DataError(f"the frame has a column {clash[0]!r} already; rename it first")
    return added


def _text_column(names: Sequence[str], column: Callable[[str], Iterable[object]], taken: str | None) -> str:
    if "text" in names:
        return "text"
    cells = [[None if is_missing(value) else value for value in islice(column(name), _FIRST)] for name in names]
    guess = guess_text_column([dict(zip(names, row, strict=True)) for row in zip(*cells, strict=True)], (taken,))
    if guess is None:
        raise DataError(f"the frame has no column 'text'; it has {list_columns(names)}", code="no_text_column")
    warnings.warn(f"the frame's texts are taken from the column {guess!r}", DataWarning, stacklevel=4)
    return guess


def _long(predictions: Iterator[Prediction], labels: Sequence[str], *, every: bool) -> AddedColumns:
    shares = [f"probability_{label}" for label in labels]
    rows: list[int] = []
    values: dict[str, list[Any]] = {name: [] for name in (*_ADDED, *shares)}
    for row, prediction in enumerate(predictions):
        for opinion in prediction.opinions if every else prediction.found():
            rows.append(row)
            cells = (opinion.target, opinion.aspect, opinion.polarity, opinion.confidence)
            for column, value in zip(values.values(), (*cells, *opinion.probabilities.values()), strict=True):
                column.append(value)
    return AddedColumns(values, rows)


def _wide(predictions: Iterator[Prediction], columns: Sequence[str]) -> AddedColumns:
    """Return one polarity a column, in the order of the opinions; a row without targets is silent on everything."""
    silent = [NONE] * len(columns)
    rows = [[opinion.polarity for opinion in prediction.opinions] or silent for prediction in predictions]
    return AddedColumns({column: [row[place] for row in rows] for place, column in enumerate(columns)}, None)


def _names(value: object, row: int) -> list[str]:
    if is_missing(value):
        return []
    # What Parquet's lists become in pandas.
    names = [value] if isinstance(value, str) else value.tolist() if isinstance(value, np.ndarray) else value
    if not isinstance(names, list | tuple) or not all(isinstance(name, str) for name in names):
        raise DataError(f"row {row} has targets of type {type(value).__name__}; expected a name or a list of names")
    return list(names)


def is_missing(value: object) -> bool:
    """Tell whether a cell is None, NaN, NaT or NA."""
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    return isinstance(value, float | np.floating) and bool(np.isnan(value))
