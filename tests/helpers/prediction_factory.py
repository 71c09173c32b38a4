"""Predictions with gates made up for tests: no model needed."""

from collections.abc import Mapping, Sequence

import numpy as np

from tabsa.encoding.passages import Passage, passages
from tabsa.inference.results import PredictedOpinion, Prediction
from tabsa.text.targets import TargetFinder

ASPECTS = ("general", "price", "safety")
TEXT = "Camden is safe although dear and Croydon is far."
FOUND = {("Camden", "safety"): "positive", ("Camden", "price"): "negative", ("Croydon", "general"): "negative"}


def made_up(
    text: str = TEXT,
    targets: Sequence[str] = ("Camden", "Croydon"),
    found: Mapping[tuple[str, str], str] = FOUND,
    *,
    directions: int = 2,
    chains: int = 3,
    tied: int = 2,
    max_length: int = 50,
) -> Prediction:
    random = np.random.default_rng(1)
    read = []
    for passage in passages(text, TargetFinder(targets).find(text), at_once=2, max_length=max_length):
        gates = random.uniform(0, 1, (directions, len(passage.tokens), chains)).astype(np.float32)
        read.append(Passage(passage.start, passage.end, passage.tokens, passage.targets, gates if directions else None))
    attention = random.dirichlet(np.ones(chains), (2, len(ASPECTS))).astype(np.float32)
    opinions = []
    for target in targets:
        for aspect in ASPECTS:
            polarity = found.get((target, aspect), "none")
            shares = {"none": 0.1, "positive": 0.05, "negative": 0.05} | {polarity: 0.85}
            total = sum(shares.values())
            opinions.append(PredictedOpinion(target, aspect, polarity, {k: v / total for k, v in shares.items()}))
    return Prediction(text, tuple(opinions), tuple(read), attention if directions and read else None, ASPECTS, tied)
