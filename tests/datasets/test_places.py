"""The small dataset in the package: well formed, as its README says, and like Sentihood to a model."""

import json
import re
import warnings
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tabsa.datasets.loading import load
from tabsa.datasets.sentihood import ALL_ASPECTS, BENCHMARK_ASPECTS

FILES = Path(__file__).parents[2] / "src" / "tabsa" / "datasets" / "files"
SIZES = {"train": 280, "dev": 60, "test": 80}
# JSON as it is read: the point is to check the files without the package's own reader.
Record = dict[str, Any]
SPLITS: dict[str, list[Record]] = {
    split: [json.loads(line) for line in (FILES / f"places-{split}.jsonl").read_text(encoding="utf-8").splitlines()]
    for split in SIZES
}
ALL = [record for records in SPLITS.values() for record in records]


def has_real_names(record: Record) -> bool:
    return not record["targets"][0]["name"].startswith("LOCATION")


def groups(records: list[Record]) -> int:
    return sum(len(record["targets"]) for record in records)


def groups_without_opinion(records: list[Record]) -> int:
    return groups(records) - sum(len({opinion["target"] for opinion in record["opinions"]}) for record in records)


def opinion_counts(records: list[Record]) -> Counter[tuple[str, str]]:
    return Counter((o["aspect"], o["polarity"]) for record in records for o in record["opinions"])


@pytest.mark.parametrize("split", SIZES)
def test_it_loads_with_sentihoods_aspects_and_labels(split):
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # nothing in it repeats, conflicts or goes unmentioned
        dataset = load("places", split)
    assert (dataset.aspects, dataset.labels) == (ALL_ASPECTS, ("none", "positive", "negative"))
    assert len(dataset.examples) == SIZES[split]
    assert load("places", split, aspects=BENCHMARK_ASPECTS).aspects == BENCHMARK_ASPECTS


def test_records_are_distinct_and_name_known_things_once():
    assert [record["id"] for record in ALL] == [f"places-{number:04d}" for number in range(1, 421)]
    assert len({record["text"] for record in ALL}) == len(ALL)
    for record in ALL:
        names = [target["name"] for target in record["targets"]]
        pairs = [(opinion["target"], opinion["aspect"]) for opinion in record["opinions"]]
        assert (len(set(names)), len(set(pairs))) == (len(names), len(pairs)), record["id"]
        assert {target for target, _ in pairs} <= set(names), record["id"]
        assert {aspect for _, aspect in pairs} <= {*ALL_ASPECTS}
        for target in record["targets"]:
            pattern = rf"(?<!\w){re.escape(target['name'])}(?!\w)"
            expected = [list(match.span()) for match in re.finditer(pattern, record["text"])]
            assert target["mentions"] == expected != [], record["id"]


def test_no_held_out_sentence_is_a_near_copy_of_a_training_one():
    words = {record["id"]: set(re.findall(r"\w+", record["text"].lower())) for record in ALL}
    trained = [words[record["id"]] for record in SPLITS["train"]]
    for record in SPLITS["dev"] + SPLITS["test"]:
        own = words[record["id"]]
        assert max(len(own & other) / len(own | other) for other in trained) < 0.6, record["id"]


def test_the_readme_counts_are_those_of_the_files():
    columns = [*SPLITS.values(), ALL]
    expected = {
        "sentences": [len(records) for records in columns],
        "with real names": [sum(map(has_real_names, records)) for records in columns],
        "with two or three targets": [sum(len(r["targets"]) > 1 for r in records) for records in columns],
        "groups": [groups(records) for records in columns],
        "groups without opinion": [groups_without_opinion(records) for records in columns],
        "opinions": [opinion_counts(records).total() for records in columns],
    }
    for aspect in ALL_ASPECTS:
        counts = [opinion_counts(records) for records in columns]
        expected[aspect] = [f"{count[aspect, 'positive']} / {count[aspect, 'negative']}" for count in counts]
    lines = (FILES / "README.md").read_text(encoding="utf-8").splitlines()
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    shown = {cells[0]: cells[1:] for cells in rows if len(cells) == 5}
    assert {name: shown.get(name) for name in expected} == {name: list(map(str, row)) for name, row in expected.items()}
