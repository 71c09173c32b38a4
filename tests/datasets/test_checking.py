"""What a labelled file holds and what looks wrong with it: every finding, in CSV and in JSON Lines."""

import csv
import gzip
import io
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tabsa.datasets.checking import POLARITIES, DataCheck, Finding, check, nearest_polarity, nearest_words
from tabsa.datasets.loading import load
from tabsa.datasets.records import Columns

HEADER = ("id", "text", "target", "aspect", "polarity")
CAMDEN = "Camden is dear, but safer than Brixton."
# Enough of two polarities and one aspect that nothing is rare.
PLAIN = [(str(n), f"Leeds is number {n}.", "Leeds", "price", ("positive", "negative")[n % 2]) for n in range(100, 120)]

Check = Callable[..., DataCheck]


def rows_as(suffix: str, rows) -> str:
    """Flat rows in the format that files with this suffix have."""
    if suffix == ".csv":
        stream = io.StringIO()
        csv.writer(stream).writerows([HEADER, *rows])
        return stream.getvalue()
    return "".join(json.dumps(dict(zip(HEADER, row, strict=True))) + "\n" for row in rows)


@pytest.fixture(params=[".csv", ".jsonl"])
def suffix(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture
def check_rows(tmp_path: Path, suffix: str) -> Check:
    """Checks flat rows, after twenty with nothing wrong unless `plain` is false."""

    def run(*rows, plain: bool = True) -> DataCheck:
        path = tmp_path / f"my{suffix}"
        path.write_text(rows_as(suffix, [*(PLAIN if plain else ()), *rows]), encoding="utf-8", newline="")
        return check(path)

    return run


@pytest.fixture
def at(suffix: str) -> Callable[[int], int]:
    """The line of the n-th row after the plain ones: a spreadsheet's row 1 is the header."""
    return lambda n: n + len(PLAIN) + (suffix == ".csv")


@pytest.fixture
def unit(suffix: str) -> str:
    return "row" if suffix == ".csv" else "line"


def check_lines(folder: Path, *records: object) -> DataCheck:
    path = folder / "my.jsonl"
    path.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
    return check(path)


def of_kind(found: DataCheck, code: str) -> list[tuple[int | None, str]]:
    return [(finding.line, finding.message) for finding in found.findings if finding.code == code]


# What a file holds


def test_a_file_with_nothing_wrong_is_counted(check_rows, unit):
    found = check_rows()
    assert found.findings == ()
    assert (found.unit, found.rows, found.texts, found.several_targets) == (unit, 20, 20, 0)
    assert found.targets == {"named": 20, "unnamed": 0, "not_in_text": 0}
    assert (found.pairs, found.opinions) == (20, 20)
    assert found.polarities == {"positive": 10, "negative": 10}
    assert found.aspects == {"price": 20}


def test_counts_are_those_of_the_dataset_that_loads(check_rows, tmp_path, suffix):
    found = check_rows(
        ("1", CAMDEN, "Camden", "price", "negative"),
        ("1", CAMDEN, "Camden", "price", "positive"),
        ("1", CAMDEN, "Brixton", "safety", "Negative"),
        ("2", "Too dear.", "", "price", "negative"),
        ("3", "Too dear again.", "Ealing", "price", "none"),
        ("4", "Hello.", "", "", ""),
    )
    with pytest.warns(UserWarning, match="my"):
        dataset = load(tmp_path / f"my{suffix}", "all")
    questions = list(dataset.questions())
    assert found.texts == len(dataset.examples) == 24
    assert found.targets == {"named": 22, "unnamed": 1, "not_in_text": 1}
    assert found.several_targets == 1
    assert found.pairs == len(questions) == 48
    assert found.opinions == sum(polarity != "none" for *_, polarity in questions) == 23
    assert found.polarities == {"negative": 12, "positive": 11}
    assert tuple(found.aspects) == dataset.aspects == ("price", "safety")


def test_pairs_are_the_aspects_asked(tmp_path):
    record = {"text": CAMDEN, "targets": ["Camden", None], "aspects": ["price", "crew", "noise"], "opinions": []}
    found = check_lines(tmp_path, record, {**record, "text": "Camden.", "aspects": None})
    assert found.pairs == 2 * 3 + 2 * 3
    assert found.aspects == {"price": 0, "crew": 0, "noise": 0}
    assert found.targets == {"named": 2, "unnamed": 2, "not_in_text": 0}


def test_parquet_is_checked_too(tmp_path):
    pyarrow = pytest.importorskip("pyarrow", reason="needs pyarrow: pip install 'tabsa[tables]'")
    from pyarrow import parquet

    rows = [*PLAIN, ("1", CAMDEN, "Leeds", "price", None), (None, None, None, None, None)]
    table = pyarrow.Table.from_pylist([dict(zip(HEADER, row, strict=True)) for row in rows])
    parquet.write_table(table, tmp_path / "my.parquet")
    found = check(tmp_path / "my.parquet")
    assert (found.unit, found.rows, found.texts, found.left_empty) == ("row", 21, 21, 1)
    assert found.findings == (Finding("target_not_in_text", 21, "'Leeds' is not in the text"),)


def test_columns_may_have_other_names(tmp_path):
    path = tmp_path / "my.csv"
    path.write_text("key,review,brand,topic,mood\n1,Leeds is dear.,Leeds,price,negative\n", encoding="utf-8")
    found = check(path, Columns("review", "key", "brand", "topic", "mood"))
    assert (found.texts, found.opinions, found.targets["named"]) == (1, 1, 1)


# Rows that cannot be read


def test_rows_that_cannot_be_loaded_are_collected(check_rows, at, unit):
    found = check_rows(
        ("2", CAMDEN, "Camden", "", "positive"),
        ("100", "Another text.", "Camden", "", ""),
        ("", "No id.", "", "", ""),
        ("3", "Fine.", "", "price", "positive"),
    )
    assert of_kind(found, "unreadable") == [
        (at(1), "polarity 'positive' has no 'aspect'; name the aspect that is judged"),
        (at(2), f"id '100' has another text than in {unit} {at(-19)}; give each text its own id"),
        (at(3), "some rows have an id and some have not; give every row an id, or none"),
    ]
    assert (found.rows, found.texts, len(found.findings)) == (24, 21, 3)


def test_rows_that_are_no_rows_are_collected(tmp_path):
    path = tmp_path / "my.csv"
    bad = b'1,Leeds,Leeds\r\n2,caf\x81,Leeds,,\r\n3,"open,Leeds,,\r\n4,Leeds is fine.,Leeds,price,positive\r\n'
    path.write_bytes(rows_as(".csv", PLAIN).encode() + bad)
    found = check(path)
    assert [line for line, _ in of_kind(found, "unreadable")] == [22, 23, 24]
    assert [message.partition(";")[0] for _, message in of_kind(found, "unreadable")] == [
        "has 3 fields",
        "is not UTF-8 text",
        "unexpected end of data",
    ]
    assert (found.rows, found.texts) == (24, 21)


def test_lines_that_are_no_rows_are_collected(tmp_path):
    path = tmp_path / "my.jsonl"
    bad = b'{"text": \n\n[1]\n{"text": "caf\xe9"}\n{"text": "Leeds"}\n'
    path.write_bytes(rows_as(".jsonl", PLAIN).encode() + bad)
    found = check(path)
    ((first, broken),) = of_kind(found, "torn_line")
    assert first == 21
    assert broken.startswith("is not JSON: Expecting value")
    assert of_kind(found, "unreadable") == [
        (23, "is not a JSON object; write one JSON object a line"),
        (24, "is not UTF-8 text; save it as UTF-8"),
        (25, "has no 'target'; it has 'text'"),
    ]


def test_a_file_that_breaks_off_is_checked_up_to_there(tmp_path):
    path = tmp_path / "my.csv.gz"
    rows = [(str(n), f"Leeds is number {n}, {n * n}.", "Leeds", "price", "positive") for n in range(5000)]
    whole = gzip.compress(rows_as(".csv", rows).encode())
    path.write_bytes(whole[:-2000])
    found = check(path)
    assert 1000 < found.texts < 5000
    ((line, message),) = of_kind(found, "unreadable")
    assert line is None
    assert message.startswith(f"the rest cannot be read: {path} is not a whole gzip file")


# Texts


def test_the_same_text_under_two_ids_is_found(check_rows, at, unit):
    found = check_rows(("1", CAMDEN, "", "", ""), ("2", f"{CAMDEN} ", "", "", ""), ("1", CAMDEN, "", "", ""))
    assert of_kind(found, "same_text") == [(at(2), f"id '2' has the text of id '1' in {unit} {at(1)}")]


# Targets


def test_targets_that_are_not_in_the_text_are_found_with_the_nearest_words(check_rows, at):
    text = "The Grand Hotl is near Camden Town station."
    found = check_rows(
        ("1", text, "Camden Town", "price", "positive"),
        ("1", text, "grand hotel", "price", "positive"),
        ("1", text, "Leeds", "price", "positive"),
        ("1", text, "grand hotel", "price", "positive"),
        ("1", text, "", "price", "positive"),
    )
    assert of_kind(found, "target_not_in_text") == [
        (at(2), "'grand hotel' is not in the text; did you mean 'Grand Hotl'?"),
        (at(3), "'Leeds' is not in the text"),
    ]
    assert found.targets == {"named": 21, "unnamed": 1, "not_in_text": 2}


def test_a_target_without_mentions_on_purpose_is_not_found(tmp_path):
    found = check_lines(tmp_path, {"text": CAMDEN, "targets": [{"name": "Leeds", "mentions": []}], "opinions": []})
    assert of_kind(found, "target_not_in_text") == []
    assert found.targets["not_in_text"] == 1


@pytest.mark.parametrize(
    ("name", "text", "near"),
    [
        ("Camdn", CAMDEN, "Camden"),
        ("Brixtons Market", "brixton market, again", "brixton market"),
        ("Mimi's", "Mimis is quiet", "Mimis"),
        ("St. Pancras", "by St Pancras station", "St Pancras"),
        ("Leeds", CAMDEN, None),
        ("Leeds", "", None),
        ("!", "!!", None),
    ],
)
def test_the_nearest_words_of_a_text(name, text, near):
    assert nearest_words(name, text) == near


# Labels


def test_unusual_polarities_are_found_with_the_nearest(check_rows, at):
    found = check_rows(*(("1", CAMDEN, "", aspect, aspect) for aspect in ("negtive", "+1", "wonderful", *POLARITIES)))
    assert of_kind(found, "unknown_polarity") == [
        (at(1), "polarity 'negtive'; did you mean 'negative'?"),
        (at(2), "polarity '+1'; did you mean 'positive'?"),
        (at(3), "polarity 'wonderful'; expected one of positive, negative, neutral, mixed, conflict, none"),
    ]


@pytest.mark.parametrize(
    ("polarity", "near"),
    [
        ("neu", "neutral"),
        ("mix", "mixed"),
        ("postive", "positive"),
        ("n", None),
        ("great", None),
        ("1", None),
        ("-1", "negative"),
    ],
)
def test_the_nearest_polarity(polarity, near):
    assert nearest_polarity(polarity) == near


def test_a_pair_labelled_twice_is_found(check_rows, at, unit):
    found = check_rows(
        ("1", CAMDEN, "Camden", "price", "negative"),
        ("1", CAMDEN, "Camden", "price", "negative"),
        ("1", CAMDEN, "", "price", "negative"),
        ("1", CAMDEN, "Camden", "price", "none"),
        ("1", CAMDEN, "", "price", "positive"),
        ("2", "Camden.", "Camden", "price", "positive"),
    )
    assert of_kind(found, "repeated") == [(at(2), f"'price' of 'Camden' is negative, as in {unit} {at(1)}")]
    assert of_kind(found, "conflicting") == [
        (at(4), f"'price' of 'Camden' is none, but negative in {unit} {at(2)}"),
        (at(5), f"'price' of the unnamed target is positive, but negative in {unit} {at(3)}"),
    ]


def test_a_pair_labelled_twice_in_one_line_is_found(tmp_path):
    opinion = {"target": None, "aspect": "price", "polarity": "positive"}
    found = check_lines(tmp_path, {"text": CAMDEN, "opinions": [opinion, opinion]})
    assert of_kind(found, "repeated") == [(1, "'price' of the unnamed target is positive, as in the same line")]


def test_aspects_spelt_two_ways_are_found(check_rows, at):
    names = ["Prices", "night life", "night-life", "Night_Life", "nightlife", "night life", "safety", "price list"]
    found = check_rows(*((str(n), f"Leeds {n}", "Leeds", name, "positive") for n, name in enumerate(names)))
    assert of_kind(found, "aspect_spellings") == [
        (at(1), "'price' (20) and 'Prices' (1)"),
        (at(5), "'night life' (2), 'night-life' (1), 'Night_Life' (1) and 'nightlife' (1)"),
    ]


def test_an_aspect_that_is_only_asked_has_a_spelling_too(tmp_path):
    records = [{"text": CAMDEN, "targets": [None], "aspects": [name], "opinions": []} for name in ("price", "Price")]
    assert of_kind(check_lines(tmp_path, *({**r, "id": n} for n, r in enumerate(records))), "aspect_spellings") == [
        (2, "'price' (0) and 'Price' (0)")
    ]


def test_what_has_too_few_opinions_is_found(check_rows, at):
    nine = [(str(n), f"Leeds has {n}", "Leeds", "safety", "neutral") for n in range(9)]
    found = check_rows(*nine, ("9", "Leeds.", "Leeds", "price", "negtive"), ("10", "Hull.", "Hull", "Price", "mixed"))
    assert of_kind(found, "rare_aspect") == [(at(1), "aspect 'safety' has 9 opinions")]
    assert of_kind(found, "rare_polarity") == [
        (at(1), "polarity 'neutral' has 9 opinions"),
        (at(11), "polarity 'mixed' has 1 opinion"),
    ]
    ten = check_rows(*nine, ("9", "Leeds.", "Leeds", "safety", "neutral"))
    assert ten.findings == ()


# All together
