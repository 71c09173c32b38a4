"""The user's own data where single questions were asked: rows left empty, `asked_only`, withdrawn rows, torn lines."""

import csv
import io
import json
import warnings
from pathlib import Path

import pytest

from tabsa.datasets.checking import check
from tabsa.datasets.loading import load
from tabsa.errors import DataError, DataWarning
from tabsa.schema import UNNAMED, Dataset, Span, Target

BOTH = "Camden is dear, and Brixton has good bars."
CAMDEN = "Camden is safe."
IT = "Too dear for me."


def row(text: str, target: str | None, aspect: str, polarity: str | None, **more: object) -> dict[str, object]:
    return {"text": text, "target": target, "aspect": aspect, "polarity": polarity, **more}


def only(text: str, target: str | None, aspect: str, polarity: str | None, **more: object) -> dict[str, object]:
    return row(text, target, aspect, polarity, asked_only=True, **more)


def write(path: Path, *rows: dict[str, object]) -> Path:
    if path.suffix == ".csv":
        names = list(dict.fromkeys(name for one in rows for name in one))
        stream = io.StringIO()
        writer = csv.DictWriter(stream, names)
        writer.writeheader()
        writer.writerows({name: "yes" if value is True else value for name, value in one.items()} for one in rows)
        path.write_text(stream.getvalue(), encoding="utf-8", newline="")
    else:
        path.write_text("".join(json.dumps(one) + "\n" for one in rows), encoding="utf-8")
    return path


def load_quietly(path: Path, **options: object) -> Dataset:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return load(path, "all", **options)


def load_warned(path: Path, message: str) -> Dataset:
    with pytest.warns(DataWarning, match=message):
        return load(path, "all")


def asked(dataset: Dataset) -> list[tuple[str, str, str, str]]:
    return [(example.text, target.name, aspect, polarity) for example, target, aspect, polarity in dataset.questions()]


# Only this was asked


@pytest.mark.parametrize("name", ["my.jsonl", "my.csv"])
def test_nothing_but_the_pairs_was_asked(tmp_path, name):
    path = write(
        tmp_path / name,
        only(BOTH, "Camden", "price", "negative"),
        only(BOTH, "Brixton", "nightlife", "positive"),
        only(CAMDEN, "Camden", "price", "none"),
        only(IT, None, "price", "negative"),
    )
    dataset = load_quietly(path)
    assert asked(dataset) == [
        (BOTH, "Camden", "price", "negative"),
        (BOTH, "Brixton", "nightlife", "positive"),
        (CAMDEN, "Camden", "price", "none"),
        (IT, UNNAMED, "price", "negative"),
    ]
    assert (dataset.aspects, dataset.labels) == (("price", "nightlife"), ("none", "positive", "negative"))
    assert [example.id for example in dataset.examples] == ["1", "1", "2", "3"]
    assert check(path).pairs == 4


def test_targets_that_were_asked_the_same_stay_in_one_example(tmp_path):
    rows = [only(BOTH, target, "price", "none") for target in ("Camden", "Brixton")]
    (example,) = load_quietly(write(tmp_path / "my.jsonl", *rows)).examples
    assert [target.name for target in example.targets] == ["Camden", "Brixton"]
    assert example.aspects == ("price",)


def test_a_row_a_text_may_say_so_too(tmp_path):
    opinions = [
        {"target": "Camden", "aspect": "price", "polarity": "negative"},
        {"target": "Brixton", "aspect": "price", "polarity": "none"},
        {"target": "Brixton", "aspect": "nightlife", "polarity": "positive"},
    ]
    record = {"text": BOTH, "opinions": opinions, "asked_only": True}
    assert asked(load_quietly(write(tmp_path / "my.jsonl", record))) == [
        (BOTH, "Camden", "price", "negative"),
        (BOTH, "Brixton", "price", "none"),
        (BOTH, "Brixton", "nightlife", "positive"),
    ]


def test_beside_rows_that_were_asked_everything(tmp_path):
    path = write(
        tmp_path / "my.jsonl",
        row(BOTH, "Camden", "price", "negative"),
        only(BOTH, "Brixton", "nightlife", "positive"),
        row(CAMDEN, "Camden", "safety", "positive"),
    )
    found = asked(load_quietly(path))
    assert [one[1:] for one in found if one[0] == BOTH] == [
        ("Camden", "price", "negative"),
        ("Camden", "nightlife", "none"),
        ("Camden", "safety", "none"),
        ("Brixton", "nightlife", "positive"),
    ]
    assert check(path).pairs == len(found) == 7


def test_beside_a_list_of_aspects(tmp_path):
    path = write(
        tmp_path / "my.jsonl",
        row(BOTH, "Camden", "price", "negative", aspects=["price", "noise"]),
        only(BOTH, "Camden", "nightlife", "none"),
        only(BOTH, "Brixton", "nightlife", "positive"),
    )
    assert [one[1:] for one in asked(load_quietly(path))] == [
        ("Camden", "price", "negative"),
        ("Camden", "noise", "none"),
        ("Camden", "nightlife", "none"),
        ("Brixton", "nightlife", "positive"),
    ]


def test_the_later_of_two_counts(tmp_path):
    rows = [only(BOTH, "Camden", "price", polarity) for polarity in ("positive", "negative")]
    dataset = load_warned(write(tmp_path / "my.jsonl", *rows), "dropped 1 conflicting opinion")
    assert asked(dataset) == [(BOTH, "Camden", "price", "negative")]


def test_a_withdrawn_row_takes_back_what_was_said(tmp_path):
    path = write(
        tmp_path / "my.jsonl",
        only(BOTH, "Camden", "price", "positive"),
        only(BOTH, "Camden", "safety", "positive"),
        only(BOTH, "Brixton", "price", "positive"),
        only(CAMDEN, "Camden", "noise", "positive"),
        only(BOTH, "Camden", "price", None, withdrawn=True),
        only(BOTH, "Brixton", "price", None, withdrawn=True),
        only(CAMDEN, "Camden", "noise", None, withdrawn=True),
        only(BOTH, "Brixton", "price", "negative"),
    )
    dataset = load_quietly(path)
    assert asked(dataset) == [(BOTH, "Camden", "safety", "positive"), (BOTH, "Brixton", "price", "negative")]
    assert dataset.aspects == ("safety", "price")
    found = check(path)
    assert (found.texts, found.pairs, found.opinions, found.left_empty) == (1, 2, 2, 0)
    assert not {"conflicting", "repeated"} & {finding.code for finding in found.findings}


def test_further_keys_are_passed_over(tmp_path):
    more = {"said": "positive", "probability": 0.51, "model": "reader", "time": "2026-01-02T03:04:05Z", "row": 7}
    path = write(tmp_path / "my.jsonl", only(BOTH, "Camden", "price", "negative", **more))
    assert asked(load_quietly(path)) == [(BOTH, "Camden", "price", "negative")]


@pytest.mark.parametrize("aliases", [["Stokey", "N16"], "Stokey; N16"])
def test_other_names_of_a_target(tmp_path, aliases):
    text = "Stokey is dear, like all of N16."
    path = write(tmp_path / "my.jsonl", only(text, "Stoke Newington", "price", "negative", aliases=aliases))
    (example,) = load_quietly(path).examples
    assert example.targets == (Target("Stoke Newington", (Span(0, 6), Span(28, 31))),)


# Left empty


@pytest.mark.parametrize("name", ["my.jsonl", "my.csv"])
def test_a_half_filled_table_is_what_was_filled_in(tmp_path, name):
    path = write(
        tmp_path / name,
        only(BOTH, "Camden", "price", "negative"),
        only(BOTH, "Camden", "safety", ""),
        only(BOTH, "Brixton", "price", ""),
        only(CAMDEN, "Camden", "noise", ""),
        only(IT, "", "service", ""),
        only(IT, "", "price", "none"),
        only("Nothing yet.", "", "price", ""),
    )
    dataset = load_warned(path, r"my\.\w+: 5 rows have no polarity, and count as not asked")
    assert asked(dataset) == [(BOTH, "Camden", "price", "negative"), (IT, UNNAMED, "price", "none")]
    assert dataset.aspects == ("price",)
    found = check(path)
    assert (found.texts, found.left_empty, found.pairs, found.opinions) == (2, 5, 2, 1)
    assert found.aspects == {"price": 1}
    assert found.targets["named"] == found.targets["unnamed"] == 1


def test_an_empty_row_of_any_table_was_not_asked(tmp_path):
    path = write(
        tmp_path / "my.csv",
        row(BOTH, "Camden", "price", "negative"),
        row(BOTH, "Camden", "safety", ""),
        row(BOTH, "Brixton", "safety", "positive"),
        row(IT, "", "safety", ""),
    )
    dataset = load_warned(path, "2 rows have no polarity")
    assert asked(dataset) == [
        (BOTH, "Camden", "price", "negative"),
        (BOTH, "Brixton", "price", "none"),
        (BOTH, "Brixton", "safety", "positive"),
        (IT, UNNAMED, "price", "none"),
    ]


def test_a_row_that_is_empty_elsewhere_does_not_empty_a_label(tmp_path):
    rows = [only(BOTH, "Camden", "price", polarity) for polarity in ("negative", "")]
    dataset = load_warned(write(tmp_path / "my.csv", *rows), "1 row has no polarity")
    assert asked(dataset) == [(BOTH, "Camden", "price", "negative")]


def test_a_table_that_nobody_has_filled_in(tmp_path):
    path = write(tmp_path / "my.csv", only(BOTH, "Camden", "price", ""), only(CAMDEN, "Camden", "price", ""))
    with pytest.raises(DataError, match=r"my\.csv: none of its 2 texts has a label yet; fill in the column 'polarity'"):
        load(path, "all")
    found = check(path)
    assert (found.texts, found.left_empty) == (0, 2)
    assert "no_opinion" in {finding.code for finding in found.findings}


@pytest.mark.parametrize("value", ["perhaps", 2, ["yes"]])
def test_a_flag_is_yes_or_no(tmp_path, value):
    path = write(tmp_path / "my.jsonl", row(BOTH, "Camden", "price", "none", asked_only=value))
    with pytest.raises(DataError, match=r"my\.jsonl line 1: 'asked_only' is .*; expected yes or no"):
        load(path, "all")
    for no in (False, "no", "0", "", None):
        write(path, row(BOTH, "Camden", "price", "none", asked_only=no))
        assert load_quietly(path).examples[0].aspects is None


# Lines that break off


@pytest.mark.parametrize("cut", range(1, 60, 4))
def test_a_line_that_breaks_off_is_left_out_and_said(tmp_path, cut):
    whole = json.dumps(only("Zoë’s café: Camden is dear.", "Camden", "price", "negative"), ensure_ascii=False).encode()
    path = tmp_path / "my.jsonl"
    path.write_bytes(whole + b"\n" + whole.replace(b"dear", b"safe")[:cut] + b"\n" + whole + b"\n")
    with pytest.warns(DataWarning) as caught:
        dataset = load(path, "all")
    assert len(dataset.examples) == 1
    assert [str(one.message) for one in caught if "breaks off" in str(one.message)] == [
        f"{path}: line 2 breaks off, and is left out"
    ]
    found = check(path)
    assert [(finding.line, finding.code) for finding in found.findings if finding.code == "torn_line"] == [
        (2, "torn_line")
    ]


def test_a_line_that_is_no_json_at_all_still_stops_the_loading(tmp_path):
    path = tmp_path / "my.jsonl"
    for line in ("nonsense", '{"text": oops}', '{"text": "a"} x', "[1, 2"):
        path.write_text(f"{line}\n", encoding="utf-8")
        with pytest.raises(DataError, match=r"my\.jsonl line 1 is not JSON"):
            load(path, "all")
