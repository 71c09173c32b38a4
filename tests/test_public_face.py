"""What `import tabsa` offers, and that it offers it without loading numpy."""

import csv
import subprocess
import sys

import pytest

import tabsa


def test_classes_come_when_they_are_used():
    code = (
        "import sys, tabsa; assert 'numpy' not in sys.modules; "
        "from tabsa import Prediction, Predictor; print(Predictor.__module__, Prediction.__module__)"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.split() == ["tabsa.inference.predictor", "tabsa.inference.results"]
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        tabsa.nothing  # noqa: B018


def test_a_table_is_scored_with_a_model_or_its_folder(tmp_path, tiny_model):
    table, out = tmp_path / "in.csv", tmp_path / "out.csv"
    table.write_text("id,text\n1,Camden is cheap.\n2,Leith is far.\n")
    model = tabsa.load(tiny_model)
    tabsa.score(table, out, ["Camden"], ["price"], model=model, text_column="text")
    with out.open(newline="") as stream:
        rows = list(csv.DictReader(stream))
    (opinion,) = model.predict("Camden is cheap.", ["Camden"], ["price"]).opinions
    assert [row["Camden/price"] for row in rows] == [opinion.polarity, "none"]
    tabsa.score(str(table), str(out), {"Camden": []}, ["price"], model=tiny_model, overwrite=True)
    with pytest.raises(tabsa.TabsaError, match="exists"):
        tabsa.score(table, out, ["Camden"], model=tiny_model)
