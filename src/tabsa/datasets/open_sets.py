"""Public sets with aspects of other domains, brought into one form (see `open/README.md` of the data folder).

A split is one of the files: `mams-categories-train`, `newsmtsc-train`, ... Most texts review one thing that they do not
name, which is then the only target; a category that a text has no opinion on was not found there. Conflict is `mixed`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

from tabsa.datasets.choices import choose_aspects
from tabsa.datasets.locate import find
from tabsa.datasets.merging import Merger
from tabsa.schema import (
    MIXED,
    NEGATIVE,
    NEUTRAL,
    NONE,
    POSITIVE,
    UNNAMED,
    Dataset,
    Example,
    Opinion,
    Span,
    Target,
)
from tabsa.tables.fields import member, members
from tabsa.tables.rows import typed_rows

_WITH_DEV: Final = (
    "mams-categories", "mams-terms", "memd-books", "memd-clothing", "memd-hotel", "memd-laptop", "memd-restaurant",
    "phones", "shoes",
)  # fmt: skip
_TRAIN_ONLY: Final = (
    "newsmtsc", "oats-courses", "oats-foods", "oats-hotels", "semeval2016-laptops", "semeval2016-restaurants"
)  # fmt: skip
SPLITS: Final = (
    *(f"{name}-{part}" for name in _WITH_DEV for part in ("train", "dev")),
    *(f"{name}-train" for name in _TRAIN_ONLY),
)
_CONFLICT: Final = "conflict"


def load(split: str, *, data_dir: Path | None = None, aspects: Sequence[str] | None = None) -> Dataset:
    """One of the sets; its aspects and labels are those of all its own files."""
    name, _, part = split.rpartition("-")
    parts = [other for other in ("train", "dev") if f"{name}-{other}" in SPLITS]
    files = {other: _examples(find(f"open/{name}-{other}.jsonl", data_dir)) for other in parts}
    opinions = [opinion for examples in files.values() for example in examples for opinion in example.opinions]
    known = tuple(dict.fromkeys(opinion.aspect for opinion in opinions))
    chosen = choose_aspects(aspects, known=known, default=known)
    found = {opinion.polarity for opinion in opinions}
    labels = (NONE, *(label for label in (POSITIVE, NEGATIVE, NEUTRAL, MIXED) if label in found))
    kept = [
        replace(example, opinions=tuple(opinion for opinion in example.opinions if opinion.aspect in chosen))
        for example in files[part]
    ]
    return Dataset("open", split, chosen, labels, tuple(kept))


def _examples(path: Path) -> list[Example]:
    return [_example(row.values, row.where) for row in typed_rows(path)]


def _example(values: Mapping[str, object], where: str) -> Example:
    """A row as an example; of mentions that overlap the longest stays, and a target that has none left goes."""
    spans = {
        member(target, "name", str, where): [Span(*pair) for pair in member(target, "mentions", list, where)]
        for target in member(values, "targets", list, where)
    }
    taken: list[Span] = []
    for span in sorted((span for own in spans.values() for span in own), key=lambda span: span.start - span.end):
        if all(span.end <= other.start or other.end <= span.start for other in taken):
            taken.append(span)
    apart = {name: tuple(span for span in own if span in taken) for name, own in spans.items()}
    targets = [Target(name, own) for name, own in apart.items() if own] or [Target(UNNAMED, implied=True)]
    names = {target.name for target in targets}
    opinions = (_opinion(entry, where) for entry in member(values, "opinions", list, where))
    return Example(
        member(values, "id", str, where),
        member(values, "text", str, where),
        tuple(targets),
        Merger().merge(opinion for opinion in opinions if opinion.target in names),
    )


def _opinion(entry: object, where: str) -> Opinion:
    fields = members(entry, where)
    polarity = member(fields, "polarity", str, where)
    target = fields.get("target")
    return Opinion(
        target if isinstance(target, str) else UNNAMED,
        member(fields, "aspect", str, where),
        MIXED if polarity == _CONFLICT else polarity,
    )
