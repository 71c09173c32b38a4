"""`df.tabsa.score(...)`: pandas' and Polars' frames, against the Predictor and against each other."""

import numpy as np
import pytest

from tabsa.errors import DataError
from tabsa.inference.predictor import load

pd = pytest.importorskip("pandas", reason="needs pandas: pip install '.[dev]'")

TEXTS = ["Camden has good food but Brixton is bad.", None, "Nobody knows.", "Brixton: lovely food, awful price."]
NAMES = ["Camden", "Brixton"]


@pytest.fixture(scope="module")
def polars():
    found = pytest.importorskip("polars", reason="needs polars: pip install 'tabsa[polars]'")
    import tabsa.plugins.polars  # noqa: F401

    return found


@pytest.fixture
def frame():
    import tabsa.plugins.pandas  # noqa: F401

    return pd.DataFrame({"text": TEXTS, "stars": [5, 4, 3, 1]}, index=[7, 5, 9, 2])


def test_pandas_reads_names_in_arrays_as_parquet_gives_them(model, frame):
    frame["who"] = [np.array(NAMES, object), None, ["Camden"], "Brixton"]
    found = frame.tabsa.score(target_column="who", aspects=["price"], every=True, model=model)
    assert list(found["target"]) == ["Camden", "Brixton", "Camden", "Brixton"]
    assert list(found.index) == [7, 7, 9, 2]


def test_a_model_is_loaded_once(open_model):
    from tabsa.plugins import predictor_of

    assert predictor_of(open_model) is predictor_of(str(open_model))
    loaded = load(open_model)
    assert predictor_of(loaded) is loaded


@pytest.mark.parametrize("lazy", [False, True])
@pytest.mark.parametrize(
    "options",
    [
        {"targets": NAMES},
        {"targets": {"Camden": ["NW1"], "Brixton": []}, "every": True, "aspects": ["price"]},
        {"targets": iter(NAMES), "layout": "wide"},
        {"target_column": "who", "aspects": ["price", "food"], "every": True},
    ],
    ids=["long", "every", "wide", "own"],
)
def test_polars_says_what_pandas_says(model, frame, polars, options, lazy):
    frame["who"] = [NAMES, None, ["Camden"], ["Brixton"]]
    if "targets" in options and not isinstance(options["targets"], dict):
        options = options | {"targets": list(NAMES)}
    own = polars.DataFrame({"text": TEXTS, "stars": frame["stars"].tolist(), "who": frame["who"].tolist()})
    if lazy:
        found = own.lazy().tabsa.score(**options, model=model).collect()
    else:
        found = own.tabsa.score(**options, model=model)
    expected = frame.tabsa.score(**options, model=model)
    assert found.columns == list(expected.columns)
    assert len(found) == len(expected) > 0
    for name in found.columns[1:]:  # the first has None where pandas may have NaN
        assert found[name].to_list() == expected[name].tolist()
    assert own.columns == ["text", "stars", "who"]


def test_polars_streams_and_knows_its_types_before(model, polars):
    rows = polars.DataFrame({"text": TEXTS * 500})
    lazy = rows.lazy().tabsa.score("text", iter(NAMES), aspects=["price"], every=True, model=model)
    types = lazy.collect_schema()
    assert types["polarity"] == polars.String
    assert types["confidence"] == types["probability_none"] == polars.Float64
    streamed = lazy.collect(engine="streaming")
    assert streamed.schema == types
    assert streamed.equals(rows.tabsa.score(targets=NAMES, aspects=["price"], every=True, model=model))


def test_what_is_wrong_is_said_at_once(model, polars):
    rows = polars.DataFrame({"text": TEXTS, "polarity": "x"})
    with pytest.raises(DataError, match="has a column 'polarity' already"):
        rows.tabsa.score(targets=NAMES, model=model)
    with pytest.raises(DataError, match="no column 'body'; it has text, polarity"):
        rows.lazy().tabsa.score("body", NAMES, model=model)
