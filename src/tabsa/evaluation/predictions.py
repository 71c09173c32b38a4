"""Files of predictions: any system's output, one row a line, in the form that `tabsa evaluate` scores.

    {"id": 1430, "target": "LOCATION1", "aspect": "price", "probabilities": {"none": 0.1, "positive": 0.9, ...}}

JSON Lines in UTF-8, gzip-compressed where the name ends in `.gz`. Rows come in any order, each exactly once;
other keys and blank lines are ignored.
"""

import gzip
import json
import zlib
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from tabsa.errors import DataError
from tabsa.files import reason
from tabsa.schema import UNNAMED, Dataset

# How far the probabilities of a row may be from summing to 1: room for figures rounded to three decimals.
_TOLERANCE = 1e-3

# Number of each group in the dataset's order: id -> target -> number.
_GroupNumbers: TypeAlias = Mapping[str, Mapping[str, int]]


def read_predictions(path: Path, dataset: Dataset, *, skip: Collection[str] = ()) -> NDArray[np.float64]:
    """The probabilities in a file: (groups, aspects, labels), in the order of `dataset`.

    Args:
        path: the file.
        dataset: what the file must have every row of.
        skip: aspects whose rows are passed over, such as those that a benchmark leaves out.

    Raises:
        DataError: the file cannot be read, a line is no row of `dataset`, or a row is missing or repeated.
    """
    numbers = _group_numbers(dataset)
    probabilities = np.zeros(_shape(dataset))
    lines = np.zeros(probabilities.shape[:2], dtype=np.int64)  # where each row stands in the file
    for number, line in _lines(path):
        try:
            row = _parse(line)
            if row["aspect"] in skip:
                continue
            place = _group(row, numbers, dataset), _aspect(row, dataset)
            if lines[place]:
                raise DataError(f"repeats the row of line {lines[place]}; expected each row once")
            lines[place] = number
            probabilities[place] = _vector(row, dataset)
        except (DataError, RecursionError) as e:
            code = e.code if isinstance(e, DataError) else ""
            raise DataError(f"{path}, line {number}: {e}", code=code) from e
    _check_complete(path, lines, dataset)
    return probabilities


def _shape(dataset: Dataset) -> tuple[int, int, int]:
    return sum(1 for _ in dataset.groups()), len(dataset.aspects), len(dataset.labels)


def _group_numbers(dataset: Dataset) -> _GroupNumbers:
    numbers: dict[str, dict[str, int]] = {}
    for number, (example, target) in enumerate(dataset.groups()):
        if numbers.setdefault(example.id, {}).setdefault(target.name, number) != number:
            raise DataError(
                f"{_named(dataset)} has the id {example.id!r} with the target {target.name!r} twice; "
                "expected them to tell rows apart"
            )
    return numbers


# ---- files


def _lines(path: Path) -> Iterator[tuple[int, str]]:
    """The lines that are not blank, with their numbers from 1."""
    number = 0
    try:
        with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as stream:
            for number, line in enumerate(stream, start=1):
                text = line.decode("utf-8-sig" if number == 1 else "utf-8")
                if text.strip():
                    yield number, text
    except IsADirectoryError as e:
        raise DataError(f"{path} is a folder; expected a predictions file (.jsonl or .jsonl.gz)") from e
    except OSError as e:
        raise DataError(f"cannot read {path}: {reason(e)}") from e
    except (EOFError, zlib.error) as e:
        raise DataError(f"cannot read {path}: the gzip data is damaged or cut off; write it anew") from e
    except UnicodeDecodeError as e:
        raise DataError(f"{path}, line {number}: not UTF-8 text; save the file as UTF-8") from e


def _check_complete(path: Path, lines: NDArray[np.int64], dataset: Dataset) -> None:
    missing = np.argwhere(lines == 0)
    if not len(missing):
        return
    if len(missing) == lines.size:
        raise DataError(
            f"{path} has no row to score; expected {lines.size}, one for each target and aspect of {_named(dataset)}"
        )
    group, aspect = missing[0].tolist()
    example, target = list(dataset.groups())[group]
    raise DataError(
        f"{path} lacks {len(missing)} of the {lines.size} rows of {_named(dataset)}; the first is "
        f"id {example.id}, target {target.name!r}, aspect {dataset.aspects[aspect]!r}"
    )


# ---- rows


def _parse(line: str) -> dict[str, Any]:
    try:
        row = json.loads(line)
    except json.JSONDecodeError as e:
        raise DataError(f"not JSON at column {e.colno} ({e.msg}); expected one object a line") from e
    except ValueError as e:  # a number of thousands of digits
        raise DataError(str(e)) from e
    if not isinstance(row, dict):
        raise DataError(f"{_short(row)} is not an object; expected {{...}}")
    for key in ("id", "target", "aspect", "probabilities"):
        if key not in row:
            raise DataError(f'no "{key}"; expected "id", "target", "aspect" and "probabilities"')
    if row["target"] is None:
        row["target"] = UNNAMED
    for key in ("target", "aspect"):
        if not isinstance(row[key], str):
            raise DataError(f"the {key} is {_short(row[key])}; expected a string")
    return row


def _group(row: dict[str, Any], numbers: _GroupNumbers, dataset: Dataset) -> int:
    given = row["id"]
    if not isinstance(given, str | int) or isinstance(given, bool):
        raise DataError(f"the id is {_short(given)}; expected a string or a whole number")
    targets = numbers.get(str(given))
    if targets is None:
        raise DataError(f"the id {_short(given)} is not in {_named(dataset)}", code="id_unknown")
    target = row["target"]
    if target not in targets:
        raise DataError(
            f"unknown target {_short(target)}; expected one of the targets of id {given}: {', '.join(targets)}"
        )
    return targets[target]


def _aspect(row: dict[str, Any], dataset: Dataset) -> int:
    aspect = row["aspect"]
    if aspect not in dataset.aspects:
        raise DataError(f"unknown aspect {_short(aspect)}; expected one of {', '.join(dataset.aspects)}")
    return dataset.aspects.index(aspect)


def _vector(row: dict[str, Any], dataset: Dataset) -> list[float]:
    given = row["probabilities"]
    labels = ", ".join(dataset.labels)
    if not isinstance(given, dict):
        raise DataError(f"probabilities are {_short(given)}; expected an object with {labels}")
    for label in given:
        if label not in dataset.labels:
            raise DataError(f"unknown label {_short(label)}; expected {labels}")
    for label in dataset.labels:
        if label not in given:
            raise DataError(f"no probability of {label!r}; expected {labels}")
        value = given[label]
        # The comparison is false for NaN, too.
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1 + _TOLERANCE:
            raise DataError(f"the probability of {label!r} is {_short(value)}; expected a number from 0 to 1")
    vector = [float(given[label]) for label in dataset.labels]
    # A little slack, so that a sum exactly at the tolerance is not refused for its rounding error.
    if abs(sum(vector) - 1) > _TOLERANCE + 1e-9:
        raise DataError(f"the probabilities sum to {sum(vector):.6g}; expected 1 (give or take {_TOLERANCE})")
    return vector


def _named(dataset: Dataset) -> str:
    return f"{dataset.name} {dataset.split}"


def _short(value: object) -> str:
    """A value out of a user's file, as JSON and fit for one line."""
    text = json.dumps(value, ensure_ascii=False).encode(errors="backslashreplace").decode()
    return text if len(text) <= 60 else text[:59] + "…"
