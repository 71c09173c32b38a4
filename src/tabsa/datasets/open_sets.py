"""Public sets with aspects of other domains, brought into one form (see `open/README.md` of the data folder).

A split is one of the files: `mams-categories-train`, `newsmtsc-train`, ... Most texts review one thing that they do not
name, which is then the only target; a category that a text has no opinion on was not found there. Conflict is `mixed`.
"""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

from tabsa.datasets import own
from tabsa.datasets.locate import find
from tabsa.schema import MIXED, UNNAMED, Dataset, Example, Target

_WITH_DEV: Final = (
    "mams-categories", "mams-terms", "memd-books", "memd-clothing", "memd-hotel", "memd-laptop", "memd-restaurant",
    "phones", "shoes",
)  # fmt: skip
_TRAIN_ONLY: Final = (
    "newsmtsc", "oats-courses", "oats-foods", "oats-hotels", "semeval2016-laptops", "semeval2016-restaurants"
)  # fmt: skip
SPLITS: Final = (
    *(f"{name}-{part}" for name in _WITH_DEV for part in ("train", "dev")),
    *(f"{name}-train" for name in _TRAIN_ONLY),
)
_CONFLICT: Final = "conflict"


def load(split: str, *, data_dir: Path | None = None, aspects: Sequence[str] | None = None) -> Dataset:
    """One of the sets; its aspects and labels are those of all its own files."""
    name, _, part = split.rpartition("-")
    parts = [other for other in ("train", "dev") if f"{name}-{other}" in SPLITS]
    files = {other: find(f"open/{name}-{other}.jsonl", data_dir) for other in parts}
    dataset = own.load_files("open", files, part, aspects=aspects)
    labels = tuple(MIXED if label == _CONFLICT else label for label in dataset.labels)
    return replace(dataset, split=split, labels=labels, examples=tuple(map(_example, dataset.examples)))


def _example(example: Example) -> Example:
    opinions = tuple(
        replace(opinion, polarity=MIXED) if opinion.polarity == _CONFLICT else opinion for opinion in example.opinions
    )
    targets = example.targets or (Target(UNNAMED, implied=True),)
    return replace(example, targets=targets, opinions=opinions)
