"""The user's own data: a table (CSV, TSV, JSON Lines, Excel, Parquet), a folder with one such file a split, or a frame.

Flat, one opinion a row: columns text, target, aspect, polarity, and if there is one id.
Nested, one text a row: `{"id", "text", "targets": [...], "opinions": [{"target", "aspect", "polarity"}, ...]}`.
Both may list the `aspects` asked of a text, and have its `domain` and `kind`. A target that the text does not name is
null, or empty. A flat row with an aspect and no polarity was not asked; of `asked_only` rows nothing else was.
"""

import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

from tabsa.datasets.locate import exists
from tabsa.datasets.records import DEFAULT_COLUMNS, Columns, Named, Record, parse_row, settled_columns
from tabsa.datasets.selection import ALL, Merger, choose_aspects, share
from tabsa.errors import DataError, DataNotFoundError, DataWarning, unknown_name
from tabsa.schema import MIXED, NEGATIVE, NEUTRAL, NONE, POSITIVE, UNNAMED, Dataset, Example, Opinion, Span, Target
from tabsa.tables.fields import is_blank
from tabsa.tables.reading import INPUT_SUFFIXES, Row, read_good_rows
from tabsa.text.targets import TargetFinder
from tabsa.text.tokens import ordered_mentions

SPLITS: Final = ("train", "dev", "test")
# Of a file in one piece, texts whose share is below the first bound are "train", those below the second "dev".
_BOUNDS: Final = (0.8, 0.9)


@dataclass(slots=True, eq=False)
class Draft:
    """An example whose rows are still being gathered; `where` is its first row."""

    id: str
    text: str
    where: str
    targets: dict[str, Named] = field(default_factory=dict)
    opinions: list[Opinion] = field(default_factory=list)
    listed: dict[str, None] | None = None  # the aspects asked of it, each once; None where no row has a list of them
    tags: dict[str, str] = field(default_factory=dict)
    overlapping: list[str] = field(default_factory=list)  # mentions left out of `find_targets`, where others overlap
    _whole: set[str] = field(default_factory=set)  # targets of which more was asked than their opinions answer
    _unlabelled: set[tuple[str, str]] = field(default_factory=set)

    def add(self, record: Record) -> None:
        """Take in what another row says."""
        self._unlabelled |= set(record.unlabelled)
        if record.withdrawn:  # forget opinions, and the targets of which nothing else is known
            self.opinions = [one for one in self.opinions if (one.target, one.aspect) not in record.unlabelled]
            known = self._whole | {opinion.target for opinion in self.opinions}
            self.targets = {name: target for name, target in self.targets.items() if name in known}
            return
        self.opinions += record.opinions
        targets = record.targets
        if record.single_questions:
            judged = {opinion.target for opinion in self.opinions}
            targets = tuple(target for target in targets if target.name in judged)
        else:
            self._whole |= {target.name for target in targets}
        for target in targets:
            self.targets[target.name] = _joined(self.targets.get(target.name, target), target)
        if record.aspects is not None:
            self.listed = (self.listed or {}) | dict.fromkeys(record.aspects)
        self.tags = {**record.tags, **self.tags}

    @property
    def aspects(self) -> dict[str, None]:
        """The aspects asked of it, as far as its own rows say: those listed, and those it has opinions on."""
        return (self.listed or {}) | dict.fromkeys(opinion.aspect for opinion in self.opinions)

    @property
    def is_labelled(self) -> bool:
        """True where anything is known of it: not where its rows wait for their polarities, or were withdrawn."""
        return bool(self.targets) or not self._unlabelled

    def questions(self, every: Mapping[str, object]) -> dict[tuple[str, ...] | None, list[str]]:
        """Return its targets by the aspects, of `every` one there is, that were asked of them; None where all were."""
        found: dict[tuple[str, ...] | None, list[str]] = {}
        if not self.targets:
            return {None if self.listed is None else tuple(name for name in self.listed if name in every): []}
        for name in self.targets:
            judged = dict.fromkeys(opinion.aspect for opinion in self.opinions if opinion.target == name)
            left_out = {aspect for target, aspect in self._unlabelled if target == name} - judged.keys()
            if name in self._whole and self.listed is None and not left_out:
                found.setdefault(None, []).append(name)
                continue
            requested: Iterable[str] = judged
            if name in self._whole:
                requested = every if self.listed is None else self.listed | judged
            wanted = tuple(aspect for aspect in requested if aspect in every and aspect not in left_out)
            found.setdefault(wanted, []).append(name)
        return found

    def find_targets(self) -> tuple[Target, ...]:
        """Return the targets in the order they are named, with mentions as given, or found in the rest of the text."""
        mentions = {target.name: target.mentions or () for target in self.targets.values() if target.name != UNNAMED}
        given: list[Span] = []
        every = [(span, name) for name, spans in mentions.items() for span in spans]
        self.overlapping = []
        for span, name in sorted(every, key=lambda one: one[0].start - one[0].end):
            if all(span.end <= other.start or other.end <= span.start for other in given):
                given.append(span)
            else:
                mentions[name] = tuple(own for own in mentions[name] if own != span)
                self.overlapping.append(f"mention {span.start}-{span.end} of {name!r}")
        try:
            if any(target.mentions is None for target in self.targets.values()):
                names = tuple((name, target.aliases) for name, target in self.targets.items() if name != UNNAMED)
                for found in _finder(names).find(self.text):
                    if self.targets[found.name].mentions is None:
                        mentions[found.name] = tuple(
                            span for span in found.mentions if all(span[1] <= a or b <= span[0] for a, b in given)
                        )
            targets = [Target(name, mentions.get(name, ()), implied=not mentions.get(name)) for name in self.targets]
            ordered_mentions(self.text, targets)  # refuses mentions that overlap, or are not in the text
        except DataError as e:
            raise DataError(f"{self.where}: {e}") from e
        return tuple(targets)

    def not_in_text(self, targets: Iterable[Target]) -> list[str]:
        """Return the names that were looked for and are not in the text."""
        return [one.name for one in targets if not one.mentions and self.targets[one.name].mentions is None]


def gather(drafts: dict[str, Draft], record: Record, where: str) -> Draft:
    """Add a row to the example it belongs to, by its id or else its text; examples without an id are numbered."""
    draft = drafts.setdefault(record.id or record.text, Draft(record.id or str(len(drafts) + 1), record.text, where))
    if draft.text != record.text:
        raise DataError(f"{where}: id {record.id!r} has another text than in {draft.where}; give each text its own id")
    draft.add(record)
    return draft


def ask_silent_texts(drafts: Iterable[Draft]) -> None:
    """Where no text names a target, one with an empty list of them is silent on what the others are about."""
    every = [draft for draft in drafts if draft.is_labelled]
    if {name for draft in every for name in draft.targets} == {UNNAMED}:
        for draft in every:
            if not draft.targets:
                draft.targets[UNNAMED] = Named(UNNAMED, mentions=())
                draft._whole.add(UNNAMED)


def _joined(first: Named, second: Named) -> Named:
    mentions = first.mentions
    if second.mentions is not None:
        mentions = tuple(sorted({*(first.mentions or ()), *second.mentions}))
    return Named(first.name, mentions, tuple(dict.fromkeys(first.aliases + second.aliases)))


@lru_cache(maxsize=256)
def _finder(names: tuple[tuple[str, tuple[str, ...]], ...]) -> TargetFinder:
    return TargetFinder(dict(names))


def read_splits(files: Mapping[str, Path], columns: Columns = DEFAULT_COLUMNS) -> dict[str, list[Draft]]:
    """Read the files of a dataset, one a split or one for "all".

    Of that one "train", "dev" and "test" are about 80, 10 and 10 percent, by a hash of the text.
    """
    splits: dict[str, list[Draft]] = {}
    for part, path in files.items():
        splits[part] = drafts_of(path, read_good_rows(path), columns)
    if ALL in splits:
        splits |= {split: [] for split in SPLITS}
        for draft in splits[ALL]:
            splits[SPLITS[sum(share(draft.text) >= bound for bound in _BOUNDS)]].append(draft)
    return splits


def dataset_of(name: str, splits: Mapping[str, list[Draft]], split: str, aspects: Sequence[str] | None) -> Dataset:
    """Return one split, with the aspects and labels of all."""
    if split not in splits:
        raise unknown_name(f"split of {name}", split, splits)
    if not splits[split]:
        raise DataError(f"{name} is too small to hold out a {split!r} split; ask for 'all', or make a folder of splits")
    drafts = [draft for part in splits.values() for draft in part]
    chosen = _aspects(name, aspects, tuple(dict.fromkeys(aspect for draft in drafts for aspect in draft.aspects)))
    examples = _examples(f"{name} {split}", splits[split], dict.fromkeys(chosen))
    return Dataset(name, split, chosen, labels_of(one for draft in drafts for one in draft.opinions), examples)


def frame_dataset(frame: object, columns: Columns = DEFAULT_COLUMNS) -> Dataset:
    """Return labels in memory as one dataset: a DataFrame of pandas or Polars, an Arrow table, mappings or Examples."""
    if isinstance(frame, Dataset):
        return frame
    rows = _frame_rows(frame)
    if rows and all(isinstance(row, Example) for row in rows):
        opinions = [opinion for example in rows for opinion in example.opinions]
        listed = (aspect for example in rows for aspect in example.aspects or ())
        occurring = tuple(dict.fromkeys([*(opinion.aspect for opinion in opinions), *listed]))
        return Dataset("examples", ALL, _aspects("the list", None, occurring), labels_of(opinions), tuple(rows))
    if not all(isinstance(row, Mapping) for row in rows):
        raise DataError("the data has rows of other kinds; expected a frame, mappings or Examples alone")
    table = [Row(f"row {n}", {str(key): value for key, value in row.items()}, n) for n, row in enumerate(rows, 1)]
    return dataset_of("the frame", {ALL: drafts_of("the frame", table, columns)}, ALL, None)


def _frame_rows(frame: Any) -> list[Any]:
    for method in ("to_dicts", "to_pylist"):  # of Polars, of Arrow
        if hasattr(frame, method):
            return list(getattr(frame, method)())
    if hasattr(frame, "to_dict") and hasattr(frame, "columns"):  # of pandas, which has several ways to be empty
        return list(frame.astype(object).where(frame.notna(), None).to_dict("records"))
    if isinstance(frame, str | bytes | Mapping) or not isinstance(frame, Iterable):
        raise DataError(f"the data is a {type(frame).__name__}; expected a frame, rows or Examples")
    return list(frame)


def files_of(path: Path) -> dict[str, Path]:
    """Return the files of a folder that holds train.EXT, dev.EXT and test.EXT (or some), or a file for "all"."""
    if not exists(path):
        formats = ", ".join(INPUT_SUFFIXES)
        raise DataNotFoundError(f"no file or folder {path}; expected a data file ({formats}) or a folder of splits")
    if not path.is_dir():
        return {ALL: path}
    places = [(split, path / f"{split}{suffix}") for split in SPLITS for suffix in INPUT_SUFFIXES]
    files = {split: file for split, file in places if file.is_file()}
    if not files:
        raise DataNotFoundError(
            f"no split in the folder {path}; expected train.csv, dev.csv, test.csv (or {', '.join(INPUT_SUFFIXES[1:])})"
        )
    return files


def drafts_of(path: Path | str, table: Iterable[Row], columns: Columns) -> list[Draft]:
    """Gather the rows of a table, text by text."""
    drafts: dict[str, Draft] = {}
    settled, empty = None, 0
    for row in table:
        if all(map(is_blank, row.values.values())):
            continue  # a spreadsheet writes the empty rows below a table too
        if settled is None:
            settled, notes = settled_columns(path, row.values, columns)
            for note in notes.values():
                warnings.warn(f"{path} has {note}", DataWarning, stacklevel=5)
        record = parse_row(row.values, settled, row.where)
        gather(drafts, record, row.where)
        empty += bool(record.unlabelled) and not record.withdrawn
    if not drafts:
        raise DataError(f"{path} holds no rows; expected at least one text")
    labelled = [draft for draft in drafts.values() if draft.is_labelled]
    if not labelled:
        raise DataError(f"{path}: no text has a label yet; fill in the column {columns.polarity!r}")
    ask_silent_texts(labelled)
    if empty:
        warnings.warn(f"{path}: rows without a polarity count as not asked ({empty:,})", DataWarning, stacklevel=5)
    return labelled


def _aspects(name: str, wanted: Sequence[str] | None, occurring: tuple[str, ...]) -> tuple[str, ...]:
    """Return those wanted, even where they do not occur: a model's aspects are more than a small test file has."""
    if wanted is None or wanted == ALL or list(wanted) == [ALL]:
        if not occurring:
            raise DataError(f"{name} holds no opinion, so its aspects are unknown; fill in aspect and polarity")
        return occurring
    return choose_aspects(wanted, known=(*occurring, *wanted), default=occurring)


def labels_of(opinions: Iterable[Opinion]) -> tuple[str, ...]:
    """Return `none`, then the polarities there are, those that have a meaning here first."""
    occurring = dict.fromkeys(opinion.polarity for opinion in opinions)
    known = [polarity for polarity in (POSITIVE, NEGATIVE, NEUTRAL, MIXED) if polarity in occurring]
    return tuple(dict.fromkeys((NONE, *known, *occurring)))


def _examples(where: str, drafts: Iterable[Draft], aspects: Mapping[str, None]) -> tuple[Example, ...]:
    merger = Merger()
    implied: list[str] = []
    overlapping: list[str] = []
    examples = []
    for draft in drafts:
        targets = draft.find_targets()
        overlapping += [f"{mention} in {draft.where}" for mention in draft.overlapping]
        implied += [f"{name!r} in {draft.where}" for name in draft.not_in_text(targets)]
        merged = merger.merge(opinion for opinion in draft.opinions if opinion.aspect in aspects)
        # One example, unless something else was asked of one target than of another.
        for wanted, names in draft.questions(aspects).items():
            of_these = tuple(target for target in targets if target.name in names)
            opinions = tuple(one for one in merged if one.polarity != NONE and one.target in names)
            examples.append(Example(draft.id, draft.text, of_these, opinions, wanted, draft.tags))
    merger.warn(where)
    if overlapping:
        note = f"of mentions that overlap, the longest stays ({len(overlapping):,} left out, first {overlapping[0]})"
        warnings.warn(f"{where}: {note}", DataWarning, stacklevel=4)
    if implied:
        note = f"targets that are not in the text by name are taken as implied ({len(implied):,}, first {implied[0]})"
        warnings.warn(f"{where}: {note}", DataWarning, stacklevel=4)
    return tuple(examples)
