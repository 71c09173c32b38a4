"""Numbers in words and small drawings, the same all over the page."""

import math

from tabsa.report.tally import UNCLEAR, Tally
from tabsa.schema import NEGATIVE, NONE, POSITIVE

SIGNS = {POSITIVE: "▲", NEGATIVE: "▼", UNCLEAR: "◇", NONE: "–"}
LOOKS = {POSITIVE: "positive", NEGATIVE: "negative", UNCLEAR: "unclear", NONE: "silent"}
_SPOKEN = {POSITIVE: "mostly positive", NEGATIVE: "mostly negative", UNCLEAR: "cannot tell which side has more"}


def percent(share: float) -> str:
    """A share in whole percent; one that is not 0 or 1 is not shown as such."""
    whole = round(100 * share)
    if whole == 0 and share > 0:
        return "<1%"
    return ">99%" if whole == 100 and share < 1 else f"{whole}%"


def between(interval: tuple[float, float]) -> str:
    """An interval in words."""
    return f"{percent(interval[0])} to {percent(interval[1])}"


def spoken(tally: Tally) -> str:
    """A tally as a person would say it."""
    if not tally.n:
        return "silent"
    if tally.share is None or tally.interval is None:
        return f"{tally.n:,} spoken of without taking a side"
    others = f", {tally.n - tally.judged:,} without a side" if tally.n > tally.judged else ""
    sure = f"95% interval {between(tally.interval)}"
    share = f"{tally.positive:,} of {tally.judged:,} positive, {percent(tally.share)}"
    return f"{share}, {sure}{others}; {_SPOKEN[tally.verdict]}"


def strength(tally: Tally) -> float:
    """How deep a colour is: by what is sure, the end of the interval that is nearer the middle."""
    if tally.interval is None:
        return 0.0
    low, high = tally.interval
    return math.sqrt(max(0.0, 2 * low - 1, 1 - 2 * high))


def track(tally: Tally) -> str:
    """The share as a mark on a line, and its interval as a bar."""
    if tally.share is None or tally.interval is None:
        return ""
    low, high = tally.interval
    return f'<i class="track" style="--l:{low:.3f};--h:{high:.3f};--v:{tally.share:.3f}"></i>'
