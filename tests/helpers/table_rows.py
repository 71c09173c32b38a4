"""Rows of tables: in any format, read as text and written."""

import csv
import io
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from tabsa.tables.reading import as_text, read_good_rows


def text_rows(path: Path) -> Iterator[dict[str, str]]:
    """Every row of a file in any format, one at a time, with its values as a table of text has them."""
    for row in read_good_rows(path):
        yield {name: as_text(value) for name, value in row.values.items()}


def write_rows(path: Path, rows: Sequence[Mapping[str, object]], **options: Any) -> Path:
    """Write rows in the format that the path's name has; `options` are `csv.writer`'s."""
    kind = path.suffix.lower()[1:]
    if kind == "parquet":
        pyarrow = pytest.importorskip("pyarrow", reason="needs pyarrow: pip install 'tabsa[tables]'")
        from pyarrow import parquet

        parquet.write_table(pyarrow.Table.from_pylist([dict(row) for row in rows]), path)
        return path
    if kind in ("csv", "tsv"):
        stream = io.StringIO()
        names = list(dict.fromkeys(name for row in rows for name in row))
        writer = csv.DictWriter(stream, names, **({"delimiter": "\t"} if kind == "tsv" else {}) | options)
        writer.writeheader()
        writer.writerows({name: "yes" if value is True else value for name, value in row.items()} for row in rows)
        content = stream.getvalue()
    else:
        content = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    path.write_bytes(content.encode("utf-8", "surrogatepass"))
    return path
