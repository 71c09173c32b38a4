"""Datasets by name, and the user's own files by path: all of them load as a `Dataset`."""

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final

from tabsa.config import build
from tabsa.datasets import everyday, open_sets, own, semeval2014, sentihood
from tabsa.datasets.locate import exists, expanded
from tabsa.datasets.records import DEFAULT_COLUMNS, Columns
from tabsa.datasets.selection import choose_aspects
from tabsa.errors import DataError, unknown_name
from tabsa.schema import Dataset
from tabsa.tables.reading import INPUT_SUFFIXES


@dataclass(frozen=True, slots=True)
class NamedDataset:
    """A dataset that is known by name."""

    description: str
    splits: tuple[str, ...]
    read: Callable[..., Dataset]  # of a split, with `data_dir` and `aspects`
    counted: tuple[str, ...] = ("train", "dev", "test")  # splits, in a list of datasets
    home: str = "the package"  # where it is, if it is in no data folder


def _places(split: str, *, data_dir: Path | None = None, aspects: Sequence[str] | None = None) -> Dataset:  # noqa: ARG001
    """Read the package's own small dataset: made-up sentences about places, with Sentihood's twelve aspects.

    Some sentences write their places as Sentihood does (LOCATION1), some by name. Its files are in the package.
    """
    chosen = choose_aspects(aspects, known=sentihood.ALL_ASPECTS, default=sentihood.ALL_ASPECTS)
    files = {part: Path(__file__).parent / "files" / f"places-{part}.jsonl" for part in own.SPLITS}
    return own.dataset_of("places", own.read_splits(files), split, chosen)


DATASETS: Final[dict[str, NamedDataset]] = {
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
    "places": NamedDataset("a few made-up sentences about places, in the package", own.SPLITS, _places),
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
    """Read one split of a dataset.

    Args:
        name: one of `DATASETS`, or the path of your own file or folder (see `tabsa.datasets.own`).
        split: one of the dataset's splits; of your own single file also "all".
        data_dir: the first folder to look in for a named dataset.
        aspects: the aspects to take, in this order, or "all"; by default those of the benchmark, or all there are.
        columns: your own file's names for its columns, those that are called otherwise: `{"text": "Review"}`.

    Raises:
        DataError: nothing has that name, or a file is malformed; the message names the file and the record.
        DataNotFoundError: the files are not where data is looked for.
    """
    source = DATASETS.get(name) if isinstance(name, str) else None
    if source is None:
        if not _is_path(name):
            raise unknown_name("dataset", str(name), DATASETS, also=", or the path of your own file or folder")
        return own.load(expanded(Path(name)), split, aspects=aspects, columns=named_columns(columns))
    if named_columns(columns) != DEFAULT_COLUMNS:
        raise DataError(f"{name} has columns of its own; name columns only for your own file")
    if split not in source.splits:
        raise unknown_name(f"split of {name}", split, source.splits)
    return source.read(split, data_dir=data_dir, aspects=aspects)


def named_columns(columns: Columns | Mapping[str, str] | None) -> Columns:
    """Return the columns, given as such or as those that are called otherwise; a ConfigError for an unknown one."""
    return columns if isinstance(columns, Columns) else build(Columns, columns or {}, "columns.")


def _is_path(name: str | Path) -> bool:
    text = str(name)
    written = os.sep in text or "/" in text or text.lower().endswith(INPUT_SUFFIXES)
    return isinstance(name, Path) or written or exists(Path(name))
