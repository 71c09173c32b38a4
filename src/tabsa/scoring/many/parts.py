"""The parts of a job: which tables there are, and where the results of each go."""

import glob
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tabsa.errors import ConfigError, DataError, DataNotFoundError, OutputError
from tabsa.files import reason
from tabsa.scoring import rejects_file
from tabsa.tables.kinds import INPUT_SUFFIXES, SUFFIXES, WORKBOOK, input_suffix_of

_REJECTS = ".rejects.jsonl"


@dataclass(frozen=True, slots=True)
class Part:
    """One table of a job. Paths are absolute, because workers stand in other folders than the command."""

    name: str  # the output's path in the output folder
    source: str
    out: str
    bytes: int  # of the table
    changed: int  # when the table was, in nanoseconds

    def identity(self) -> dict[str, Any]:
        """What tells the table from another, or from itself after a change."""
        return {"bytes": self.bytes, "changed": self.changed}


def is_many(source: Path) -> bool:
    """Whether this names a folder, or is a pattern such as `reviews/*.csv`, rather than one table."""
    return source.is_dir() or (glob.has_magic(str(source)) and not source.exists())


def find_parts(source: Path, out: Path, form: str | None = None) -> list[Part]:
    """The tables of a file, a folder (with all below it) or a pattern, by name.

    Names that begin with `_`, `.` or `~$` are not tables, nor are files of rejects, nor what lies in `out`.

    Args:
        source: the file, folder or pattern; in a pattern, `**` is any number of folders.
        out: the folder for the results.
        form: the format of the results, such as "parquet" or "csv.gz"; each table's own by default, a workbook's CSV.
    """
    if form is not None and f".{form}" not in SUFFIXES:
        known = ", ".join(suffix[1:] for suffix in SUFFIXES)
        raise ConfigError(f"there is no format '{form}'; expected one of {known}")
    (root, pattern), folder = _split(source), out.resolve()
    if root.is_relative_to(folder):
        raise OutputError(f"{out} holds the input; write to another folder")
    parts = [
        _part(path, path.relative_to(root), folder, form)
        for path in sorted(_tables(source, root, pattern))
        if not path.is_relative_to(folder)
    ]
    if not parts:
        raise DataNotFoundError(f"no table in {source}; expected files ending in one of {', '.join(INPUT_SUFFIXES)}")
    _refuse_doubles(parts)
    return parts


def _split(source: Path) -> tuple[Path, str | None]:
    """The folder that the names of parts start from, and, where it is one, the pattern below it."""
    if source.is_dir():
        return source.resolve(), None
    if not is_many(source):
        return source.parent.resolve(), None
    pieces = source.absolute().parts
    first = next(n for n, piece in enumerate(pieces) if glob.has_magic(piece))
    return Path(*pieces[:first]).resolve(), "/".join(pieces[first:])


def _tables(source: Path, root: Path, pattern: str | None) -> Iterator[Path]:
    if not is_many(source):
        if not source.is_file():
            raise DataNotFoundError(f"no file {source}; expected a table, a folder of tables, or a pattern")
        input_suffix_of(source)
        yield root / source.name
        return
    for path in root.glob(pattern) if pattern else _below(root):
        hidden = any(piece.startswith(("_", ".", "~$")) for piece in path.relative_to(root).parts)
        table = path.name.lower().endswith(INPUT_SUFFIXES) and not path.name.endswith(_REJECTS)
        if table and not hidden and path.is_file():
            yield path


def _below(folder: Path) -> Iterator[Path]:
    def refuse(error: OSError) -> None:
        raise DataError(f"cannot read {error.filename}: {reason(error)}") from error

    for name, _, files in os.walk(folder, onerror=refuse):
        yield from (Path(name) / file for file in files)


def _part(path: Path, relative: Path, folder: Path, form: str | None) -> Part:
    name = relative.as_posix()
    suffix = input_suffix_of(path)
    if form is None and suffix == WORKBOOK:
        form = "csv"  # workbooks are read, and not written
    if form is not None:
        name = name[: -len(suffix)] + f".{form}"
    try:
        status = path.stat()
    except OSError as e:
        raise DataError(f"cannot read {path}: {reason(e)}") from e
    return Part(name, str(path), str(folder / name), status.st_size, status.st_mtime_ns)


def _refuse_doubles(parts: list[Part]) -> None:
    seen: dict[str, str] = {}
    for part in parts:
        for name in (part.out, str(rejects_file(Path(part.out)))):
            if name in seen:
                raise ConfigError(f"{seen[name]} and {part.source} would both be written to {name}; rename one")
            seen[name] = part.source
