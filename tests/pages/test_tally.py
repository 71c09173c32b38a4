"""Shares and their intervals."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tabsa.pages.summary import Contrast
from tabsa.pages.tally import Tally, difference, merged, percent, wilson


def tally(positive: int, negative: int, **others: int) -> Tally:
    return Tally({"positive": positive, "negative": negative, **others})


@given(st.integers(0, 400), st.integers(0, 400))
def test_wilson_is_the_root_of_its_equation(positive: int, negative: int) -> None:
    """Both ends are where the score test is just significant: |p - end| = z sqrt(end (1 - end) / n)."""
    n = positive + negative
    if not n:
        return
    share = positive / n
    low, high = wilson(positive, n)
    assert 0 <= low <= share <= high <= 1
    for end in (low, high):
        assert abs(share - end) == pytest.approx(1.959963984540054 * math.sqrt(end * (1 - end) / n), abs=1e-9)


def test_numbers_of_a_tally() -> None:
    one = tally(6, 2, neutral=3, mixed=1, none=40)
    assert (one.n, one.judged, one.share, one.net) == (12, 8, 0.75, 4 / 12)
    assert one.to_dict()["interval"] == [round(end, 6) for end in wilson(6, 8)]
    silent = tally(0, 0, none=5)
    assert (silent.n, silent.share, silent.interval, silent.net, silent.verdict) == (0, None, None, None, "none")
    assert merged([one, silent]).counts == {"positive": 6, "negative": 2, "neutral": 3, "mixed": 1, "none": 45}


def test_a_difference_is_newcombes() -> None:
    """The first example of Newcombe (1998), method 10: 56 of 70 and 48 of 80."""
    found = difference(tally(56, 14), tally(48, 32))
    assert found == pytest.approx((0.2, 0.0524, 0.3339), abs=5e-5)
    assert difference(tally(1, 0), tally(0, 0)) is None


def test_who_is_seen_better() -> None:
    assert Contrast("price", tally(56, 14), tally(48, 32)).verdict == "first"
    assert Contrast("price", tally(48, 32), tally(56, 14)).verdict == "second"
    assert Contrast("price", tally(3, 2), tally(2, 3)).verdict == "unclear"
    assert Contrast("price", tally(2, 1), tally(9, 9)).verdict == "few"


@pytest.mark.parametrize(
    ("one", "words"),
    [
        (tally(0, 0, none=3), "silent"),
        (tally(0, 0, mixed=2), "2 without a side"),
        (tally(0, 1), "1 negative; too few to generalise"),
        (tally(0, 3), "all 3 negative; too few to generalise"),
        (tally(2, 1, neutral=1), "2 positive, 1 negative; too few to generalise; 1 without a side"),
        (tally(2, 12), "12 of 14 negative; 14% positive, 95% interval 4% to 40%"),
        (tally(6, 4), "6 of 10 positive; 60% positive, 95% interval 31% to 83%; cannot tell which side has more"),
    ],
)
def test_few_are_counted_and_more_have_a_share(one: Tally, words: str) -> None:
    assert one.spoken() == words
    assert (one.strength > 0) == (one.verdict in ("positive", "negative"))


@pytest.mark.parametrize(
    ("share", "words"), [(0, "0%"), (0.001, "<1%"), (0.625, "63%"), (0.005, "1%"), (0.996, ">99%"), (1, "100%")]
)
def test_shares_are_rounded_as_browsers_do(share: float, words: str) -> None:
    assert percent(share) == words
