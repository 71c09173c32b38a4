"""Counts of opinions, the share that is positive, how sure that share is, and how all of it is put into words."""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any, Final

from tabsa.schema import MIXED, NEGATIVE, NEUTRAL, NONE, POSITIVE, UNNAMED

Z: Final = 1.959963984540054  # of the normal distribution, two-sided, 95%
FEW_OPINIONS: Final = 5  # fewer that take a side have no percentage and no interval
UNCLEAR, FEW = "unclear", "few"
SIGNS: Final = {POSITIVE: "▲", NEGATIVE: "▼", NEUTRAL: "○", MIXED: "◆", "conflict": "◆", NONE: "–"}


@dataclass(frozen=True, slots=True)
class Tally:
    """The number of texts that hold each opinion of something; `none` is among the counts where the table has it."""

    counts: Mapping[str, int]

    @property
    def n(self) -> int:
        """The number of opinions."""
        return sum(number for polarity, number in self.counts.items() if polarity != NONE)

    @property
    def positive(self) -> int:
        """The number of positive ones."""
        return self.counts.get(POSITIVE, 0)

    @property
    def negative(self) -> int:
        """The number of negative ones."""
        return self.counts.get(NEGATIVE, 0)

    @property
    def judged(self) -> int:
        """The number of those that take a side."""
        return self.positive + self.negative

    @property
    def share(self) -> float | None:
        """The positive ones among those that take a side."""
        return self.positive / self.judged if self.judged else None

    @property
    def interval(self) -> tuple[float, float] | None:
        """The 95% interval of `share`."""
        return wilson(self.positive, self.judged) if self.judged else None

    @property
    def net(self) -> float | None:
        """Positive less negative, among all opinions: from -1 to 1."""
        return (self.positive - self.negative) / self.n if self.n else None

    @property
    def verdict(self) -> str:
        """`positive` or `negative` where the interval leaves no doubt, else `unclear`, `few`, or `none` of silence."""
        if not self.judged:
            return UNCLEAR if self.n else NONE
        if self.judged < FEW_OPINIONS:
            return FEW
        low, high = wilson(self.positive, self.judged)
        return POSITIVE if low > 0.5 else NEGATIVE if high < 0.5 else UNCLEAR

    @property
    def strength(self) -> float:
        """The distance of the interval from the middle, 0 to 1: the depth of a colour."""
        low, high = self.interval if self.interval and self.judged >= FEW_OPINIONS else (0.0, 1.0)
        return math.sqrt(max(0.0, 2 * low - 1, 1 - 2 * high))

    def counted(self) -> str:
        """The larger side: "12 of 14 negative", "all 3 positive"; of few, both sides."""
        number, side = max((self.positive, POSITIVE), (self.negative, NEGATIVE))
        if number == self.judged:
            return f"{'all ' if number > 1 else ''}{number:,} {side}"
        if self.judged < FEW_OPINIONS:
            return f"{self.positive:,} positive, {self.negative:,} negative"
        return f"{number:,} of {self.judged:,} {side}"

    def spoken(self) -> str:
        """All of it in words."""
        if not self.n:
            return "silent"
        others = f"{self.n - self.judged:,} without a side"
        if self.share is None or self.interval is None:
            return others
        more = f"; {others}" if self.n > self.judged else ""
        if self.judged < FEW_OPINIONS:
            return f"{self.counted()}; too few to generalise{more}"
        doubt = "; cannot tell which side has more" if self.verdict == UNCLEAR else ""
        return f"{self.counted()}; {percent(self.share)} positive, 95% interval {between(self.interval)}{doubt}{more}"

    def to_dict(self) -> dict[str, Any]:
        """Return the counts and what they come to, for JSON."""
        return {
            "counts": dict(self.counts),
            "n": self.n,
            "judged": self.judged,
            "share_positive": rounded(self.share),
            "interval": None if self.interval is None else [rounded(end) for end in self.interval],
            "net": rounded(self.net),
            "verdict": self.verdict,
        }


def merged(tallies: Iterable[Tally]) -> Tally:
    """Add tallies up."""
    counts: dict[str, int] = {}
    for tally in tallies:
        for polarity, number in tally.counts.items():
            counts[polarity] = counts.get(polarity, 0) + number
    return Tally(counts)


def wilson(successes: int, trials: int, z: float = Z) -> tuple[float, float]:
    """Wilson's score interval of a share, 95%; good for few trials, too, and never outside 0 to 1."""
    share, square = successes / trials, z * z
    centre = share + square / (2 * trials)
    reach = z * math.sqrt(share * (1 - share) / trials + square / (4 * trials * trials))
    whole = 1 + square / trials
    low = 0.0 if successes == 0 else (centre - reach) / whole
    high = 1.0 if successes == trials else (centre + reach) / whole
    return low, high


def z_of_many(looks: int) -> float:
    """The `z` with which all of so many intervals hold in 95% of cases (Bonferroni)."""
    return NormalDist().inv_cdf(1 - 0.025 / max(1, looks))


def difference(first: Tally, second: Tally, z: float = Z) -> tuple[float, float, float] | None:
    """The first share less the second, and its 95% interval by Newcombe's method, which joins two Wilson intervals."""
    if first.share is None or second.share is None:
        return None
    (low_1, high_1), (low_2, high_2) = (wilson(one.positive, one.judged, z) for one in (first, second))
    apart = first.share - second.share
    low = apart - math.hypot(first.share - low_1, high_2 - second.share)
    high = apart + math.hypot(high_1 - first.share, second.share - low_2)
    return apart, low, high


# ---- numbers in words, the same on every page


def percent(share: float) -> str:
    """A share in whole percent, halves upwards; one that is not 0 or 1 is not shown as such."""
    whole = math.floor(100 * share + 0.5)
    if whole == 0 and share > 0:
        return "<1%"
    return ">99%" if whole == 100 and share < 1 else f"{whole}%"


def between(interval: tuple[float, float]) -> str:
    """An interval in words."""
    return f"{percent(interval[0])} to {percent(interval[1])}"


def plural(number: int, noun: str) -> str:
    """A number of things in words."""
    return f"{number:,} {noun}{'s' * (number != 1)}"


def display_name(target: str) -> str:
    """A target's name; words for the one without a name."""
    return "(not named)" if target == UNNAMED else target


def tone(polarity: str) -> str:
    """The class of a polarity's colours."""
    known = {POSITIVE, NEGATIVE, NEUTRAL, MIXED}
    return {NONE: "silent", "conflict": "mixed"}.get(polarity, polarity if polarity in known else "other")


def rounded(value: float | None) -> float | None:
    """A figure for files."""
    return None if value is None else round(value, 6)
