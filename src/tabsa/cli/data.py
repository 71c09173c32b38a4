"""`tabsa data`: list the data there is; `fetch`: get more; `check`: look at your own labelled file."""

import json
import os
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from tabsa.cli.console import err, out, printable, warn
from tabsa.cli.options import (
    LabelledAspectColumn,
    LabelledIdColumn,
    LabelledPolarityColumn,
    LabelledTargetColumn,
    LabelledTextColumn,
    labelled_columns,
)
from tabsa.errors import DataError, DataNotFoundError
from tabsa.files import reason, sha256

if TYPE_CHECKING:
    from tabsa.datasets.checking import DataCheck
    from tabsa.datasets.locate import Entry

app = typer.Typer(rich_markup_mode="markdown", pretty_exceptions_enable=False)
_MOST_SHOWN: Final = 3  # findings of a kind; --json has all
_MOST_ASPECTS: Final = 12
# The title of a kind of finding, what comes of it or can be done, and its colour.
_FINDINGS: Final = {
    "no_target_column": ("no targets", "one for each text, which it does not name", "yellow"),
    "unreadable": ("rows that cannot be read", "loading stops at the first one", "red"),
    "torn_line": ("lines that break off", "they are left out", "yellow"),
    "no_opinion": ("no opinions", "there is nothing to learn", "red"),
    "unknown_polarity": ("unusual polarities", "each is learnt as one of its own", "yellow"),
    "conflicting": ("labelled twice, in conflict", "the later label counts", "yellow"),
    "repeated": ("labelled twice, alike", "they count once", "yellow"),
    "target_not_in_text": ("targets not in the text", "mend the name; leave it empty if there is none", "yellow"),
    "aspect_spellings": ("aspects spelt two ways", "each is learnt as one of its own", "yellow"),
    "rare_polarity": ("rare polarities", "fewer than 10 opinions teach little", "cyan"),
    "rare_aspect": ("rare aspects", "fewer than 10 opinions teach little", "cyan"),
}


@app.callback(invoke_without_command=True)
def datasets(
    context: typer.Context,
    data_dir: Annotated[Path | None, typer.Option(metavar="DIR", help="Look for data here first.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON, with files, sha256s and licences.")] = False,
) -> None:
    """List the datasets and word vectors: where they are, how large, and whether they are the published files.

    Data is looked for in `--data-dir`, then `$TABSA_DATA`, then `../shared/data`, then your cache.

    Example: `tabsa data --json`
    """
    if context.invoked_subcommand is not None:
        context.obj = data_dir
        return
    found = _survey(data_dir)
    if as_json:
        typer.echo(json.dumps(found, indent=2))
        return
    from rich.box import SIMPLE_HEAD
    from rich.table import Table
    from rich.text import Text

    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    for heading, width in (("name", 20), ("holds", 14), ("files", 24)):
        table.add_column(heading, min_width=width, overflow="fold")
    for one in found:
        where = Text(one["folder"] or ("" if one["missing"] else one["home"] or ""), "dim")
        table.add_row(Text.assemble((one["name"], "bold"), "\n", where), _contents(one), _state(one))
    out.print(table)
    for message in (message for one in found for message in (*one["warnings"], one["error"]) if message):
        warn(message)


def _contents(one: Mapping[str, Any]) -> str:
    """Say how much is there: sentences of each split, or megabytes."""
    if one["splits"]:
        return f"{' / '.join(str(count['sentences']) for count in one['splits'].values())} sentences"
    size = sum(file["size"] for file in one["files"])
    return f"{size / 1e6:,.1f} MB" if size else ""


def _state(one: Mapping[str, Any]) -> str:
    if one["missing"]:
        return f"[yellow]{'incomplete' if one['files'] else 'not found'}[/]: {one['get']}"
    published = [file["published"] for file in one["files"] if file["published"] is not None]
    return (
        ""
        if not published
        else "[green]as published[/]"
        if all(published)
        else "[yellow]differ[/] from those published"
    )


@app.command()
def fetch(
    context: typer.Context,
    name: Annotated[str, typer.Argument(metavar="NAME", help="What to fetch; `tabsa data` lists the names.")],
    data_dir: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Put it here. [default: `$TABSA_DATA`, or your cache]", show_default=False),
    ] = None,
) -> None:
    """Download a dataset or word vectors from their public home, and check their sha256.

    What is already there is not downloaded again. Downloads need `pip install 'tabsa[data]'`.

    Example: `tabsa data fetch sentihood`
    """
    from tabsa.datasets.locate import ENVIRONMENT, cache_folder, entry, expanded
    from tabsa.datasets.locate import fetch as download

    wanted = entry(name)
    named = data_dir or context.obj or os.environ.get(ENVIRONMENT)
    for path in download(name, expanded(Path(named)) if named else cache_folder(), progress=err.is_terminal):
        typer.echo(path)
    typer.echo(f"Licence: {wanted.licence}. Cite: {wanted.citation}.", err=True)


def _survey(data_dir: Path | None) -> list[dict[str, Any]]:
    """Describe every dataset that loads by name, and the word vectors and other resources of the catalogue."""
    from tabsa.datasets.loading import DATASETS
    from tabsa.datasets.locate import DATASET, catalogue, data_folders, entry

    data_folders(data_dir)  # a folder that was given and is not there is an error, not an empty list
    found = []
    for name, module in DATASETS.items():
        one = _record(name, entry(name), data_dir)
        if not one["missing"]:
            counted = [split for split in ("train", "dev", "test") if split in module.SPLITS] or module.SPLITS[:1]
            _count(one, counted, data_dir)
        found.append(one)
    others = (source for source in catalogue().values() if source.kind != DATASET)
    return [*found, *(_record(source.name, source, data_dir) for source in others)]


def _record(name: str, source: "Entry", data_dir: Path | None) -> dict[str, Any]:
    nothing: dict[str, Any] = {"files": [], "missing": [], "splits": {}, "warnings": []}
    known = {"name": name, "kind": source.kind, "description": source.description, "home": source.home, "folder": None}
    one = known | {"get": None, "licence": source.licence, "error": None} | nothing
    if source.files:
        _add_files(one, source, data_dir)
    return one


def _add_files(one: dict[str, Any], entry: "Entry", data_dir: Path | None) -> None:
    """Find an entry's files; those of word vectors take long to hash, and are told by their size."""
    from tabsa.datasets.locate import VECTORS, find

    one["get"] = f"tabsa data fetch {entry.name}" if entry.fetchable else f"bring your own {entry.files[0].path}"
    for file in entry.files:
        try:
            path = find(file.path, data_dir)
            size, digest = path.stat().st_size, None if entry.kind == VECTORS else sha256(path)
        except DataNotFoundError:
            one["missing"].append(file.path)
            continue
        except OSError as e:
            one["error"] = f"cannot read {path}: {reason(e)}"
            continue
        expected, got = (file.size, size) if digest is None else (file.sha256, digest)
        published = None if expected is None else got == expected
        one["files"].append({"path": str(path), "size": size, "sha256": digest, "published": published})
        one["folder"] = one["folder"] or str(path.parents[len(Path(file.path).parts) - 1])


def _count(one: dict[str, Any], splits: Sequence[str], data_dir: Path | None) -> None:
    from tabsa.datasets.loading import load

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            for split in splits:
                dataset = load(one["name"], split, data_dir=data_dir)
                groups = sum(1 for _ in dataset.groups())
                one["splits"][split] = {"sentences": len(dataset.examples), "groups": groups}
        except DataNotFoundError:
            one["missing"], one["get"] = [one["name"]], "bring your own copy: see docs/data.md"
        except DataError as e:
            one["error"] = str(e)
    one["warnings"] = [str(warning.message) for warning in caught]


@app.command()
def check(
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
    from tabsa.datasets.checking import check as check_file
    from tabsa.datasets.locate import expanded
    from tabsa.datasets.records import Columns

    columns = labelled_columns(text_column, target_column, aspect_column, polarity_column, id_column)
    found = check_file(expanded(file), columns or Columns())
    if as_json:
        typer.echo(json.dumps(asdict(found), indent=2))
    else:
        _show(found)


def _show(found: "DataCheck") -> None:
    from rich.text import Text

    def line(*parts: str | tuple[str, str]) -> None:
        out.print(
            Text.assemble(*((printable(p), "") if isinstance(p, str) else (printable(p[0]), p[1]) for p in parts))
        )

    line((found.file, "bold"), f": {found.rows:,} {found.unit}{'s' * (found.rows != 1)}")
    if found.texts:
        line(f"  {found.texts:,} texts, {found.several_targets:,} with two or more targets")
        kinds = ", ".join(f"{count:,} {kind.replace('_', ' ')}" for kind, count in found.targets.items())
        line(f"  {sum(found.targets.values()):,} targets: {kinds}")
        line(f"  {found.pairs:,} questions (a target and an aspect): {found.opinions:,} judged, "
             f"{found.pairs - found.opinions:,} none")  # fmt: skip
    if found.left_empty:
        line(f"  {found.left_empty:,} {found.unit}s with an aspect and no polarity: no question")
    if found.opinions:
        line(f"  polarities: {_shares(found.polarities)}")
        line(f"  aspects: {_shares(found.aspects)}")
    for code, group in groupby(found.findings, lambda finding: finding.code):
        title, advice, colour = _FINDINGS[code]
        findings = list(group)
        count = "" if findings[0].line is None else f" ({len(findings):,})"
        line("\n", (title + count, f"bold {colour}"), (f": {advice}", "dim"))
        alike: dict[str, list[int | None]] = {}
        for finding in findings:
            alike.setdefault(finding.message, []).append(finding.line)
        for message, lines in list(alike.items())[:_MOST_SHOWN]:
            more = f" (also {', '.join(map(str, lines[1:4]))}{' ...' * (len(lines) > 4)})" if lines[1:] else ""
            line(("  file" if lines[0] is None else f"  {found.unit} {lines[0]}", "dim"), f"  {message}", (more, "dim"))
        if len(alike) > _MOST_SHOWN:
            line((f"  and {len(alike) - _MOST_SHOWN:,} more kinds", "dim"))
    if several := len(found.findings):
        line("\n", f"{several:,} finding{'s' * (several > 1)}; --json lists them all.")
    else:
        line("\n", ("Nothing looks wrong.", "green"))


def _shares(counts: Mapping[str, int]) -> str:
    """List counts with their shares, the first of many."""
    total = sum(counts.values())
    listed = [f"{name} {count:,} ({count / total:.0%})" for name, count in list(counts.items())[:_MOST_ASPECTS]]
    more = len(counts) - len(listed)
    return ", ".join(listed) + (f" and {more:,} more" if more else "")
