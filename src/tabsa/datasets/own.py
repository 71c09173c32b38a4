"""The user's own data: a CSV, TSV, JSON Lines or Parquet file, or a folder with one such file a split.

Flat, one opinion a row: columns text, target, aspect, polarity, and if there are any id, start and end.
Nested, one text a row: `{"id", "text", "targets": [...], "opinions": [{"target", "aspect", "polarity"}, ...]}`.
"""

import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import TypeAlias

from tabsa.datasets.choices import ALL, choose_aspects, unknown
from tabsa.datasets.locate import exists
from tabsa.datasets.merging import DataWarning, Merger
from tabsa.datasets.records import Columns, Named, Record, mark, parse_row
from tabsa.datasets.splits import share
from tabsa.errors import DataError, DataNotFoundError
from tabsa.schema import NEGATIVE, NONE, POSITIVE, Dataset, Example, Opinion, Span, Target
from tabsa.tables.fields import is_blank
from tabsa.tables.rows import SUFFIXES, typed_rows
from tabsa.text import TargetFinder

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
        aspects: the aspects to keep, in this order; by default all that occur in any split, in order of appearance.
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
    splits = {part: _read(file, columns) for part, file in files.items()}
    if ALL in splits:
        splits |= _held_apart(splits[ALL])
    if split not in splits:
        raise unknown(f"split of {name}", split, splits)
    if not splits[split]:
        raise DataError(f"{name} is too small to hold out a {split!r} split; ask for 'all', or make a folder of splits")
    opinions = [opinion for drafts in splits.values() for draft in drafts for opinion in draft.opinions]
    chosen = _aspects(name, aspects, opinions)
    examples = _examples(f"{name} {split}", splits[split], chosen)
    return Dataset(name, split, chosen, _labels(opinions), examples)


def _files(path: Path) -> dict[str, Path]:
    if not exists(path):
        formats = ", ".join(SUFFIXES)
        raise DataNotFoundError(f"no file or folder {path}; expected a data file ({formats}) or a folder of splits")
    if not path.is_dir():
        return {ALL: path}
    files = {}
    for split in SPLITS:
        found = [path / f"{split}{suffix}" for suffix in SUFFIXES if (path / f"{split}{suffix}").is_file()]
        if len(found) > 1:
            raise DataError(f"{path} has both {found[0].name} and {found[1].name}; keep one file a split")
        if found:
            files[split] = found[0]
    if not files:
        raise DataNotFoundError(
            f"no split in the folder {path}; expected train.csv, dev.csv, test.csv (or {', '.join(SUFFIXES[1:])})"
        )
    return files


@dataclass(slots=True)
class _Draft:
    """An example whose rows are still being gathered; `where` is its first row."""

    id: str
    text: str
    where: str
    targets: dict[str, Named] = field(default_factory=dict)
    opinions: list[Opinion] = field(default_factory=list)

    def add(self, record: Record) -> None:
        self.opinions += record.opinions
        for target in record.targets:
            earlier = self.targets.get(target.name)
            self.targets[target.name] = _joined(earlier, target) if earlier else target


_Drafts: TypeAlias = Sequence[_Draft]


def _joined(first: Named, second: Named) -> Named:
    mentions = first.mentions
    if second.mentions is not None:
        mentions = tuple(sorted({*(first.mentions or ()), *second.mentions}))
    return Named(first.name, mentions, tuple(dict.fromkeys(first.aliases + second.aliases)))


def _read(path: Path, columns: Columns) -> _Drafts:
    """The file's examples: rows with the same id are one; where there are no ids, rows with the same text."""
    drafts: dict[str, _Draft] = {}
    has_ids: bool | None = None
    for row in typed_rows(path):
        if all(map(is_blank, row.values.values())):
            continue  # a spreadsheet writes the empty rows below a table too
        record = parse_row(row.values, columns, row.where)
        key = record.id or record.text
        if key not in drafts:
            drafts[key] = _Draft(record.id, record.text, row.where)
        draft = drafts[key]
        has_ids = bool(record.id) if has_ids is None else has_ids
        if bool(record.id) != has_ids:
            raise DataError(f"{row.where}: some rows have an id and some have not; give every row an id, or none")
        if draft.text != record.text:
            raise DataError(
                f"{row.where}: id {record.id!r} has another text than in {draft.where}; give each text its own id"
            )
        draft.add(record)
    if not drafts:
        raise DataError(f"{path} holds no rows; expected at least one text")
    for number, draft in enumerate(drafts.values(), start=1):
        draft.id = draft.id or str(number)
    return list(drafts.values())


def _held_apart(drafts: _Drafts) -> dict[str, _Drafts]:
    splits: dict[str, list[_Draft]] = {split: [] for split in SPLITS}
    for draft in drafts:
        splits[SPLITS[sum(share(draft.text) >= bound for bound in _BOUNDS)]].append(draft)
    return dict(splits)


def _aspects(name: str, wanted: Sequence[str] | None, opinions: Iterable[Opinion]) -> tuple[str, ...]:
    """Those asked for, even where they do not occur: a model's aspects are more than a small test file has."""
    occurring = tuple(dict.fromkeys(opinion.aspect for opinion in opinions))
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


def _labels(opinions: Iterable[Opinion]) -> tuple[str, ...]:
    occurring = dict.fromkeys(opinion.polarity for opinion in opinions)
    known = [polarity for polarity in (POSITIVE, NEGATIVE) if polarity in occurring]
    return tuple(dict.fromkeys((NONE, *known, *occurring)))


def _examples(where: str, drafts: _Drafts, aspects: Sequence[str]) -> tuple[Example, ...]:
    merger = Merger()
    implied: list[str] = []
    examples = []
    for draft in drafts:
        targets = _targets(draft)
        implied += [
            f"{target.name!r} in {draft.where}"
            for target in targets
            if not target.mentions and draft.targets[target.name].mentions is None
        ]
        merged = merger.merge(opinion for opinion in draft.opinions if opinion.aspect in aspects)
        kept = tuple(opinion for opinion in merged if opinion.polarity != NONE)
        examples.append(Example(draft.id, draft.text, targets, kept))
    merger.warn(where)
    if implied:
        count = "1 target is" if len(implied) == 1 else f"{len(implied)} targets are"
        message = f"{where}: {count} not in the text by name, so taken as implied (first: {implied[0]})"
        warnings.warn(message, DataWarning, stacklevel=4)
    return tuple(examples)


def _targets(draft: _Draft) -> tuple[Target, ...]:
    """The targets in the order they are named; mentions that were not given are found in the rest of the text."""
    named = draft.targets.values()
    mentions = {target.name: target.mentions or () for target in named}
    if any(target.mentions is None for target in named):
        given = [span for spans in mentions.values() for span in spans]
        for target in _finder(draft).find(draft.text):
            if draft.targets[target.name].mentions is None:
                mentions[target.name] = tuple(span for span in target.mentions if not _overlaps(span, given))
    return tuple(replace(one, implied=not one.mentions) for one in mark(draft.text, mentions, draft.where))


def _overlaps(span: Span, others: Iterable[Span]) -> bool:
    return any(span.start < other.end and other.start < span.end for other in others)


def _finder(draft: _Draft) -> TargetFinder:
    try:
        return _finder_of(tuple((target.name, target.aliases) for target in draft.targets.values()))
    except DataError as e:
        raise DataError(f"{draft.where}: {e}") from e


@lru_cache(maxsize=1024)
def _finder_of(names: tuple[tuple[str, tuple[str, ...]], ...]) -> TargetFinder:
    return TargetFinder(dict(names))
