"""Dates as tables write them, and counts over time."""

import itertools
from collections import Counter
from datetime import UTC, date, datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import scored_tables as made
from tabsa.pages.counting import summarise
from tabsa.pages.dates import bucket_name, bucket_of, is_day_first, next_start, parse_date, start_of, starts
from tabsa.pages.scored_files import ColumnNames
from tabsa.pages.summary import Times

APRIL = date(2024, 4, 3)


@pytest.mark.parametrize(
    "written",
    [
        "2024-04-03", "2024/4/3", "2024.04.03", "2024-04-03T10:11:12Z", "2024-04-03 10:11", "20240403", "3 April 2024",
        "3rd Apr 2024", "April 3, 2024", "Wed, 03 Apr 2024 10:11:12 GMT", "Apr 3 2024", "03-Apr-2024", "1712145600",
        "1712145600000", 1712145600, "4/3/2024", "04/03/24", APRIL, datetime(2024, 4, 3, 9, tzinfo=UTC),
    ],
)  # fmt: skip
def test_dates_are_read(written: object) -> None:
    assert parse_date(written) == APRIL


@pytest.mark.parametrize(
    "written", ["", "soon", "2024-13-01", "2024-02-30", "5", 5, None, True, [1], "99/99/2024", "x 3", "2024" * 20]
)
def test_what_is_no_date_is_none(written: object) -> None:
    assert parse_date(written) is None


@given(st.dates(date(1990, 1, 1), date(2060, 1, 1)), st.dates(date(1990, 1, 1), date(2060, 1, 1)))
def test_buckets_hold_their_days_have_no_gaps_and_are_not_too_many(one: date, other: date) -> None:
    days = [one, other]
    bucket = bucket_of(days)
    found = starts(days, bucket)
    assert all(next_start(a, bucket) == b for a, b in itertools.pairwise(found))
    assert len(found) <= 72
    for day in days:
        start = start_of(day, bucket)
        assert start in found
        assert start <= day < next_start(start, bucket)
        assert bucket_name(start, bucket) == bucket_name(start_of(start, bucket), bucket)


@pytest.mark.parametrize(
    ("days", "bucket", "name"),
    [
        (10, "day", "2000-01-01"), (100, "week", "week of 1999-12-27"), (700, "month", "2000-01"),
        (2000, "quarter", "2000 Q1"), (9000, "year", "2000"),
    ],
)  # fmt: skip
def test_the_range_picks_the_bucket(days: int, bucket: str, name: str) -> None:
    first = date(2000, 1, 1)
    assert bucket_of([first, date.fromordinal(first.toordinal() + days)]) == bucket
    assert bucket_name(start_of(first, bucket), bucket) == name


@pytest.mark.parametrize(("most", "bucket"), [(400_000, "month"), (300, "month"), (20, "year")])
def test_counts_over_time_are_those_of_a_plain_count(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, most: int, bucket: str
) -> None:
    monkeypatch.setattr("tabsa.pages.counting._MOST_DAYS", most)
    texts = made.answered(7, 200)
    times = times_of(made.long(tmp_path / "t.csv", texts))
    assert times.bucket == bucket
    for target, aspect in itertools.product((None, *made.TARGETS), (None, *made.ASPECTS)):
        expected = Counter(
            (one.date[: 7 if bucket == "month" else 4], polarity)
            for one in texts
            for (name, on), (polarity, _) in one.said.items()
            if polarity != "none" and target in (None, name) and aspect in (None, on)
        )
        series = zip(times.names, times.series(target, aspect), strict=True)
        found = Counter({(name, p): number for name, tally in series for p, number in tally.counts.items()})
        assert +found == expected


def times_of(path: Path, columns: ColumnNames | None = None) -> Times:
    times = summarise(path, columns=columns).times
    assert times is not None
    return times


def rows(column: str, values: list[object]) -> list[dict[str, object]]:
    return [{"text": "a", "target": "x", "aspect": "y", "polarity": "positive", column: value} for value in values]


@pytest.mark.parametrize("column", ["Review_Date", "posted"])
def test_the_column_of_dates_is_found_by_its_name(tmp_path: Path, column: str) -> None:
    path = made.write(tmp_path / "t.jsonl", rows(column, ["2024-01-01", "never", *["2024-02-01"] * 18]))
    assert (times_of(path).column, times_of(path).undated) == (column, 1)


@pytest.mark.parametrize(
    ("written", "day_first"),
    [(["3/4/2024", "13/4/2024"], True), (["3/4/2024", "4/13/2024"], False), (["3/4/2024"], None), (["3.4.2024"], True)],
)
def test_day_first_is_found_or_given(tmp_path: Path, written: list[object], day_first: bool | None) -> None:
    assert is_day_first(written) is day_first
    path = made.write(tmp_path / "t.csv", rows("date", written))
    assert times_of(path).starts[0] == date(2024, *((4, 3) if day_first else (3, 4)))
    if len(written) == 1:
        assert times_of(path, ColumnNames(day_first=True)).starts == (APRIL,)
