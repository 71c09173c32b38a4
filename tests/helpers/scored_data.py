"""Small data to score, and predictions that know a little of it."""

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tabsa.encoding.arrays import gold_labels
from tabsa.schema import Dataset, Example, Opinion, Target

DATA = Dataset(
    name="towns",
    split="test",
    aspects=("price", "safety"),
    labels=("none", "positive", "negative"),
    examples=(
        Example(
            "1",
            "A is cheap, B is not",
            (Target("A"), Target("B")),
            (Opinion("A", "price", "positive"), Opinion("B", "price", "negative")),
        ),
        Example("2", "C", (Target("C"),)),
        Example(
            "3",
            "D is safe but dear, and the food is good",
            (Target("D"),),
            (Opinion("D", "safety", "positive"), Opinion("D", "price", "negative"), Opinion("D", "food", "positive")),
        ),
    ),
)
GOLD = [[1, 0], [2, 0], [0, 0], [2, 1]]


def one_hot(labels: Any) -> NDArray[np.float64]:
    return np.asarray(np.eye(3)[np.asarray(labels)])


def many(groups_each: list[int]) -> tuple[Dataset, NDArray[np.float64]]:
    """Examples with these numbers of targets, some opinions, and predictions that know a little."""
    rng = np.random.default_rng(5)
    examples = []
    for i, groups in enumerate(groups_each):
        targets = tuple(Target(f"t{j}") for j in range(groups))
        opinions = tuple(
            Opinion(target.name, aspect, rng.choice(["positive", "negative"]))
            for target in targets
            for aspect in DATA.aspects
            if rng.random() < 0.5
        )
        examples.append(Example(str(i), "", targets, opinions))
    dataset = replace(DATA, examples=tuple(examples))
    gold = gold_labels(dataset)
    probabilities = rng.dirichlet([1, 1, 1], gold.shape) + one_hot(gold) / 3
    return dataset, probabilities / probabilities.sum(-1, keepdims=True)


def own_aspects(seed: int, examples: int = 40, aspects: int = 12) -> tuple[Dataset, NDArray[np.float64]]:
    """A dataset where a text asks one to four of the aspects, some none at all and some every one."""
    chance = np.random.default_rng(seed)
    names = tuple(f"a{number}" for number in range(aspects))
    made = []
    for number in range(examples):
        asked = tuple(names[n] for n in chance.permutation(aspects)[: chance.integers(0, 5)])
        targets = tuple(Target(name) for name in "AB"[: chance.integers(0, 3)])
        opinions = tuple(
            Opinion(target.name, aspect, ("positive", "negative")[chance.integers(2)])
            for target in targets
            for aspect in asked
            if chance.random() < 0.5
        )
        made.append(Example(str(number), "", targets, opinions, None if number % 9 == 8 else asked))
    dataset = replace(DATA, aspects=names, examples=tuple(made))
    groups = sum(1 for _ in dataset.groups())
    return dataset, chance.dirichlet((1, 1, 1), (groups, aspects))
