"""The tables of a job: which there are, and what the results of each are called."""

import glob
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from tabsa.errors import ConfigError, DataNotFoundError, OutputError
from tabsa.scoring import rejects_file
from tabsa.scoring.many.storage import FileEntry, Folder, UrlFolder, is_url, shown
from tabsa.tables.kinds import INPUT_SUFFIXES, SUFFIXES, WORKBOOK, input_suffix_of

PIECE: Final = re.compile(r"-(\d{5,})(\.\w+(?:\.gz)?)$")  # how the name of a piece of a table ends
_REJECTS: Final = ".rejects.jsonl"


@dataclass(frozen=True, slots=True)
class Part:
    """One table of a job. Locations are absolute, because workers stand in other folders than the command."""

    name: str  # of its results, in the output's folder
    source: str  # where it is: a path or a URL
    out: str  # where its results go
    bytes: int
    changed: int  # when, in nanoseconds

    def identity(self) -> dict[str, Any]:
        """What tells the table from another, or from itself after a change."""
        return {"bytes": self.bytes, "changed": self.changed}


def piece_name(table: str, number: int) -> str:
    """What the results of a piece of a table are called: `sub/reviews-00012.parquet`."""
    return re.sub(r"(\.\w+(?:\.gz)?)$", rf"-{number:05}\1", table)


def piece_number(name: str) -> int | None:
    """Which piece of a table has this name; None where it is that of a whole table."""
    found = PIECE.search(name)
    return int(found[1]) if found else None


def is_many(source: str | Path) -> bool:
    """Whether this names a folder, or is a pattern such as `reviews/*.csv`, rather than one table."""
    path = Path(source)
    return path.is_dir() or (glob.has_magic(str(source)) and not path.exists())


def find_parts(source: str | Path, out: str | Path, form: str | None = None) -> list[Part]:
    """The tables of a file, a folder (with all below it) or a pattern, here or at a URL, by name.

    Names that begin with `_`, `.` or `~$` are not tables, nor are files of rejects, nor what lies in `out`.

    Args:
        source: the file, folder or pattern; in a pattern, `**` is any number of folders.
        out: the folder for the results.
        form: the format of the results, such as "parquet" or "csv.gz"; each table's own by default, a workbook's CSV.
    """
    if form is not None and f".{form}" not in SUFFIXES:
        known = ", ".join(suffix[1:] for suffix in SUFFIXES)
        raise ConfigError(f"there is no format '{form}'; expected one of {known}")
    folder, tables = _url_tables(str(source)) if is_url(source) else _local_tables(Path(source), Path(out))
    to = shown(str(out)).rstrip("/") if is_url(out) else str(Path(out).resolve())
    parts = [
        Part(name := _name(table, form), folder.location_of(table), f"{to}/{name}", entry.bytes, entry.changed)
        for table, entry in sorted(tables.items())
        if not shown(folder.location_of(table)).startswith(f"{to}/")
    ]
    if not parts:
        raise DataNotFoundError(f"no table in {source}; expected files ending in one of {', '.join(INPUT_SUFFIXES)}")
    _refuse_doubles(parts)
    return parts


def _local_tables(source: Path, out: Path) -> tuple[Folder, dict[str, FileEntry]]:
    if not is_many(source):
        if not source.is_file():
            raise DataNotFoundError(f"no file {source}; expected a table, a folder of tables, or a pattern")
        input_suffix_of(source)
        status = source.stat()
        return Folder(source.parent.resolve()), {source.name: FileEntry(status.st_size, status.st_mtime_ns)}
    root, pattern = (source, None) if source.is_dir() else _split(str(source.absolute()))
    folder = Folder(Path(root).resolve())
    if not is_url(out) and Path(folder.location).is_relative_to(out.resolve()):
        raise OutputError(f"{out} holds the input; write to another folder")
    return folder, _matching(folder.entries(), pattern)


def _url_tables(source: str) -> tuple[Folder, dict[str, FileEntry]]:
    # What comes after a `?` says how to reach the store, and is no pattern.
    base, mark, query = source.partition("?")
    root, pattern = _split(base) if glob.has_magic(base) else (base, None)
    if pattern is None and base.lower().endswith(INPUT_SUFFIXES):
        above, _, name = base.rpartition("/")
        folder = UrlFolder(above + mark + query)
        if entry := folder.entry(name):
            return folder, {name: entry}
    folder = UrlFolder(root + mark + query)
    return folder, _matching(folder.entries(), pattern)


def _split(source: str) -> tuple[str, str]:
    """The folder that the names of tables start from, and the pattern below it."""
    pieces = source.split("/")
    first = next(n for n, piece in enumerate(pieces) if glob.has_magic(piece))
    return "/".join(pieces[:first]) or "/", "/".join(pieces[first:])


def _matching(entries: dict[str, FileEntry], pattern: str | None) -> dict[str, FileEntry]:
    """Those of a folder's files that are tables and match."""
    matches = re.compile(_regular(pattern) if pattern else ".*").fullmatch
    return {
        name: entry
        for name, entry in entries.items()
        if matches(name)
        and name.lower().endswith(INPUT_SUFFIXES)
        and not name.endswith(_REJECTS)
        and not any(piece.startswith(("_", ".", "~$")) for piece in name.split("/"))
    }


def _regular(pattern: str) -> str:
    """A pattern of file names as a regular expression; `**` is any number of folders, `*` and `?` stay in one."""
    marks = {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}
    pieces = re.split(r"(\*\*/|\*\*|\*|\?|\[!?\]?[^\]]*\])", pattern)
    return "".join(
        marks.get(piece) or (piece.replace("[!", "[^") if re.fullmatch(r"\[.+\]", piece) else re.escape(piece))
        for piece in pieces
    )


def _name(table: str, form: str | None) -> str:
    suffix = input_suffix_of(Path(table))
    if form is None and suffix == WORKBOOK:
        form = "csv"  # workbooks are read, and not written
    return table if form is None else table[: -len(suffix)] + f".{form}"


def _refuse_doubles(parts: list[Part]) -> None:
    seen: dict[str, str] = {}
    for part in parts:
        for name in (part.out, str(rejects_file(Path(part.out)))):
            if name in seen:
                raise ConfigError(f"{seen[name]} and {part.source} would both be written to {name}; rename one")
            seen[name] = part.source
