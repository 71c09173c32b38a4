"""Labels that are in memory: a DataFrame of pandas or Polars, an Arrow table, rows as mappings, or examples."""

from collections.abc import Iterable, Mapping
from typing import Any

from tabsa.datasets.choices import ALL
from tabsa.datasets.own import DEFAULT_COLUMNS, dataset_of, drafts_of, labels_of
from tabsa.datasets.records import Columns
from tabsa.errors import DataError
from tabsa.schema import Dataset, Example
from tabsa.tables.rows import Row

_WAYS = ("to_dicts", "to_pylist")  # of Polars, of Arrow


def frame_dataset(frame: object, columns: Columns = DEFAULT_COLUMNS) -> Dataset:
    """The labels of a frame, of rows, or of examples, as one dataset."""
    if isinstance(frame, Dataset):
        return frame
    rows = _rows(frame)
    examples = [row for row in rows if isinstance(row, Example)]
    if examples and len(examples) == len(rows):
        opinions = [opinion for example in examples for opinion in example.opinions]
        asked = (aspect for example in examples for aspect in example.aspects or ())
        aspects = tuple(dict.fromkeys([*(opinion.aspect for opinion in opinions), *asked]))
        if not aspects:
            raise DataError("the examples hold no opinion, so their aspects are unknown")
        return Dataset("examples", ALL, aspects, labels_of(opinions), tuple(examples))
    found = [
        Row(f"row {number}", {str(key): _plain(value) for key, value in row.items()}, number)
        for number, row in enumerate(rows, 1)
        if isinstance(row, Mapping)
    ]
    if len(found) < len(rows):
        raise DataError("the data has rows of other kinds; expected a frame, mappings or Examples alone")
    return dataset_of("the frame", {ALL: drafts_of("the frame", found, columns)}, ALL, None)


def _rows(frame: object) -> list[Any]:
    for way in _WAYS:
        if hasattr(frame, way):
            return list(getattr(frame, way)())
    if hasattr(frame, "to_dict") and hasattr(frame, "columns"):
        return list(frame.to_dict("records"))
    if isinstance(frame, str | bytes | Mapping) or not isinstance(frame, Iterable):
        raise DataError(f"the data is a {type(frame).__name__}; expected a frame, rows or Examples")
    return list(frame)


def _plain(value: Any) -> Any:
    """A cell without pandas' ways to say that it is empty."""
    if value is None or (isinstance(value, float) and value != value):  # NaN
        return None
    return None if type(value).__name__ in ("NAType", "NaTType") else value
