"""Datasets by name, and the user's own files by path: all of them load as a `Dataset`."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Final

from tabsa.config import build
from tabsa.datasets import open_sets, own, places, semeval2014, sentihood
from tabsa.datasets.locate import exists
from tabsa.datasets.records import DEFAULT_COLUMNS, Columns
from tabsa.errors import DataError, unknown_name
from tabsa.schema import Dataset
from tabsa.tables.reading import INPUT_SUFFIXES
from tabsa_repro import everyday, real

# The modules that read them, those of the project's own corpora beside these: each has `SPLITS` and `load`.
# `files/catalogue.toml` describes them.
DATASETS: Final[dict[str, ModuleType]] = {
    "sentihood": sentihood,
    "sentihood-original": sentihood,
    "semeval2014": semeval2014,
    "semeval2014-3way": semeval2014,
    "places": places,
    "everyday": everyday,
    "real": real,
    "open": open_sets,
}


def load(
    name: str | Path,
    split: str,
    *,
    data_dir: Path | None = None,
    aspects: Sequence[str] | None = None,
    columns: Columns | Mapping[str, str] | None = None,
) -> Dataset:
    """Read one split of a dataset.

    Args:
        name: one of `DATASETS`, or the path of your own file or folder (see `tabsa.datasets.own`).
        split: one of the dataset's splits; of your own single file also "all".
        data_dir: the first folder to look in for a named dataset.
        aspects: the aspects to take, in this order, or "all"; by default those of the benchmark, or all there are.
        columns: your own file's names for its columns, those that are called otherwise: `{"text": "Review"}`.
    """
    source = DATASETS.get(name) if isinstance(name, str) else None
    if source is None:
        written = isinstance(name, Path) or "/" in name or os.sep in name or name.lower().endswith(INPUT_SUFFIXES)
        if not written and not exists(Path(name)):
            raise unknown_name("dataset", str(name), DATASETS, also=", or the path of your own file or folder")
        splits = own.read_splits(own.files_of(Path(name).expanduser()), named_columns(columns))
        return own.dataset_of(str(Path(name).expanduser()), splits, split, aspects)
    if named_columns(columns) != DEFAULT_COLUMNS:
        raise DataError(f"{name} has columns of its own; name columns only for your own file")
    if split not in source.SPLITS:
        raise unknown_name(f"split of {name}", split, source.SPLITS)
    dataset: Dataset = source.load(name, split, data_dir=data_dir, aspects=aspects)
    return dataset


def named_columns(columns: Columns | Mapping[str, str] | None) -> Columns:
    """Return the columns, given as such or as those that are called otherwise; a ConfigError for an unknown one."""
    return columns if isinstance(columns, Columns) else build(Columns, columns or {}, "columns.")
