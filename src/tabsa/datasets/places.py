"""The package's own small dataset: made-up sentences about places, for tests and first steps without a download.

It has Sentihood's twelve aspects. Some sentences write their places as Sentihood does (LOCATION1), some by name.
"""

from collections.abc import Sequence
from pathlib import Path

from tabsa.datasets import own
from tabsa.datasets.selection import choose_aspects
from tabsa.datasets.sentihood import ALL_ASPECTS
from tabsa.schema import Dataset

SPLITS = own.SPLITS


def load(name: str, split: str, *, data_dir: Path | None = None, aspects: Sequence[str] | None = None) -> Dataset:  # noqa: ARG001
    """Read one split; `aspects` are some of Sentihood's twelve, by default all. The files are part of the package."""
    chosen = choose_aspects(aspects, known=ALL_ASPECTS, default=ALL_ASPECTS)
    files = {part: Path(__file__).parent / "files" / f"places-{part}.jsonl" for part in SPLITS}
    return own.dataset_of(name, own.read_splits(files), split, chosen)
