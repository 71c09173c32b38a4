"""The user's own data: a CSV, TSV, JSON Lines or Parquet file, or a folder with one such file a split.

Flat, one opinion a row: columns text, target, aspect, polarity, and if there are any id, start and end.
Nested, one text a row: `{"id", "text", "targets": [...], "opinions": [{"target", "aspect", "polarity"}, ...]}`.
Both may say which `aspects` were asked of a text, and its `domain` and `kind`. A target that the text does not name is
null, or empty. A flat row with an aspect and no polarity was not asked; of `asked_only` rows nothing else was.
"""

import warnings
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path

from tabsa.datasets.choices import ALL, choose_aspects, unknown
from tabsa.datasets.drafts import Draft, Drafts
from tabsa.datasets.headers import no_target_note, settled_columns
from tabsa.datasets.locate import exists
from tabsa.datasets.merging import Merger
from tabsa.datasets.records import Columns, parse_row
from tabsa.datasets.splits import share
from tabsa.errors import DataError, DataNotFoundError, DataWarning
from tabsa.schema import NEGATIVE, NONE, POSITIVE, Dataset, Example, Opinion
from tabsa.tables.fields import is_blank
from tabsa.tables.kinds import INPUT_SUFFIXES
from tabsa.tables.rows import Row, typed_rows

SPLITS = ("train", "dev", "test")
DEFAULT_COLUMNS = Columns()
# Of a file in one piece, texts whose share is below the first bound are "train", those below the second "dev".
_BOUNDS = (0.8, 0.9)


def load(
    path: Path, split: str, *, aspects: Sequence[str] | None = None, columns: Columns = DEFAULT_COLUMNS
) -> Dataset:
    """One split of the user's own file or folder.

    Args:
        path: a file, or a folder that holds train.EXT, dev.EXT and test.EXT (or some of them).
        split: "all" is the whole of a single file; "train", "dev" and "test" are about 80, 10 and 10 percent of it,
            held apart by a hash of the text. Of a folder, one of the splits it has a file for.
        aspects: the aspects to keep, in this order; by default all that are judged or asked in any split, in order of
            appearance.
        columns: what the file calls its columns.
    """
    return load_files(str(path), _files(path), split, aspects=aspects, columns=columns)


def load_files(
    name: str,
    files: Mapping[str, Path],
    split: str,
    *,
    aspects: Sequence[str] | None = None,
    columns: Columns = DEFAULT_COLUMNS,
) -> Dataset:
    """One split of a dataset that has one file a split, or one file for "all".

    Every file is read, whichever split is asked for, so that all splits have the same aspects and labels.
    """
    return dataset_of(name, read_splits(files, columns), split, aspects)


def read_splits(files: Mapping[str, Path], columns: Columns = DEFAULT_COLUMNS) -> dict[str, list[Draft]]:
    """What the files of a dataset say, by split."""
    splits = {part: _read(file, columns) for part, file in files.items()}
    if ALL in splits:
        splits |= _held_apart(splits[ALL])
    return splits


def dataset_of(name: str, splits: Mapping[str, list[Draft]], split: str, aspects: Sequence[str] | None) -> Dataset:
    """One split, with the aspects and labels of all."""
    if split not in splits:
        raise unknown(f"split of {name}", split, splits)
    if not splits[split]:
        raise DataError(f"{name} is too small to hold out a {split!r} split; ask for 'all', or make a folder of splits")
    opinions = [opinion for drafts in splits.values() for draft in drafts for opinion in draft.opinions]
    occurring = tuple(
        dict.fromkeys(aspect for drafts in splits.values() for draft in drafts for aspect in draft.aspects)
    )
    chosen = _aspects(name, aspects, occurring)
    examples = _examples(f"{name} {split}", splits[split], chosen)
    return Dataset(name, split, chosen, labels_of(opinions), examples)


def _files(path: Path) -> dict[str, Path]:
    if not exists(path):
        formats = ", ".join(INPUT_SUFFIXES)
        raise DataNotFoundError(f"no file or folder {path}; expected a data file ({formats}) or a folder of splits")
    if not path.is_dir():
        return {ALL: path}
    files = {}
    for split in SPLITS:
        found = [path / f"{split}{suffix}" for suffix in INPUT_SUFFIXES if (path / f"{split}{suffix}").is_file()]
        if len(found) > 1:
            raise DataError(f"{path} has both {found[0].name} and {found[1].name}; keep one file a split")
        if found:
            files[split] = found[0]
    if not files:
        raise DataNotFoundError(
            f"no split in the folder {path}; expected train.csv, dev.csv, test.csv (or {', '.join(INPUT_SUFFIXES[1:])})"
        )
    return files


def _read(path: Path, columns: Columns) -> list[Draft]:
    torn: list[str] = []
    return drafts_of(path, typed_rows(path, on_torn=torn.append), columns, torn)


def drafts_of(path: Path | str, table: Iterable[Row], columns: Columns, torn: Sequence[str] = ()) -> list[Draft]:
    """What the rows of a table say, text by text; `torn` are lines that break off, known when all are read."""
    rows = Drafts()
    first, empty = True, 0
    for row in table:
        if all(map(is_blank, row.values.values())):
            continue  # a spreadsheet writes the empty rows below a table too
        if first:
            columns, first = _settled(path, row.values, columns), False
        record = parse_row(row.values, columns, row.where)
        rows.add(record, row.where)
        empty += bool(record.unasked) and not record.withdrawn
    drafts = rows.finished()
    if not drafts:
        raise DataError(f"{path} holds no rows; expected at least one text")
    for draft in drafts:
        draft.refuse_unasked()
    asking = [draft for draft in drafts if draft.asks]
    if not asking:
        which = "its text has no" if len(drafts) == 1 else f"none of its {len(drafts):,} texts has a"
        raise DataError(f"{path}: {which} label yet; fill in the column {columns.polarity!r}")
    _warn_of_rows(path, empty, torn)
    return asking


def _settled(path: Path | str, names: Collection[str], columns: Columns) -> Columns:
    settled = settled_columns(path, names, columns)
    if settled != columns:
        warnings.warn(f"{path} has {no_target_note(names)}", DataWarning, stacklevel=6)
    return settled


def _warn_of_rows(path: Path | str, empty: int, torn: Sequence[str]) -> None:
    """Say which rows say nothing: those that were left without a polarity, and lines that break off."""
    told = []
    if empty:
        rows = "1 row has no polarity, and counts" if empty == 1 else f"{empty:,} rows have no polarity, and count"
        told.append(f"{rows} as not asked")
    if torn:
        more = f", the first of {len(torn):,}," if len(torn) > 1 else ""
        told.append(f"{torn[0].removeprefix(f'{path} ')}{more} breaks off, and is left out")
    if told:
        warnings.warn(f"{path}: {'; '.join(told)}", DataWarning, stacklevel=5)


def _held_apart(drafts: Iterable[Draft]) -> dict[str, list[Draft]]:
    splits: dict[str, list[Draft]] = {split: [] for split in SPLITS}
    for draft in drafts:
        splits[SPLITS[sum(share(draft.text) >= bound for bound in _BOUNDS)]].append(draft)
    return splits


def _aspects(name: str, wanted: Sequence[str] | None, occurring: tuple[str, ...]) -> tuple[str, ...]:
    """Those asked for, even where they do not occur: a model's aspects are more than a small test file has."""
    wanted = ALL if wanted is None else wanted
    named = (wanted,) if isinstance(wanted, str) else tuple(wanted)
    if not occurring and named == (ALL,):
        raise DataError(
            f"{name} holds no opinion, so its aspects are unknown; fill in aspect and polarity, or name the aspects"
        )
    absent = [aspect for aspect in named if aspect not in (ALL, *occurring)]
    if absent:
        message = f"{name}: no opinion on {', '.join(absent)}; its aspects are {', '.join(occurring) or 'none'}"
        warnings.warn(message, DataWarning, stacklevel=4)
    return choose_aspects(wanted, known=(*occurring, *absent), default=occurring)


def labels_of(opinions: Iterable[Opinion]) -> tuple[str, ...]:
    """`none`, then the polarities there are, those that have a meaning here first."""
    occurring = dict.fromkeys(opinion.polarity for opinion in opinions)
    known = [polarity for polarity in (POSITIVE, NEGATIVE) if polarity in occurring]
    return tuple(dict.fromkeys((NONE, *known, *occurring)))


def _examples(where: str, drafts: Iterable[Draft], chosen: Sequence[str]) -> tuple[Example, ...]:
    aspects = dict.fromkeys(chosen)
    merger = Merger()
    implied: list[str] = []
    examples = []
    for draft in drafts:
        targets = draft.find_targets()
        implied += [
            f"{target.name!r} in {draft.where}"
            for target in targets
            if not target.mentions and draft.targets[target.name].mentions is None
        ]
        merged = merger.merge(opinion for opinion in draft.opinions if opinion.aspect in aspects)
        kept = [opinion for opinion in merged if opinion.polarity != NONE]
        # One example, unless something else was asked of one target than of another.
        for wanted, names in draft.asked(aspects).items():
            of_these = tuple(target for target in targets if target.name in names)
            said = tuple(opinion for opinion in kept if opinion.target in names)
            examples.append(Example(draft.id, draft.text, of_these, said, wanted, draft.tags))
    merger.warn(where)
    if implied:
        count = "1 target is" if len(implied) == 1 else f"{len(implied)} targets are"
        message = f"{where}: {count} not in the text by name, so taken as implied (first: {implied[0]})"
        warnings.warn(message, DataWarning, stacklevel=4)
    return tuple(examples)
