"""Counts of opinions, and what they tell: the share that is positive, and how sure that share is."""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any, Final

from tabsa.schema import NEGATIVE, NONE, POSITIVE

Z: Final = 1.959963984540054  # of the normal distribution, two-sided, 95%
UNCLEAR: Final = "unclear"
_DIGITS: Final = 6


@dataclass(frozen=True, slots=True)
class Tally:
    """How many texts say what of something; `none` is among the counts where the table holds it."""

    counts: Mapping[str, int]

    @property
    def n(self) -> int:
        """The opinions."""
        return sum(number for polarity, number in self.counts.items() if polarity != NONE)

    @property
    def positive(self) -> int:
        """The positive ones."""
        return self.counts.get(POSITIVE, 0)

    @property
    def negative(self) -> int:
        """The negative ones."""
        return self.counts.get(NEGATIVE, 0)

    @property
    def judged(self) -> int:
        """Those that take a side."""
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
        """`positive` or `negative` where the interval leaves no doubt which has more; `none` where all is silent."""
        if not self.n:
            return NONE
        low, high = self.interval or (0.0, 1.0)
        return POSITIVE if low > 0.5 else NEGATIVE if high < 0.5 else UNCLEAR

    def to_dict(self) -> dict[str, Any]:
        """The counts and what they tell, for JSON."""
        return {
            "counts": dict(self.counts),
            "n": self.n,
            "judged": self.judged,
            "share_positive": _rounded(self.share),
            "interval": None if self.interval is None else [_rounded(end) for end in self.interval],
            "net": _rounded(self.net),
            "verdict": self.verdict,
        }


def merged(tallies: Iterable[Tally]) -> Tally:
    """All of them as one."""
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
    """What `z` has to be so that, of as many intervals that are looked at, all hold in 95% of cases (Bonferroni)."""
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


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, _DIGITS)
