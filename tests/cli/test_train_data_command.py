"""`tabsa train DATA`: a table of one's own labels, as a new user would try it."""

import csv
import json
import sys
from pathlib import Path
from typing import Any

import pytest

import tabsa
from reader_folder import small_reader, write_reader
from tabsa.cli import main

TEXTS = [
    ("the {0} food and {1} price", ("food", "price")),
    ("this place is {0} food", ("food",)),
    ("{0} price", ("price",)),
    ("the staff and {0} food but {1} staff", ("food", "staff")),
]
WORDS = (("good", "positive"), ("bad", "negative"))
QUICK = (
    "--epochs",
    "20",
    "--set",
    "training.rate=0.01",
    "--set",
    "training.batch_size=8",
    "--set",
    "model.dropout=0.0",
)


def reviews(count: int) -> list[tuple[str, str, str]]:
    rows = []
    for number in range(count):
        pattern, aspects = TEXTS[number % len(TEXTS)]
        chosen = [WORDS[number // len(TEXTS) % 2], WORDS[number // (2 * len(TEXTS)) % 2]][: len(aspects)]
        text = pattern.format(*(word for word, _ in chosen)) + f" {number}"
        rows += [(text, aspect, polarity) for aspect, (_, polarity) in zip(aspects, chosen, strict=True)]
    return rows


def table(
    path: Path, rows: list[tuple[str, str, str]], header: tuple[str, ...] = ("text", "aspect", "polarity")
) -> Path:
    with path.open("w", newline="", encoding="utf-8") as stream:
        csv.writer(stream).writerows([header, *rows])
    return path


def run(*arguments: object, capsys: Any) -> tuple[int, str, str]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "argv", ["tabsa", *map(str, arguments)])
        with pytest.raises(SystemExit) as stop:
            main()
    told = capsys.readouterr()
    return int(stop.value.code or 0), told.out, told.err


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    model = small_reader(late_interaction=2, rounded=True, sizes={"layers": 3, "size": 64, "inner": 64})
    return write_reader(tmp_path_factory.mktemp("base") / "base", model, "int8").path


@pytest.fixture
def mine(base: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Path:
    """A model that learnt from a table without targets, whose columns are called otherwise."""
    data = table(tmp_path / "cafe.csv", reviews(48), ("Review", "Topic", "Label"))
    columns = ("--text-column", "Review", "--aspect-column", "Topic", "--polarity-column", "Label")
    code, out, err = run("train", data, "--base", base, "--out", tmp_path / "mine", *columns, *QUICK, capsys=capsys)
    assert code == 0, err
    assert "no column 'target'" in err
    assert "48 texts, 72 opinions on 3 aspects" in err
    assert "cross-validation over 48 texts" in out
    assert f"report: {tmp_path / 'mine' / 'report.html'}" in out
    return tmp_path / "mine"


def test_score_says_exactly_what_evaluate_measured(
    mine: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Texts that name nothing get their answers in use, without a target and with any name for it."""
    test = table(tmp_path / "test.csv", reviews(30))
    code, out, _ = run("evaluate", mine, "--data", test, "--split", "all", "--bootstrap", "0", "--json", capsys=capsys)
    assert code == 0
    measured = json.loads(out)
    texts = [*dict.fromkeys(text for text, _, _ in reviews(30))]
    plain = tmp_path / "texts.csv"
    plain.write_text("\n".join(["text", *texts]) + "\n")
    for number, target in enumerate(((), ("-t", "the cafe"))):
        scored = tmp_path / f"scored{number}.jsonl"
        code, _, err = run("score", plain, scored, "--model", mine, *target, "--layout", "long", "--all", capsys=capsys)
        assert code == 0, err
        said = [json.loads(line) for line in scored.read_text().splitlines()]
        gold = {(text, aspect): polarity for text, aspect, polarity in reviews(30)}
        found = {(row["text"], row["aspect"]): row["polarity"] for row in said}
        assert len(found) == len(texts) * 3
        right = sum(found[pair] == polarity for pair, polarity in gold.items())
        opinions = sum(polarity != "none" for polarity in found.values())
        assert measured["questions"]["opinion_f1"] == pytest.approx(2 * right / (opinions + len(gold)), abs=1e-12)
        assert opinions > 20


def test_a_model_of_ones_own_is_a_base_and_is_tested(
    mine: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data, test = table(tmp_path / "more.csv", reviews(20)), table(tmp_path / "test.csv", reviews(16))
    out = tmp_path / "better"
    code, told, err = run("train", data, "--base", mine, "--out", out, "--test", test, *QUICK, capsys=capsys)
    assert code == 0, err
    assert f"{test}, %: opinion f1" in told
    assert "24 opinions: too few" in told
    assert (out / "report-test.html").exists()
    assert tabsa.load(out).aspects == ("food", "price", "staff")


def test_a_toml_that_names_a_table_fine_tunes(base: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    table(tmp_path / "mine.csv", reviews(24), ("Review", "aspect", "polarity"))
    config = tmp_path / "mine.toml"
    config.write_text(
        f'[data]\nname = "mine.csv"\n[data.columns]\ntext = "Review"\n[fine_tuning]\nbase = {json.dumps(str(base))}\n'
    )
    code, told, err = run("train", config, "--out", tmp_path / "model", *QUICK, capsys=capsys)
    assert code == 0, err
    assert "mine.csv held out, %" in told


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (("absent.csv",), "no file or folder absent.csv; expected your labels, or a configuration (.toml)"),
        (("cafe.csv",), "cafe.csv has no column 'text'; it has Review, aspect, polarity; perhaps it is 'Review'"),
        (("cafe.csv", "--text-column", "Review", "--base", "nobody"), "there is no model 'nobody'"),
        (("cafe.csv", "--text-column", "Review", "--base", "places"), "fine-tuning starts from a reader"),
        (("cafe.csv", "--kind", "lr", "--base", "reader"), "give one"),
        (("cafe.csv", "--kind", "lr", "--full"), "'full' and 'minutes' are for fine-tuning"),
        (("cafe.csv", "--kind", "nothing"), "'kind' is 'nothing'"),
        (("one.csv",), "has one text; fine-tuning needs at least two"),
        (("silent.csv",), "holds no opinion"),
    ],
)
def test_what_is_wrong_is_one_line(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    arguments: tuple[str, ...],
    problem: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    table(tmp_path / "cafe.csv", reviews(12), ("Review", "aspect", "polarity"))
    table(tmp_path / "one.csv", [("good food", "food", "positive")])
    table(tmp_path / "silent.csv", [("good food", "", ""), ("bad food", "", "")])
    code, told, err = run("train", *arguments, "--out", "model", capsys=capsys)
    assert (code, told) == (1, "")
    assert problem in err.splitlines()[-1]
    assert not (tmp_path / "model" / "config.json").exists()


def test_still_improving_is_said(base: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data = table(tmp_path / "cafe.csv", reviews(48))
    options = ("--epochs", "2", *QUICK[2:])
    code, told, _ = run("train", data, "--base", base, "--out", tmp_path / "model", *options, capsys=capsys)
    assert code == 0
    assert "still improving at the last epoch" in told


def test_two_tables_are_learnt_from(base: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data = table(tmp_path / "cafe.csv", reviews(24), ("Review", "aspect", "polarity"))
    corrections = tmp_path / "corrections.jsonl"
    rows = [
        {"text": f"great rooms {n}", "aspect": "rooms", "polarity": "positive", "asked_only": True} for n in range(4)
    ]
    corrections.write_text("".join(json.dumps({**row, "target": None}) + "\n" for row in rows))
    options = ("--text-column", "Review", "--more", corrections, *QUICK)
    code, told, err = run("train", data, "--base", base, "--out", tmp_path / "mine", *options, capsys=capsys)
    assert code == 0, err
    assert "cross-validation over 28 texts" in told
    assert tabsa.load(tmp_path / "mine").aspects == ("food", "price", "staff", "rooms")
    code, _, err = run("train", data, "--more", "absent.csv", "--out", tmp_path / "x", capsys=capsys)
    assert code == 1
    assert "no file absent.csv; expected further labels" in err


def test_a_part_of_a_file_is_said_to_be_one(mine: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    test = table(tmp_path / "test.csv", reviews(60))
    code, _, err = run("evaluate", mine, "--data", test, "--bootstrap", "0", capsys=capsys)
    assert code == 0
    assert "its test part alone (" in err
    assert "--split all takes the whole file" in err
