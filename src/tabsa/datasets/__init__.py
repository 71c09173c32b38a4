"""Datasets by name, and the user's own files by path: all of them load as a `Dataset`."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Protocol

from tabsa.config import build
from tabsa.datasets import everyday, open_sets, places, semeval2014, sentihood
from tabsa.datasets import own as table
from tabsa.datasets.choices import unknown
from tabsa.datasets.locate import exists, expanded
from tabsa.datasets.records import Columns
from tabsa.errors import DataError, DataWarning
from tabsa.schema import Dataset
from tabsa.tables.kinds import INPUT_SUFFIXES

__all__ = ["DATASETS", "Columns", "DataWarning", "NamedDataset", "load", "named_columns"]


class SplitReader(Protocol):
    """What loads one split of a named dataset."""

    def __call__(self, split: str, *, data_dir: Path | None, aspects: Sequence[str] | None) -> Dataset:
        """Load the split."""


@dataclass(frozen=True, slots=True)
class NamedDataset:
    """A dataset that is known by name."""

    description: str
    splits: tuple[str, ...]
    read: SplitReader
    counted: tuple[str, ...] = ("train", "dev", "test")
    """The splits that a list of datasets counts."""
    home: str = "the package"
    """Where it is, if it is in no data folder."""


def _places(split: str, *, data_dir: Path | None, aspects: Sequence[str] | None) -> Dataset:  # noqa: ARG001
    """The package carries these files, so there is no folder to look in."""
    return places.load(split, aspects=aspects)


DATASETS: dict[str, NamedDataset] = {
    "sentihood": NamedDataset(
        "neighbourhoods of London, 12 aspects of which the benchmark has 4; repeated opinions removed",
        sentihood.SPLITS,
        partial(sentihood.load, "sentihood"),
    ),
    "sentihood-original": NamedDataset(
        "the same sentences as first published; loads as the same examples",
        sentihood.SPLITS,
        partial(sentihood.load, "sentihood-original"),
    ),
    "semeval2014": NamedDataset(
        "SemEval-2014 task 4 restaurants, 5 aspect categories; positive, negative, neutral, conflict",
        semeval2014.SPLITS,
        partial(semeval2014.load, "semeval2014"),
    ),
    "semeval2014-3way": NamedDataset(
        "the same without the opinions marked conflict",
        semeval2014.SPLITS,
        partial(semeval2014.load, "semeval2014-3way"),
    ),
    "places": NamedDataset("a few made-up sentences about places, in the package", places.SPLITS, _places),
    "everyday": NamedDataset(
        "6,000 texts of 46 domains, with named targets and aspects in people's own words; the project's own",
        everyday.SPLITS,
        everyday.load,
        home="the repository",
    ),
    "open": NamedDataset(
        "public sets with aspects of ten domains, in one form; a split is one of its files",
        open_sets.SPLITS,
        open_sets.load,
        counted=("mams-categories-train",),
        home="a data folder",
    ),
}


def load(
    name: str | Path,
    split: str,
    *,
    data_dir: Path | None = None,
    aspects: Sequence[str] | None = None,
    columns: Columns | Mapping[str, str] | None = None,
) -> Dataset:
    """One split of a dataset.

    Args:
        name: one of `DATASETS`, or the path of your own file or folder (see `tabsa.datasets.own`).
        split: one of the dataset's splits; of your own single file also "all".
        data_dir: the first folder to look in for a named dataset.
        aspects: the aspects to keep, in this order, or "all"; by default those of the benchmark, or all there are.
        columns: what your own file calls its columns, those that are called otherwise: `{"text": "Review"}`.

    Raises:
        DataError: nothing has that name, or a file is malformed; the message names the file and the record.
        DataNotFoundError: the files are not where data is looked for.
    """
    source = DATASETS.get(name) if isinstance(name, str) else None
    if source is None:
        if not _is_path(name):
            raise unknown("dataset", str(name), DATASETS, also=", or the path of your own file or folder")
        return table.load(expanded(Path(name)), split, aspects=aspects, columns=named_columns(columns))
    if columns is not None and named_columns(columns) != table.DEFAULT_COLUMNS:
        raise DataError(f"{name} has columns of its own; name columns only for your own file")
    if split not in source.splits:
        raise unknown(f"split of {name}", split, source.splits)
    return source.read(split, data_dir=data_dir, aspects=aspects)


def named_columns(columns: Columns | Mapping[str, str] | None) -> Columns:
    """The columns, given as such or as those that are called otherwise.

    Raises:
        ConfigError: there is no such column.
    """
    return columns if isinstance(columns, Columns) else build(Columns, columns or {}, "columns.")


def _is_path(name: str | Path) -> bool:
    text = str(name)
    return (
        isinstance(name, Path)
        or os.sep in text
        or "/" in text
        or text.lower().endswith(INPUT_SUFFIXES)
        or exists(Path(name))
    )
