"""`everyday`: texts of all walks of life, with named targets and aspects in people's own words.

The corpus is the project's own (repro/everyday has its datasheet); it is not part of the wheel. A text asks four to
eight aspects (`Example.aspects`), so nothing is known of others. Five domains are in dev alone and six in test alone;
the splits `dev-unseen` and `test-unseen` are these, `dev-seen` and `test-seen` what was held out of the others.
"""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

from tabsa.datasets import own
from tabsa.datasets.locate import find
from tabsa.errors import DataNotFoundError
from tabsa.schema import Dataset

_PARTS: Final = ("train", "dev", "test")
SPLITS: Final = (*_PARTS, "dev-seen", "dev-unseen", "test-seen", "test-unseen")
_CLONE: Final = Path(__file__).parents[3] / "repro" / "everyday"  # where a clone of the repository has it


def load(split: str, *, data_dir: Path | None = None, aspects: Sequence[str] | None = None) -> Dataset:
    """One split; `aspects` are by default every wording that occurs, some thousands."""
    files = {part: _file(part, data_dir) for part in _PARTS}
    part, _, domains = split.partition("-")
    dataset = own.load_files("everyday", files, part, aspects=aspects)
    if not domains:
        return dataset
    trained = {example.tags["domain"] for example in own.load_files("everyday", files, "train").examples}
    kept = [e for e in dataset.examples if (e.tags["domain"] in trained) == (domains == "seen")]
    return replace(dataset, split=split, examples=tuple(kept))


def _file(part: str, data_dir: Path | None) -> Path:
    try:
        return find(f"everyday/{part}.jsonl", data_dir)
    except DataNotFoundError:
        if (_CLONE / f"{part}.jsonl").is_file():
            return _CLONE / f"{part}.jsonl"
        raise
