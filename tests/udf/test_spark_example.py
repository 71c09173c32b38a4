"""The example for Spark, run with a real Spark on this machine; skipped where PySpark is not installed: it is large."""

import runpy
import sys
from pathlib import Path

import pytest

pytest.importorskip("pyspark", reason="needs PySpark and Java: pip install pyspark")
pd = pytest.importorskip("pandas")

ROOT = Path(__file__).parents[2]


@pytest.fixture
def spark(monkeypatch):
    from pyspark.sql import SparkSession

    monkeypatch.setenv("PYSPARK_PYTHON", sys.executable)
    session = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false").getOrCreate()
    yield session
    session.stop()


def test_the_example_says_what_pandas_says(spark, monkeypatch):
    import tabsa.udf.pandas  # noqa: F401

    monkeypatch.chdir(ROOT)
    example = runpy.run_path(str(ROOT / "docs" / "examples" / "spark_opinions.py"), run_name="__main__")
    columns = ["text", "target", "aspect", "polarity"]
    found = example["scored"].toPandas()
    comments = pd.read_csv(ROOT / "docs" / "examples" / "comments.csv")
    expected = comments[["text"]].tabsa.score(targets=["Camden", "Croydon"], aspects=["price"])
    assert sorted(found[columns].itertuples(index=False, name=None)) == sorted(
        expected[columns].itertuples(index=False, name=None)
    )
    assert len(found) >= 2
    both = found.merge(expected, on=["text", "target", "aspect"])
    assert (both["confidence_x"] - both["confidence_y"]).abs().max() < 0.03
