"""Files of predictions: any system's output, one row a line, in the form that `tabsa evaluate` scores.

    {"id": 1430, "target": "LOCATION1", "aspect": "price", "probabilities": {"none": 0.1, "positive": 0.9, ...}}

JSON Lines in UTF-8, gzip-compressed where the name ends in `.gz`. Rows come in any order, each exactly once;
other keys and blank lines are ignored.
"""

import json
from collections.abc import Collection
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from tabsa.errors import DataError
from tabsa.schema import UNNAMED, Dataset
from tabsa.tables.reading import Values, read_good_rows

# How far the probabilities of a row may be from summing to 1: room for figures rounded to three decimals.
_TOLERANCE: Final = 1e-3
_KINDS: Final = {"id": str | int, "target": str, "aspect": str, "probabilities": dict}


def read_predictions(path: Path, dataset: Dataset, *, skip: Collection[str] = ()) -> NDArray[np.float64]:
    """Read the probabilities in a file: (groups, aspects, labels), in the order of `dataset`; each row must be there.

    Rows on aspects in `skip` are passed over, such as those that a benchmark leaves out.
    """
    named = f"{dataset.name} {dataset.split}"
    groups = list(dataset.groups())
    numbers: dict[str, dict[str, int]] = {}  # of each group in the dataset's order: id -> target -> number
    for number, (example, target) in enumerate(groups):
        if numbers.setdefault(example.id, {}).setdefault(target.name, number) != number:
            twice = f"the id {example.id!r} with the target {target.name!r} twice"
            raise DataError(f"{named} has {twice}; expected them to tell rows apart")
    probabilities = np.zeros((len(groups), len(dataset.aspects), len(dataset.labels)))
    lines = np.zeros(probabilities.shape[:2], dtype=np.int64)  # where each row stands in the file
    for where, values, number in read_good_rows(path):
        try:
            row = _checked(values)
            if row["aspect"] in skip:
                continue
            targets = numbers.get(str(row["id"]))
            if targets is None:
                raise DataError(f"the id {_short(row['id'])} is not in {named}", code="id_unknown")
            for key, names in (("target", targets), ("aspect", dataset.aspects)):
                if row[key] not in names:
                    raise DataError(f"unknown {key} {_short(row[key])}; expected one of {', '.join(names)}")
            place = targets[row["target"]], dataset.aspects.index(row["aspect"])
            if lines[place]:
                raise DataError(f"repeats the row of line {lines[place]}; expected each row once")
            lines[place] = number
            probabilities[place] = _vector(row["probabilities"], dataset.labels)
        except DataError as e:
            raise DataError(f"{where}: {e}", code=e.code) from e
    missing = np.argwhere(lines == 0)
    if len(missing):
        (example, target), aspect = groups[missing[0][0]], dataset.aspects[missing[0][1]]
        raise DataError(
            f"{path} lacks {len(missing)} of the {lines.size} rows of {named}, one for each target and aspect; the "
            f"first is id {example.id}, target {target.name!r}, aspect {aspect!r}"
        )
    return probabilities


def _checked(row: Values) -> dict[str, Any]:
    """Return a row whose fields are all there, and of their kinds."""
    if lacking := [key for key in _KINDS if key not in row]:
        raise DataError(f'no "{lacking[0]}"; expected "id", "target", "aspect" and "probabilities"')
    checked: dict[str, Any] = {**row, "target": UNNAMED if row["target"] is None else row["target"]}
    for key, kind in _KINDS.items():
        if not isinstance(checked[key], kind) or isinstance(checked[key], bool):
            expected = "expected id, target and aspect as texts, and an object"
            raise DataError(f"{_short(checked[key])} is no {key}; {expected}")
    return checked


def _vector(given: dict[str, Any], labels: tuple[str, ...]) -> list[float]:
    if given.keys() != set(labels):
        raise DataError(f"probabilities of {_short([*given])}; expected {', '.join(labels)}")
    for label, value in given.items():
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1 + _TOLERANCE:
            raise DataError(f"the probability of {label!r} is {_short(value)}; expected a number from 0 to 1")
    vector = [float(given[label]) for label in labels]
    if abs(sum(vector) - 1) > _TOLERANCE + 1e-9:  # the slack is for rounding errors
        raise DataError(f"the probabilities sum to {sum(vector):.6g}; expected 1 (give or take {_TOLERANCE})")
    return vector


def _short(value: object) -> str:
    """Return a value out of a user's file, as JSON and fit for one line."""
    text = json.dumps(value, ensure_ascii=False).encode(errors="backslashreplace").decode()
    return text if len(text) <= 60 else text[:59] + "…"
