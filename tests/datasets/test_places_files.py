"""The files of the places dataset are what their README says, read with nothing but json."""

import json
import re
from collections import Counter
from itertools import pairwise, product
from pathlib import Path
from typing import Any

import pytest

FILES = Path(__file__).parents[2] / "src" / "tabsa" / "datasets" / "files"
SIZES = {"train": 280, "dev": 60, "test": 80}
MAIN_ASPECTS = ("general", "price", "safety", "transit-location")
OTHER_ASPECTS = (
    "live",
    "nightlife",
    "dining",
    "shopping",
    "green-nature",
    "multicultural",
    "quiet",
    "touristy",
)
# JSON as it is read: the point is to check the files without the package's own reader.
Record = dict[str, Any]


def read(split: str) -> list[Record]:
    lines = (FILES / f"places-{split}.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines]


SPLITS = {split: read(split) for split in SIZES}
ALL = [record for records in SPLITS.values() for record in records]


def has_real_names(record: Record) -> bool:
    return not record["targets"][0]["name"].startswith("LOCATION")


def groups(records: list[Record]) -> int:
    return sum(len(record["targets"]) for record in records)


def groups_without_opinion(records: list[Record]) -> int:
    judged = sum(len({opinion["target"] for opinion in record["opinions"]}) for record in records)
    return groups(records) - judged


def opinion_counts(records: list[Record]) -> Counter[tuple[str, str]]:
    return Counter((o["aspect"], o["polarity"]) for record in records for o in record["opinions"])


def words(text: str) -> set[str]:
    return set(re.findall(r"\w+", text.lower()))


def readme_row(name: str) -> list[str]:
    """The cells train, dev, test, all of the README's count table row `name`."""
    for line in (FILES / "README.md").read_text(encoding="utf-8").splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if cells[0] == name and len(cells) == 5:
            return cells[1:]
    raise AssertionError(f"the README has no count row {name!r}")


@pytest.mark.parametrize("split", SIZES)
def test_records_have_exactly_the_documented_fields(split: str) -> None:
    assert len(SPLITS[split]) == SIZES[split]
    for record in SPLITS[split]:
        assert list(record) == ["id", "text", "targets", "opinions"]
        assert all(list(target) == ["name", "mentions"] for target in record["targets"])
        assert all(list(opinion) == ["target", "aspect", "polarity"] for opinion in record["opinions"])


def test_ids_and_texts_are_unique() -> None:
    assert [record["id"] for record in ALL] == [f"places-{number:04d}" for number in range(1, 421)]
    assert len({record["text"] for record in ALL}) == len(ALL)


def test_mentions_are_every_occurrence_of_the_name() -> None:
    for record in ALL:
        for target in record["targets"]:
            pattern = rf"(?<!\w){re.escape(target['name'])}(?!\w)"
            expected = [list(match.span()) for match in re.finditer(pattern, record["text"])]
            assert target["mentions"] == expected != [], record["id"]
            assert all(record["text"][start:end] == target["name"] for start, end in target["mentions"])


def test_mentions_of_different_targets_do_not_overlap() -> None:
    for record in ALL:
        spans = sorted(span for target in record["targets"] for span in target["mentions"])
        assert all(left[1] <= right[0] for left, right in pairwise(spans)), record["id"]


def test_opinions_name_known_things_once() -> None:
    for record in ALL:
        names = [target["name"] for target in record["targets"]]
        pairs = [(opinion["target"], opinion["aspect"]) for opinion in record["opinions"]]
        assert len(set(names)) == len(names)
        assert len(set(pairs)) == len(pairs), record["id"]
        assert {target for target, _ in pairs} <= set(names), record["id"]
        assert {aspect for _, aspect in pairs} <= {*MAIN_ASPECTS, *OTHER_ASPECTS}
        assert {opinion["polarity"] for opinion in record["opinions"]} <= {"positive", "negative"}


def test_aspects_are_well_spread() -> None:
    counts = opinion_counts(ALL)
    for aspect in MAIN_ASPECTS:
        positive, negative = counts[aspect, "positive"], counts[aspect, "negative"]
        assert positive + negative >= 70
        assert min(positive, negative) >= (positive + negative) / 4
    for aspect in OTHER_ASPECTS:
        assert counts[aspect, "positive"] + counts[aspect, "negative"] >= 12


@pytest.mark.parametrize("split", SIZES)
def test_every_split_has_the_same_mix(split: str) -> None:
    records = SPLITS[split]
    several = sum(len(record["targets"]) > 1 for record in records) / len(records)
    real = sum(map(has_real_names, records)) / len(records)
    assert real == pytest.approx(0.5, abs=0.03)
    assert several == pytest.approx(0.37, abs=0.03)
    assert groups_without_opinion(records) / groups(records) == pytest.approx(0.35, abs=0.03)
    present = opinion_counts(records)
    for pair in product((*MAIN_ASPECTS, *OTHER_ASPECTS), ("positive", "negative")):
        assert present[pair] > 0, pair


def test_names_and_lengths_are_varied() -> None:
    names = {target["name"] for record in ALL if has_real_names(record) for target in record["targets"]}
    assert len(names) >= 200
    assert sum(" " in name for name in names) >= 20
    assert sum("-" in name for name in names) >= 8
    assert sum("'" in name for name in names) >= 5
    assert sum(not re.search(r"[a-z]", name) for name in names) == 6
    lengths = [len(record["text"].split()) for record in ALL]
    assert min(lengths) == 4
    assert 35 <= max(lengths) <= 45


def test_no_held_out_sentence_is_a_near_copy_of_a_training_one() -> None:
    trained = [words(record["text"]) for record in SPLITS["train"]]
    for record in SPLITS["dev"] + SPLITS["test"]:
        own = words(record["text"])
        overlap = max(len(own & other) / len(own | other) for other in trained)
        assert overlap < 0.6, record["id"]


def test_the_readme_counts_are_those_of_the_files() -> None:
    columns = [*SPLITS.values(), ALL]
    expected = {
        "sentences": [len(records) for records in columns],
        "with real names": [sum(map(has_real_names, records)) for records in columns],
        "with two or three targets": [sum(len(r["targets"]) > 1 for r in records) for records in columns],
        "groups": [groups(records) for records in columns],
        "groups without opinion": [groups_without_opinion(records) for records in columns],
        "opinions": [opinion_counts(records).total() for records in columns],
    }
    for name, numbers in expected.items():
        assert readme_row(name) == [str(number) for number in numbers]
    for aspect in (*MAIN_ASPECTS, *OTHER_ASPECTS):
        counts = [opinion_counts(records) for records in columns]
        assert readme_row(aspect) == [f"{c[aspect, 'positive']} / {c[aspect, 'negative']}" for c in counts]
