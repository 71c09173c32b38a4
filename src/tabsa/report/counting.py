"""One pass over scored tables, at a memory that grows with what is told apart and not with the rows."""

import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from datetime import date
from pathlib import Path
from typing import Final

from tabsa.errors import DataError
from tabsa.report.columns import LONG, ColumnNames
from tabsa.report.dates import DAY, MONTH, YEAR, bucket_of, parse_date, start_of, starts
from tabsa.report.reading import ScoredFile, ScoredRow, find_scored_files, rejects_beside
from tabsa.report.summary import Summary, SummaryCell, Times
from tabsa.report.tally import Tally
from tabsa.report.telling import Tellings
from tabsa.schema import MIXED, NEGATIVE, NEUTRAL, NONE, POSITIVE

_ORDER: Final = (POSITIVE, NEGATIVE, NEUTRAL, MIXED)
_MOST_DAYS: Final = 400_000  # counts by day of all cells together; then by month, then by year
_COARSER: Final = {DAY: MONTH, MONTH: YEAR}
_EVERY: Final = 2_000  # rows between two words on progress
_MOST_REASONS: Final = 20


def summarise(
    source: str | Path,
    *,
    title: str = "",
    columns: ColumnNames | None = None,
    telling: int = 5,
    on_progress: Callable[[int], None] = lambda _: None,
) -> Summary:
    """What a table that `tabsa score` wrote says: counts with intervals, change over time, and telling sentences.

    Args:
        source: the table, wide or long, in any of the formats; or a folder or a pattern of such.
        title: what it is called; by default, as the file.
        columns: what columns are called, where it cannot be told.
        telling: how many sentences are kept for each target, aspect and polarity.
        on_progress: told how many rows have been read, now and then.

    Raises:
        DataError: it cannot be read, holds no row, or was not written by `tabsa score`.
    """
    paths = find_scored_files(Path(source))
    counting = _Counting(telling, several=len(paths) > 1)
    for path in paths:
        file = ScoredFile(path, columns or ColumnNames())
        counting.read(file, on_progress)
    if not counting.rows:
        raise DataError(f"{source} holds no rows; expected at least one answer")
    return counting.summary(title or Path(source).name, paths)


class _Counting:
    """What has been counted so far."""

    def __init__(self, telling: int, *, several: bool) -> None:
        self.rows = 0
        self._several = several
        self._counts: dict[tuple[str, str], dict[str, int]] = {}
        self._tellings = Tellings(telling)
        self._days: dict[tuple[str, str], dict[tuple[date, str], int]] = {}
        self._day_entries, self._finest = 0, DAY
        self._seen: set[int] = set()  # texts: of a long table the rows of one need not stand together
        self._judged: set[int] = set()
        self._texts = self._texts_judged = self._undated = self._dated = self._unreadable = 0
        self._layouts: dict[str, None] = {}
        self._columns: dict[str, str | None] = {"text": None, "id": None, "date": None}
        self._silent = True
        self._day_first = False

    def read(self, file: ScoredFile, on_progress: Callable[[int], None]) -> None:
        """Count a table."""
        columns = file.columns
        if columns is None:
            return
        self._layouts[columns.layout] = None
        self._day_first = self._day_first or columns.day_first
        for role in self._columns:
            self._columns[role] = self._columns[role] or getattr(columns, role)
        for pair in file.pairs():
            self._counts.setdefault(pair, {})
        name, long, silent = file.path.name if self._several else None, columns.layout == LONG, False
        for row in file.rows():
            self.rows += 1
            day = self._day(row, columns.day_first) if columns.date else None
            judged = self._count(row, day, name)
            silent = silent or not long or any(one[2] == NONE for one in row.said)
            if long:  # where ids repeat or are not there, the texts tell themselves apart
                self._note(hash((str(file.path), row.id if columns.id else "", row.text)), judged)
            else:
                self._texts += 1
                self._texts_judged += judged
            if self.rows % _EVERY == 0:
                on_progress(self.rows)
        self._silent = self._silent and silent
        self._unreadable += file.unreadable

    def _day(self, row: ScoredRow, day_first: bool) -> date | None:
        day = parse_date(row.date, day_first=day_first)
        if day is None:
            self._undated += 1
        else:
            self._dated += 1
        return day

    def _note(self, text: int, judged: bool) -> None:
        self._seen.add(text)
        if judged:
            self._judged.add(text)

    def _count(self, row: ScoredRow, day: date | None, file: str | None) -> bool:
        """Count what a row says; gives whether it has an opinion."""
        judged = False
        shown = day.isoformat() if day else None
        for target, aspect, polarity, probability, evidence in row.said:
            pair = (target, aspect)
            counts = self._counts.get(pair)
            if counts is None:
                counts = self._counts[pair] = {}
            counts[polarity] = counts.get(polarity, 0) + 1
            if polarity == NONE:
                continue
            judged = True
            self._tellings.add((target, aspect, polarity), probability, row.text, evidence, row.id, shown, file)
            if day is not None:
                self._count_day(pair, day, polarity)
        return judged

    def _count_day(self, pair: tuple[str, str], day: date, polarity: str) -> None:
        days = self._days.setdefault(pair, {})
        key = (start_of(day, self._finest), polarity)
        if key not in days:
            self._day_entries += 1
        days[key] = days.get(key, 0) + 1
        if self._day_entries > _MOST_DAYS and self._finest in _COARSER:
            self._coarsen()

    def _coarsen(self) -> None:
        """Tell fewer days apart, because there are too many of them for so many targets and aspects."""
        self._finest, self._day_entries = _COARSER[self._finest], 0
        for pair, days in self._days.items():
            coarse: Counter[tuple[date, str]] = Counter()
            for (day, polarity), number in days.items():
                coarse[start_of(day, self._finest), polarity] += number
            self._days[pair] = dict(coarse)
            self._day_entries += len(coarse)

    def summary(self, title: str, paths: Sequence[Path]) -> Summary:
        """What it came to."""
        polarities = _polarities(self._counts.values())
        tallies = {pair: Tally(_ordered(counts, polarities)) for pair, counts in self._counts.items()}
        cells = {pair: SummaryCell(*pair, tally, self._tellings) for pair, tally in tallies.items()}
        rejected, reasons = _rejects(paths)
        return Summary(
            title=title,
            files=tuple(path.name for path in paths),
            layout=", ".join(self._layouts),
            rows=self.rows,
            texts=self._texts + len(self._seen),
            texts_with_opinion=self._texts_judged + len(self._judged),
            silent_told=self._silent,
            targets=_by_opinions(tallies, 0),
            aspects=_by_opinions(tallies, 1),
            polarities=polarities,
            cells=cells,
            times=self._times(),
            rejected=rejected,
            reasons=reasons,
            unreadable=self._unreadable,
            columns=self._columns,
        )

    def _times(self) -> Times | None:
        days = [day for of_pair in self._days.values() for day, _ in of_pair]
        if not days:
            return None
        bucket = bucket_of(days, self._finest)
        counts: dict[tuple[str, str], dict[date, Tally]] = {}
        for pair, of_pair in self._days.items():
            of_each: dict[date, Counter[str]] = {}
            for (day, polarity), number in of_pair.items():
                of_each.setdefault(start_of(day, bucket), Counter())[polarity] += number
            counts[pair] = {start: Tally(dict(found)) for start, found in of_each.items()}
        column = self._columns["date"] or ""
        return Times(column, bucket, tuple(starts(days, bucket)), counts, self._undated, self._day_first)


def _polarities(counts: Iterable[dict[str, int]]) -> tuple[str, ...]:
    """Those there are, `none` left out; the two sides first."""
    found = {polarity for one in counts for polarity in one} - {NONE}
    known = [polarity for polarity in _ORDER if polarity in found or polarity in (POSITIVE, NEGATIVE)]
    return (*known, *sorted(found - set(known)))


def _ordered(counts: dict[str, int], polarities: Sequence[str]) -> dict[str, int]:
    none = {NONE: counts[NONE]} if NONE in counts else {}
    return {polarity: counts.get(polarity, 0) for polarity in polarities} | none


def _by_opinions(tallies: dict[tuple[str, str], Tally], place: int) -> tuple[str, ...]:
    """The targets, or the aspects, the most spoken-of first and else in the order they came in."""
    numbers: dict[str, int] = {}
    for pair, tally in tallies.items():
        numbers[pair[place]] = numbers.get(pair[place], 0) + tally.n
    return tuple(sorted(numbers, key=lambda name: -numbers[name]))


def _rejects(paths: Iterable[Path]) -> tuple[int, dict[str, int]]:
    """How many rows were rejected when the tables were scored, and why: numbers in a reason do not set it apart."""
    reasons: Counter[str] = Counter()
    for path in map(rejects_beside, paths):
        if not path.is_file():
            continue
        with path.open(encoding="utf-8", errors="replace") as lines:
            for line in lines:
                try:
                    why = json.loads(line)["reason"]
                except (ValueError, KeyError, TypeError):
                    why = "no reason is given"
                reasons[_general(str(why))] += 1
    common = dict(reasons.most_common(_MOST_REASONS))
    rest = reasons.total() - sum(common.values())
    return reasons.total(), common | ({"other reasons": rest} if rest else {})


def _general(reason: str) -> str:
    """A reason without what differs from row to row."""
    return re.sub(r"\d+", "N", re.sub(r"^(?:row|line) \d+ ", "", reason))[:200]
