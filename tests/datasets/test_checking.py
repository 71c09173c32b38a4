"""What a labelled file holds and what looks wrong with it: every finding, in CSV and in JSON Lines."""

from collections.abc import Callable
from pathlib import Path

import pytest

from table_rows import write_rows
from tabsa.datasets.checking import CODES, POLARITIES, DataCheck, check
from tabsa.datasets.loading import load
from tabsa.errors import DataWarning

CAMDEN = "Camden is dear, but safer than Brixton."
Row = dict[str, object]


def row(text: str, target: str | None = "", aspect: str = "", polarity: str | None = "", **more: object) -> Row:
    return {"id": text.strip() or "0", "text": text, "target": target, "aspect": aspect, "polarity": polarity, **more}


# Enough of two polarities and one aspect that nothing is rare.
PLAIN = [row(f"Leeds is number {n}.", "Leeds", "price", ("positive", "negative")[n % 2]) for n in range(20)]


@pytest.fixture(params=[".csv", ".jsonl"])
def suffix(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture
def check_rows(tmp_path: Path, suffix: str) -> Callable[..., DataCheck]:
    """Checks rows, after twenty with nothing wrong."""
    return lambda *rows: check(write_rows(tmp_path / f"my{suffix}", [*PLAIN, *rows]))


@pytest.fixture
def at(suffix: str) -> Callable[[int], int]:
    """The line of the n-th row after the plain ones: a spreadsheet's row 1 is the header."""
    return lambda n: n + len(PLAIN) + (suffix == ".csv")


@pytest.fixture
def unit(suffix: str) -> str:
    return "row" if suffix == ".csv" else "line"


def check_records(folder: Path, *records: Row) -> DataCheck:
    return check(write_rows(folder / "my.jsonl", records))


def of_kind(found: DataCheck, code: str) -> list[tuple[int | None, str]]:
    return [(finding.line, finding.message) for finding in found.findings if finding.code == code]


# ---- what a file holds


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
        row(CAMDEN, "Camden", "price", "negative"),
        row(CAMDEN, "Camden", "price", "positive"),
        row(CAMDEN, "Brixton", "safety", "Negative"),
        row("Too dear.", "", "price", "negative"),
        row("Too dear again.", "Ealing", "price", "none"),
        row("Hello."),
    )
    with pytest.warns(DataWarning, match="my"):
        dataset = load(tmp_path / f"my{suffix}", "all")
    questions = list(dataset.questions())
    assert found.texts == len(dataset.examples) == 24
    assert found.targets == {"named": 22, "unnamed": 1, "not_in_text": 1}
    assert found.several_targets == 1
    assert found.pairs == len(questions) == 48
    assert found.opinions == sum(polarity != "none" for *_, polarity in questions) == 23
    assert found.polarities == {"negative": 12, "positive": 11}
    assert tuple(found.aspects) == dataset.aspects == ("price", "safety")


def test_pairs_are_what_was_asked(tmp_path):
    record = {"text": CAMDEN, "targets": ["Camden", None], "aspects": ["price", "crew", "noise"], "opinions": []}
    found = check_records(tmp_path, record, {**record, "text": "Camden.", "aspects": None})
    assert found.pairs == 2 * 3 + 2 * 3
    assert found.aspects == {"price": 0, "crew": 0, "noise": 0}
    single = [
        row(CAMDEN, "Camden", "price", "positive", asked_only=True),
        row(CAMDEN, "Brixton", "price", "positive", asked_only=True),
        row(CAMDEN, "Brixton", "price", None, asked_only=True, withdrawn=True),
        row(CAMDEN, "Brixton", "price", "negative", asked_only=True),
        row(CAMDEN, "Brixton", "safety", "", asked_only=True),
        row("Nothing yet.", "", "price", "", asked_only=True),
    ]
    found = check_records(tmp_path, *single)
    assert (found.texts, found.pairs, found.opinions) == (1, 2, 2)
    assert "conflicting" not in {finding.code for finding in found.findings}


def test_a_file_without_a_column_of_targets_is_a_finding(tmp_path):
    rows = [{"text": one["text"], "aspect": "price", "polarity": one["polarity"]} for one in PLAIN]
    found = check(write_rows(tmp_path / "my.csv", rows))
    assert [(finding.code, finding.line) for finding in found.findings] == [("no_target_column", None)]
    assert found.targets == {"named": 0, "unnamed": 20, "not_in_text": 0}


# ---- rows that cannot be read


def test_rows_that_cannot_be_loaded_are_collected(check_rows, at, unit):
    found = check_rows(
        row(CAMDEN, "Camden", "", "positive"),
        row("Another text.", "Camden", id=PLAIN[0]["id"]),
        row(" ", "Leeds", "price", "positive"),
        row("Fine.", "", "price", "positive"),
    )
    assert of_kind(found, "unreadable") == [
        (at(1), "polarity 'positive' has no 'aspect'; name the aspect that is judged"),
        (at(2), f"id '{PLAIN[0]['id']}' has another text than in {unit} {at(-19)}; give each text its own id"),
        (at(3), "'text' is empty; expected the text that is judged"),
    ]
    assert (found.rows, found.texts, len(found.findings)) == (24, 21, 3)


def test_lines_that_are_no_rows_are_collected(tmp_path):
    path = write_rows(tmp_path / "my.jsonl", PLAIN)
    path.write_bytes(path.read_bytes() + b'{"text": \n\n[1]\n{"text": "caf\xe9"}\n{"text": "Leeds"}\n')
    found = check(path)
    assert [line for line, _ in of_kind(found, "unreadable")] == [21, 23, 24, 25]
    assert of_kind(found, "unreadable")[3] == (25, "has no 'target'; it has 'text'")
    path = write_rows(tmp_path / "my.csv", PLAIN)
    path.write_bytes(path.read_bytes() + b"1,Leeds,Leeds\r\n4,Leeds is fine.,Leeds,price,positive\r\n")
    found = check(path)
    ((line, message),) = of_kind(found, "unreadable")
    assert (line, message.partition(";")[0], found.texts) == (22, "has 3 fields", 21)


# ---- targets and labels


def test_targets_that_are_not_in_the_text_are_found(check_rows, at):
    text = "The Grand Hotl is near Camden Town station."
    found = check_rows(
        row(text, "Camden Town", "price", "positive"),
        row(text, "grand hotel", "price", "positive"),
        row("No name.", "Leeds", "price", "positive"),
        row(text, "", "price", "positive"),
    )
    assert of_kind(found, "target_not_in_text") == [
        (at(1), "'grand hotel' is not in the text"),
        (at(3), "'Leeds' is not in the text"),
    ]
    assert found.targets == {"named": 21, "unnamed": 1, "not_in_text": 2}


def test_unusual_polarities_are_found_with_the_nearest(check_rows, at):
    found = check_rows(*(row(CAMDEN, "", aspect, aspect) for aspect in ("negtive", "xyz", *POLARITIES)))
    known = "expected one of positive, negative, neutral, mixed, conflict, none"
    assert of_kind(found, "unknown_polarity") == [
        (at(1), f"polarity 'negtive'; did you mean 'negative'? {known}"),
        (at(2), f"polarity 'xyz'; {known}"),
    ]


def test_a_pair_labelled_twice_is_found(check_rows, at, unit):
    found = check_rows(
        row(CAMDEN, "Camden", "price", "negative"),
        row(CAMDEN, "Camden", "price", "negative"),
        row(CAMDEN, "", "price", "negative"),
        row(CAMDEN, "Camden", "price", "none"),
        row(CAMDEN, "", "price", "positive"),
        row("Camden.", "Camden", "price", "positive"),
    )
    assert of_kind(found, "conflicting") == [
        (at(4), f"'price' of 'Camden' is none, but negative in {unit} {at(2)}"),
        (at(5), f"'price' of the unnamed target is positive, but negative in {unit} {at(3)}"),
    ]


def test_aspects_spelt_two_ways_are_found(check_rows, at):
    names = ["Prices", "night life", "night-life", "Night_Life", "nightlife", "night life", "safety", "price list"]
    found = check_rows(*(row(f"Leeds {n}", "Leeds", name, "positive") for n, name in enumerate(names)))
    assert of_kind(found, "aspect_spellings") == [
        (at(1), "'price' (20) and 'Prices' (1)"),
        (at(5), "'night life' (2), 'night-life' (1), 'Night_Life' (1) and 'nightlife' (1)"),
    ]


def test_what_is_worse_comes_first(check_rows):
    found = check_rows(row("Leeds.", "Leeds", "price", "negtive"), row("Hull.", "Hull", "Price", "mixed"))
    codes = [finding.code for finding in found.findings]
    assert len(codes) > 1
    assert codes == sorted(codes, key=CODES.index)
    assert check_rows(row("Leeds.", "Leeds", "safety", "neutral")).findings == ()


def test_texts_twice_other_languages_and_overlaps_are_found(tmp_path):
    german = "Das Essen war sehr gut und nicht teuer."
    found = check_records(
        tmp_path,
        row(CAMDEN, "Camden", "staff price", "positive", id="a"),
        row(CAMDEN, "Camden", "food price", "negative", id="b"),
        row(german, "", "price", "positive", id="c"),
    )
    kinds = {finding.code: finding.message for finding in found.findings}
    assert kinds["repeated_text"].endswith(", with other opinions")
    assert kinds["not_english"] == repr(german)
    assert kinds["overlapping_aspects"].startswith("3 of 3 aspects share words")
