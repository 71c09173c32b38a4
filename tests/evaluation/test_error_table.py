"""Every wrong answer as a row of a table."""

from dataclasses import replace

import numpy as np
import pytest

from scored_data import DATA, GOLD, many, one_hot
from table_rows import text_rows
from tabsa.errors import OutputError
from tabsa.evaluation.report import evaluate
from tabsa.schema import Dataset, Example, Opinion, Target
from tabsa.tables.rows import typed_rows

COLUMNS = ["id", "text", "target", "aspect", "gold", "said", "probability", "none", "positive", "negative"]


@pytest.mark.parametrize("name", ["e.csv", "e.tsv", "e.jsonl", "e.parquet", "e.csv.gz", "e.jsonl.gz"])
def test_every_wrong_answer_is_a_row(tmp_path, name):
    if name.endswith("parquet"):
        pytest.importorskip("pyarrow")
    report = evaluate(*many([1, 2, 3] * 5), bootstrap=0)
    path = report.write_errors(tmp_path / name)
    rows = list(text_rows(path))
    assert len(rows) == len(report.errors)
    for row, error in zip(rows, report.errors, strict=True):
        assert list(row) == COLUMNS
        names = [row[column] for column in COLUMNS[:6]]
        assert names == [error.id, error.text, error.target.name, error.aspect, error.gold, error.said]
        assert float(row["probability"]) == pytest.approx(error.probability, abs=1e-6)
        shares = [float(row[label]) for label in COLUMNS[7:]]
        assert shares == pytest.approx(list(error.probabilities.values()), abs=1e-6)
    assert [p.name for p in tmp_path.iterdir()] == [name]


@pytest.mark.parametrize("name", ["e.csv", "e.jsonl", "e.parquet"])
def test_no_mistakes_make_a_table_without_rows(tmp_path, name):
    if name.endswith("parquet"):
        pytest.importorskip("pyarrow")
    path = evaluate(DATA, one_hot(GOLD), bootstrap=0).write_errors(tmp_path / name)
    assert list(typed_rows(path)) == []
    if name == "e.csv":
        assert path.read_text("utf-8") == ",".join(COLUMNS) + "\n"


def test_the_target_that_is_not_named_is_null(tmp_path):
    example = Example("1", 'dear, "and"\nfar', (Target("", implied=True),), (Opinion("", "price", "negative"),))
    data = Dataset("mine", "all", ("price",), DATA.labels, [example])
    report = evaluate(data, np.array([[[0.9, 0.05, 0.05]]]), bootstrap=0)
    (row,) = typed_rows(report.write_errors(tmp_path / "e.jsonl"))
    assert row.values["target"] is None
    (row,) = typed_rows(report.write_errors(tmp_path / "e.csv"))
    assert (row.values["target"], row.values["text"]) == ("", example.text)


def test_a_label_named_as_a_column_gets_another_name(tmp_path):
    renamed = [
        replace(
            e,
            opinions=tuple(replace(o, polarity="text" if o.polarity == "positive" else o.polarity) for o in e.opinions),
        )
        for e in DATA.examples
    ]
    data = replace(DATA, labels=("none", "text", "negative"), examples=renamed)
    (row, *_) = typed_rows(
        evaluate(data, np.tile([1.0, 0, 0], (4, 2, 1)), bootstrap=0).write_errors(tmp_path / "e.csv")
    )
    assert list(row.values) == [*COLUMNS[:7], "none", "p_text", "negative"]


def test_another_format_is_refused_and_what_was_there_stays(tmp_path, monkeypatch):
    report = evaluate(*many([1, 2]), bootstrap=0)
    with pytest.raises(OutputError, match=r"cannot write '.*e\.xlsx'; expected a name that ends in \.csv"):
        report.write_errors(tmp_path / "e.xlsx")
    monkeypatch.setitem(__import__("sys").modules, "pyarrow", None)
    (tmp_path / "e.parquet").write_text("before")
    with pytest.raises(OutputError, match="needs pyarrow"):
        report.write_errors(tmp_path / "e.parquet")
    assert (tmp_path / "e.parquet").read_text() == "before"
    (tmp_path / "file").write_text("")
    with pytest.raises(OutputError, match="cannot write"):
        report.write_errors(tmp_path / "file" / "e.csv")
