"""The numbers as a table, and the heat map as a picture."""

import csv
from pathlib import Path

import pytest

import scored_tables as made
from tabsa.errors import OutputError
from tabsa.report import summarise


def test_the_table_holds_every_cell(tmp_path: Path) -> None:
    texts = made.answered(12, 100)
    summary = summarise(made.wide(tmp_path / "t.csv", texts))
    summary.write_csv(tmp_path / "r.csv")
    rows = list(csv.DictReader((tmp_path / "r.csv").open(encoding="utf-8", newline="")))
    counts = made.counted(texts)
    assert {(row["target"], row["aspect"]) for row in rows} == set(counts)
    for row in rows:
        expected = counts[row["target"], row["aspect"]]
        assert {label: int(row[label]) for label in made.LABELS} == {label: expected[label] for label in made.LABELS}
        tally = summary.cell(row["target"], row["aspect"]).tally
        assert int(row["opinions"]) == tally.n
        assert float(row["share_positive"]) == pytest.approx(tally.share, abs=1e-6)
        assert (float(row["low"]), float(row["high"])) == pytest.approx(tally.interval, abs=1e-6)
        assert row["verdict"] == tally.verdict


def test_a_polarity_that_is_called_as_a_column(tmp_path: Path) -> None:
    row = {"text": "a", "target": "x", "aspect": "y", "polarity": "net", "confidence": 0.9}
    summary = summarise(made.write(tmp_path / "t.csv", [row]))
    summary.write_csv(tmp_path / "r.csv")
    (found,) = csv.DictReader((tmp_path / "r.csv").open(encoding="utf-8", newline=""))
    assert (found["polarity net"], found["net"], found["share_positive"]) == ("1", "0.0", "")


@pytest.mark.parametrize("kind", ["png", "svg"])
def test_the_picture(tmp_path: Path, kind: str) -> None:
    pytest.importorskip("matplotlib", reason="needs matplotlib: pip install 'tabsa[plot]'")
    summary = summarise(made.wide(tmp_path / "t.csv", made.answered(12, 50)), title="$a$ <b>")
    content = summary.plot(tmp_path / f"r.{kind}").read_bytes()
    assert content.startswith(b"\x89PNG" if kind == "png" else b"<?xml")
    assert summary.plot(tmp_path / f"again.{kind}").read_bytes() == content
    with pytest.raises(OutputError, match=r"expected a name that ends in \.png or \.svg"):
        summary.plot(tmp_path / "r.pdf")
