"""`tabsa suggest`: from a table of texts to one that a person fills in, and that is training data then."""

import json
import re
from pathlib import Path

import pytest

from command_line import CommandLine
from table_rows import text_rows, write_rows
from tabsa.datasets.loading import load
from tabsa.inference.predictor import load as load_model

ROOT = Path(__file__).parents[2]
COMMENTS = ROOT / "docs" / "examples" / "comments.csv"
OWN = ("-a", "price", "-a", "safety")


@pytest.fixture
def suggest(command_line: CommandLine, tiny_model: Path) -> CommandLine:
    """Runs `tabsa suggest` with the tiny model."""
    return lambda *arguments: command_line("suggest", *arguments, "--model", tiny_model)


def rows_of(path: Path) -> list[dict[str, str]]:
    return list(text_rows(path))


def test_the_questions_are_those_of_the_model(suggest: CommandLine, tmp_path: Path, tiny_model: Path) -> None:
    out = tmp_path / "out.csv"
    code, printed, notes = suggest(COMMENTS, out, "-t", "Camden", "-t", "Croydon", *OWN, "--n", 4, "--questions", 0)
    assert (code, printed) == (0, "")
    rows = rows_of(out)
    assert list(rows[0]) == ["row", "text", "target", "aspect", "said", "probability", "polarity", "asked_only"]
    assert f"{len(rows)} questions on 4 of 12 texts: {out}" in notes
    assert "Fill in 'polarity' with one of none, positive, negative" in notes
    source = rows_of(COMMENTS)
    model = load_model(tiny_model, threads=1)
    for row in rows:
        assert row["text"] == source[int(row["row"]) - 2]["text"]
        (opinion,) = model.predict(row["text"], [row["target"]], [row["aspect"]]).opinions
        assert row["target"] in row["text"]
        assert (row["polarity"], row["asked_only"]) == ("", "true")
        if row["text"].count("Camden") * row["text"].count("Croydon") == 0:  # alone, it is read as it was here
            assert row["said"] == opinion.polarity
            assert float(row["probability"]) == pytest.approx(opinion.confidence, abs=1e-4)


def fill(path: Path) -> dict[tuple[str, str, str], str]:
    """Answer every other question, as a person would in a spreadsheet; returns the answers."""
    rows = rows_of(path)
    for row, polarity in zip(rows[::2], ["none", "positive", "negative"] * len(rows), strict=False):
        row["polarity"] = polarity
    write_rows(path, rows)
    return {(row["text"], row["target"], row["aspect"]): row["polarity"] for row in rows[::2]}


@pytest.mark.parametrize("name", ["out.csv", "out.jsonl"])
def test_a_half_filled_table_is_training_data(
    suggest: CommandLine, command_line: CommandLine, tmp_path: Path, name: str
) -> None:
    out = tmp_path / name
    assert suggest(COMMENTS, out, "-t", "Camden=NW1", "-t", "Croydon", *OWN, "--n", 5)[0] == 0
    answered = fill(out)
    found = json.loads(command_line("data", "check", out, "--json")[1])
    assert found["pairs"] == len(answered)
    assert found["rows"] > len(answered)
    assert not {"unreadable", "target_not_in_text"} & {finding["code"] for finding in found["findings"]}
    with pytest.warns(UserWarning, match="rows without a polarity count as not asked"):
        dataset = load(out, "all")
    assert {(e.text, t.name, aspect): polarity for e, t, aspect, polarity in dataset.questions()} == answered


def test_targets_come_from_a_column_a_file_or_nowhere(suggest: CommandLine, tmp_path: Path) -> None:
    table = tmp_path / "in.csv"
    table.write_text("body,place\nLeith is dear.,Leith\nHull is safe.,Hull\nNobody.,\n,Leith\n", encoding="utf-8")
    out = tmp_path / "out.csv"
    notes = suggest(table, out, "--text-column", "body", "--target-column", "place", *OWN)[2]
    assert {(row["text"], row["target"]) for row in rows_of(out)} == {
        ("Leith is dear.", "Leith"),
        ("Hull is safe.", "Hull"),
    }
    assert "on 2 of 4 texts (2 could not be read)" in notes
    (tmp_path / "names.txt").write_text("Leith, EH6\n", encoding="utf-8")
    again = ("--text-column", "body", "--overwrite", *OWN)
    assert suggest(table, out, "--targets", tmp_path / "names.txt", *again)[0] == 0
    assert {(row["target"], row["aliases"]) for row in rows_of(out)} == {("Leith", "EH6")}
    assert suggest(table, out, "-t", "Leith", "--implied", *again)[0] == 0
    assert {(row["text"], row["target"]) for row in rows_of(out)} == {
        ("Leith is dear.", "Leith"),
        ("Hull is safe.", ""),
        ("Nobody.", ""),
    }
    assert suggest(table, out, "--implied", *again)[0] == 0
    assert {row["target"] for row in rows_of(out)} == {""}
    assert len({row["text"] for row in rows_of(out)}) == 3


def test_labelled_texts_are_not_suggested_again(suggest: CommandLine, tmp_path: Path) -> None:
    first, second = tmp_path / "first.csv", tmp_path / "second.csv"
    pairs = ("-t", "Camden", "-t", "Croydon", *OWN)
    suggest(COMMENTS, first, *pairs, "--n", 3)
    fill(first)
    assert suggest(COMMENTS, second, *pairs, "--labelled", first)[0] == 0
    labelled = {row["text"] for row in rows_of(first) if row["polarity"]}
    assert len(labelled) == 3
    assert not labelled & {row["text"] for row in rows_of(second)}


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["missing.csv", "out.csv", "-t", "A"], 1, "no file missing.csv"),
        (["in.csv", "out.csv", "-t", "Nowhere"], 1, "none of the 1 rows of in.csv names a target; give other names"),
        (["in.csv", "out.csv", "--target-column", "place"], 1, "no column of in.csv 'place'|unknown column|place"),
        (["in.csv", "in.csv", "-t", "Leith"], 1, "in.csv is the input"),
        (["in.csv", "there.csv", "-t", "Leith"], 1, "there.csv exists; replace it with --overwrite"),
        (["in.csv", "out.xlsx", "-t", "Leith"], 1, "out.xlsx"),
        (["empty.csv", "out.csv", "-t", "Leith"], 1, "has 0 rows; expected texts"),
        (
            ["in.csv", "out.csv", "-t", "Leith", "--labelled", "there.csv"],
            1,
            "has 1 rows; expected texts that are not labelled yet",
        ),
        (["in.csv", "out.csv"], 2, "give one of them"),
        (["in.csv", "out.csv", "-t", "Leith", "--n", "0"], 2, "--n"),
    ],
)
def test_a_mistake_is_one_clear_line(
    suggest: CommandLine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], code: int, words: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("in.csv").write_text("text\nLeith is dear.\n", encoding="utf-8")
    Path("there.csv").write_text("text,target,aspect,polarity\nLeith is dear!,Leith,price,none\n", encoding="utf-8")
    Path("empty.csv").write_text("text\n", encoding="utf-8")
    ended, printed, notes = suggest(*arguments)
    assert (ended, printed) == (code, "")
    assert re.search(words, " ".join(notes.replace("│", " ").split()))
    assert code == 2 or len(notes.strip().splitlines()) == 1
    assert not Path("out.csv").exists()
