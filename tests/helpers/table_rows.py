"""The rows of a table as text."""

from collections.abc import Iterator
from pathlib import Path

from tabsa.tables.reading import as_text, read_good_rows


def text_rows(path: Path) -> Iterator[dict[str, str]]:
    """Every row of a file in any format, one at a time, with its values as a table of text has them."""
    for row in read_good_rows(path):
        yield {name: as_text(value) for name, value in row.values.items()}
