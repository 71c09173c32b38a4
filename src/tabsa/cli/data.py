"""`tabsa data`: what data there is and where it lies; `fetch`: get more; `check` (data_check.py): look at your own."""

import json
import os
import warnings
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.box import SIMPLE_HEAD
from rich.filesize import decimal
from rich.table import Table
from rich.text import Text

from tabsa.cli import data_check
from tabsa.cli.console import err, out, warn
from tabsa.errors import DataError, DataNotFoundError, FetchError
from tabsa.files import reason, sha256

if TYPE_CHECKING:
    from tabsa.datasets.locate import Entry, File

app = typer.Typer(rich_markup_mode="markdown", pretty_exceptions_enable=False)
app.command("check")(data_check.command)


@dataclass(slots=True)
class FoundFile:
    """A file that is there."""

    path: str
    size: int
    sha256: str | None
    """None for word vectors, which take long to hash."""
    published: bool | None
    """Whether it is the published file, by its sha256 (word vectors: by its size); None where that is not known."""


@dataclass(slots=True)
class Found:
    """What is there of one dataset, of word vectors or of another resource; `tabsa data --json` prints these."""

    name: str
    description: str
    get: str | None = None
    """How to get it; None for what the package carries."""
    published_size: int | None = None
    folder: str | None = None
    """The data folder it is in; None where it is not found, or in the package."""
    files: list[FoundFile] = field(default_factory=list)
    home: str = "the package"
    """Where it is, if it is in no data folder."""
    missing: list[str] = field(default_factory=list)
    splits: dict[str, dict[str, int]] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)
    error: str | None = None


@app.callback(invoke_without_command=True)
def datasets(
    context: typer.Context,
    data_dir: Annotated[Path | None, typer.Option(metavar="DIR", help="Look for data here first.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON, with whole sha256s.")] = False,
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
        typer.echo(json.dumps({kind: [asdict(one) for one in ones] for kind, ones in found.items()}, indent=2))
        return
    everything = [one for ones in found.values() for one in ones]
    out.print(_dataset_table([one for one in found["datasets"] if not one.missing]))
    if others := [one for one in (*found["vectors"], *found["resources"]) if not one.missing]:
        out.print(_file_table(others))
    if missing := [one for one in everything if one.missing]:
        out.print(_missing_table(missing))
    for message in (message for one in everything for message in (*one.warnings, one.error) if message):
        warn(message)


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
    from tabsa.datasets.locate import entry
    from tabsa.datasets.locate import fetch as download

    wanted = entry(name)
    paths = download(name, _destination(data_dir or context.obj), progress=err.is_terminal)
    for path in paths:
        typer.echo(path)
    typer.echo(f"Licence: {wanted.licence}. Cite: {wanted.citation}.", err=True)


def _destination(data_dir: Path | None) -> Path:
    from tabsa.datasets.locate import ENVIRONMENT, cache_folder

    named = os.environ.get(ENVIRONMENT)
    if data_dir is None and not named:
        return cache_folder()
    try:
        return (data_dir or Path(named or "")).expanduser()
    except RuntimeError as e:
        raise FetchError(f"cannot tell where {data_dir or named} is: {e}; write the folder out") from e


def _survey(data_dir: Path | None) -> dict[str, list[Found]]:
    """Every dataset that loads by name, and the word vectors and other resources of the catalogue."""
    from tabsa.datasets.loading import DATASETS
    from tabsa.datasets.locate import RESOURCE, VECTORS, catalogue, data_folders

    data_folders(data_dir)  # a folder that was asked for and is not there is an error, not an empty list
    datasets = []
    for name, source in DATASETS.items():
        one = Found(name, source.description, home=source.home)
        for entry in catalogue().values():
            if name in entry.datasets:
                _find_files(one, entry, data_dir)
        if not one.missing:
            _count(one, source.counted, data_dir)
        datasets.append(one)
    others: dict[str, list[Found]] = {VECTORS: [], RESOURCE: []}
    for entry in catalogue().values():
        if entry.kind in others:
            one = Found(entry.name, entry.description)
            _find_files(one, entry, data_dir)
            others[entry.kind].append(one)
    return {"datasets": datasets, "vectors": others[VECTORS], "resources": others[RESOURCE]}


def _find_files(one: Found, entry: "Entry", data_dir: Path | None) -> None:
    from tabsa.datasets.locate import VECTORS, find

    one.get = f"tabsa data fetch {entry.name}" if entry.fetchable else f"bring your own {entry.files[0].path}"
    one.published_size = sum(file.size or 0 for file in entry.files) or None
    for file in entry.files:
        try:
            path = find(file.path, data_dir)
            one.files.append(_look_at(path, file, hashed=entry.kind != VECTORS))
        except DataNotFoundError:
            one.missing.append(file.path)
        except OSError as e:
            one.error = f"cannot read {path}: {reason(e)}"
        else:
            one.folder = one.folder or str(path.parents[len(Path(file.path).parts) - 1])


def _look_at(path: Path, file: "File", *, hashed: bool) -> FoundFile:
    size = path.stat().st_size
    digest = sha256(path) if hashed else None
    expected, got = (file.sha256, digest) if hashed else (file.size, size)
    return FoundFile(str(path), size, digest, None if expected is None else got == expected)


def _count(one: Found, splits: Sequence[str], data_dir: Path | None) -> None:
    from tabsa.datasets.loading import load

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            for split in splits:
                dataset = load(one.name, split, data_dir=data_dir)
                groups = sum(1 for _ in dataset.groups())
                one.splits[split] = {"sentences": len(dataset.examples), "groups": groups}
        except DataNotFoundError:
            one.missing, one.get = [one.name], "bring your own copy: see docs/data.md"
        except DataError as e:
            one.error = str(e)
    one.warnings = [str(warning.message) for warning in caught]


def _table(*headings: str) -> Table:
    """Headings, with a column of descriptions after the first one where there is room for it."""
    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    first, *others = headings
    table.add_column(first, overflow="fold", min_width=18)
    if _wide():
        table.add_column("what", max_width=40, style="dim")
    for heading in others:
        table.add_column(heading, no_wrap=True)
    return table


def _wide() -> bool:
    return out.width >= 110


def _add(table: Table, one: Found, *cells: Text) -> None:
    where = one.files[0].path if len(one.files) == 1 else f"in {one.folder or one.home}"
    place = Text.assemble((one.name, "bold"), "\n", (where, "dim"))
    table.add_row(place, *([one.description] if _wide() else []), *cells)


def _dataset_table(found: list[Found]) -> Table:
    table = _table("dataset", "train / dev / test", "sha256")
    for one in found:
        _add(table, one, _counts(one), _digests(one))
    return table


def _file_table(found: list[Found]) -> Table:
    table = _table("word vectors, resources", "size", "published")
    for one in found:
        _add(table, one, _size(one), _verdict(one))
    return table


def _missing_table(missing: list[Found]) -> Table:
    table = Table("missing", "how to get it", "size", box=SIMPLE_HEAD, pad_edge=False)
    for one in missing:
        state = "incomplete" if one.files else "not found"
        size = decimal(one.published_size) if one.published_size else ""
        table.add_row(Text(one.name, "bold"), Text.assemble((f"{state}: ", "yellow"), one.get or ""), size)
    return table


def _counts(one: Found) -> Text:
    lines = (
        f"{' / '.join(str(count[unit]) for count in one.splits.values())} {unit}" for unit in ("sentences", "groups")
    )
    return Text("\n".join(lines) if one.splits else "")


def _digests(one: Found) -> Text:
    lines = [
        Text.assemble(
            (file.sha256 or "")[:12], " ", ("published", "green") if file.published else ("differs", "yellow")
        )
        for file in one.files
    ]
    return Text("\n").join(lines)


def _size(one: Found) -> Text:
    size = sum(file.size for file in one.files)
    whole = one.published_size or size
    return Text(decimal(size) if size == whole else f"{decimal(size)} of {decimal(whole)}")


def _verdict(one: Found) -> Text:
    known = [file for file in one.files if file.published is not None]
    if not all(file.published for file in known):
        return Text("no", "yellow")
    return Text("yes" if all(file.sha256 for file in known) else "by its size", "green") if known else Text("")
