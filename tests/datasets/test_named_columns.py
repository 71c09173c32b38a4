"""Columns with other names, as commands and runs take them."""

import json
from pathlib import Path

import pytest

from table_rows import write_rows

NAMES = {"text": "Review", "target": "Product", "aspect": "Topic", "polarity": "Label"}
OPTIONS = [part for role, name in NAMES.items() for part in (f"--{role}-column", name)]
ROWS = [
    {"text": "The Pixel is dear.", "target": "Pixel", "aspect": "price", "polarity": "neg"},
    {"text": "The Pixel is dear.", "target": "Pixel", "aspect": "safety", "polarity": "none"},
    {"text": "A safe Nokia.", "target": "Nokia", "aspect": "safety", "polarity": "pos"},
]


@pytest.fixture
def survey(tmp_path: Path) -> Path:
    return write_rows(tmp_path / "survey.csv", [{NAMES[role]: value for role, value in row.items()} for row in ROWS])


def test_evaluate_takes_them(survey, tiny_model, command_line, tmp_path):
    arguments = ("evaluate", tiny_model, "--data", survey, "--split", "all", "--bootstrap", 0, "--json")
    code, out, err = command_line(*arguments, *OPTIONS)
    assert code == 0, err
    plain = write_rows(tmp_path / "plain.csv", ROWS)
    expected = json.loads(command_line(*(plain if part is survey else part for part in arguments))[1])
    assert json.loads(out) == expected | {"data": str(survey)}
