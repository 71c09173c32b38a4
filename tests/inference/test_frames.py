from pathlib import Path

import pytest

from tabsa.errors import DataError, DataWarning
from tabsa.inference.frames import predict_frame
from tabsa.inference.predictor import Predictor, load
from tabsa.schema import NONE

pd = pytest.importorskip("pandas")

TEXTS = ["Camden is cheap but Brixton is far.", "Nobody knows.", "Brixton is lovely."]


@pytest.fixture(scope="module")
def model(tiny_model: Path) -> Predictor:
    return load(tiny_model, threads=1)


@pytest.fixture
def frame():
    return pd.DataFrame({"text": TEXTS, "stars": [5, 3, 1]}, index=["a", "b", "c"])


def test_long_has_a_row_for_each_opinion(model, frame):
    result = predict_frame(model, frame, targets=["Camden", "Brixton"])
    expected = [
        (label, row.stars, opinion.target, opinion.aspect, opinion.polarity)
        for label, row in frame.iterrows()
        for opinion in model.predict(row.text, ["Camden", "Brixton"]).found()
    ]
    assert list(result[["stars", "target", "aspect", "polarity"]].itertuples(name=None)) == expected
    assert result["confidence"].equals(
        result[["probability_none", "probability_positive", "probability_negative"]].max(axis=1).rename("confidence")
    )


def test_wide_keeps_the_rows_and_adds_a_column_for_each_pair(model, frame):
    result = predict_frame(model, frame, targets=iter(["Camden", "Brixton"]), aspects=["price"], layout="wide")
    assert list(result.columns) == ["text", "stars", "Camden/price", "Brixton/price"]
    assert result[["text", "stars"]].equals(frame)
    for label, text in zip("abc", TEXTS, strict=True):
        polarities = [opinion.polarity for opinion in model.predict(text, ["Camden", "Brixton"], ["price"]).opinions]
        assert list(result.loc[label, ["Camden/price", "Brixton/price"]]) == polarities


def test_targets_of_each_row(model, frame):
    frame["who"] = [["Camden", "Brixton"], None, "Brixton"]
    result = predict_frame(model, frame, target_column="who", aspects=["price"], every=True)
    assert list(result["target"]) == ["Camden", "Brixton", "Brixton"]
    assert list(result.index) == ["a", "a", "c"]
    with pytest.raises(DataError, match="one target a row"):
        predict_frame(model, frame, target_column="who", layout="wide")
    frame["who"] = ["Camden", None, "Brixton"]
    wide = predict_frame(model, frame, target_column="who", aspects=["price", "safety"], layout="wide")
    assert list(wide.columns) == ["text", "stars", "who", "price", "safety"]
    assert list(wide.loc["b", ["price", "safety"]]) == [NONE, NONE]


def test_missing_texts_have_no_opinions(model):
    frame = pd.DataFrame({"review": ["Camden is cheap.", None, float("nan"), pd.NA]})
    result = predict_frame(model, frame, "review", ["Camden"], aspects=["price"], every=True)
    assert list(result["polarity"][1:]) == [NONE] * 3
    assert list(result["confidence"][1:]) == [1.0] * 3


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({}, "either targets"),
        ({"targets": ["x"], "text_column": "body"}, "no column 'body'; it has text, stars"),
        ({"targets": ["x"], "text_column": "stars"}, "text 1 is of type int"),
        ({"targets": ["x"], "layout": "round"}, "'long' or 'wide'"),
        ({"targets": ["x"], "aspects": ["noise"]}, "it knows"),
    ],
)
def test_what_is_wrong_is_said(model, frame, arguments, message):
    with pytest.raises(DataError, match=message):
        predict_frame(model, frame, **arguments)


def test_the_column_of_texts_is_guessed_and_columns_that_are_missing_are_told_together(model):
    frame = pd.DataFrame({"nr": [1, 2, 3], "Comment": TEXTS})
    with pytest.warns(DataWarning, match="texts are taken from the column 'Comment'"):
        found = predict_frame(model, frame, targets=["Camden"])
    pd.testing.assert_frame_equal(found, predict_frame(model, frame, "Comment", ["Camden"]))
    with pytest.raises(DataError, match=r"no columns 'Coment' \(did you mean 'Comment'\?\), 'shop'"):
        predict_frame(model, frame, "Coment", target_column="shop")
    with pytest.raises(DataError, match="no column 'text'; it has nr"):
        predict_frame(model, frame[["nr"]], targets=["Camden"])
