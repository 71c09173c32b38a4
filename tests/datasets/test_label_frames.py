"""Labels that are in memory."""

import pandas as pd
import pytest

from tabsa.datasets.own import frame_dataset
from tabsa.datasets.records import Columns
from tabsa.errors import DataError
from tabsa.schema import Example, Opinion, Target

ROWS = [
    {"text": "Camden is dear", "target": "Camden", "aspect": "price", "polarity": "negative"},
    {"text": "Camden is dear", "target": "Camden", "aspect": "safety", "polarity": "none"},
    {"text": "It was lovely", "target": None, "aspect": "overall", "polarity": "positive"},
]


class Arrow:
    """What an Arrow table offers."""

    def to_pylist(self):
        return ROWS


class Polars:
    """What a frame of Polars offers."""

    def to_dicts(self):
        return ROWS


@pytest.mark.parametrize("frame", [ROWS, pd.DataFrame(ROWS), Arrow(), Polars(), iter(ROWS)], ids=type)
def test_a_frame_says_what_its_rows_say(frame):
    data = frame_dataset(frame)
    assert data.aspects == ("price", "safety", "overall")
    assert data.labels == ("none", "positive", "negative")
    first, second = data.examples
    assert first.opinions == (Opinion("Camden", "price", "negative"),)
    assert second.targets == (Target("", implied=True),)


def test_columns_of_a_frame_may_be_called_otherwise():
    frame = pd.DataFrame(ROWS).rename(columns={"text": "Review", "polarity": "Label"})
    data = frame_dataset(frame, Columns(text="Review", polarity="Label"))
    assert len(data.examples) == 2
    with pytest.raises(DataError, match="Review"):
        frame_dataset(frame)


def test_missing_cells_are_empty():
    frame = pd.DataFrame(ROWS)
    frame["id"] = [float("nan"), pd.NA, pd.NaT]
    assert len(frame_dataset(frame).examples) == 2


def test_examples_are_taken_as_they_are():
    example = Example("1", "x", (Target("", implied=True),), (Opinion("", "price", "angry"),))
    data = frame_dataset([example])
    assert data.examples == (example,)
    assert data.labels == ("none", "angry")
    assert frame_dataset(data) is data


@pytest.mark.parametrize(
    ("frame", "problem"),
    [
        (3, "is a int; expected a frame"),
        ("text", "is a str"),
        ([ROWS[0], 4], "rows of other kinds"),
        ([Example("1", "x", ())], "no opinion"),
    ],
)
def test_what_is_no_frame_is_refused(frame, problem):
    with pytest.raises(DataError, match=problem):
        frame_dataset(frame)
