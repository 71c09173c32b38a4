"""`everyday`: texts of all walks of life, with named targets and aspects in people's own words.

The corpus is the project's own (repro/everyday has its datasheet); it is not part of the wheel. A text asks four to
eight aspects (`Example.aspects`), so nothing is known of others. Five domains are in dev alone and six in test alone;
the splits `dev-unseen` and `test-unseen` are these, `dev-seen` and `test-seen` what was held out of the others.
"""

from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Final

from tabsa.datasets import own
from tabsa.datasets.locate import find
from tabsa.errors import DataNotFoundError
from tabsa.schema import Dataset

SPLITS: Final = (*own.SPLITS, "dev-seen", "dev-unseen", "test-seen", "test-unseen")
_CLONE: Final = Path(__file__).parents[3] / "repro" / "everyday"  # where a clone of the repository has it


def load(name: str, split: str, *, data_dir: Path | None = None, aspects: Sequence[str] | None = None) -> Dataset:
    """Read one split; `aspects` are by default every wording that occurs, some thousands."""
    splits = _read(tuple((part, _file(part, data_dir)) for part in own.SPLITS))
    part, _, domains = split.partition("-")
    dataset = own.dataset_of(name, splits, part, aspects)
    if not domains:
        return dataset
    trained = {draft.tags["domain"] for draft in splits["train"]}
    chosen = [e for e in dataset.examples if (e.tags["domain"] in trained) == (domains == "seen")]
    return replace(dataset, split=split, examples=tuple(chosen))


@lru_cache(maxsize=1)  # whoever loads one split mostly loads another
def _read(files: tuple[tuple[str, Path], ...]) -> dict[str, list[own.Draft]]:
    return own.read_splits(dict(files))


def _file(part: str, data_dir: Path | None) -> Path:
    try:
        return find(f"everyday/{part}.jsonl", data_dir)
    except DataNotFoundError:
        if not (_CLONE / f"{part}.jsonl").is_file():
            raise
        return _CLONE / f"{part}.jsonl"
