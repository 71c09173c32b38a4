"""A small table as one file, all of it or nothing."""

import csv
from collections.abc import Mapping, Sequence
from pathlib import Path

from tabsa.errors import DataError, OutputError
from tabsa.files import replacing
from tabsa.tables import parquet
from tabsa.tables.formats import WrittenLines, finish_file, make_format
from tabsa.tables.formulas import escape_formula
from tabsa.tables.kinds import SUFFIXES, suffix_of
from tabsa.tables.rows import Values


class _NewColumns:
    """Columns that no input has."""

    def __init__(self, types: Mapping[str, type]) -> None:
        self.columns: tuple[str, ...] = tuple(types)
        self.added: dict[str, type] = dict(types)


def check_table_name(path: str | Path) -> Path:
    """The path, if `write_table` can write it: worth asking before a long computation."""
    path = Path(path)
    try:
        if suffix_of(path) == ".parquet":
            parquet.require(path)
    except DataError as e:
        expected = ", ".join(SUFFIXES)
        known = path.name.lower().endswith(SUFFIXES)
        raise OutputError(str(e) if known else f"cannot write '{path}'; expected a name that ends in {expected}") from e
    return path


def write_table(
    path: str | Path, types: Mapping[str, type], rows: Sequence[Values], *, escape_formulas: bool = False
) -> Path:
    """Write rows with these columns by the extension of `path`: CSV, TSV, JSON Lines or Parquet.

    With `escape_formulas`, text of a CSV that a spreadsheet would take for a formula has an apostrophe before it.

    Raises:
        OutputError: the extension is another, pyarrow is missing, or the file cannot be written.
    """
    path = check_table_name(path)
    suffix = suffix_of(path)
    form = make_format(suffix, Path("none.jsonl"), [], _NewColumns(types), escape_formulas=escape_formulas)
    content = form.encode(rows, first=True)
    if suffix != ".parquet":
        with replacing(path, "wb") as stream:
            stream.write(content)
        return path
    part = path.with_name(f".{path.name}.part")
    with replacing(part, "wb") as stream:
        stream.write(content)
    try:
        finish_file(part, path)
    finally:
        part.unlink(missing_ok=True)
    return path


def escape_file(path: Path) -> None:
    """Put an apostrophe before every cell of a CSV that a spreadsheet would take for a formula; memory does not grow.

    Raises:
        OutputError: the file cannot be written again.
    """
    csv.field_size_limit(max(csv.field_size_limit(), 1 << 30))
    lines = WrittenLines()
    writer = csv.writer(lines)
    with path.open(encoding="utf-8", newline="") as source, replacing(path, "wb") as stream:
        for row in csv.reader(source):
            writer.writerow([escape_formula(cell) for cell in row])
            stream.write("".join(lines.written).encode())
            lines.written.clear()
