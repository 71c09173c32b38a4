import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from prediction_files import write_predictions
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


def rows() -> list[Row]:
    """The rows of a good file, in the order of the data."""
    return [
        {
            "id": example.id,
            "target": target.name,
            "aspect": aspect,
            "probabilities": dict(zip(DATA.labels, PROBABILITIES[g, a].tolist(), strict=True)),
        }
        for g, (example, target) in enumerate(DATA.groups())
        for a, aspect in enumerate(DATA.aspects)
    ]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "predictions.jsonl"


def write(path: Path, lines: list[Any]) -> Path:
    path.write_text("".join(f"{line if isinstance(line, str) else json.dumps(line)}\n" for line in lines), "utf-8")
    return path


def refused(path: Path, dataset: Dataset = DATA) -> str:
    """The error of reading the file: one line that starts with the file's name, which is left off."""
    with pytest.raises(DataError) as info:
        read_predictions(path, dataset)
    message = str(info.value)
    assert str(path) in message
    assert "\n" not in message
    return message.removeprefix(f"{path}, ")


# ---- good files


@pytest.mark.parametrize("name", ["p.jsonl", "p.jsonl.gz"])
def test_what_is_written_reads_back_bit_for_bit(tmp_path: Path, name: str) -> None:
    write_predictions(tmp_path / name, DATA, PROBABILITIES)
    assert np.array_equal(read_predictions(tmp_path / name, DATA), PROBABILITIES)


@given(st.lists(st.tuples(st.floats(0, 1), st.floats(0, 1)), min_size=6, max_size=6))
@settings(deadline=None)
def test_any_probabilities_read_back(
    tmp_path_factory: pytest.TempPathFactory, pairs: list[tuple[float, float]]
) -> None:
    cuts = np.sort(np.array(pairs).reshape(3, 2, 2))
    probabilities = np.stack([cuts[..., 0], cuts[..., 1] - cuts[..., 0], 1 - cuts[..., 1]], axis=-1)
    path = tmp_path_factory.mktemp("any") / "p.jsonl"
    write_predictions(path, DATA, probabilities)
    assert np.array_equal(read_predictions(path, DATA), probabilities)


def test_order_blank_lines_other_keys_and_the_kind_of_id_do_not_matter(path: Path) -> None:
    lines: list[Any] = [{**row, "text": "...", "score": 3} for row in reversed(rows())]
    for row in lines:
        row["id"] = int(row["id"]) if row["id"].isdigit() else row["id"]
        row["probabilities"] = dict(reversed(row["probabilities"].items()))
    write(path, ["", *lines[:2], "  \t", *lines[2:], ""])
    assert np.array_equal(read_predictions(path, DATA), PROBABILITIES)


def test_a_byte_order_mark_and_windows_line_ends_are_fine(path: Path) -> None:
    text = "\r\n".join(json.dumps(row, ensure_ascii=False) for row in rows())
    path.write_bytes(text.encode("utf-8-sig"))
    assert np.array_equal(read_predictions(path, DATA), PROBABILITIES)


def test_three_decimals_are_near_enough_to_one(path: Path) -> None:
    lines = rows()
    lines[0]["probabilities"] = {"none": 0.333, "positive": 0.333, "negative": 0.333}
    lines[1]["probabilities"] = {"none": 1.001, "positive": 0, "negative": 0}
    assert read_predictions(write(path, lines), DATA)[0, 0].tolist() == [0.333, 0.333, 0.333]


def test_rows_on_skipped_aspects_are_passed_over(path: Path) -> None:
    lines = [*rows(), {"id": 7, "target": "A", "aspect": "food", "probabilities": {"good": 1}}]
    write(path, lines)
    assert np.array_equal(read_predictions(path, DATA, skip={"food"}), PROBABILITIES)
    assert refused(path) == 'line 7: unknown aspect "food"; expected one of price, safety'


# ---- bad rows: how the third row is spoilt, and what is said of it


def setting(key: str, value: Any) -> Callable[[Row], Any]:
    return lambda row: {**row, key: value}


def chances(**values: Any) -> Callable[[Row], Any]:
    return setting("probabilities", values)


BAD_ROWS: dict[str, tuple[Callable[[Row], Any], str]] = {
    "not json": (lambda _: "{oops", "not JSON at column 2 (Expecting property name enclosed in double quotes); "),
    "cut off": (lambda row: json.dumps(row)[:-10], "not JSON at column "),
    "two objects": (lambda row: json.dumps(row) * 2, "not JSON at column "),
    "an array": (lambda row: [row["id"], 1], '["7", 1] is not an object; expected {...}'),
    "a long string": (lambda _: json.dumps("x" * 99), f'"{"x" * 58}… is not an object; expected {{...}}'),
    "nested deeply": (lambda _: "[" * 100_000, "maximum recursion depth exceeded"),
    "an endless number": (lambda _: '{"id": ' + "1" * 5000 + "}", "Exceeds the limit (4300 digits)"),
    "no target": (
        lambda row: {key: row[key] for key in row if key != "target"},
        'no "target"; expected "id", "target", "aspect" and "probabilities"',
    ),
    "unknown id": (setting("id", 9), "the id 9 is not in towns test"),
    "id of a wrong kind": (setting("id", 7.0), "the id is 7.0; expected a string or a whole number"),
    "id that is true": (setting("id", True), "the id is true; expected a string or a whole number"),
    "unknown target": (setting("target", "C"), 'unknown target "C"; expected one of the targets of id 7: A, B'),
    "target of a wrong kind": (setting("target", ["A"]), 'the target is ["A"]; expected a string'),
    "unknown aspect": (setting("aspect", "fod"), 'unknown aspect "fod"; expected one of price, safety'),
    "aspect of a wrong kind": (setting("aspect", {}), "the aspect is {}; expected a string"),
    "not to be printed": (setting("aspect", "\ud800\n"), r'unknown aspect "\ud800\n"; expected one of'),
    "probabilities in a list": (
        setting("probabilities", [0.1, 0.2, 0.7]),
        "probabilities are [0.1, 0.2, 0.7]; expected an object with none, positive, negative",
    ),
    "unknown label": (
        chances(none=1, positive=0, negative=0, neutral=0),
        'unknown label "neutral"; expected none, positive, negative',
    ),
    "missing label": (
        chances(none=0.5, positive=0.5),
        "no probability of 'negative'; expected none, positive, negative",
    ),
    "nan": (
        chances(none=1, positive=float("nan"), negative=0),
        "the probability of 'positive' is NaN; expected a number from 0 to 1",
    ),
    "infinite": (chances(none=float("inf"), positive=0, negative=0), "the probability of 'none' is Infinity; "),
    "above one": (chances(none=1.1, positive=0, negative=-0.1), "the probability of 'none' is 1.1; "),
    "below zero": (chances(none=0.9, positive=0.2, negative=-0.1), "the probability of 'negative' is -0.1; "),
    "huge": (chances(none=10**400, positive=0, negative=0), "the probability of 'none' is 1000"),
    "a string": (chances(none="0.1", positive=0.2, negative=0.7), "the probability of 'none' is \"0.1\"; "),
    "true": (chances(none=True, positive=0, negative=0), "the probability of 'none' is true; "),
    "null": (chances(none=None, positive=0, negative=0), "the probability of 'none' is null; "),
    "too small a sum": (
        chances(none=0.1, positive=0.2, negative=0.6),
        "the probabilities sum to 0.9; expected 1 (give or take 0.001)",
    ),
    "all zero": (chances(none=0, positive=0, negative=0), "the probabilities sum to 0; "),
    "too large a sum": (chances(none=0.5, positive=0.3, negative=0.21), "the probabilities sum to 1.01; "),
}


@pytest.mark.parametrize("name", BAD_ROWS)
def test_a_bad_row_is_one_clear_line_with_its_number(path: Path, name: str) -> None:
    spoil, message = BAD_ROWS[name]
    lines: list[Any] = rows()
    lines[2] = spoil(lines[2])
    error = refused(write(path, ["", *lines]))
    assert error.startswith(f"line 4: {message}")
    error.encode()  # can be printed


def test_a_repeated_row_names_the_first(path: Path) -> None:
    lines = rows()
    assert refused(write(path, [*lines, lines[1]])) == "line 7: repeats the row of line 2; expected each row once"


def test_missing_rows_are_counted_and_the_first_is_named(path: Path) -> None:
    lines = rows()
    error = refused(write(path, [lines[5], lines[1], lines[0]]))
    assert error == f"{path} lacks 3 of the 6 rows of towns test; the first is id 7, target 'B', aspect 'price'"


# ---- bad files


@pytest.mark.parametrize("content", [b"", b"\n \n\n", "\ufeff".encode()])
def test_an_empty_file(path: Path, content: bytes) -> None:
    path.write_bytes(content)
    error = refused(path)
    assert error == f"{path} has no row to score; expected 6, one for each target and aspect of towns test"


def test_no_such_file(path: Path) -> None:
    assert refused(path) == f"cannot read {path}: No such file or directory"


@pytest.mark.parametrize("name", ["folder", "folder.jsonl.gz"])
def test_a_folder(tmp_path: Path, name: str) -> None:
    folder = tmp_path / name
    folder.mkdir()
    assert refused(folder) == f"{folder} is a folder; expected a predictions file (.jsonl or .jsonl.gz)"


def test_no_permission(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def denied(*_: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "open", denied)
    assert refused(path) == f"cannot read {path}: Permission denied"


@pytest.mark.parametrize("encoding", ["latin-1", "utf-16"])
def test_another_encoding(path: Path, encoding: str) -> None:
    path.write_bytes("\n".join(json.dumps(row, ensure_ascii=False) for row in rows()).encode(encoding))
    line = 5 if encoding == "latin-1" else 1
    assert refused(path) == f"line {line}: not UTF-8 text; save the file as UTF-8"


def test_damaged_gzip(tmp_path: Path) -> None:
    path = tmp_path / "p.jsonl.gz"
    write_predictions(path, DATA, PROBABILITIES)
    whole = path.read_bytes()
    path.write_bytes(whole[:-20])
    assert refused(path) == f"cannot read {path}: the gzip data is damaged or cut off; write it anew"
    path.write_bytes(whole[:40] + bytes(20) + whole[60:])
    assert refused(path).startswith(f"cannot read {path}: ")
    path.write_bytes(b"{}\n")
    assert refused(path).startswith(f"cannot read {path}: Not a gzipped file")


def test_data_that_cannot_tell_its_rows_apart(path: Path) -> None:
    write_predictions(path, DATA, PROBABILITIES)
    twice = replace(DATA, examples=(*DATA.examples, DATA.examples[0]))
    with pytest.raises(DataError, match="towns test has the id '7' with the target 'A' twice"):
        read_predictions(path, twice)
