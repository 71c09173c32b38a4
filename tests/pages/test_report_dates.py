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
    "written", ["", "soon", "2024-13-01", "2024-02-30", "5", 5, None, True, [1], "99/99/2024", "x 3"]
)
def test_what_is_no_date_is_none(written: object) -> None:
    assert parse_date(written) is None


def test_days_and_months_are_told_apart_by_other_rows() -> None:
    assert parse_date("3/4/2024", day_first=True) == APRIL
    assert is_day_first(["3/4/2024", "13/4/2024"]) is True
    assert is_day_first(["3/4/2024", "4/13/2024"]) is False
    assert is_day_first(["3/4/2024"]) is None
    assert is_day_first(["3.4.2024"]) is True


@given(st.dates(date(1950, 1, 1), date(2150, 1, 1)), st.sampled_from(["day", "week", "month", "quarter", "year"]))
def test_a_day_lies_in_its_bucket(day: date, bucket: str) -> None:
    start = start_of(day, bucket)
    assert start <= day < next_start(start, bucket)
    assert start_of(start, bucket) == start
    assert bucket_name(start, bucket)


@given(st.dates(date(1990, 1, 1), date(2060, 1, 1)), st.dates(date(1990, 1, 1), date(2060, 1, 1)))
def test_buckets_have_no_gaps_and_are_not_too_many(one: date, other: date) -> None:
    days = [one, other]
    bucket = bucket_of(days)
    found = starts(days, bucket)
    assert found[0] <= min(days)
    assert max(days) < next_start(found[-1], bucket)
    assert all(next_start(a, bucket) == b for a, b in itertools.pairwise(found))
    assert len(found) <= 72


@pytest.mark.parametrize(
    ("days", "bucket"), [(10, "day"), (100, "week"), (700, "month"), (2000, "quarter"), (9000, "year")]
)
def test_the_range_picks_the_bucket(days: int, bucket: str) -> None:
    assert bucket_of([date(2000, 1, 1), date.fromordinal(date(2000, 1, 1).toordinal() + days)]) == bucket


def plain_series(texts: list[made.Answered], target: str | None = None) -> Counter[tuple[str, str]]:
    return Counter(
        (one.date[:7], polarity)
        for one in texts
        for (name, _), (polarity, _) in one.said.items()
        if polarity != "none" and target in (None, name)
    )


def test_counts_over_time_are_those_of_a_plain_count(tmp_path: Path) -> None:
    texts = made.answered(7, 200)
    times = summarise(made.long(tmp_path / "t.csv", texts)).times
    assert times is not None
    assert times.bucket == "month"
    for target in (None, *made.TARGETS):
        found = Counter(
            {
                (name, polarity): number
                for name, tally in zip(times.names, times.series(target), strict=True)
                for polarity, number in tally.counts.items()
            }
        )
        assert +found == plain_series(texts, target)


def test_too_many_days_are_counted_by_month_and_by_year(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    texts = made.answered(7, 200)
    path = made.long(tmp_path / "t.csv", texts)
    monkeypatch.setattr("tabsa.pages.counting._MOST_DAYS", 300)
    times = summarise(path).times
    assert times is not None
    assert times.bucket == "month"
    assert sum(tally.n for tally in times.series()) == sum(plain_series(texts).values())
    monkeypatch.setattr("tabsa.pages.counting._MOST_DAYS", 20)
    times = summarise(path).times
    assert times is not None
    assert times.bucket == "year"
    assert sum(tally.n for tally in times.series()) == sum(plain_series(texts).values())


def rows(column: str, values: list[object]) -> list[dict[str, object]]:
    return [{"text": "a", "target": "x", "aspect": "y", "polarity": "positive", column: value} for value in values]


@pytest.mark.parametrize("column", ["date", "Review_Date", "created_at", "when", "posted"])
def test_the_column_of_dates_is_found_by_its_name(tmp_path: Path, column: str) -> None:
    summary = summarise(made.write(tmp_path / "t.jsonl", rows(column, ["2024-01-01", "never", *["2024-02-01"] * 18])))
    assert summary.columns["date"] == column
    assert summary.times is not None
    assert summary.times.undated == 1
    assert summary.times.starts[0] == start_of(date(2024, 1, 1), summary.times.bucket)


def test_a_column_of_dates_by_any_name(tmp_path: Path) -> None:
    assert summarise(made.write(tmp_path / "t.csv", rows("x", ["2024-01-01", "2024-02-01"]))).columns["date"] == "x"
    for values in (["12", "13"], ["20240101", "20240201"], ["1712145600", "1712145601"], ["2024", "2023"]):
        assert summarise(made.write(tmp_path / "t.csv", rows("x", values))).times is None
    times = summarise(made.write(tmp_path / "t.csv", rows("x", ["2024", "2023"])), columns=ColumnNames(date="x")).times
    assert times is not None
    assert next(start.year for start in times.starts) == 2023


def test_day_first_is_told_or_found(tmp_path: Path) -> None:
    path = made.write(tmp_path / "t.csv", rows("date", ["3/4/2024", "13/4/2024"]))
    times = summarise(path).times
    assert times is not None
    assert times.starts == tuple(date(2024, 4, day) for day in range(3, 14))
    path = made.write(tmp_path / "t.csv", rows("date", ["3/4/2024", "3/5/2024"]))
    for day_first, months in ((True, [4, 5]), (False, [3])):
        times = summarise(path, columns=ColumnNames(day_first=day_first)).times
        assert times is not None
        assert sorted({start.month for start in times.starts if start.day > 1 or day_first}) == months
