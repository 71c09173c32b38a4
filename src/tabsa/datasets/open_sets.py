"""Public sets with aspects of other domains, brought into one form (see `open/README.md` of the data folder).

A split is one of the files: `mams-categories-train`, `newsmtsc-train`, ... Most texts review one thing that they do not
name, which is then the only target; a category that a text has no opinion on was not found there. Conflict is `mixed`.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from tabsa.datasets import own
from tabsa.datasets.locate import find
from tabsa.datasets.records import DEFAULT_COLUMNS
from tabsa.errors import DataError
from tabsa.schema import MIXED, Dataset
from tabsa.tables.fields import member
from tabsa.tables.reading import Row, read_good_rows

_WITH_DEV: Final = (
    "mams-categories mams-terms memd-books memd-clothing memd-hotel memd-laptop memd-restaurant phones shoes"
)
_TRAIN_ONLY: Final = "newsmtsc oats-courses oats-foods oats-hotels semeval2016-laptops semeval2016-restaurants"
SPLITS: Final = (
    *(f"{name}-{part}" for name in _WITH_DEV.split() for part in ("train", "dev")),
    *(f"{name}-train" for name in _TRAIN_ONLY.split()),
)


def load(name: str, split: str, *, data_dir: Path | None = None, aspects: Sequence[str] | None = None) -> Dataset:
    """Read one of the sets; its aspects and labels are those of all its own files."""
    parts = [part for part in SPLITS if part.rpartition("-")[0] == split.rpartition("-")[0]]
    drafts = {}
    for part in parts:
        path = find(f"open/{part}.jsonl", data_dir)
        drafts[part] = own.drafts_of(path, map(_row, read_good_rows(path)), DEFAULT_COLUMNS)
    return own.dataset_of(name, drafts, split, aspects)


def _row(row: Row) -> Row:
    """Return a row as the user's own are: of overlapping mentions the longest, and no target that has none left."""
    try:
        targets: list[dict[str, Any]] = member(row.values, "targets", list, row.where)
        taken: list[list[int]] = []
        spans = [span for one in targets for span in one["mentions"]]
        for start, end in sorted(spans, key=lambda span: span[0] - span[1]):
            if all(end <= other[0] or other[1] <= start for other in taken):
                taken.append([start, end])
        apart = [one | {"mentions": [span for span in one["mentions"] if span in taken]} for one in targets]
        named: list[dict[str, Any] | None] = [one for one in apart if one["mentions"]] or [None]
        names = {one and one["name"] for one in named}
        opinions = [
            one | {"polarity": MIXED if one["polarity"] == "conflict" else one["polarity"]}
            for one in member(row.values, "opinions", list, row.where)
            if one["target"] in names
        ]
    except (KeyError, TypeError, ValueError) as e:
        raise DataError(f"{row.where} is no row of an open set ({type(e).__name__}: {e})") from e
    return Row(row.where, row.values | {"targets": named, "opinions": opinions}, row.number)
