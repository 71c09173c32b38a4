"""The package's own small dataset: made-up sentences about places, for tests and first steps without a download.

It has Sentihood's twelve aspects. Some sentences write their places as Sentihood does (LOCATION1), some by name.
"""

from collections.abc import Sequence
from pathlib import Path

from tabsa.datasets import own as table
from tabsa.datasets.choices import choose_aspects
from tabsa.datasets.sentihood import ALL_ASPECTS
from tabsa.schema import Dataset

SPLITS = ("train", "dev", "test")


def load(split: str, *, aspects: Sequence[str] | None = None) -> Dataset:
    """One split; `aspects` are some of Sentihood's twelve, by default all. The files are part of the package."""
    chosen = choose_aspects(aspects, known=ALL_ASPECTS, default=ALL_ASPECTS)
    folder = Path(__file__).parent / "files"
    files = {part: folder / f"places-{part}.jsonl" for part in SPLITS}
    return table.load_files("places", files, split, aspects=chosen)
