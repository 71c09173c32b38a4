"""One pass over scored tables, at a memory that grows with what is told apart and not with the rows."""

import json
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import date
from pathlib import Path
from typing import Final

from tabsa.errors import DataError
from tabsa.pages.dates import DAY, MONTH, YEAR, bucket_of, parse_date, start_of, starts
from tabsa.pages.quotes import QuoteCollector
from tabsa.pages.scored_files import LONG, ColumnNames, ScoredFile, ScoredRow, find_scored_files
from tabsa.pages.summary import Summary, SummaryCell, Times
from tabsa.pages.tally import Tally
from tabsa.schema import MIXED, NEGATIVE, NEUTRAL, NONE, POSITIVE, UNSURE
from tabsa.tables.reading import REJECTS

_ORDER: Final = (POSITIVE, NEGATIVE, NEUTRAL, MIXED)
_MOST_DAYS: Final = 400_000  # counts by day of all cells together; then by month, then by year
_COARSER: Final = {DAY: MONTH, MONTH: YEAR}
_PROGRESS_EVERY: Final = 2_000  # rows
_MOST_REASONS: Final = 20
_Pair = tuple[str, str]


def summarise(
    source: str | Path,
    *,
    title: str = "",
    columns: ColumnNames | None = None,
    quotes: int = 5,
    on_progress: Callable[[int], None] = lambda _: None,
) -> Summary:
    """Summarise a table that `tabsa score` wrote: counts with intervals, change over time, and telling sentences.

    It may be wide or long, in any of the formats, or a folder or a pattern of such. `columns` names those that cannot
    be found; `quotes` sentences are held for each target, aspect and polarity; `on_progress` is called with the number
    of rows read, now and then. A DataError says that it holds no row, or was not written by `tabsa score`.
    """
    paths = find_scored_files(Path(source))
    counting = _Counting(quotes, several=len(paths) > 1)
    for path in paths:
        counting.read(ScoredFile(path, columns or ColumnNames()), on_progress)
    if not counting.rows:
        raise DataError(f"{source} holds no rows; expected at least one answer")
    return counting.summary(title or Path(source).name, paths)


class _Counting:
    """The counts so far."""

    def __init__(self, quotes: int, *, several: bool) -> None:
        self.rows = 0
        self._several = several
        self._counts: defaultdict[_Pair, Counter[str]] = defaultdict(Counter)
        self._unsure: Counter[_Pair] = Counter()
        self._quotes = QuoteCollector(quotes)
        self._days: defaultdict[_Pair, Counter[tuple[date, str]]] = defaultdict(Counter)
        self._day_entries, self._finest = 0, DAY
        self._texts_seen: set[int] = set()  # of a long table, where the rows of a text need not stand together
        self._texts_judged: set[int] = set()
        self._texts = self._with_opinion = self._undated = self._unreadable = 0
        self._layouts: dict[str, None] = {}
        self._columns: dict[str, str | None] = {"text": None, "id": None, "date": None}
        self._has_silent, self._day_first = True, False

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
            self._counts.setdefault(pair, Counter())
        name, long, silent = file.path.name if self._several else None, columns.layout == LONG, False
        for row in file.rows():
            self.rows += 1
            day = parse_date(row.date, day_first=columns.day_first) if columns.date else None
            self._undated += columns.date is not None and day is None
            judged = self._count(row, day, name)
            silent = silent or not long or any(polarity == NONE for _, _, polarity, *_ in row.answers)
            if long:  # where ids repeat or are not there, the texts tell themselves apart
                text = hash((str(file.path), row.id if columns.id else "", row.text))
                self._texts_seen.add(text)
                if judged:
                    self._texts_judged.add(text)
            else:
                self._texts += 1
                self._with_opinion += judged
            if self.rows % _PROGRESS_EVERY == 0:
                on_progress(self.rows)
        self._has_silent = self._has_silent and silent
        self._unreadable += file.unreadable

    def _count(self, row: ScoredRow, day: date | None, file: str | None) -> bool:
        """Count the answers of a row; tell if there is an opinion among them."""
        judged = False
        day_shown = day.isoformat() if day else None
        for answer in row.answers:
            pair, polarity, probability = answer[:2], answer[2], answer[3]
            self._counts[pair][polarity] += 1
            if polarity == NONE:
                continue
            judged = True
            self._unsure[pair] += probability is not None and probability < UNSURE
            self._quotes.add(row, answer, day_shown, file)
            if day is not None:
                self._count_day(pair, day, polarity)
        return judged

    def _count_day(self, pair: _Pair, day: date, polarity: str) -> None:
        days, key = self._days[pair], (start_of(day, self._finest), polarity)
        self._day_entries += key not in days
        days[key] += 1
        if self._day_entries > _MOST_DAYS and self._finest in _COARSER:
            # Tell fewer days apart, because there are too many of them for so many targets and aspects.
            self._finest = _COARSER[self._finest]
            self._days = defaultdict(Counter, {one: _by(found, self._finest) for one, found in self._days.items()})
            self._day_entries = sum(map(len, self._days.values()))

    def summary(self, title: str, paths: Sequence[Path]) -> Summary:
        """Return the result."""
        polarities = _polarities(self._counts.values())
        targets, aspects = (_by_opinions(self._counts, place) for place in (0, 1))
        cells = {}
        for pair in sorted(self._counts, key=lambda pair: (targets[pair[0]], aspects[pair[1]])):
            counts = self._counts[pair]
            ordered = {polarity: counts[polarity] for polarity in (*polarities, *({NONE} & counts.keys()))}
            cells[pair] = SummaryCell(*pair, Tally(ordered), self._unsure[pair], self._quotes)
        rejected, reasons = _rejects(paths)
        return Summary(
            title=title,
            files=tuple(path.name for path in paths),
            layout=", ".join(self._layouts),
            rows=self.rows,
            texts=self._texts + len(self._texts_seen),
            texts_with_opinion=self._with_opinion + len(self._texts_judged),
            has_silent=self._has_silent,
            targets=tuple(targets),
            aspects=tuple(aspects),
            polarities=polarities,
            cells=cells,
            times=self._times(),
            rejected=rejected,
            reasons=reasons,
            unreadable=self._unreadable,
            columns=self._columns,
        )

    def _times(self) -> Times | None:
        days = [day for found in self._days.values() for day, _ in found]
        if not days:
            return None
        bucket = bucket_of(days, self._finest)
        counts: defaultdict[str, dict[str, dict[date, Tally]]] = defaultdict(dict)
        for (target, aspect), found in self._days.items():
            of_each: defaultdict[date, dict[str, int]] = defaultdict(dict)
            for (start, polarity), number in _by(found, bucket).items():
                of_each[start][polarity] = number
            counts[target][aspect] = {start: Tally(numbers) for start, numbers in of_each.items()}
        column = self._columns["date"] or ""
        return Times(column, bucket, tuple(starts(days, bucket)), counts, self._undated, self._day_first)


def _by(days: Counter[tuple[date, str]], bucket: str) -> Counter[tuple[date, str]]:
    """Counts of days and polarities by coarser buckets."""
    found: Counter[tuple[date, str]] = Counter()
    for (day, polarity), number in days.items():
        found[start_of(day, bucket), polarity] += number
    return found


def _polarities(counts: Iterable[Counter[str]]) -> tuple[str, ...]:
    """List those there are, `none` left out; the two sides first."""
    found = {polarity for one in counts for polarity in one} - {NONE}
    known = [polarity for polarity in _ORDER if polarity in found or polarity in (POSITIVE, NEGATIVE)]
    return (*known, *sorted(found - set(known)))


def _by_opinions(counts: Mapping[_Pair, Counter[str]], place: int) -> dict[str, int]:
    """The ranks of the targets, or of the aspects: the most spoken-of first, else in the order they came in."""
    numbers: Counter[str] = Counter()
    for pair, found in counts.items():
        numbers[pair[place]] += found.total() - found[NONE]
    return {name: rank for rank, name in enumerate(sorted(numbers, key=lambda name: -numbers[name]))}


def _rejects(paths: Iterable[Path]) -> tuple[int, dict[str, int]]:
    """Count the rows that were rejected when the tables were scored, and why: numbers in a reason do not matter."""
    reasons: Counter[str] = Counter()
    for path in (path.with_name(path.name + REJECTS) for path in paths):
        if not path.is_file():
            continue
        with path.open(encoding="utf-8", errors="replace") as lines:
            for line in lines:
                try:
                    why = str(json.loads(line)["reason"])
                except (ValueError, KeyError, TypeError):
                    why = "no reason is given"
                reasons[re.sub(r"\d+", "N", re.sub(r"^(?:row|line) \d+ ", "", why))[:200]] += 1
    common = dict(reasons.most_common(_MOST_REASONS))
    rest = reasons.total() - sum(common.values())
    return reasons.total(), common | ({"other reasons": rest} if rest else {})
