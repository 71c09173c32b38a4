"""Dates as tables write them, and the days, weeks, months, quarters and years they fall in."""

import re
from collections.abc import Iterable, Sequence
from datetime import UTC, date, datetime, timedelta
from functools import lru_cache
from typing import Final

DAY, WEEK, MONTH, QUARTER, YEAR = "day", "week", "month", "quarter", "year"
_LIMITS: Final = {DAY: 31, WEEK: 190, MONTH: 1100, QUARTER: 3700, YEAR: 10**9}  # the longest range of each, in days
_MONTHS_OF: Final = {MONTH: 1, QUARTER: 3, YEAR: 12}
_LONGEST: Final = 64  # characters of a date
_FIRST_YEAR, _LAST_YEAR = 1900, 2200
_ISO: Final = re.compile(r"(\d{4})[-/.](\d{1,2})(?:[-/.](\d{1,2}))?(?:[T ].*)?\Z")
_NUMERIC: Final = re.compile(r"(\d{1,2})[-/.](\d{1,2})[-/.](\d{4}|\d{2})(?:[,T ].*)?\Z")
_COMPACT: Final = re.compile(r"(\d{4})(\d{2})(\d{2})\Z")
_EPOCH: Final = re.compile(r"(\d{10})(\d{3})?(?:\.\d*)?\Z")
_WORDED: Final = (
    re.compile(
        r"(?:[a-z]{3,9},?\s+)?(?P<day>\d{1,2})(?:st|nd|rd|th)?[\s.-]+(?P<month>[a-z]{3,9})\.?,?[\s-]+(?P<year>\d{4})"
    ),
    re.compile(r"(?:[a-z]{3,9},?\s+)?(?P<month>[a-z]{3,9})\.?\s+(?P<day>\d{1,2})(?:st|nd|rd|th)?,?\s+(?P<year>\d{4})"),
)
_MONTH_NAMES: Final = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")


def parse_date(value: object, *, day_first: bool = False) -> date | None:
    """Read a cell as a day, or return None; with `day_first`, 3/4/2024 is in April."""
    if isinstance(value, datetime):
        return value.date()
    if isinstance(value, date):
        return value
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return None
    text = str(value).strip()
    return _parse(text, day_first) if len(text) <= _LONGEST else None


@lru_cache(maxsize=8192)
def _parse(text: str, day_first: bool) -> date | None:
    try:
        year, month, day = _parts(text, day_first)
        return date(year, month, day) if _FIRST_YEAR <= year <= _LAST_YEAR else None
    except (ValueError, OverflowError, OSError):
        return None


def _parts(text: str, day_first: bool) -> tuple[int, int, int]:
    if found := _ISO.match(text) or _COMPACT.match(text):
        return int(found[1]), int(found[2]), int(found[3] or 1)
    if found := _NUMERIC.match(text):
        one, other, last = map(int, found.groups())
        year = last if last > 99 else 2000 + last if last < 70 else 1900 + last
        return (year, other, one) if day_first else (year, one, other)
    if found := _EPOCH.match(text):
        moment = datetime.fromtimestamp(int(found[1]), UTC)
        return moment.year, moment.month, moment.day
    for pattern in _WORDED:
        if (found := pattern.match(text.lower())) and found["month"][:3] in _MONTH_NAMES:
            return int(found["year"]), _MONTH_NAMES.index(found["month"][:3]) + 1, int(found["day"])
    if len(text) != 4:
        raise ValueError
    return int(text), 1, 1


def looks_dated(values: Iterable[object], *, strict: bool) -> bool:
    """Tell if nearly all values that are there are dates; `strict` takes no bare numbers for one."""
    given = [value for value in values if value not in (None, "")]
    either = (parse_date(one) or parse_date(one, day_first=True) for one in given if not strict or _is_written_out(one))
    return bool(given) and sum(day is not None for day in either) >= 0.9 * len(given)


def _is_written_out(value: object) -> bool:
    """Tell a date from a mere number, such as a year or a moment in seconds."""
    if not isinstance(value, str):
        return isinstance(value, date)
    found = _ISO.match(value) or _NUMERIC.match(value)
    return found is not None and found[3] is not None


def is_day_first(values: Iterable[object]) -> bool | None:
    """Tell if dates such as 13/4/2024 put the day first; None where all could be read both ways."""
    leads: set[bool] = set()
    for value in values:
        if found := _NUMERIC.match(value.strip()) if isinstance(value, str) else None:
            if "." in found[0]:
                leads.add(True)  # 13.4.2024: where dots are written, days are
            elif int(found[1]) > 12 or int(found[2]) > 12:
                leads.add(int(found[1]) > 12)
    return None if not leads else True in leads


def bucket_of(days: Sequence[date], finest: str = DAY) -> str:
    """Choose what to count by: as fine as leaves some thirty places at most, and no finer than `finest`."""
    spread = (max(days) - min(days)).days + 1
    fitting = next(name for name, limit in _LIMITS.items() if spread <= limit)
    return max(fitting, finest, key=list(_LIMITS).index)


def start_of(day: date, bucket: str) -> date:
    """Return the first day of the bucket that a day falls in; a week begins on Monday."""
    if bucket == WEEK:
        return day - timedelta(days=day.weekday())
    months = _MONTHS_OF.get(bucket)
    return day.replace(month=day.month - (day.month - 1) % months, day=1) if months else day


def next_start(day: date, bucket: str) -> date:
    """Return the first day of the bucket after the one that begins on this day."""
    if bucket in (DAY, WEEK):
        return day + timedelta(days=1 if bucket == DAY else 7)
    later = day.month - 1 + _MONTHS_OF[bucket]
    return date(day.year + later // 12, later % 12 + 1, 1)


def starts(days: Sequence[date], bucket: str) -> list[date]:
    """List the first days of all buckets from the first day to the last, without gaps."""
    at, last = start_of(min(days), bucket), max(days)
    found = []
    while at <= last:
        found.append(at)
        at = next_start(at, bucket)
    return found


def bucket_name(start: date, bucket: str) -> str:
    """Name a bucket: "2024-03-02", "week of 2024-03-04", "2024-03", "2024 Q1", "2024"."""
    if bucket == WEEK:
        return f"week of {start.isoformat()}"
    if bucket == QUARTER:
        return f"{start.year} Q{(start.month + 2) // 3}"
    return start.isoformat()[: {MONTH: 7, YEAR: 4}.get(bucket, 10)]
