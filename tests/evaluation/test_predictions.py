"""Files of predictions: what reads back, and one clear line for what does not."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from prediction_files import prediction_rows, write_predictions
from tabsa.errors import DataError
from tabsa.evaluation.predictions import read_predictions
from tabsa.schema import Dataset, Example, Target

DATA = Dataset(
    name="towns",
    split="test",
    aspects=("price", "safety"),
    labels=("none", "positive", "negative"),
    examples=(Example("7", "A, B", (Target("A"), Target("B"))), Example("x8", "Köln", (Target("Köln"),))),
)
PROBABILITIES = np.random.default_rng(0).dirichlet([1, 1, 1], (3, 2))
Row = dict[str, Any]


def rows() -> list[Any]:
    """The rows of a good file, in the order of the data."""
    return prediction_rows(DATA, PROBABILITIES)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "predictions.jsonl"


def write_rows(path: Path, lines: list[Any]) -> Path:
    path.write_text("".join(f"{line if isinstance(line, str) else json.dumps(line)}\n" for line in lines), "utf-8")
    return path


def refused(path: Path) -> str:
    """The error of reading the file: one line that starts with the file's name, which is left off."""
    with pytest.raises(DataError) as info:
        read_predictions(path, DATA)
    message = str(info.value)
    assert str(path) in message
    assert "\n" not in message
    message.encode()  # can be printed
    return message.removeprefix(f"{path} ")


def test_what_is_written_reads_back_bit_for_bit(path: Path) -> None:
    write_predictions(path, DATA, PROBABILITIES)
    assert np.array_equal(read_predictions(path, DATA), PROBABILITIES.reshape(6, 3))


def test_order_blank_lines_other_keys_and_the_kind_of_id_do_not_matter(path: Path) -> None:
    lines: list[Any] = [{**row, "text": "...", "score": 3} for row in reversed(rows())]
    for row in lines:
        row["id"] = int(row["id"]) if row["id"].isdigit() else row["id"]
        row["probabilities"] = dict(reversed(row["probabilities"].items()))
    write_rows(path, ["", *lines[:2], "  \t", *lines[2:], ""])
    path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n").decode().encode("utf-8-sig"))
    assert np.array_equal(read_predictions(path, DATA), PROBABILITIES.reshape(6, 3))


def test_three_decimals_are_near_enough_to_one(path: Path) -> None:
    lines = rows()
    lines[0]["probabilities"] = {"none": 0.333, "positive": 0.333, "negative": 0.333}
    lines[1]["probabilities"] = {"none": 1.001, "positive": 0, "negative": 0}
    assert read_predictions(write_rows(path, lines), DATA)[0].tolist() == [0.333, 0.333, 0.333]


def test_rows_on_skipped_aspects_are_passed_over(path: Path) -> None:
    write_rows(path, [*rows(), {"id": 7, "target": "A", "aspect": "food", "probabilities": {"good": 1}}])
    assert np.array_equal(read_predictions(path, DATA, skip={"food"}), PROBABILITIES.reshape(6, 3))
    assert refused(path) == "line 7: unknown aspect 'food'; expected one of price, safety"


def test_a_text_with_aspects_of_its_own_has_rows_on_these_alone(path: Path) -> None:
    first, second = DATA.examples
    data = replace(DATA, examples=(replace(first, aspects=("price",)), second))
    given = rows()
    write_rows(path, [given[0], given[2], given[4], given[5]])
    assert np.array_equal(read_predictions(path, data), PROBABILITIES.reshape(6, 3)[[0, 2, 4, 5]])
    with pytest.raises(DataError, match=r"unknown aspect 'safety'; expected one of price$"):
        read_predictions(write_rows(path, given), data)


def setting(key: str, value: Any) -> Callable[[Row], Any]:
    return lambda row: {**row, key: value}


def chances(**values: Any) -> Callable[[Row], Any]:
    return setting("probabilities", values)


# How the third row is spoilt, and what the error says.
WRONG = "expected none, positive, negative with the sum 1 (give or take 0.001)"
BAD_ROWS: dict[str, tuple[Callable[[Row], Any], str]] = {
    "no target": (lambda row: {k: v for k, v in row.items() if k != "target"}, "line 4 has no 'target'; it has 'id'"),
    "unknown id": (setting("id", 9), "line 4: there is no target 'B' under the id 9 in towns test"),
    "id of a wrong kind": (setting("id", 7.0), "line 4: there is no target 'B' under the id 7.0"),
    "unknown target": (setting("target", "C"), "line 4: there is no target 'C' under the id '7'"),
    "unknown aspect": (setting("aspect", "fod"), "line 4: unknown aspect 'fod'; expected one of price, safety"),
    "not to be printed": (setting("aspect", "\ud800\n"), "line 4: 'aspect' holds half a character"),
    "missing label": (
        chances(none=0.5, positive=0.5),
        "line 4: the probabilities are {'none': 0.5, 'positive': 0.5}; ",
    ),
    "not a number": (chances(none=0.5, positive=float("nan"), negative=0.5), "line 4: the probabilities are "),
    "negative": (chances(none=1.2, positive=-0.2, negative=0), "line 4: the probabilities are "),
    "too small a sum": (chances(none=0.1, positive=0.2, negative=0.6), "line 4: the probabilities are "),
}


@pytest.mark.parametrize("name", BAD_ROWS)
def test_a_bad_row_is_one_clear_line_with_its_number(path: Path, name: str) -> None:
    spoil, message = BAD_ROWS[name]
    lines = rows()
    lines[2] = spoil(lines[2])
    found = refused(write_rows(path, ["", *lines]))
    assert found.startswith(message)
    assert "probabilities" not in message or found.endswith(WRONG)


def test_repeated_and_missing_rows_are_named(path: Path) -> None:
    lines = rows()
    assert refused(write_rows(path, [*lines, lines[1]])) == "line 7 repeats the row of line 2; expected each row once"
    lacking = refused(write_rows(path, [lines[5], lines[1], lines[0]]))
    assert lacking.startswith("lacks 3 of the 6 rows of towns test")
    assert lacking.endswith("the first is id 7, target 'B', aspect 'price'")
    path.write_bytes("\ufeff\n".encode())
    assert refused(path).startswith("lacks 6 of the 6 rows")


def test_files_that_cannot_be_read(path: Path) -> None:
    assert refused(path) == f"cannot read {path}: No such file or directory"
    assert refused(write_rows(path, ["{oops"])).startswith("line 1 is not JSON: ")
    path.write_bytes("\n".join(json.dumps(row, ensure_ascii=False) for row in rows()).encode("latin-1"))
    assert refused(path) == "line 5 is not a JSON object in UTF-8; write one a line"
