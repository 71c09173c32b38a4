"""`tabsa data check`: what a labelled file holds, and what looks wrong with it."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from itertools import groupby, zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final, NamedTuple

import typer
from rich.box import SIMPLE_HEAD
from rich.table import Table
from rich.text import Text

from tabsa.cli.console import out
from tabsa.cli.opinions import printable, printable_text
from tabsa.cli.options import (
    LabelledAspectColumn,
    LabelledIdColumn,
    LabelledPolarityColumn,
    LabelledTargetColumn,
    LabelledTextColumn,
    labelled_columns,
)
from tabsa.schema import NEGATIVE, POSITIVE

if TYPE_CHECKING:
    from tabsa.datasets.checking import DataCheck, Finding

_MOST_SHOWN: Final = 3  # findings of a kind; --json has all
_MOST_ASPECTS: Final = 12
_BAR: Final = 8  # characters
_NAME: Final = 20  # characters
_COLOURS: Final = {POSITIVE: "green", NEGATIVE: "red"}


class _Heading(NamedTuple):
    """What a kind of finding is called, what comes of it or can be done, and how urgent it looks."""

    title: str
    advice: str
    style: str = "yellow"


_HEADINGS: Final = {
    "no_target_column": _Heading("no targets", "one for each text, which it does not name"),
    "unreadable": _Heading("rows that cannot be read", "loading stops at the first one", "red"),
    "torn_line": _Heading("lines that break off", "they are left out"),
    "no_opinion": _Heading("no opinions", "there is nothing to learn", "red"),
    "unknown_polarity": _Heading("unusual polarities", "each is learnt as one of its own"),
    "conflicting": _Heading("labelled twice, in conflict", "the later label counts"),
    "repeated": _Heading("labelled twice, alike", "they count once"),
    "target_not_in_text": _Heading("targets not in the text", "mend the name; leave it empty if there is none"),
    "aspect_spellings": _Heading("aspects spelt two ways", "each is learnt as one of its own"),
    "same_text": _Heading("texts under two ids", "they count twice"),
    "rare_polarity": _Heading("rare polarities", "fewer than 10 opinions teach little", "cyan"),
    "rare_aspect": _Heading("rare aspects", "fewer than 10 opinions teach little", "cyan"),
}


def command(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Your labelled data: CSV, TSV, JSON Lines or Parquet.")],
    text_column: LabelledTextColumn = None,
    target_column: LabelledTargetColumn = None,
    aspect_column: LabelledAspectColumn = None,
    polarity_column: LabelledPolarityColumn = None,
    id_column: LabelledIdColumn = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON, with every aspect and finding.")] = False,
) -> None:
    """Count what a labelled file holds, and list what looks wrong with it, by line.

    A bad row does not end the check. In JSON, the columns are the keys of a row and of its opinions.

    Example: `tabsa data check reviews.csv --text-column review`
    """
    from tabsa.datasets.checking import check
    from tabsa.datasets.locate import expanded
    from tabsa.datasets.records import Columns

    columns = labelled_columns(text_column, target_column, aspect_column, polarity_column, id_column)
    found = check(expanded(file), columns or Columns())
    if as_json:
        typer.echo(json.dumps(asdict(found), indent=2))
        return
    _show(found)


def _show(found: "DataCheck") -> None:
    out.print(Text.assemble((printable(found.file), "bold"), f": {_several(found.rows, found.unit)}\n"))
    if found.texts:
        out.print(_counts(found))
        out.print(_opinions(found) if found.opinions else "")
    for code, group in groupby(found.findings, lambda finding: finding.code):
        _show_kind(_HEADINGS[code], list(group), found.unit)
        out.print()
    if found.findings:
        out.print(f"{_several(len(found.findings), 'finding')}; --json lists them all.", highlight=False)
    else:
        out.print("[green]Nothing looks wrong.[/]")


def _counts(found: "DataCheck") -> Table:
    targets = found.targets
    where = f"{targets['named']:,} named, {targets['unnamed']:,} unnamed, {targets['not_in_text']:,} not in the text"
    pairs = f"a target and an aspect asked of it: {found.opinions:,} judged, {found.pairs - found.opinions:,} none"
    table = Table.grid(padding=(0, 2))
    table.add_column(style="bold")
    table.add_column(justify="right")
    table.add_column(style="dim")
    table.add_row("texts", f"{found.texts:,}", f"{found.several_targets:,} with two or more targets")
    table.add_row("targets", f"{sum(targets.values()):,}", where)
    table.add_row("pairs", f"{found.pairs:,}", pairs)
    if found.left_empty:
        table.add_row("left empty", f"{found.left_empty:,}", f"{found.unit}s with an aspect and no polarity: not asked")
    return table


def _opinions(found: "DataCheck") -> Table:
    """The opinions by polarity, and beside that by aspect."""
    shown = dict(list(found.aspects.items())[:_MOST_ASPECTS])
    left = [_bar(name, count, found.polarities, _COLOURS.get(name, "cyan")) for name, count in found.polarities.items()]
    right = [_bar(name, count, found.aspects, "cyan") for name, count in shown.items()]
    if rest := len(found.aspects) - len(shown):
        others = found.opinions - sum(shown.values())
        right.append((Text(f"and {rest:,} more", "dim"), Text(f"{others:,}", "dim"), Text("")))
    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    for heading in ("polarity", "aspect"):
        table.add_column(heading, no_wrap=True)
        table.add_column("", justify="right", no_wrap=True)
        table.add_column("", no_wrap=True)
    nothing = (Text(""),) * 3
    for one, other in zip_longest(left, right, fillvalue=nothing):
        table.add_row(*one, *other)
    return table


def _bar(name: str, count: int, counts: Mapping[str, int], colour: str) -> tuple[Text, Text, Text]:
    """A name, how many opinions it has, and their share, with a bar as long as that against the largest."""
    label = printable_text(name)
    label.truncate(_NAME, overflow="ellipsis")
    share = count / sum(counts.values())
    block = "#" if out.options.ascii_only else "━"
    bar = block * round(_BAR * count / max(counts.values()))
    percent = " <1%" if 0 < share < 0.005 else f"{share:4.0%}"
    return label, Text(f"{count:,}"), Text.assemble(percent, (f" {bar:<{_BAR}}", colour))


def _show_kind(heading: _Heading, findings: Sequence["Finding"], unit: str) -> None:
    count = "" if findings[0].line is None else f" ({len(findings):,})"
    out.print(Text.assemble((heading.title + count, f"bold {heading.style}"), (f": {heading.advice}", "dim")))
    table = Table.grid(padding=(0, 2))
    table.add_column(style="dim", justify="right", no_wrap=True)
    table.add_column(overflow="fold")
    for place, message in _rows(findings, unit):
        table.add_row(f"  {place}", message)
    out.print(table)


def _rows(findings: Sequence["Finding"], unit: str) -> Iterator[tuple[str, Text]]:
    """The first findings, those with the same words together, and how many there are besides."""
    alike: dict[str, list[int | None]] = {}
    for finding in findings:
        alike.setdefault(finding.message, []).append(finding.line)
    shown = 0
    for message, (line, *others) in list(alike.items())[:_MOST_SHOWN]:
        cell = printable_text(message)
        if others:
            more = f" and {len(others) - _MOST_SHOWN:,} more" if len(others) > _MOST_SHOWN else ""
            cell.append(f" (also {', '.join(map(str, others[:_MOST_SHOWN]))}{more})", "dim")
        shown += 1 + len(others)
        yield "file" if line is None else f"{unit} {line}", cell
    if shown < len(findings):
        yield "", Text(f"and {len(findings) - shown:,} more", "dim")


def _several(count: int, noun: str) -> str:
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"
