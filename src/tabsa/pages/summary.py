"""The summary of a scored table: numbers, their intervals, and the sentences behind them."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from functools import cached_property
from pathlib import Path
from typing import Any, Final

from tabsa.pages.dates import bucket_name
from tabsa.pages.quotes import Quote, QuoteCollector
from tabsa.pages.tally import (
    FEW_OPINIONS,
    Tally,
    between,
    difference,
    display_name,
    merged,
    percent,
    plural,
    rounded,
    wilson,
    z_of_many,
)
from tabsa.schema import NONE

_FEW_IN_ALL: Final = 30  # opinions that take a side
_MOST_FINDINGS: Final = 2  # of each side
_FIGURES: Final[dict[str, type]] = {
    **dict.fromkeys(("opinions", "unsure", "judged"), int),
    **dict.fromkeys(("share_positive", "low", "high", "net"), float),
    "verdict": str,
}


@dataclass(frozen=True, slots=True)
class SummaryCell:
    """The opinions of one target's aspect."""

    target: str
    aspect: str
    tally: Tally
    unsure: int = 0  # opinions of which the model is less than 55% sure
    collected: QuoteCollector | None = field(default=None, repr=False, compare=False)

    @property
    def quotes(self) -> tuple[Quote, ...]:
        """The most telling sentences, of one polarity after another."""
        return self.collected.quotes(self.target, self.aspect, self.tally.counts) if self.collected else ()

    def to_dict(self) -> dict[str, Any]:
        """Return it for JSON."""
        return {
            "target": self.target or None,
            "aspect": self.aspect,
            **self.tally.to_dict(),
            "unsure": self.unsure,
            "quotes": [quote.to_dict() for quote in self.quotes],
        }


@dataclass(frozen=True, slots=True)
class Times:
    """Counts over time: of every target and aspect, by the bucket that a text's date falls in."""

    column: str
    bucket: str  # day, week, month, quarter, year
    starts: tuple[date, ...]  # the first days of the buckets, without gaps
    counts: Mapping[str, Mapping[str, Mapping[date, Tally]]] = field(repr=False)  # by target and aspect
    undated: int = 0  # rows whose date cannot be read
    day_first: bool = False

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the buckets."""
        return tuple(bucket_name(start, self.bucket) for start in self.starts)

    def series(self, target: str | None = None, aspect: str | None = None) -> tuple[Tally, ...]:
        """Return the tally of each bucket, of one target or all, on one aspect or all."""
        parts: dict[date, list[Tally]] = {start: [] for start in self.starts}
        for of_aspects in self.counts.values() if target is None else (self.counts.get(target, {}),):
            for name, of_each in of_aspects.items():
                if aspect in (None, name):
                    for start, tally in of_each.items():
                        parts[start].append(tally)
        return tuple(merged(tallies) for tallies in parts.values())

    def to_dict(self, targets: Sequence[str]) -> dict[str, Any]:
        """Return it for JSON: all together, and each target."""

        def points(target: str | None) -> list[dict[str, Any]]:
            named = zip(self.starts, self.names, self.series(target), strict=True)
            return [{"start": start.isoformat(), "name": name, **tally.to_dict()} for start, name, tally in named]

        return {
            "column": self.column,
            "bucket": self.bucket,
            "undated": self.undated,
            "total": points(None),
            "targets": [{"target": target or None, "points": points(target)} for target in targets],
        }


@dataclass(frozen=True, slots=True)
class Contrast:
    """Two targets on one aspect: the first's share of positive opinions less the second's, with its 95% interval."""

    aspect: str
    first: Tally
    second: Tally

    @property
    def difference(self) -> tuple[float, float, float] | None:
        """The difference and both ends of its interval; None where one of them has too few opinions."""
        few = min(self.first.judged, self.second.judged) < FEW_OPINIONS
        return None if few else difference(self.first, self.second)

    @property
    def verdict(self) -> str:
        """`first` or `second` is seen as better, or it is `unclear`, or they are too `few`."""
        found = self.difference
        if found is None:
            return "few"
        return "unclear" if found[1] <= 0 <= found[2] else "first" if found[0] > 0 else "second"


@dataclass(frozen=True, kw_only=True)
class Summary:
    """The content of a scored table, counted.

    `texts` counts only what the table holds: the long layout leaves out texts without an opinion unless it was written
    with all of them (`has_silent`).
    """

    title: str
    files: tuple[str, ...]
    layout: str
    rows: int
    texts: int
    texts_with_opinion: int
    has_silent: bool
    targets: tuple[str, ...]  # the most spoken-of first
    aspects: tuple[str, ...]
    polarities: tuple[str, ...]
    cells: Mapping[tuple[str, str], SummaryCell] = field(repr=False)  # in the order of targets and aspects
    times: Times | None = field(default=None, repr=False)
    rejected: int = 0
    reasons: Mapping[str, int] = field(default_factory=dict)  # why, and how many rows
    unreadable: int = 0  # rows of the scored table itself
    columns: Mapping[str, str | None] = field(default_factory=dict)  # what was read as text, id and date

    @cached_property
    def total(self) -> Tally:
        """All opinions."""
        return merged(cell.tally for cell in self.cells.values())

    @cached_property
    def unsure(self) -> int:
        """The number of opinions of which the model is less than 55% sure."""
        return sum(cell.unsure for cell in self.cells.values())

    @cached_property
    def target_totals(self) -> dict[str, Tally]:
        """All opinions of each target."""
        return self._totals(0, self.targets)

    @cached_property
    def aspect_totals(self) -> dict[str, Tally]:
        """All opinions on each aspect."""
        return self._totals(1, self.aspects)

    def _totals(self, place: int, names: Sequence[str]) -> dict[str, Tally]:
        parts: dict[str, list[Tally]] = {name: [] for name in names}
        for pair, cell in self.cells.items():
            parts[pair[place]].append(cell.tally)
        return {name: merged(tallies) for name, tallies in parts.items()}

    @property
    def silent_targets(self) -> tuple[str, ...]:
        """Targets that no text has an opinion on."""
        return tuple(target for target, tally in self.target_totals.items() if not tally.n)

    @property
    def silent_aspects(self) -> tuple[str, ...]:
        """Aspects that no text has an opinion on."""
        return tuple(aspect for aspect, tally in self.aspect_totals.items() if not tally.n)

    def cell(self, target: str, aspect: str) -> SummaryCell:
        """Return the opinions of one target's aspect; of a pair that the table does not have, none."""
        return self.cells.get((target, aspect)) or SummaryCell(target, aspect, Tally({}))

    def compare(self, first: str, second: str) -> Iterator[Contrast]:
        """Compare two targets, aspect by aspect."""
        for aspect in self.aspects:
            yield Contrast(aspect, self.cell(first, aspect).tally, self.cell(second, aspect).tally)

    def sentences(self) -> list[str]:
        """Say in a few sentences what the table says; they claim no more than the numbers hold."""
        total = self.total
        if not total.n:
            return [f"None of {plural(self.texts, 'text')} has an opinion on these aspects."]
        spoken_of = len(self.targets) - len(self.silent_targets)
        who = display_name(self.targets[0]) if spoken_of == 1 else plural(spoken_of, "target")
        on = plural(len(self.aspects) - len(self.silent_aspects), "aspect")
        of = f" of {self.texts:,}" if self.has_silent else ""
        texts = f"{self.texts_with_opinion:,}{of} text{'s' * (self.texts_with_opinion != 1 or bool(of))}"
        hold = "holds" if self.texts_with_opinion == 1 else "hold"
        unsure = f" ({self.unsure:,} of them unsure)" if self.unsure else ""
        sentences = [f"{texts} {hold} {plural(total.n, 'opinion')}{unsure} of {who} on {on}."]
        if total.judged:
            sentences += [_overall(total), *_strongest(self), *_best_and_worst(self)]
        return sentences

    def to_dict(self) -> dict[str, Any]:
        """Return all of it for JSON; a target without a name is null."""
        return {
            "title": self.title,
            "says": self.sentences(),
            "files": list(self.files),
            "layout": self.layout,
            "columns": dict(self.columns),
            "rows": self.rows,
            "texts": self.texts,
            "texts_with_opinion": self.texts_with_opinion,
            "opinions": self.total.n,
            "unsure": self.unsure,
            "targets": [target or None for target in self.targets],
            "aspects": list(self.aspects),
            "polarities": list(self.polarities),
            "total": self.total.to_dict(),
            "target_totals": [{"target": t or None, **tally.to_dict()} for t, tally in self.target_totals.items()],
            "aspect_totals": [{"aspect": a, **tally.to_dict()} for a, tally in self.aspect_totals.items()],
            "cells": [cell.to_dict() for cell in self.cells.values()],
            "time": self.times.to_dict(self.targets) if self.times else None,
            "silent": {
                "texts": self.texts - self.texts_with_opinion if self.has_silent else None,
                "targets": [target or None for target in self.silent_targets],
                "aspects": list(self.silent_aspects),
            },
            "rejected": {"rows": self.rejected, "reasons": dict(self.reasons), "unreadable": self.unreadable},
        }

    def write_html(self, path: str | Path, *, numbers: str = "") -> Path:
        """Write the page: one file that needs nothing else; `numbers` is the name of the table of all numbers."""
        from tabsa.pages.rendering import write_page
        from tabsa.pages.report_page import report_page

        return write_page(report_page(self, numbers), path)

    def write_csv(self, path: str | Path, *, escape_formulas: bool = False) -> Path:
        """Write the numbers of every target and aspect: .csv, or any other format that tables are written in.

        With `escape_formulas`, text of a CSV that a spreadsheet would take for a formula has an apostrophe before it.
        """
        from tabsa.tables.writing import write_table

        has_none = any(NONE in cell.tally.counts for cell in self.cells.values())
        counts = {
            polarity: f"polarity {polarity}" if polarity in ("target", "aspect", *_FIGURES) else polarity
            for polarity in (*self.polarities, *((NONE,) if has_none else ()))
        }
        rows: list[dict[str, object]] = []
        for (target, aspect), cell in self.cells.items():
            tally = cell.tally
            shares = map(rounded, (tally.share, *(tally.interval or (None, None)), tally.net))
            figures = zip(_FIGURES, (tally.n, cell.unsure, tally.judged, *shares, tally.verdict), strict=True)
            numbers = {column: tally.counts.get(polarity, 0) for polarity, column in counts.items()}
            rows.append({"target": target or None, "aspect": aspect, **numbers, **dict(figures)})
        return write_table(
            path, ["target", "aspect", *counts.values(), *_FIGURES], rows, escape_formulas=escape_formulas
        )


def _overall(total: Tally) -> str:
    if total.judged < FEW_OPINIONS or total.share is None or total.interval is None:
        return f"Of those that take a side, {total.counted()}: too few to generalise."
    few = ": few, so that little is sure" if total.judged < _FEW_IN_ALL else ""
    return f"{percent(total.share)} of those that take a side are positive ({between(total.interval)}){few}."


def _strongest(summary: Summary) -> list[str]:
    """What is most surely praised or blamed: of one target, or of all together."""
    tallies = {f"{display_name(one.target)} on {one.aspect}": one.tally for one in summary.cells.values()}
    judged = {(one.aspect, one.tally.judged) for one in summary.cells.values()}  # a total of one target is its cell
    totals = summary.aspect_totals.items()
    tallies |= {f"all together on {aspect}": one for aspect, one in totals if (aspect, one.judged) not in judged}
    tallies = {name: tally for name, tally in tallies.items() if tally.judged >= FEW_OPINIONS}
    z = z_of_many(len(tallies))
    ends = [(*wilson(one.positive, one.judged, z), name) for name, one in tallies.items()]
    praised = sorted((one for one in ends if one[0] > 0.5), key=lambda one: -one[0])[:_MOST_FINDINGS]
    blamed = sorted((one for one in ends if one[1] < 0.5), key=lambda one: one[1])[:_MOST_FINDINGS]
    named = [f"{name}: {tallies[name].counted()}" for _, _, name in praised + blamed]
    return [f"Strongest: {'; '.join(named)}."] if named else []


def _best_and_worst(summary: Summary) -> list[str]:
    """The two ends of the targets, if they are surely apart: more surely, the more of them were looked at."""
    judged = {t: tally for t, tally in summary.target_totals.items() if tally.judged >= FEW_OPINIONS}
    if len(judged) < 2:
        return []
    z = z_of_many(len(judged) * (len(judged) - 1) // 2)
    ends = {target: wilson(tally.positive, tally.judged, z) for target, tally in judged.items()}
    best, worst = max(ends, key=lambda target: ends[target][0]), min(ends, key=lambda target: ends[target][1])
    apart = difference(judged[best], judged[worst], z)
    if best == worst or apart is None or apart[1] <= 0:
        return ["No target is surely seen better than another."]
    first, last = (f"{display_name(target)} ({judged[target].counted()})" for target in (best, worst))
    return [f"Seen best is {first}, worst {last}."]
