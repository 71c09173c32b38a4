"""pandas in, pandas out. pandas is not among the package's dependencies: whoever has a DataFrame has it."""

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, cast

from tabsa.errors import DataError
from tabsa.inference.predictor import Predictor, Targets
from tabsa.inference.result import Prediction
from tabsa.schema import NONE, UNNAMED, Target

if TYPE_CHECKING:
    import pandas as pd

_ADDED = ("target", "aspect", "polarity", "confidence")


def predict_frame(
    predictor: Predictor,
    frame: "pd.DataFrame",
    text_column: str = "text",
    targets: Targets | None = None,
    target_column: str | None = None,
    aspects: Sequence[str] | None = None,
    layout: Literal["long", "wide"] = "long",
    *,
    every: bool = False,
    implied: bool | None = None,
) -> "pd.DataFrame":
    """The opinions in a column of texts, beside the frame's own columns and under its own index.

    Args:
        predictor: the model to ask.
        frame: one text a row; it is not changed. A missing text has no opinions.
        text_column: the column of the texts.
        targets: who may be judged, the same for every row, as for `Predictor.predict`.
        target_column: instead, the column of each row's own targets: a name, or a list of names.
        aspects: as for `Predictor.predict`; the model's own by default.
        layout: `long` repeats a row for each of its opinions, with the columns target, aspect, polarity, confidence
            and one `probability_...` a label. `wide` keeps the rows and adds a column of polarities for each pair
            (`Camden/price`), or with `target_column` for each aspect (`price`), which then takes one target a row.
        every: in the long layout, rows for `none` as well.
        implied: take a name that a text does not mention as that of what the text is about; None is what the model
            was trained for. With it, and neither `targets` nor `target_column`, what no text names is asked for.

    Raises:
        DataError: a column is missing or in the way, or a text or target is of the wrong kind.
    """
    if layout not in ("long", "wide"):
        raise DataError(f"layout is {layout!r}; expected 'long' or 'wide'")
    implied = predictor.implied if implied is None else implied
    if targets is not None and target_column is not None:
        raise DataError("give either targets for all rows or a target_column")
    if targets is None and target_column is None:
        if not implied:
            raise DataError("give either targets for all rows or a target_column, or say that texts imply theirs")
        targets = [Target(UNNAMED, implied=True)]
    for column in (text_column, target_column):
        if column is not None and column not in frame.columns:
            raise DataError(f"the frame has no column {column!r}; it has: {', '.join(map(str, frame.columns))}")
    texts = [_text(value, row) for row, value in enumerate(frame[text_column])]
    if target_column is None:
        shared: Targets = targets if isinstance(targets, Mapping) else cast("list[str]", list(targets or ()))
        predictions = predictor.predict_many(texts, shared, aspects, implied=implied)
        columns = [
            f"{o.target}/{o.aspect}" if o.target != UNNAMED else o.aspect
            for o in predictor.predict("", shared, aspects).opinions
        ]
    else:
        nobody: list[Target] = [Target(UNNAMED, implied=True)] if implied else []
        own = [_names(value, row) or nobody for row, value in enumerate(frame[target_column])]
        if layout == "wide" and any(len(names) > 1 for names in own):
            raise DataError(f"the wide layout takes one target a row, but {target_column!r} has more; use 'long'")
        predictions = predictor.predict_many(texts, aspects=aspects, targets_of_each=own, implied=implied)
        columns = list(predictor.choose_aspects(aspects))
    if layout == "long":
        return _long(frame, predictions, predictor.labels, every=every)
    return _wide(frame, predictions, columns)


def _long(
    frame: "pd.DataFrame", predictions: Iterator[Prediction], labels: Sequence[str], *, every: bool
) -> "pd.DataFrame":
    shares = [f"probability_{label}" for label in labels]
    rows: list[int] = []
    values: dict[str, list[Any]] = {name: [] for name in (*_ADDED, *shares)}
    for row, prediction in enumerate(predictions):
        for opinion in prediction.opinions if every else prediction.found():
            rows.append(row)
            cells = (opinion.target, opinion.aspect, opinion.polarity, opinion.confidence)
            for column, value in zip(values.values(), (*cells, *opinion.probabilities.values()), strict=True):
                column.append(value)
    return _joined(frame.iloc[rows], values)


def _wide(frame: "pd.DataFrame", predictions: Iterator[Prediction], columns: Sequence[str]) -> "pd.DataFrame":
    """One polarity a column, in the order of the opinions; a row without targets is silent on everything."""
    silent = [NONE] * len(columns)
    rows = [[opinion.polarity for opinion in prediction.opinions] or silent for prediction in predictions]
    return _joined(frame, {column: [row[place] for row in rows] for place, column in enumerate(columns)})


def _joined(frame: "pd.DataFrame", values: dict[str, list[Any]]) -> "pd.DataFrame":
    import pandas as pd

    clash = [column for column in values if column in frame.columns]
    if clash:
        raise DataError(f"the frame has a column {clash[0]!r} already; rename it first")
    return pd.concat([frame, pd.DataFrame(values, index=frame.index)], axis=1)


def _text(value: object, row: int) -> str:
    if isinstance(value, str):
        return value
    if _missing(value):
        return ""
    raise DataError(f"row {row} has a text of type {type(value).__name__}; expected a string")


def _names(value: object, row: int) -> list[str]:
    if _missing(value):
        return []
    names = [value] if isinstance(value, str) else value
    if not isinstance(names, list | tuple) or not all(isinstance(name, str) for name in names):
        raise DataError(f"row {row} has targets of type {type(value).__name__}; expected a name or a list of names")
    return list(names)


def _missing(value: object) -> bool:
    """Whether a cell is None, NaN, NaT or NA."""
    import pandas as pd

    return bool(pd.api.types.is_scalar(value) and pd.isna(value))
