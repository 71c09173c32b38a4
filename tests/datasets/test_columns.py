"""Files whose columns are called otherwise, or that have no targets: in Python, on the command line and in a run."""

import csv
import json
import warnings
from pathlib import Path

import pytest

from tabsa.config import override, to_toml
from tabsa.datasets.checking import check
from tabsa.datasets.loading import load
from tabsa.datasets.records import Columns
from tabsa.errors import ConfigError, DataError, DataWarning
from tabsa.schema import UNNAMED, Dataset, Target

HEADER = ["Review", "Product", "Topic", "Label"]
ROWS = [
    ["Camden is dear.", "Camden", "price", "NEG"],
    ["Camden is dear.", "Camden", "safety", "None"],
    ["Brixton is cheap and safe.", "Brixton", "price", "pos"],
    ["Brixton is cheap and safe.", "Brixton", "safety", " Positive "],
    ["Croydon is a place.", "Croydon", "price", "Neu"],
    ["Soho, well.", "Soho", "price", "+1"],
]
NAMES = dict(zip(("text", "target", "aspect", "polarity"), HEADER, strict=True))
OPTIONS = [part for role, name in NAMES.items() for part in (f"--{role}-column", name)]


def write(path: Path, header: list[str], rows: list[list[str]]) -> Path:
    with path.open("w", newline="", encoding="utf-8") as stream:
        csv.writer(stream).writerows([header, *rows])
    return path


@pytest.fixture
def survey(tmp_path) -> Path:
    return write(tmp_path / "my.csv", HEADER, ROWS)


def questions(data: Dataset) -> list[tuple[str, str, str, str]]:
    return [(example.text, target.name, aspect, polarity) for example, target, aspect, polarity in data.questions()]


def refusal(call, *arguments, **options) -> DataError:
    with pytest.raises(DataError) as caught:
        call(*arguments, **options)
    return caught.value


# ---- names


@pytest.mark.parametrize("columns", [NAMES, Columns(**NAMES)])
def test_columns_by_their_names(survey, columns):
    data = load(survey, "all", columns=columns)
    assert questions(data)[:2] == [("Camden is dear.", "Camden", "price", "negative"),
                                   ("Camden is dear.", "Camden", "safety", "none")]  # fmt: skip
    assert data.labels == ("none", "positive", "negative", "neutral", "+1")


def test_a_column_that_there_is_not_to_name(survey):
    with pytest.raises(ConfigError, match=r"unknown key 'columns\.txt'; did you mean 'text'\?"):
        load(survey, "all", columns={"txt": "Review"})


@pytest.mark.parametrize(
    ("columns", "role", "message"),
    [
        ({}, "text", "has no column 'text'; {} perhaps it is 'Review'"),
        ({"text": "Review"}, "aspect", "has no column 'aspect'; {} perhaps it is 'Topic'"),
        (NAMES | {"polarity": "label"}, "polarity", "has no column 'label'; {} perhaps it is 'Label'"),
        (NAMES | {"target": "Produkt"}, "target", "has no column 'Produkt'; {} perhaps it is 'Product'"),
        (NAMES | {"id": "Number"}, "id", "has no column 'Number'; it has Review, Product, Topic, Label"),
    ],
)  # fmt: skip
def test_a_missing_column_is_told_with_those_there_are(survey, columns, role, message):
    for call in (lambda: load(survey, "all", columns=columns), lambda: check(survey, Columns(**columns))):
        error = refusal(call)
        assert str(error) == f"{survey} " + message.format("it has Review, Product, Topic, Label;")
        assert (error.code, error.fields["role"]) == ("no_column", role)


def test_many_columns_are_counted(tmp_path):
    path = write(tmp_path / "wide.csv", [f"q{n}" for n in range(30)], [["x"] * 30])
    assert str(refusal(load, path, "all")).endswith("q10, q11 and 18 more")


def test_parquet_and_json_lines(tmp_path, survey):
    expected = questions(load(survey, "all", columns=NAMES))
    records = [dict(zip(HEADER, row, strict=True)) for row in ROWS]
    lines = tmp_path / "my.jsonl"
    lines.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
    assert questions(load(lines, "all", columns=NAMES)) == expected
    assert "has no column 'text'; it has Review," in str(refusal(load, lines, "all"))
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    parquet.write_table(pyarrow.Table.from_pylist(records), tmp_path / "my.parquet")
    assert questions(load(tmp_path / "my.parquet", "all", columns=NAMES)) == expected


# ---- polarities


def test_polarities_in_short_and_in_any_case(survey):
    found = {polarity: None for *_, polarity in questions(load(survey, "all", columns=NAMES))}
    assert list(found) == ["negative", "none", "positive", "neutral", "+1"]
    (finding,) = [one for one in check(survey, Columns(**NAMES)).findings if one.code == "unknown_polarity"]
    assert (finding.line, finding.message) == (7, "polarity '+1'; did you mean 'positive'?")


# ---- no targets


@pytest.fixture
def reviews(tmp_path) -> Path:
    rows = [[row[0], *row[2:]] for row in ROWS if row[-1] != "+1"]
    return write(tmp_path / "reviews.csv", ["text", "aspect", "polarity"], [*rows, ["We came by bus.", "", ""]])


def test_a_file_without_targets_is_about_one_unnamed_thing(reviews):
    note = r"reviews\.csv has no column 'target' \(only text, aspect, polarity\): every text is taken to be about one"
    with pytest.warns(DataWarning, match=note):
        data = load(reviews, "all")
    assert {example.targets for example in data.examples} == {(Target(UNNAMED, implied=True),)}
    assert len(data.examples) == 4
    assert questions(data)[-2:] == [("We came by bus.", "", aspect, "none") for aspect in ("price", "safety")]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert questions(load(reviews, "all", columns={"target": ""})) == questions(data)


def test_a_column_that_may_name_it_is_guessed(tmp_path):
    path = write(
        tmp_path / "my.csv", ["text", "brand name", "aspect", "polarity"], [["Dear.", "Nokia", "price", "neg"]]
    )
    with pytest.warns(DataWarning, match=r"if a column does \(perhaps 'brand name'\), name it with --target-column"):
        load(path, "all")


def test_lines_without_targets(tmp_path):
    path = tmp_path / "my.jsonl"
    rows = [{"text": f"Dear {n}.", "aspect": "price", "polarity": "neg"} for n in range(3)]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    with pytest.warns(DataWarning, match="has no column 'target'"):
        data = load(path, "all")
    assert questions(data) == [(f"Dear {n}.", "", "price", "negative") for n in range(3)]


def test_the_check_says_so(reviews, command_line):
    found = check(reviews)
    assert (found.findings[0].code, found.findings[0].line) == ("no_target_column", None)
    assert (found.targets["unnamed"], found.texts, found.pairs) == (4, 4, 8)
    code, out, err = command_line("data", "check", reviews)
    assert (code, err) == (0, "")
    assert "no targets: one for each text, which it does not name" in out


# ---- commands and runs


def test_evaluate_takes_them(survey, tiny_model, command_line, tmp_path):
    rows = [row for row in ROWS if row[-1] not in ("Neu", "+1")]
    survey = write(survey, HEADER, rows)
    arguments = ("evaluate", tiny_model, "--data", survey, "--split", "all", "--bootstrap", 0, "--json")
    code, out, err = command_line(*arguments, *OPTIONS)
    assert code == 0, err
    plain = write(tmp_path / "plain.csv", ["text", "target", "aspect", "polarity"], rows)
    expected = json.loads(command_line(*(plain if part is survey else part for part in arguments))[1])
    assert json.loads(out) == expected | {"data": str(survey)}
    code, out, err = command_line(*arguments)
    assert (code, out) == (1, "")
    assert err == (
        f"error: {survey} has no column 'text'; it has Review, Product, Topic, Label; perhaps it is 'Review'; name it "
        "with --text-column, or in a configuration as data.columns.text\n"
    )
    code, _, err = command_line("evaluate", tiny_model, "--data", "places", *OPTIONS)
    assert (code, err) == (1, "error: places has columns of its own; name columns only for your own file\n")


def test_evaluate_in_python(survey, tiny_model):
    import tabsa

    survey = write(survey, HEADER, [row for row in ROWS if row[-1] not in ("Neu", "+1")])
    report = tabsa.evaluate(tiny_model, survey, "all", columns=NAMES, bootstrap=0)
    assert report.counts["opinions"] == 3


def test_evaluate_without_targets_says_what_use_would_not_answer(reviews, tiny_model, command_line):
    code, _, err = command_line(
        "evaluate", "reader", "--data", reviews, "--split", "all", "--bootstrap", 0, "-a", "price", "-a", "safety"
    )
    assert code == 0, err
    assert "warning: " in err
    assert "has no column 'target'" in err
    assert (
        "4 of 4 targets are not named in their texts; in use the model answers `none` for these unless you say" in err
    )


def test_a_run_names_them():
    pytest.importorskip("torch")
    from tabsa.training.config import DataConfig, run_config

    values = {"kind": "lr", "data": {"name": "my.csv", "columns": {"text": "Review"}}}
    config = run_config(values)
    assert config.data.columns == Columns(text="Review") == config.data.own_columns
    assert DataConfig().own_columns is None
    import tomllib

    assert run_config(tomllib.loads(to_toml(config))) == config
    assert run_config(override({"kind": "lr"}, ["data.columns.polarity=Label"])).data.columns.polarity == "Label"
    with pytest.raises(ConfigError, match=r"unknown key 'data\.columns\.txt'; did you mean 'text'\?"):
        run_config({"kind": "lr", "data": {"columns": {"txt": "Review"}}})
    with pytest.raises(ConfigError, match=r"'data\.columns' is a section"):
        run_config({"kind": "lr", "data": {"columns": "Review"}})


def test_a_run_reads_them(tmp_path, command_line):
    pytest.importorskip("torch")
    pytest.importorskip("scipy")
    rows = [
        [f"{word} number {n}.", "price", "pos" if word == "Cheap" else "neg"]
        for n in range(30)
        for word in ("Cheap", "Dear")
    ]
    for split in ("train", "dev"):
        write(tmp_path / f"{split}.csv", ["Review", "Topic", "Label"], rows)
    config = tmp_path / "my.toml"
    config.write_text(
        f'kind = "lr"\n[data]\nname = "{tmp_path}"\n'
        '[data.columns]\ntext = "Review"\naspect = "Topic"\npolarity = "Label"\n'
        "[model]\npos_ngrams = 0\nc = [10.0]\n"
    )
    code, _, err = command_line("train", config, "--out", tmp_path / "model")
    assert code == 0, err
    assert "has no column 'target' (only Review, Topic, Label)" in err
    code, out, err = command_line("predict", "Cheap number 7.", "--model", tmp_path / "model", "--json")
    assert code == 0, err
    (opinion,) = json.loads(out)["opinions"]
    assert (opinion["target"], opinion["polarity"]) == (None, "positive")
