"""The small dataset in the package: well formed, as its README says, and like Sentihood to a model."""

import json
import re
import warnings
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
