"""Small runs: a configuration with dropout on, and made-up data whose words hint at the labels."""

from dataclasses import fields, replace
from typing import Any

import numpy as np

from tabsa.encoding.arrays import UNLABELLED, Encoded
from tabsa.models.registry import SYSTEMS
from tabsa.training.run_config import RunConfig, run_config
from tabsa.training.word_data import Prepared

LABELS = ("none", "positive", "negative")


def config(**sections: Any) -> RunConfig:
    """A small run with dropout on; `sections` go over its options."""
    kind = sections.pop("kind", "delayed-entnet")
    known = {field.name for field in fields(SYSTEMS[kind].config_class)}
    model = {"chains": 3, "units": 4, "input_dropout": 0.3, "output_dropout": 0.3} | sections.pop("model", {})
    return run_config(
        {
            "kind": kind,
            "model": {name: value for name, value in model.items() if name in known},
            "training": {"epochs": 3, "batch_size": 12, "balance": "mixed"} | sections,
        }
    )


def readings(count: int, rng: np.random.Generator) -> Encoded:
    """Sentences of up to 6 of 12 words about one or two targets; the words hint at the labels."""
    labels = rng.choice(3, (count, 2, 2), p=[0.6, 0.25, 0.15]).astype(np.int8)
    lengths = rng.integers(1, 7, count).astype(np.int32)
    tokens = rng.integers(3, 12, (count, 6)).astype(np.int32)
    tokens[:, 0] = 3 + labels[:, 0, 0]
    tokens[np.arange(6) >= lengths[:, None]] = 0
    labels[rng.random(count) < 0.3, 1] = UNLABELLED
    labelled = labels[:, :, 0] != UNLABELLED
    groups = np.full((count, 2), -1, np.int32)
    groups[labelled] = np.arange(labelled.sum())
    return Encoded(tokens, lengths, labels, groups, labels[labelled].astype(np.int64))


def small() -> Prepared:
    rng = np.random.default_rng(3)
    matrix = rng.normal(0, 0.4, (12, 6)).astype(np.float32)
    matrix[0] = 0
    aspects = rng.normal(0, 0.4, (2, 6)).astype(np.float32)
    return Prepared(readings(40, rng), readings(15, rng), matrix, (1, 2), aspects, ("price", "safety"), LABELS)


def small_for(kind: str) -> Prepared:
    """With concepts, for a model that reads them."""
    data = small()
    if not SYSTEMS[kind].concepts:
        return data
    train, dev = (replace(part, concepts=part.tokens % 4) for part in (data.train, data.dev))
    vectors = np.random.default_rng(4).normal(0, 0.4, (4, 5)).astype(np.float32)
    vectors[0] = 0
    return replace(data, train=train, dev=dev, concepts=vectors)
