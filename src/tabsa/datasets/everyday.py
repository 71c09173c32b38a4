"""`everyday`: texts of all walks of life, with named targets and aspects in people's own words; `real`: others' texts.

Both are the project's own work (repro/everyday has their datasheets) and no part of the wheel. A text lists the aspects
asked of it (`Example.aspects`), so nothing is known of others. Of `everyday` five domains are in dev alone and six in
test alone; the splits `dev-unseen` and `test-unseen` are these, `dev-seen` and `test-seen` what was held out of the
others. `-hard` asks the same texts what they come near to and mostly do not say; `-new` are later texts.
Of `real` the repository has the labels, and the texts are joined to them from the public sets that they come from.
"""

import csv
import hashlib
import html
import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

from tabsa.datasets import own
from tabsa.datasets.locate import find
from tabsa.datasets.records import DEFAULT_COLUMNS
from tabsa.errors import DataError, DataNotFoundError
from tabsa.files import read_text
from tabsa.schema import Dataset
from tabsa.tables.reading import Row, read_good_rows

_FILES: Final = (*own.SPLITS, "dev-hard", "dev-new", "test-hard", "test-new")
SPLITS: Final = (*_FILES, "dev-seen", "dev-unseen", "test-seen", "test-unseen")
_CLONE: Final = Path(__file__).parents[3] / "repro" / "everyday"  # where a clone of the repository has it
_COLUMNS: Final = {"a1_IMDB_Dataset.csv": "review", "rented.csv": "review_text"}  # of the texts, by file


def load(name: str, split: str, *, data_dir: Path | None = None, aspects: Sequence[str] | None = None) -> Dataset:
    """Read one split; `aspects` are by default every wording that occurs, some thousands."""
    if name == "real":
        rows = _real_rows(_file("real.jsonl", data_dir), data_dir)
        drafts = {part: own.drafts_of(name, rows[part], DEFAULT_COLUMNS) for part in rows}
        return own.dataset_of(name, drafts, split, aspects)
    splits = _read(tuple((part, _file(f"{part}.jsonl", data_dir)) for part in _FILES))
    part, _, domains = split.partition("-")
    if split in _FILES:
        return own.dataset_of(name, splits, split, aspects)
    dataset = own.dataset_of(name, splits, part, aspects)
    trained = {draft.tags["domain"] for draft in splits["train"]}
    chosen = [e for e in dataset.examples if (e.tags["domain"] in trained) == (domains == "seen")]
    return replace(dataset, split=split, examples=tuple(chosen))


@lru_cache(maxsize=1)  # whoever loads one split mostly loads another
def _read(files: tuple[tuple[str, Path], ...]) -> dict[str, list[own.Draft]]:
    return own.read_splits(dict(files))


def _file(file: str, data_dir: Path | None) -> Path:
    try:
        return find(f"everyday/{file}", data_dir)
    except DataNotFoundError:
        if not (_CLONE / file).is_file():
            raise
        return _CLONE / file


def _real_rows(labels: Path, data_dir: Path | None) -> dict[str, list[Row]]:
    """Join the labels with their texts; each label has the digest of the text that was labelled."""
    listed = [json.loads(line) for line in read_text(labels).splitlines()]
    texts = {file: dict(_texts(find(file, data_dir))) for file in sorted({row["file"] for row in listed})}
    rows: dict[str, list[Row]] = {part: [] for part in own.SPLITS}
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
