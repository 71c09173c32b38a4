"""One opinion for each target-aspect pair, and one warning that counts what was dropped."""

import warnings
from collections.abc import Iterable
from dataclasses import dataclass

from tabsa.errors import DataWarning
from tabsa.schema import Opinion


@dataclass(slots=True)
class Merger:
    """Keeps one opinion for each pair, over any number of examples, and counts what it drops."""

    repeated: int = 0
    conflicting: int = 0

    def merge(self, opinions: Iterable[Opinion]) -> tuple[Opinion, ...]:
        """One example's opinions in order of first appearance; of two that conflict the later one is kept."""
        kept: dict[tuple[str, str], Opinion] = {}
        for opinion in opinions:
            pair = opinion.target, opinion.aspect
            if pair in kept:
                if kept[pair].polarity == opinion.polarity:
                    self.repeated += 1
                else:
                    self.conflicting += 1
            kept[pair] = opinion
        return tuple(kept.values())

    def warn(self, where: str) -> None:
        """Say in one `DataWarning` what was dropped, if anything was."""
        counts = {"repeated": self.repeated, "conflicting": self.conflicting}
        dropped = [f"{count} {kind}" for kind, count in counts.items() if count]
        if dropped:
            last = self.conflicting or self.repeated
            noun = "opinion" if last == 1 else "opinions"
            warnings.warn(f"{where}: dropped {' and '.join(dropped)} {noun}", DataWarning, stacklevel=4)
