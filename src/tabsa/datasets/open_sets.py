"""Public sets with aspects of other domains, brought into one form (see `open/README.md` of the data folder).

A split is one of the files: `mams-categories-train`, `newsmtsc-train`, ... Most texts review one thing that they do not
name, which is then the only target; a category that a text has no opinion on was not found there. Conflict is `mixed`.
"""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Final

from tabsa.datasets import own
from tabsa.datasets.locate import find
from tabsa.schema import MIXED, Dataset
from tabsa.tables.fields import member
from tabsa.tables.reading import Row, read_good_rows

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


def load(name: str, split: str, *, data_dir: Path | None = None, aspects: Sequence[str] | None = None) -> Dataset:
    """Read one of the sets; its aspects and labels are those of all its own files."""
    parts = [part for part in SPLITS if part.rpartition("-")[0] == split.rpartition("-")[0]]
    paths = {part: find(f"open/{part}.jsonl", data_dir) for part in parts}
    return own.dataset_of(
        name, {part: own.drafts_of(path, _rows(read_good_rows(path))) for part, path in paths.items()}, split, aspects
    )


def _rows(rows: Iterable[Row]) -> Iterator[Row]:
    """Rows as the user's own are; of mentions that overlap the longest stays, and a target that has none left goes."""
    for where, values, number in rows:
        targets = member(values, "targets", list, where)
        taken: list[list[int]] = []
        for start, end in sorted(
            (span for one in targets for span in one["mentions"]), key=lambda span: span[0] - span[1]
        ):
            if all(end <= other[0] or other[1] <= start for other in taken):
                taken.append([start, end])
        apart = [one | {"mentions": [span for span in one["mentions"] if span in taken]} for one in targets]
        named = [one for one in apart if one["mentions"]] or [None]
        names = {one["name"] if one else None for one in named}
        opinions = [
            one | {"polarity": MIXED if one["polarity"] == "conflict" else one["polarity"]}
            for one in member(values, "opinions", list, where)
            if one["target"] in names
        ]
        yield Row(where, values | {"targets": named, "opinions": opinions}, number)
