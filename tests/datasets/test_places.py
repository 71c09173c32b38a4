"""The small dataset in the package."""

import warnings

import pytest

from tabsa.datasets.loading import load
from tabsa.datasets.sentihood import ALL_ASPECTS, BENCHMARK_ASPECTS


@pytest.mark.parametrize(("split", "size"), [("train", 280), ("dev", 60), ("test", 80)])
def test_it_loads_with_sentihoods_aspects_and_labels(split, size):
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # nothing in it repeats, conflicts or goes unmentioned
        dataset = load("places", split)
    assert (dataset.aspects, dataset.labels) == (ALL_ASPECTS, ("none", "positive", "negative"))
    assert len(dataset.examples) == len({example.text for example in dataset.examples}) == size
    assert load("places", split, aspects=BENCHMARK_ASPECTS).aspects == BENCHMARK_ASPECTS
