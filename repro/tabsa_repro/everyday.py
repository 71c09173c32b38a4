"""`everyday`: texts of all walks of life, with named targets and aspects in people's own words.

The corpus is the project's own (repro/everyday has its datasheet); it is not part of the wheel. A text lists the
aspects asked of it (`Example.aspects`), so nothing is known of others. Five domains are in dev alone and six in test
alone; the splits `dev-unseen` and `test-unseen` are these, `dev-seen` and `test-seen` what was held out of the others.
`-hard` asks the same texts what they come near to and mostly do not say; `-new` are later texts. `silver` are
further texts to learn from, each labelled by its writer alone.
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

_FILES: Final = (*own.SPLITS, "dev-hard", "dev-new", "test-hard", "test-new")
SILVER: Final = "silver"
SPLITS: Final = (*_FILES, "dev-seen", "dev-unseen", "test-seen", "test-unseen", SILVER)
_CLONE: Final = Path(__file__).parents[1] / "everyday"  # where a clone of the repository has it


def load(name: str, split: str, *, data_dir: Path | None = None, aspects: Sequence[str] | None = None) -> Dataset:
    """Read one split; `aspects` are by default every wording that occurs, some thousands."""
    if split == SILVER:
        drafts = own.read_splits({SILVER: corpus_file("silver.jsonl", data_dir)})
        return own.dataset_of(name, drafts, split, aspects)
    splits = _read(tuple((part, corpus_file(f"{part}.jsonl", data_dir)) for part in _FILES))
    part, _, domains = split.partition("-")
    if split in _FILES:
        return own.dataset_of(name, splits, split, aspects)
    dataset = own.dataset_of(name, splits, part, aspects)
    trained = {draft.tags["domain"] for draft in splits["train"]}
    chosen = [e for e in dataset.examples if (e.tags["domain"] in trained) == (domains == "seen")]
    return replace(dataset, split=split, examples=tuple(chosen))


@lru_cache(maxsize=1)  # whoever loads one split mostly loads another
def _read(files: tuple[tuple[str, Path], ...]) -> dict[str, list[own.Draft]]:
    return own.read_splits(dict(files))


def corpus_file(file: str, data_dir: Path | None) -> Path:
    """Find a file of the corpus: in a data folder, or in a clone of the repository."""
    try:
        return find(f"everyday/{file}", data_dir)
    except DataNotFoundError:
        if not (_CLONE / file).is_file():
            raise
        return _CLONE / file
