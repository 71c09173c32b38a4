"""Public sets with aspects of other domains, brought into one form (see `open/README.md` of the data folder).

A split is one of the files: `mams-categories-train`, `newsmtsc-train`, ... Most texts review one thing that they do not
name, which is then the only target; a category that a text has no opinion on was not found there. Conflict is `mixed`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

from tabsa.datasets.locate import find
from tabsa.datasets.selection import Merger, choose_aspects
from tabsa.schema import MIXED, NEGATIVE, NEUTRAL, NONE, POSITIVE, UNNAMED, Dataset, Example, Opinion, Span, Target
from tabsa.tables.fields import member
from tabsa.tables.reading import read_good_rows

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


def load(split: str, *, data_dir: Path | None = None, aspects: Sequence[str] | None = None) -> Dataset:
    """Read one of the sets; its aspects and labels are those of all its own files."""
    name, _, part = split.rpartition("-")
    files = {}
    for other in ("train", "dev"):
        if f"{name}-{other}" in SPLITS:
            path = find(f"open/{name}-{other}.jsonl", data_dir)
            files[other] = [_example(row.values, row.where) for row in read_good_rows(path)]
    opinions = [opinion for examples in files.values() for example in examples for opinion in example.opinions]
    known = tuple(dict.fromkeys(opinion.aspect for opinion in opinions))
    chosen = choose_aspects(aspects, known=known, default=known)
    found = {opinion.polarity for opinion in opinions}
    labels = (NONE, *(label for label in (POSITIVE, NEGATIVE, NEUTRAL, MIXED) if label in found))
    examples = [
        replace(example, opinions=tuple(opinion for opinion in example.opinions if opinion.aspect in chosen))
        for example in files[part]
    ]
    return Dataset("open", split, chosen, labels, tuple(examples))


def _example(values: Mapping[str, object], where: str) -> Example:
    """Read a row; of mentions that overlap the longest stays, and a target that has none left goes."""
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
    opinions = []
    for entry in member(values, "opinions", list, where):
        polarity = member(entry, "polarity", str, where)
        opinion = Opinion(
            entry.get("target") or UNNAMED,
            member(entry, "aspect", str, where),
            MIXED if polarity == "conflict" else polarity,
        )
        opinions += [opinion] if opinion.target in names else []
    text = member(values, "text", str, where)
    return Example(member(values, "id", str, where), text, tuple(targets), Merger().merge(opinions))
