"""`real`: labels like those of `everyday` on texts of public sets.

The repository has the labels; the texts are joined to them from the sets that they come from (docs/data.md). `silver`
are further texts, to learn from: each was read once, where the others were read twice and differences decided.
"""

import csv
import hashlib
import html
import json
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

from tabsa.datasets import own
from tabsa.datasets.locate import find
from tabsa.datasets.records import DEFAULT_COLUMNS
from tabsa.errors import DataError
from tabsa.files import read_text
from tabsa.schema import Dataset
from tabsa.tables.reading import Row, read_good_rows
from tabsa_repro.everyday import corpus_file

SILVER: Final = "silver"
SPLITS: Final = (*own.SPLITS, SILVER)
_COLUMNS: Final = {"a1_IMDB_Dataset.csv": "review", "rented.csv": "review_text"}  # of the texts, by file


def load(name: str, split: str, *, data_dir: Path | None = None, aspects: Sequence[str] | None = None) -> Dataset:
    """Read one split; `aspects` are by default every wording that occurs."""
    file, parts = ("real-silver.jsonl", (SILVER,)) if split == SILVER else ("real.jsonl", own.SPLITS)
    rows = _rows(corpus_file(file, data_dir), parts, data_dir)
    drafts = {part: own.drafts_of(name, rows[part], DEFAULT_COLUMNS) for part in rows}
    return own.dataset_of(name, drafts, split, aspects)


def _rows(labels: Path, parts: Sequence[str], data_dir: Path | None) -> dict[str, list[Row]]:
    """Join the labels with their texts; each label has the digest of the text that was labelled."""
    listed = [json.loads(line) for line in read_text(labels).splitlines()]
    texts = {file: dict(_texts(find(file, data_dir))) for file in sorted({row["file"] for row in listed})}
    rows: dict[str, list[Row]] = {part: [] for part in parts}
    for number, row in enumerate(listed, start=1):
        text = _joined(texts[row["file"]], row)
        if hashlib.sha256(text.encode()).hexdigest()[:16] != row["sha256"]:
            raise DataError(f"{row['file']}: {row['key']} is not the text that was labelled as {row['id']}")
        rows[row["split"]].append(Row(f"{labels} line {number}", row | {"text": text}, number))
    return rows


def _joined(texts: dict[str, str], row: dict[str, Any]) -> str:
    """Return a label's text: one of a file, several, or a part of one; without markup, spaces made one."""
    whole = " ".join(texts.get(key, "") for key in row["key"].split("+"))
    text = " ".join(html.unescape(re.sub(r"<br\s*/?>", " ", whole)).split())
    start, end = row.get("span") or (0, len(text))
    return text[start:end].strip()


def _texts(path: Path) -> Iterator[tuple[str, str]]:
    """Read a file's texts by their ids, or in CSV by the number of the row, from 0."""
    if path.suffix != ".csv":
        yield from ((str(row.values["id"]), str(row.values["text"])) for row in read_good_rows(path))
        return
    with path.open(encoding="utf-8", newline="") as lines:
        for number, row in enumerate(csv.DictReader(lines)):
            yield str(number), row[_COLUMNS[path.name]]
