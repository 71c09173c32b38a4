"""`tabsa data`: list the data there is; `fetch`: get more; `check`: look at your own labelled file."""

import os
from collections.abc import Mapping
from dataclasses import asdict
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from tabsa.cli import options
from tabsa.cli.console import err, note, out, print_json, printable
from tabsa.errors import DataError, DataNotFoundError
from tabsa.files import reason, sha256
from tabsa.pages.tally import percent

if TYPE_CHECKING:
    from tabsa.datasets.checking import DataCheck
    from tabsa.datasets.locate import Entry

app = typer.Typer(rich_markup_mode="markdown", pretty_exceptions_enable=False)
_MOST_SHOWN: Final = 3  # findings of a kind; --json has all
_MOST_ASPECTS: Final = 12
# The title of a kind of finding, what comes of it or can be done, and its colour.
_FINDINGS: Final = {
    "guessed_text_column": ("texts by guess", "name another column if it is wrong", "yellow"),
    "no_target_column": ("no targets", "one for each text, which it does not name", "yellow"),
    "unreadable": ("rows that cannot be read", "loading stops at the first one", "red"),
    "no_opinion": ("no opinions", "there is nothing to learn", "red"),
    "unknown_polarity": ("unusual polarities", "each is learnt as one of its own", "yellow"),
    "conflicting": ("labelled twice, in conflict", "the later label counts", "yellow"),
    "target_not_in_text": ("targets not in the text", "mend the name; leave it empty if there is none", "yellow"),
    "overlapping_mentions": ("mentions that overlap", "the longest of them stays", "yellow"),
    "repeated_text": ("the same text twice", "give both rows one id, or leave one out", "yellow"),
    "not_english": ("not in English", "the models in the box have learnt from English alone", "yellow"),
    "overlapping_aspects": ("aspects that overlap", "opinions are easily seen on several at once", "yellow"),
    "aspect_spellings": ("aspects spelt two ways", "each is learnt as one of its own", "yellow"),
}


@app.callback(invoke_without_command=True)
def datasets(
    context: typer.Context,
    data_dir: options.DataDir = None,
    as_json: Annotated[bool, options.flag("--json", "Print JSON, with files, sha256s and licences.")] = False,
) -> None:
    """List the datasets and word vectors: where they are, how large, and whether they are the published files.

    Data is looked for in `--data-dir`, then `$TABSA_DATA`, then `../shared/data`, then your cache.

    Example: `tabsa data --json`
    """
    if context.invoked_subcommand is not None:
        context.obj = data_dir
        return
    from tabsa.datasets.loading import DATASETS
    from tabsa.datasets.locate import DATASET, catalogue, data_folders, entry

    data_folders(data_dir)  # a folder that was given and is not there is an error, not an empty list
    entries = {name: entry(name) for name in DATASETS}
    entries |= {name: one for name, one in catalogue().items() if one.kind != DATASET}
    found = [_record(name, one, data_dir) for name, one in entries.items()]
    if as_json:
        print_json(found)
        return
    from rich.box import SIMPLE_HEAD
    from rich.table import Table
    from rich.text import Text

    table = Table("name", "size", "files", box=SIMPLE_HEAD, pad_edge=False)
    for one in found:
        name = Text.assemble((one["name"], "bold"), (f"\n{one['folder'] or one['home'] or ''}", "dim"))
        size = sum(file["size"] for file in one["files"])
        published = [file["published"] for file in one["files"] if file["published"] is not None]
        state = "[green]as published[/]" if published else ""
        if not all(published):
            state = "[yellow]differ[/] from those published"
        if one["missing"]:
            state = f"[yellow]{'incomplete' if size else 'not found'}[/]: {one['get']}"
        table.add_row(name, f"{size / 1e6:,.1f} MB" if size else "", state)
    out.print(table)


def _record(name: str, source: "Entry", data_dir: Path | None) -> dict[str, Any]:
    """Describe a dataset or resource; files of word vectors take long to hash, and are compared by their size."""
    from tabsa.datasets.locate import VECTORS, find

    files: list[dict[str, Any]] = []
    missing: list[str] = []
    folder = None
    for file in source.files:
        try:
            path = find(file.path, data_dir)
            size, digest = path.stat().st_size, None if source.kind == VECTORS else sha256(path)
        except DataNotFoundError:
            missing.append(file.path)
            continue
        except OSError as e:
            raise DataError(f"cannot read {path}: {reason(e)}") from e
        expected, got = (file.size, size) if digest is None else (file.sha256, digest)
        published = None if expected is None else got == expected
        files.append({"path": str(path), "size": size, "sha256": digest, "published": published})
        folder = folder or str(path.parents[len(Path(file.path).parts) - 1])
    get = f"tabsa data fetch {source.name}" if source.fetchable else None
    if source.files and not get:
        get = f"bring your own {source.files[0].path}"
    about = {"name": name, "kind": source.kind, "description": source.description, "licence": source.licence}
    found = {"home": source.home, "folder": folder, "files": files, "missing": missing}
    return {**about, **found, "get": get}


@app.command()
def fetch(
    context: typer.Context,
    name: Annotated[str, typer.Argument(metavar="NAME", help="What to fetch; `tabsa data` lists the names.")],
    data_dir: Annotated[Path | None, options.optional("DIR", "[default: `$TABSA_DATA`, or your cache]")] = None,
) -> None:
    """Download a dataset or word vectors from their public home, and check their sha256.

    What is already there is not downloaded again. Downloads need `pip install 'tabsa[data]'`.

    Example: `tabsa data fetch sentihood`
    """
    from tabsa.datasets.locate import ENVIRONMENT, cache_folder, entry
    from tabsa.datasets.locate import fetch as download

    wanted = entry(name)
    given = data_dir or context.obj or os.environ.get(ENVIRONMENT)
    for path in download(name, Path(given).expanduser() if given else cache_folder(), progress=err.is_terminal):
        typer.echo(path)
    note(f"Licence: {wanted.licence}. Cite: {wanted.citation}.")


@app.command()
def check(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Your labelled data: CSV, TSV, JSON Lines or Parquet.")],
    text_column: options.LabelledText = None,
    target_column: options.LabelledTarget = None,
    aspect_column: options.LabelledAspect = None,
    polarity_column: options.LabelledPolarity = None,
    id_column: options.LabelledId = None,
    as_json: Annotated[bool, options.flag("--json", "Print JSON, with every aspect and finding.")] = False,
) -> None:
    """Count what a labelled file holds, and list what looks wrong with it, by line.

    A bad row does not end the check. In JSON, the columns are the keys of a row and of its opinions.

    Example: `tabsa data check reviews.csv --text-column review`
    """
    from tabsa.datasets.checking import check as check_file
    from tabsa.datasets.records import Columns

    columns = options.labelled_columns(text_column, target_column, aspect_column, polarity_column, id_column)
    found = check_file(file.expanduser(), columns or Columns())
    if as_json:
        print_json(asdict(found))
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
    listed = [f"{name} {count:,} ({percent(count / total)})" for name, count in list(counts.items())[:_MOST_ASPECTS]]
    more = len(counts) - len(listed)
    return ", ".join(listed) + (f" and {more:,} more" if more else "")
