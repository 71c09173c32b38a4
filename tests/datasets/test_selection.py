"""Texts held apart: whole, and with every aspect's polarities in proportion."""

from collections import Counter

import numpy as np
import pytest

from tabsa.datasets.selection import stratified_parts
from tabsa.schema import Dataset, Example, Opinion, Target


def dataset(count, repeats=1) -> Dataset:
    rng = np.random.default_rng(0)
    examples = []
    for number in range(count):
        aspects = [aspect for aspect in ("food", "price", "staff") if rng.random() < 0.4]
        shares = [0.6, 0.3, 0.1]
        opinions = [Opinion("", a, str(rng.choice(["positive", "negative", "neutral"], p=shares))) for a in aspects]
        for copy in range(repeats):
            text = f"Text  {number}" if copy else f"text {number}"  # the same but for case and white space
            examples.append(Example(f"{number}.{copy}", text, (Target("", implied=True),), tuple(opinions)))
    labels = ("none", "positive", "negative", "neutral")
    return Dataset("made up", "all", ("food", "price", "staff"), labels, tuple(examples))


def kinds(data, parts, part):
    chosen = [example for example, own in zip(data.examples, parts, strict=True) if own == part]
    return Counter((o.aspect, o.polarity) for example in chosen for o in example.opinions)


@pytest.mark.parametrize("shares", [[1, 1, 1, 1, 1], [0.85, 0.15], [0.5, 0.5]])
def test_every_part_has_its_share_of_every_kind(shares):
    data = dataset(400)
    parts = stratified_parts(data, shares)
    assert set(parts) == set(range(len(shares)))
    total = kinds(data, [0] * len(parts), 0)
    for part, share in enumerate(shares):
        wanted = share / sum(shares)
        assert abs(parts.count(part) - wanted * 400) <= 6
        for kind, count in kinds(data, parts, part).items():
            assert abs(count - wanted * total[kind]) <= max(2.0, 0.08 * total[kind]), kind


def test_one_text_is_in_one_part_the_same_every_time_and_another_with_another_seed():
    data = dataset(80, repeats=3)
    parts = stratified_parts(data, [1, 1, 1, 1])
    assert all(len(set(parts[n : n + 3])) == 1 for n in range(0, 240, 3))
    assert stratified_parts(data, [1, 1, 1, 1]) == parts != stratified_parts(data, [1, 1, 1, 1], seed=2)
