"""What a scored table says: numbers, their intervals, and the sentences behind them."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from typing import Any

from tabsa.report.dates import bucket_name
from tabsa.report.tally import Tally, difference, merged
from tabsa.report.telling import Telling, Tellings


@dataclass(frozen=True, slots=True)
class SummaryCell:
    """What is said of one target's aspect."""

    target: str
    aspect: str
    tally: Tally
    tellings: Tellings | None = field(default=None, repr=False, compare=False)

    @property
    def telling(self) -> tuple[Telling, ...]:
        """The most telling sentences, of one polarity after another; found in their texts when they are asked for."""
        return self.tellings.of(self.target, self.aspect, self.tally.counts) if self.tellings else ()

    @property
    def is_told(self) -> bool:
        """Whether there are sentences."""
        return self.tellings is not None and self.tellings.any_of(self.target, self.aspect, self.tally.counts)

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        told = [one.to_dict() for one in self.telling]
        return {"target": self.target or None, "aspect": self.aspect, **self.tally.to_dict(), "telling": told}


@dataclass(frozen=True, slots=True)
class Times:
    """Counts over time: of every target and aspect, by the bucket that a text's date falls in."""

    column: str
    bucket: str  # day, week, month, quarter, year
    starts: tuple[date, ...]  # the first days of the buckets, without gaps
    counts: Mapping[tuple[str, str], Mapping[date, Tally]] = field(repr=False)
    undated: int = 0  # rows whose date cannot be read
    day_first: bool = False

    @property
    def names(self) -> tuple[str, ...]:
        """The buckets as people call them."""
        return tuple(bucket_name(start, self.bucket) for start in self.starts)

    @property
    def ticks(self) -> tuple[str, ...]:
        """The same, shorter: as they stand along a drawing."""
        return tuple(name.removeprefix("week of ") for name in self.names)

    def series(self, target: str | None = None, aspect: str | None = None) -> tuple[Tally, ...]:
        """The tally of each bucket, of one target or all, on one aspect or all."""
        chosen = [
            of_each
            for (one, other), of_each in self.counts.items()
            if target in (None, one) and aspect in (None, other)
        ]
        return self._joined(chosen)

    def _joined(self, of_pairs: Iterable[Mapping[date, Tally]]) -> tuple[Tally, ...]:
        parts: dict[date, list[Tally]] = {start: [] for start in self.starts}
        for of_each in of_pairs:
            for start, tally in of_each.items():
                parts[start].append(tally)
        return tuple(merged(tallies) for tallies in parts.values())

    def to_dict(self, targets: Sequence[str]) -> dict[str, Any]:
        """For JSON: all together, and each target."""

        def points(of_pairs: Iterable[Mapping[date, Tally]]) -> list[dict[str, Any]]:
            named = zip(self.starts, self.names, self._joined(of_pairs), strict=True)
            return [{"start": start.isoformat(), "name": name, **tally.to_dict()} for start, name, tally in named]

        by_target: dict[str, list[Mapping[date, Tally]]] = {target: [] for target in targets}
        for (target, _), of_each in self.counts.items():
            by_target[target].append(of_each)
        return {
            "column": self.column,
            "bucket": self.bucket,
            "undated": self.undated,
            "total": points(self.counts.values()),
            "targets": [{"target": name or None, "points": points(found)} for name, found in by_target.items()],
        }


@dataclass(frozen=True, slots=True)
class Contrast:
    """Two targets on one aspect: the first's share of positive opinions less the second's, with its 95% interval."""

    aspect: str
    first: Tally
    second: Tally

    @property
    def difference(self) -> tuple[float, float, float] | None:
        """The difference and both ends of its interval; None where one of them is not judged."""
        return difference(self.first, self.second)

    @property
    def verdict(self) -> str:
        """`first` or `second` is seen as better, or it is `unclear`."""
        found = self.difference
        if found is None or found[1] <= 0 <= found[2]:
            return "unclear"
        return "first" if found[0] > 0 else "second"


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """What a scored table says.

    `texts` counts only what the table holds: the long layout leaves out texts without an opinion unless it was asked
    for all (`silent_told`).
    """

    title: str
    files: tuple[str, ...]
    layout: str
    rows: int
    texts: int
    texts_with_opinion: int
    silent_told: bool
    targets: tuple[str, ...]  # the most spoken-of first
    aspects: tuple[str, ...]
    polarities: tuple[str, ...]
    cells: Mapping[tuple[str, str], SummaryCell] = field(repr=False)
    times: Times | None = field(default=None, repr=False)
    rejected: int = 0
    reasons: Mapping[str, int] = field(default_factory=dict)  # why, and how many rows
    unreadable: int = 0  # rows of the scored table itself
    columns: Mapping[str, str | None] = field(default_factory=dict)  # what was read as text, id and date

    @property
    def total(self) -> Tally:
        """Everything."""
        return merged(cell.tally for cell in self.cells.values())

    @property
    def opinions(self) -> int:
        """How many opinions there are."""
        return self.total.n

    def cell(self, target: str, aspect: str) -> SummaryCell:
        """What is said of one target's aspect; of a pair that the table does not have, nothing."""
        return self.cells.get((target, aspect)) or SummaryCell(target, aspect, Tally({}))

    def of_target(self, target: str) -> Tally:
        """All that is said of a target."""
        return merged(cell.tally for (one, _), cell in self.cells.items() if one == target)

    def of_aspect(self, aspect: str) -> Tally:
        """All that is said on an aspect."""
        return merged(cell.tally for (_, one), cell in self.cells.items() if one == aspect)

    @property
    def silent_targets(self) -> tuple[str, ...]:
        """Targets that no text has an opinion on."""
        spoken = {target for (target, _), cell in self.cells.items() if cell.tally.n}
        return tuple(target for target in self.targets if target not in spoken)

    @property
    def silent_aspects(self) -> tuple[str, ...]:
        """Aspects that no text has an opinion on."""
        spoken = {aspect for (_, aspect), cell in self.cells.items() if cell.tally.n}
        return tuple(aspect for aspect in self.aspects if aspect not in spoken)

    def compare(self, first: str, second: str) -> Iterator[Contrast]:
        """Two targets, aspect by aspect."""
        for aspect in self.aspects:
            yield Contrast(aspect, self.cell(first, aspect).tally, self.cell(second, aspect).tally)

    def to_dict(self) -> dict[str, Any]:
        """All of it, for JSON; a target without a name is null."""
        ordered = [self.cells[pair] for t in self.targets for a in self.aspects if (pair := (t, a)) in self.cells]
        return {
            "title": self.title,
            "says": self.sentences(),
            "files": list(self.files),
            "layout": self.layout,
            "columns": dict(self.columns),
            "rows": self.rows,
            "texts": self.texts,
            "texts_with_opinion": self.texts_with_opinion,
            "opinions": self.opinions,
            "targets": [target or None for target in self.targets],
            "aspects": list(self.aspects),
            "polarities": list(self.polarities),
            "total": self.total.to_dict(),
            "target_totals": [{"target": t or None, **tally.to_dict()} for t, tally in self.target_totals().items()],
            "aspect_totals": [{"aspect": a, **tally.to_dict()} for a, tally in self.aspect_totals().items()],
            "cells": [cell.to_dict() for cell in ordered],
            "time": self.times.to_dict(self.targets) if self.times else None,
            "silent": {
                "texts": self.texts - self.texts_with_opinion if self.silent_told else None,
                "targets": [target or None for target in self.silent_targets],
                "aspects": list(self.silent_aspects),
            },
            "rejected": {"rows": self.rejected, "reasons": dict(self.reasons), "unreadable": self.unreadable},
        }

    def sentences(self) -> list[str]:
        """What the table says, in a few sentences."""
        from tabsa.report.page.lead import plain_lead

        return plain_lead(self)

    def write_html(self, path: str | Path, *, beside: str = "") -> Path:
        """Write the page: one file that needs nothing else; `beside` is the name of the table of all numbers."""
        from tabsa.report.page import write_page

        return write_page(self, path, beside)

    def write_csv(self, path: str | Path, *, escape_formulas: bool = False) -> Path:
        """Write the numbers of every target and aspect: .csv, or any other format that tables are written in.

        With `escape_formulas`, text of a CSV that a spreadsheet would take for a formula has an apostrophe before it.
        """
        from tabsa.report.table import write_numbers

        return write_numbers(self, path, escape_formulas=escape_formulas)

    def plot(self, path: str | Path) -> Path:
        """Draw the heat map as .png or .svg; needs matplotlib."""
        from tabsa.report.picture import write_picture

        return write_picture(self, path)

    def target_totals(self) -> dict[str, Tally]:
        """`of_target` of each, in one pass."""
        return self._totals(0, self.targets)

    def aspect_totals(self) -> dict[str, Tally]:
        """`of_aspect` of each, in one pass."""
        return self._totals(1, self.aspects)

    def _totals(self, place: int, names: Sequence[str]) -> dict[str, Tally]:
        parts: dict[str, list[Tally]] = {name: [] for name in names}
        for pair, cell in self.cells.items():
            parts[pair[place]].append(cell.tally)
        return {name: merged(tallies) for name, tallies in parts.items()}
