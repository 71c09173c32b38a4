"""Checks: what looks wrong with a user's labelled file, by line, and what makes figures of a dataset doubtful."""

import re
import warnings
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tabsa.datasets.own import Draft, ask_silent_texts, gather
from tabsa.datasets.records import DEFAULT_COLUMNS, Columns, parse_row, settled_columns
from tabsa.datasets.selection import Merger
from tabsa.errors import DataError, DataWarning, nearest
from tabsa.schema import MIXED, NEGATIVE, NEUTRAL, NONE, POSITIVE, UNNAMED, Dataset, Opinion, Target
from tabsa.tables.fields import is_blank
from tabsa.tables.reading import INPUT_SUFFIXES, BadRow, Row, read_rows, suffix_of
from tabsa.text.aspects import overlap_note
from tabsa.text.languages import looks_foreign

# In the order of the findings: what stops the loading, and what is learnt wrongly.
CODES: Final = (
    "guessed_text_column", "no_target_column", "unreadable", "no_opinion", "unknown_polarity", "conflicting",
    "overlapping_mentions", "target_not_in_text", "repeated_text", "not_english", "overlapping_aspects",
    "aspect_spellings",
)  # fmt: skip
POLARITIES: Final = (POSITIVE, NEGATIVE, NEUTRAL, MIXED, "conflict", NONE)
_SHOWN: Final = 60  # characters of a text
FEW: Final = 100  # opinions: figures of fewer say little
FEW_TO_START: Final = 500  # opinions: a model that starts from nothing learns little from fewer


@dataclass(frozen=True, slots=True)
class Finding:
    """Something that looks wrong, and the line or row it is in; None where it is the whole file that does."""

    code: str
    line: int | None
    message: str


@dataclass(frozen=True, slots=True)
class DataCheck:
    """The counts of a file as it would load (of a pair's opinions one, and no `none`), and the findings."""

    file: str
    unit: str  # what the findings' lines are: "line" of JSON Lines, "row" of any other table
    rows: int  # that hold anything, also those that cannot be read
    texts: int
    several_targets: int  # texts with two or more
    targets: Mapping[str, int]  # of all texts: named, unnamed, not_in_text
    pairs: int  # of a target and an aspect that is asked of it, also those that are none
    opinions: int
    polarities: Mapping[str, int]  # opinions, the most frequent first
    aspects: Mapping[str, int]  # opinions, the most frequent first; also aspects that are only asked
    findings: tuple[Finding, ...]  # in the order of `CODES`, then of the file


def check(path: Path, columns: Columns = DEFAULT_COLUMNS) -> DataCheck:
    """Look at every row of a file that can be opened and has the columns needed; no bad row ends the reading."""
    reading = _Reading(path, columns)
    reading.read()
    ask_silent_texts(reading.drafts.values())
    drafts = [draft for draft in reading.drafts.values() if draft.is_labelled]
    targets = [reading.targets_of(draft) for draft in drafts]
    named = Counter((target.name == UNNAMED, bool(target.mentions)) for found in targets for target in found)
    opinions = [one for draft in drafts for one in Merger().merge(draft.opinions) if one.polarity != NONE]
    requested = {aspect for draft in drafts for aspect in draft.aspects}
    aspects = Counter({aspect: 0 for aspect in reading.aspects if aspect in requested})
    aspects.update(opinion.aspect for opinion in opinions)
    polarities = Counter(opinion.polarity for opinion in opinions)
    findings = [*reading.findings, *_findings(reading, aspects, polarities)]
    questions = [question for draft in drafts for question in draft.questions(aspects).items()]
    return DataCheck(
        file=str(path),
        unit=reading.unit,
        rows=reading.rows,
        texts=len(drafts),
        several_targets=sum(len(found) > 1 for found in targets),
        targets={"named": named[False, True], "unnamed": named[True, False], "not_in_text": named[False, False]},
        pairs=sum(len(aspects if wanted is None else wanted) * len(names) for wanted, names in questions),
        opinions=len(opinions),
        polarities=dict(polarities.most_common()),
        aspects=dict(aspects.most_common()),
        findings=tuple(sorted(findings, key=lambda finding: (CODES.index(finding.code), finding.line or 0))),
    )


class _Reading:
    """The rows of a file: what they say, in which lines (always the first), and what is wrong with them."""

    def __init__(self, path: Path, columns: Columns) -> None:
        self.path, self.columns = path, columns
        self.unit = "line" if suffix_of(path, INPUT_SUFFIXES).startswith((".jsonl", ".ndjson")) else "row"
        self.rows = 0
        self.drafts: dict[str, Draft] = {}
        self.findings: list[Finding] = []
        self.texts: dict[Draft, int] = {}
        self.aspects: dict[str, int] = {}
        self._labels: dict[tuple[Draft, str, str], tuple[str, int]] = {}  # polarities with their lines, by pair

    def read(self) -> None:
        """Read all rows."""
        for row in read_rows(self.path):
            if isinstance(row, BadRow):
                self.rows += 1
                self._refuse(row.error, row.number)
            elif not all(map(is_blank, row.values.values())):
                if not self.texts:
                    self.columns, notes = settled_columns(self.path, row.values, self.columns)
                    self.findings += [Finding(code, None, note) for code, note in notes.items()]
                self.rows += 1
                self._take(row)
        if not self.rows:
            raise DataError(f"{self.path} holds no rows; expected at least one text")

    def _take(self, row: Row) -> None:
        try:
            record = parse_row(row.values, self.columns, row.where)
            draft = gather(self.drafts, record, row.where)
        except DataError as e:
            self._refuse(e, row.number)
            return
        self.texts.setdefault(draft, row.number)
        for aspect in (*(record.aspects or ()), *(opinion.aspect for opinion in record.opinions)):
            self.aspects.setdefault(aspect, row.number)
        for opinion in record.opinions:
            self.findings += self._label(draft, opinion, row.number)
        for target_name, aspect in record.unlabelled if record.withdrawn else ():
            self._labels.pop((draft, target_name, aspect), None)

    def _label(self, draft: Draft, opinion: Opinion, line: int) -> Iterator[Finding]:
        """Find an unusual polarity, and a second label of a text's pair that is another."""
        polarity = opinion.polarity
        if polarity not in POLARITIES:
            yield Finding("unknown_polarity", line, f"polarity {polarity!r}{nearest(polarity, POLARITIES)}")
        pair = draft, opinion.target, opinion.aspect
        before, place = self._labels.get(pair, (polarity, line))
        if before != polarity:
            target = "the unnamed target" if opinion.target == UNNAMED else repr(opinion.target)
            message = f"{opinion.aspect!r} of {target} is {polarity}, but {before} in {self.unit} {place}"
            yield Finding("conflicting", line, message)
        self._labels[pair] = polarity, line

    def _refuse(self, error: DataError, line: int) -> None:
        """Note what loading would stop at; a finding has its line beside it, so the message goes without."""
        message = str(error).replace(f"{self.path} ", "")
        self.findings.append(Finding("unreadable", line, re.sub(r"^(?:row|line) \d+[:,]? ", "", message)))

    def targets_of(self, draft: Draft) -> tuple[Target, ...]:
        """Return the targets as they would load; those that the text does not name are findings."""
        try:
            targets = draft.find_targets()
        except DataError as e:
            self._refuse(e, self.texts[draft])
            return ()
        line = self.texts[draft]
        self.findings += [Finding("overlapping_mentions", line, mention) for mention in draft.overlapping]
        for name in draft.not_in_text(targets):
            self.findings.append(Finding("target_not_in_text", self.texts[draft], f"{name!r} is not in the text"))
        return targets


def _findings(reading: _Reading, aspects: Mapping[str, int], polarities: Mapping[str, int]) -> Iterator[Finding]:
    """Find what only the whole file shows."""
    first: dict[str, Draft] = {}
    for draft, line in reading.texts.items():
        if draft is not (other := first.setdefault(" ".join(draft.text.split()), draft)):
            differ = {*other.opinions} != {*draft.opinions}
            where = f"the text of {reading.unit} {reading.texts[other]}"
            yield Finding("repeated_text", line, where + ", with other opinions" * differ)
        if looks_foreign(draft.text):
            yield Finding("not_english", line, repr(draft.text[:_SHOWN]))
    if note := overlap_note(aspects):
        yield Finding("overlapping_aspects", None, note)
    if reading.texts and not polarities:
        yield Finding("no_opinion", None, "holds no opinion; fill in an aspect and a polarity")
    families: defaultdict[str, list[str]] = defaultdict(list)
    for name in aspects:  # together where they differ only in case, spaces, hyphens, underscores or a final s
        families[re.sub(r"[\s_\-\u2010-\u2015]+", "", name.casefold()).removesuffix("s")].append(name)
    lines = reading.aspects
    for names in families.values():
        if len(names) > 1:
            ordered = sorted(names, key=lambda name: (-aspects[name], lines[name]))
            *listed, last = (f"{name!r} ({aspects[name]:,})" for name in ordered)
            yield Finding("aspect_spellings", lines[ordered[-1]], f"{', '.join(listed)} and {last}")


def _opinions(count: int) -> str:
    return {0: "no opinion", 1: "1 opinion"}.get(count, f"{count:,} opinions")


def mostly_implied(dataset: Dataset) -> bool:
    """Return whether more than half of the targets are not named; a model that learns from it takes texts so."""
    named = [bool(target.mentions) for _, target in dataset.groups()]
    return 2 * named.count(False) > len(named)


def any_named(dataset: Dataset) -> bool:
    """Return whether any target is named in its text; a model that is trained on it then knows what a name is."""
    return any(target.mentions for _, target in dataset.groups())


def notes_on(dataset: Dataset, *, start: bool = False) -> tuple[str, ...]:
    """Return what to know of a small split: that its figures mean little, or that no model can `start` from it."""
    opinions = sum(len(example.opinions) for example in dataset.examples)
    if opinions >= (FEW_TO_START if start else FEW):
        return ()
    texts = len({example.text for example in dataset.examples})
    meaning = f"figures of fewer than {FEW} opinions say little"
    if start:
        advice = "leave `kind` out of the configuration, and the reader in the box is fine-tuned, which needs far fewer"
        meaning = f"few for a model that starts from nothing; {advice}"
    counted = f"{_opinions(opinions)} in {texts:,} text{'s' * (texts != 1)}"
    return (f"{dataset.split} of {dataset.name} has {counted}: {meaning}",)


def warn_of(notes: Iterable[str]) -> None:
    """Give each note as a warning."""
    for note in notes:
        warnings.warn(note, DataWarning, stacklevel=3)
