"""The small dataset in the package loads, is well formed, and looks like Sentihood to a model."""

import warnings

import pytest

from tabsa.datasets.loading import DATASETS, load
from tabsa.datasets.own import SPLITS
from tabsa.datasets.sentihood import ALL_ASPECTS, BENCHMARK_ASPECTS
from tabsa.errors import DataError


@pytest.fixture(scope="module")
def splits():
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # nothing in it repeats, conflicts or goes unmentioned
        return {split: load("places", split) for split in SPLITS}


def test_every_split_has_sentihoods_aspects_and_labels(splits):
    for split, dataset in splits.items():
        assert (dataset.name, dataset.split) == ("places", split)
        assert dataset.aspects == ALL_ASPECTS
        assert dataset.labels == ("none", "positive", "negative")
        assert dataset.examples


def test_every_target_is_where_its_mentions_say(splits):
    for dataset in splits.values():
        for example, target in dataset.groups():
            assert target.mentions
            assert len({target.name for target in example.targets}) == len(example.targets)
            for start, end in target.mentions:
                assert example.text[start:end].strip() == example.text[start:end] != ""


def test_the_training_set_has_each_aspect_of_the_benchmark_in_both_polarities(splits):
    seen = {(opinion.aspect, opinion.polarity) for example in splits["train"].examples for opinion in example.opinions}
    assert {(aspect, polarity) for aspect in BENCHMARK_ASPECTS for polarity in ("positive", "negative")} <= seen


def test_no_text_and_no_id_is_in_two_splits(splits):
    examples = [example for dataset in splits.values() for example in dataset.examples]
    assert len({example.id for example in examples}) == len(examples)
    assert len({example.text for example in examples}) == len(examples)


def test_aspects_are_chosen_as_in_sentihood():
    dataset = load("places", "dev", aspects=BENCHMARK_ASPECTS)
    assert dataset.aspects == BENCHMARK_ASPECTS
    assert {opinion.aspect for example in dataset.examples for opinion in example.opinions} <= {*BENCHMARK_ASPECTS}
    with pytest.raises(DataError, match=r"unknown aspect 'prices'; did you mean 'price'\?"):
        load("places", "dev", aspects=["prices"])


def test_every_named_dataset_says_what_it_is_and_refuses_an_unknown_split():
    for name, source in DATASETS.items():
        assert source.description
        if name != "open":  # its splits are files, and none of them is for testing
            assert {"train", "dev", "test"} <= set(source.splits)
        right = next(split for split in source.splits if split.endswith("train"))
        wrong = right.replace("train", "tain")
        with pytest.raises(DataError, match=f"unknown split of {name} '{wrong}'; did you mean '{right}'"):
            load(name, wrong)
