"""What a page has room for: the most spoken-of targets and aspects, and their numbers for the script."""

from dataclasses import dataclass
from typing import Any, Final

from tabsa.report.summary import Summary, Times
from tabsa.report.tally import Tally
from tabsa.schema import UNNAMED

MOST_TARGETS: Final = 30
MOST_ASPECTS: Final = 20


@dataclass(frozen=True, slots=True)
class Shown:
    """The targets and aspects that are shown; those that nobody speaks of are not."""

    targets: tuple[str, ...]
    aspects: tuple[str, ...]

    @classmethod
    def of(cls, summary: Summary) -> "Shown":
        """The most spoken-of."""
        silent_targets, silent_aspects = set(summary.silent_targets), set(summary.silent_aspects)
        return cls(
            tuple(target for target in summary.targets if target not in silent_targets)[:MOST_TARGETS],
            tuple(aspect for aspect in summary.aspects if aspect not in silent_aspects)[:MOST_ASPECTS],
        )

    def numbers(self, summary: Summary) -> dict[str, Any]:
        """What the page's script counts with: positive, negative and all opinions, by place in the lists."""
        return {
            "targets": [called(target) for target in self.targets],
            "aspects": list(self.aspects),
            "cells": [[_three(summary.cell(t, a).tally) for a in self.aspects] for t in self.targets],
            "time": self._time(summary.times) if summary.times else None,
        }

    def _time(self, times: Times) -> dict[str, Any]:
        """Counts over time; those of what is not shown go together under -1."""
        targets = {name: place for place, name in enumerate(self.targets)}
        aspects = {name: place for place, name in enumerate(self.aspects)}
        places = {start: place for place, start in enumerate(times.starts)}
        sums: dict[tuple[int, int, int], list[int]] = {}
        for (target, aspect), of_each in times.counts.items():
            pair = (targets.get(target, -1), aspects.get(aspect, -1))
            for start, tally in of_each.items():
                into = sums.setdefault((*pair, places[start]), [0, 0, 0])
                for at, number in enumerate(_three(tally)):
                    into[at] += number
        return {"names": list(times.names), "counts": [[*key, *numbers] for key, numbers in sums.items()]}


def _three(tally: Tally) -> list[int]:
    return [tally.positive, tally.negative, tally.n]


def called(target: str) -> str:
    """A target's name; that of the one without a name in words."""
    return "(not named)" if target == UNNAMED else target
