"""What a user's labelled file holds, and what looks wrong with it, by line: no bad row ends the reading."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tabsa.datasets import findings as kinds
from tabsa.datasets.drafts import Draft, Drafts
from tabsa.datasets.findings import LONGEST, Finding, Labelled, count_words
from tabsa.datasets.headers import no_target_note, settled_columns
from tabsa.datasets.locate import exists
from tabsa.datasets.merging import Merger
from tabsa.datasets.own import DEFAULT_COLUMNS
from tabsa.datasets.records import Columns, parse_row
from tabsa.errors import DataError, DataNotFoundError
from tabsa.schema import NONE, UNNAMED, Target
from tabsa.tables.fields import TORN, is_blank
from tabsa.tables.kinds import INPUT_SUFFIXES, input_suffix_of
from tabsa.tables.rows import BadRow, Row, every_row

# In the order of the findings: what stops the loading, what is learnt wrongly, what is learnt badly.
CODES: Final = (
    "no_text", "no_target_column",
    "unreadable", "torn_line", "empty_text", "no_opinion", "unknown_polarity", "conflicting", "repeated",
    "target_not_in_text", "aspect_spellings", "same_text", "long_text", "one_polarity", "rare_polarity", "rare_aspect",
)  # fmt: skip
# The words nearest to a target are looked for only this often: a file where none is in its text would take hours.
_SEARCHES: Final = 1000
_LINES: Final = (".jsonl", ".ndjson")


@dataclass(frozen=True, slots=True)
class TargetCounts:
    """The targets of all texts: those that their text names, those without a name, and those it does not name."""

    named: int
    unnamed: int
    not_in_text: int


@dataclass(frozen=True, slots=True)
class DataCheck:
    """What a file holds, counted as it would load, and what looks wrong with it.

    Opinions are those that loading keeps: one for each pair of a target and an aspect, and none that is `none`.
    """

    file: str
    unit: str  # what the findings' lines are: "line" of JSON Lines, "row" of any other table
    rows: int  # that hold anything, also those that cannot be read
    texts: int
    mean_words: float  # of a text
    several_targets: int  # texts with two or more
    targets: TargetCounts
    left_empty: int  # rows with an aspect and no polarity: they were not asked
    pairs: int  # of a target and an aspect that is asked of it, also those that are none
    opinions: int
    polarities: Mapping[str, int]  # opinions, the most frequent first
    aspects: Mapping[str, int]  # opinions, the most frequent first; also aspects that are only asked
    findings: tuple[Finding, ...]  # in the order of `CODES`, then of the file


def check(path: Path, columns: Columns = DEFAULT_COLUMNS) -> DataCheck:
    """Look at every row of a file.

    Raises:
        DataError: the file cannot be opened, or its header cannot be read or lacks a column that is needed; whatever is
            wrong further down is a finding.
    """
    _refuse(path)
    reading = _Reading(path, columns)
    reading.read()
    drafts = [draft for draft in reading.drafts.finished() if draft.asks]
    targets = [reading.targets_of(draft) for draft in drafts]
    kept = [opinion for draft in drafts for opinion in Merger().merge(draft.opinions) if opinion.polarity != NONE]
    asked = {aspect for draft in drafts for aspect in draft.aspects}
    aspects = Counter({aspect: 0 for aspect in reading.aspects if aspect in asked})
    aspects.update(opinion.aspect for opinion in kept)
    polarities = Counter(opinion.polarity for opinion in kept)
    lengths = {draft: count_words(draft.text) for draft in drafts}
    findings = [*reading.findings, *_findings(reading, lengths, aspects, polarities)]
    findings.sort(key=lambda finding: (CODES.index(finding.code), finding.line or 0))
    return DataCheck(
        file=str(path),
        unit=reading.unit,
        rows=reading.rows,
        texts=len(drafts),
        mean_words=sum(lengths.values()) / max(len(lengths), 1),
        several_targets=sum(len(found) > 1 for found in targets),
        targets=_count(target for found in targets for target in found),
        left_empty=reading.left_empty,
        pairs=sum(_pairs(draft, aspects) for draft in drafts),
        opinions=len(kept),
        polarities=dict(polarities.most_common()),
        aspects=dict(aspects.most_common()),
        findings=tuple(findings),
    )


def _pairs(draft: Draft, aspects: Mapping[str, object]) -> int:
    return sum(
        len(aspects if wanted is None else wanted) * len(names) for wanted, names in draft.asked(aspects).items()
    )


def _count(targets: Iterable[Target]) -> TargetCounts:
    where = Counter(
        "unnamed" if target.name == UNNAMED else "named" if target.mentions else "absent" for target in targets
    )
    return TargetCounts(where["named"], where["unnamed"], where["absent"])


def _refuse(path: Path) -> None:
    if not exists(path):
        raise DataNotFoundError(f"no file {path}; expected a data file ({', '.join(INPUT_SUFFIXES)})")
    if path.is_dir():
        parts = sorted(part.name for part in path.iterdir() if part.name.lower().endswith(INPUT_SUFFIXES))
        found = f"it has {', '.join(parts)}" if parts else f"expected a data file ({', '.join(INPUT_SUFFIXES)})"
        raise DataError(f"{path} is a folder; check one file at a time: {found}")


class _Reading:
    """Reads a file's rows, and keeps what they say, in which lines, and what is wrong with them."""

    def __init__(self, path: Path, columns: Columns) -> None:
        self.path, self.columns = path, columns
        self.unit = "line" if input_suffix_of(path).startswith(_LINES) else "row"
        self.rows = self.left_empty = 0
        self.drafts = Drafts()
        self.findings: list[Finding] = []
        self.labelled: list[Labelled] = []
        self.texts: dict[Draft, int] = {}  # with their first lines, as all below
        self.aspects: dict[str, int] = {}
        self._targets: dict[tuple[Draft, str], int] = {}
        self._searches = 0
        self._settled = False

    def read(self) -> None:
        """Read all rows; where the file breaks off, those before that."""
        try:
            for row in every_row(self.path):
                if isinstance(row, BadRow):
                    self.rows += 1
                    self._refused(row.error, row.number, TORN if row.error.code == TORN else "unreadable")
                elif not all(map(is_blank, row.values.values())):
                    if not self._settled:
                        self._settle(row)
                    self.rows += 1
                    self._take(row)
        except DataError as e:
            if not self.rows:
                raise
            self._refused(DataError(f"the rest cannot be read: {e}"))

    def _settle(self, row: Row) -> None:
        settled = settled_columns(self.path, row.values, self.columns)
        if settled != self.columns:
            self.findings.append(Finding("no_target_column", None, no_target_note(row.values)))
        self.columns, self._settled = settled, True

    def _take(self, row: Row) -> None:
        if self.columns.text in row.values and is_blank(row.values[self.columns.text]):
            self.findings.append(Finding("empty_text", row.number, f"{self.columns.text!r} is empty"))
            return
        try:
            record = parse_row(row.values, self.columns, row.where)
            draft = self.drafts.add(record, row.where)
        except DataError as e:
            self._refused(e, row.number)
            return
        self.texts.setdefault(draft, row.number)
        for target in record.targets:
            self._targets.setdefault((draft, target.name), row.number)
        for aspect in (*(record.aspects or ()), *(opinion.aspect for opinion in record.opinions)):
            self.aspects.setdefault(aspect, row.number)
        self.labelled += [Labelled(row.number, draft, opinion) for opinion in record.opinions]
        if record.withdrawn:
            self.labelled = [one for one in self.labelled if one.draft is not draft or one.pair not in record.unasked]
        else:
            self.left_empty += bool(record.unasked)

    def _refused(self, error: DataError, line: int | None = None, code: str = "unreadable") -> None:
        """What loading would stop at; a finding has its line beside it, so the message goes without."""
        place, named = re.escape(str(self.path)), str(error)
        if start := re.match(rf"{place} (?:row|line) (\d+)[:,]? ", named):
            line, named = line or int(start[1]), named[start.end() :]
        message = re.sub(rf"{place} (row|line) (?=\d)", r"\1 ", named)
        self.findings.append(Finding(code, line, message))

    def targets_of(self, draft: Draft) -> tuple[Target, ...]:
        """The targets as they would load; those that the text does not name are findings."""
        try:
            draft.refuse_unasked()
        except DataError as e:
            self._refused(e)
        try:
            targets = draft.find_targets()
        except DataError as e:
            self._refused(e)
            return ()
        for target in targets:
            if not target.mentions and draft.targets[target.name].mentions is None:
                self._searches += 1
                line, search = self._targets[draft, target.name], self._searches <= _SEARCHES
                self.findings.append(kinds.absent_target(target.name, draft, line, search=search))
        return targets


def _findings(
    reading: _Reading,
    lengths: Mapping[Draft, int],
    aspects: Mapping[str, int],
    polarities: Mapping[str, int],
) -> Iterator[Finding]:
    """What only the whole file shows."""
    if not reading.rows:
        yield Finding("no_text", None, "holds no rows; expected at least one text")
    elif reading.texts and not polarities:
        yield Finding("no_opinion", None, "holds no opinion; fill in an aspect and a polarity")
    first = {opinion.polarity: line for line, _, opinion in reversed(reading.labelled)}
    yield from kinds.unknown_polarities(reading.labelled)
    yield from kinds.labelled_twice(reading.labelled, reading.unit)
    yield from kinds.spellings(aspects, reading.aspects)
    yield from kinds.rare_aspects(aspects, reading.aspects)
    yield from kinds.rare_polarities(polarities, first)
    yield from kinds.same_texts(reading.texts, reading.unit)
    for draft, length in lengths.items():
        if length > LONGEST:
            yield Finding("long_text", reading.texts[draft], f"{length:,} words; is this one text?")
