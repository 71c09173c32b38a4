"""The user's own data with open aspects: targets without a name, aspects asked of each text, domain and kind."""

import csv
import io
import json
import warnings
from pathlib import Path

import pytest

from tabsa.datasets.loading import load
from tabsa.errors import DataWarning
from tabsa.schema import UNNAMED, Dataset, Example, Opinion, Span, Target

KNEES = "My knees met the man in front."
JET2 = "Jet2 was on time, and the seat was tight."
HEADER = ["id", "text", "target", "aspect", "polarity", "aspects", "domain", "kind"]
ROWS = [
    ["1", KNEES, "", "leg room", "negative", "leg room;price", "airlines", "implicit"],
    ["2", JET2, "Jet2", "punctuality", "positive", "punctuality; seat", "airlines", ""],
    ["2", JET2, "", "seat", "Mixed", "seat;crew", "", ""],
    ["3", "Back again.", "", "", "", "", "", ""],
]
FLAT = [dict(zip(HEADER, row, strict=True)) for row in ROWS]
NESTED = [
    {
        "id": "1",
        "text": KNEES,
        "targets": [None],
        "aspects": ["leg room", "price"],
        "opinions": [{"target": None, "aspect": "leg room", "polarity": "negative"}],
        "domain": "airlines",
        "kind": "implicit",
    },
    {
        "id": "2",
        "text": JET2,
        "targets": ["Jet2", None],
        "aspects": ["punctuality", "seat", "crew"],
        "opinions": [
            {"target": "Jet2", "aspect": "punctuality", "polarity": "positive"},
            {"target": None, "aspect": "seat", "polarity": "mixed"},
        ],
        "domain": "airlines",
        "kind": None,
    },
    {"id": "3", "text": "Back again.", "targets": [], "aspects": None, "opinions": [], "domain": None, "kind": None},
]
IT = Target(UNNAMED, (), implied=True)
EXAMPLES = (
    Example(
        "1",
        KNEES,
        (IT,),
        (Opinion(UNNAMED, "leg room", "negative"),),
        ("leg room", "price"),
        {"domain": "airlines", "kind": "implicit"},
    ),
    Example(
        "2",
        JET2,
        (Target("Jet2", (Span(0, 4),)), IT),
        (Opinion("Jet2", "punctuality", "positive"), Opinion(UNNAMED, "seat", "mixed")),
        ("punctuality", "seat", "crew"),
        {"domain": "airlines"},
    ),
    Example("3", "Back again.", ()),
)


def write(path: Path, records: list[dict[str, object]]) -> Path:
    """The records in the format that the path's name asks for."""
    if path.suffix == ".csv":
        stream = io.StringIO()
        writer = csv.DictWriter(stream, list(records[0]))
        writer.writeheader()
        writer.writerows(records)
        path.write_text(stream.getvalue(), encoding="utf-8", newline="")
    elif path.suffix == ".parquet":
        pyarrow = pytest.importorskip("pyarrow", reason="needs pyarrow: pip install 'tabsa[tables]'")
        from pyarrow import parquet

        parquet.write_table(pyarrow.Table.from_pylist(records), path)
    else:
        path.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
    return path


def load_quietly(path: Path, **options: object) -> Dataset:
    """The whole file, where nothing is to be warned of."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return load(path, "all", **options)


def load_flat(folder: Path, *rows: dict[str, object]) -> Dataset:
    return load_quietly(
        write(folder / "my.jsonl", [{"target": "", "aspect": "", "polarity": "", **row} for row in rows])
    )


def opinion(target: str | None = None, aspect: str = "price", polarity: str = "positive") -> dict[str, str | None]:
    return {"target": target, "aspect": aspect, "polarity": polarity}


# Every format


@pytest.mark.parametrize(
    ("name", "records"),
    [
        ("my.csv", FLAT),
        ("my.jsonl", FLAT),
        ("my.parquet", FLAT),
        ("my.jsonl", [{key: value or None for key, value in row.items()} for row in FLAT]),
        ("my.parquet", [{key: value or None for key, value in row.items()} for row in FLAT]),
        ("my.jsonl", NESTED),
        ("my.parquet", NESTED),
        ("my.jsonl", [{key: value for key, value in row.items() if value is not None} for row in NESTED]),
    ],
)
def test_every_format_and_shape_gives_the_same_dataset(tmp_path, name, records):
    dataset = load_quietly(write(tmp_path / name, records))
    assert dataset.examples == EXAMPLES
    assert dataset.aspects == ("leg room", "price", "punctuality", "seat", "crew")
    assert dataset.labels == ("none", "positive", "negative", "mixed")


# Targets without a name


def test_what_has_no_name_is_taken_from_the_opinions_too(tmp_path):
    record = {"text": JET2, "opinions": [opinion("Jet2"), opinion(None)]}
    for listed in ({}, {"targets": None}, {"targets": ["Jet2"]}):
        (example,) = load_quietly(write(tmp_path / "my.jsonl", [{**record, **listed}])).examples
        assert example.targets == (Target("Jet2", (Span(0, 4),)), IT)
        assert example.polarity(UNNAMED, "price") == example.polarity("Jet2", "price") == "positive"
    (example,) = load_quietly(write(tmp_path / "my.jsonl", [{**record, "targets": [None, "Jet2", None]}])).examples
    assert [target.name for target in example.targets] == [UNNAMED, "Jet2"]


def test_what_has_no_name_may_stand_beside_given_mentions_and_aliases(tmp_path):
    targets = [None, {"name": "Jet2", "mentions": [[0, 4]]}, {"name": "the chair", "aliases": ["seat"]}]
    record = {"text": JET2, "targets": targets, "opinions": [opinion(None, "crew", "none")]}
    (example,) = load_quietly(write(tmp_path / "my.jsonl", [record])).examples
    assert example.targets == (IT, Target("Jet2", (Span(0, 4),)), Target("the chair", (Span(26, 30),)))
    assert example.opinions == ()


def test_a_name_that_is_not_in_the_text_is_still_warned_of(tmp_path):
    with pytest.warns(DataWarning, match=r"1 target is not in the text by name.*\(first: 'Ryanair' in"):
        load(write(tmp_path / "my.jsonl", [{"text": JET2, "opinions": [opinion("Ryanair"), opinion(None)]}]), "all")


def test_an_empty_target_without_an_opinion_only_brings_a_text(tmp_path):
    dataset = load_flat(tmp_path, {"text": JET2}, {"text": KNEES, "aspect": "price", "polarity": "none"})
    assert [example.targets for example in dataset.examples] == [(), (IT,)]
    assert dataset.aspects == ("price",)


def test_repeated_opinions_on_what_has_no_name_are_counted_as_any(tmp_path):
    record = {"text": KNEES, "opinions": [opinion(), opinion(), opinion(polarity="neutral")]}
    with pytest.warns(DataWarning, match="dropped 1 repeated and 1 conflicting opinion"):
        dataset = load(write(tmp_path / "my.jsonl", [record]), "all")
    assert dataset.examples[0].opinions == (Opinion(UNNAMED, "price", "neutral"),)


# Aspects asked


def test_questions_are_the_aspects_asked_of_each_text(tmp_path):
    dataset = load_quietly(write(tmp_path / "my.jsonl", NESTED))
    found = [(example.id, target.name, aspect, polarity) for example, target, aspect, polarity in dataset.questions()]
    assert found == [
        ("1", "", "leg room", "negative"),
        ("1", "", "price", "none"),
        ("2", "Jet2", "punctuality", "positive"),
        ("2", "Jet2", "seat", "none"),
        ("2", "Jet2", "crew", "none"),
        ("2", "", "punctuality", "none"),
        ("2", "", "seat", "mixed"),
        ("2", "", "crew", "none"),
    ]


def test_aspects_asked_are_restricted_to_those_chosen(tmp_path):
    path = write(tmp_path / "my.jsonl", NESTED)
    dataset = load_quietly(path, aspects=["crew", "seat"])
    assert dataset.aspects == ("crew", "seat")
    assert [example.aspects for example in dataset.examples] == [(), ("seat", "crew"), None]
    assert dataset.examples[1].opinions == (Opinion(UNNAMED, "seat", "mixed"),)


def test_an_aspect_that_is_only_asked_is_one_of_the_datasets(tmp_path):
    (tmp_path / "parts").mkdir()
    write(tmp_path / "parts" / "train.jsonl", [NESTED[0]])
    write(tmp_path / "parts" / "dev.csv", FLAT[1:3])
    for split in ("train", "dev"):
        assert load(tmp_path / "parts", split).aspects == ("leg room", "price", "punctuality", "seat", "crew")
    only = {"text": KNEES, "targets": [None], "aspects": ["price"], "opinions": []}
    assert load_quietly(write(tmp_path / "my.jsonl", [only])).aspects == ("price",)


def test_rows_of_one_text_ask_for_the_union(tmp_path):
    judged = {"text": KNEES, "aspect": "price", "polarity": "negative"}
    dataset = load_flat(
        tmp_path,
        {**judged, "aspects": None},
        {**judged, "aspect": "crew", "aspects": "crew; leg room"},
        {"text": KNEES, "aspects": ["leg room", "price"]},
        {"text": JET2, "aspects": " "},
    )
    assert [example.aspects for example in dataset.examples] == [("crew", "leg room", "price"), None]


def test_of_rows_of_one_text_the_first_domain_counts(tmp_path):
    rows = [{"text": KNEES, "aspects": "a", "domain": domain} for domain in ("", "airlines", "trains")]
    assert load_flat(tmp_path, *rows).examples[0].tags == {"domain": "airlines"}


# Mistakes
