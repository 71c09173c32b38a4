"""Dates as tables write them, and the days, weeks, months, quarters and years they fall in."""

import re
from collections.abc import Iterable, Sequence
from datetime import UTC, date, datetime, timedelta
from functools import lru_cache
from typing import Final

DAY, WEEK, MONTH, QUARTER, YEAR = "day", "week", "month", "quarter", "year"
_LIMITS: Final = ((DAY, 31), (WEEK, 190), (MONTH, 1100), (QUARTER, 3700))  # the longest range of each, in days
_LONGEST_REMEMBERED: Final = 64  # characters of a cell that is remembered
_FIRST_YEAR, _LAST_YEAR = 1900, 2200
_ISO: Final = re.compile(r"(\d{4})[-/.](\d{1,2})(?:[-/.](\d{1,2}))?(?:[T ].*)?\Z")
_NUMERIC: Final = re.compile(r"(\d{1,2})[-/.](\d{1,2})[-/.](\d{4}|\d{2})(?:[,T ].*)?\Z")
_COMPACT: Final = re.compile(r"(\d{4})(\d{2})(\d{2})\Z")
_EPOCH: Final = re.compile(r"(\d{10})(\d{3})?(?:\.\d*)?\Z")
_YEAR_ONLY: Final = re.compile(r"\d{4}\Z")
_WORDED: Final = (
    re.compile(
        r"(?:[a-z]{3,9},?\s+)?(?P<day>\d{1,2})(?:st|nd|rd|th)?[\s.-]+(?P<month>[a-z]{3,9})\.?,?[\s-]+(?P<year>\d{4})"
    ),
    re.compile(r"(?:[a-z]{3,9},?\s+)?(?P<month>[a-z]{3,9})\.?\s+(?P<day>\d{1,2})(?:st|nd|rd|th)?,?\s+(?P<year>\d{4})"),
)
_MONTH_NAMES: Final = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_MONTHS: Final = {name: number for number, name in enumerate(_MONTH_NAMES, start=1)}


def parse_date(value: object, *, day_first: bool = False) -> date | None:
    """The day that a cell means, or None; `day_first` tells 3/4/2024 on 3 April from one on 4 March."""
    if isinstance(value, datetime):
        return value.date()
    if isinstance(value, date):
        return value
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return None
    text = str(value).strip()
    return _remembered(text, day_first) if len(text) <= _LONGEST_REMEMBERED else _parse(text, day_first)


@lru_cache(maxsize=8192)
def _remembered(text: str, day_first: bool) -> date | None:
    return _parse(text, day_first)


def _parse(text: str, day_first: bool) -> date | None:
    try:
        return _parts(text, day_first)
    except (ValueError, OverflowError, OSError):
        return None


def _parts(text: str, day_first: bool) -> date | None:
    if found := _ISO.match(text) or _COMPACT.match(text):
        year, month, day = found.groups()
        return _checked(int(year), int(month), int(day or 1))
    if found := _NUMERIC.match(text):
        one, other, last = map(int, found.groups())
        year = last if last > 99 else 2000 + last if last < 70 else 1900 + last
        return _checked(year, other, one) if day_first else _checked(year, one, other)
    if found := _EPOCH.match(text):
        return datetime.fromtimestamp(int(found[1]), UTC).date()
    if _YEAR_ONLY.match(text):
        return _checked(int(text), 1, 1)
    for pattern in _WORDED:
        if (found := pattern.match(text.lower())) and (number := _MONTHS.get(found["month"][:3])):
            return _checked(int(found["year"]), number, int(found["day"]))
    return None


def _checked(year: int, month: int, day: int) -> date | None:
    return date(year, month, day) if _FIRST_YEAR <= year <= _LAST_YEAR else None


def looks_dated(values: Iterable[object], *, strict: bool) -> bool:
    """Whether nearly all of the values that are there are dates; `strict` takes no bare numbers for one."""
    given = [value for value in values if value not in (None, "")]
    fitting = sum((not strict or _is_written_out(value)) and _either(value) is not None for value in given)
    return bool(given) and fitting >= 0.9 * len(given)


def _is_written_out(value: object) -> bool:
    """Whether a value has the form of a date and not only of a number, such as a year or a moment in seconds."""
    if not isinstance(value, str):
        return isinstance(value, date)
    found = _ISO.match(value) or _NUMERIC.match(value)
    return found is not None and found[3] is not None


def _either(value: object) -> date | None:
    return parse_date(value) or parse_date(value, day_first=True)


def is_day_first(values: Iterable[object]) -> bool | None:
    """Whether dates such as 13/4/2024 put the day first; None where all could be read both ways."""
    leads: set[bool] = set()
    for value in values:
        found = _NUMERIC.match(value.strip()) if isinstance(value, str) else None
        if found:
            if "." in found[0]:
                leads.add(True)  # 13.4.2024: where dots are written, days are
            elif int(found[1]) > 12 or int(found[2]) > 12:
                leads.add(int(found[1]) > 12)
    return None if not leads else True in leads


def bucket_of(days: Sequence[date], finest: str = DAY) -> str:
    """What to count by: as fine as leaves some thirty places at most, and no finer than `finest`."""
    spread = (max(days) - min(days)).days + 1
    fitting = next((name for name, limit in _LIMITS if spread <= limit), YEAR)
    order = (DAY, WEEK, MONTH, QUARTER, YEAR)
    return max(fitting, finest, key=order.index)


def start_of(day: date, bucket: str) -> date:
    """The first day of the bucket that a day falls in; a week begins on Monday."""
    if bucket == WEEK:
        return day - timedelta(days=day.weekday())
    if bucket == MONTH:
        return day.replace(day=1)
    if bucket == QUARTER:
        return day.replace(month=day.month - (day.month - 1) % 3, day=1)
    return day.replace(month=1, day=1) if bucket == YEAR else day


def next_start(day: date, bucket: str) -> date:
    """The first day of the bucket after the one that begins on this day."""
    if bucket in (DAY, WEEK):
        return day + timedelta(days=1 if bucket == DAY else 7)
    months = {MONTH: 1, QUARTER: 3, YEAR: 12}[bucket]
    later = day.month - 1 + months
    return date(day.year + later // 12, later % 12 + 1, 1)


def starts(days: Sequence[date], bucket: str) -> list[date]:
    """The first days of all buckets from the first day to the last, those without any between them too."""
    at, last = start_of(min(days), bucket), max(days)
    found = []
    while at <= last:
        found.append(at)
        at = next_start(at, bucket)
    return found


def bucket_name(start: date, bucket: str) -> str:
    """A bucket as people call it: "2024-03-02", "week of 2024-03-04", "2024-03", "2024 Q1", "2024"."""
    if bucket == WEEK:
        return f"week of {start.isoformat()}"
    if bucket == MONTH:
        return start.isoformat()[:7]
    if bucket == QUARTER:
        return f"{start.year} Q{(start.month + 2) // 3}"
    return str(start.year) if bucket == YEAR else start.isoformat()
