"""Sentihood (Saeidi et al., 2016): what people say about the neighbourhoods of London.

In every sentence the neighbourhoods are written LOCATION1 and LOCATION2. Two file sets exist: "sentihood-original" as
first published, which repeats some opinions and contradicts itself once, and "sentihood", where most of that is mended.
Both load as the same examples. The benchmark judges four of the twelve aspects.
"""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from tabsa.datasets.locate import find
from tabsa.datasets.selection import Merger, choose_aspects
from tabsa.errors import DataError
from tabsa.files import read_text
from tabsa.schema import NEGATIVE, NONE, POSITIVE, Dataset, Example, Opinion, Span, Target
from tabsa.tables.fields import member, parse_json

SPLITS: Final = ("train", "dev", "test")
LABELS: Final = (NONE, POSITIVE, NEGATIVE)
BENCHMARK_ASPECTS: Final = ("general", "price", "safety", "transit-location")
ALL_ASPECTS: Final = (
    *BENCHMARK_ASPECTS,
    *("dining", "green-nature", "live", "multicultural", "nightlife", "quiet", "shopping", "touristy"),
)


def load(name: str, split: str, *, data_dir: Path | None = None, aspects: Sequence[str] | None = None) -> Dataset:
    """Read one split of the file set `name`; opinions on other aspects than those wanted are left out."""
    chosen = choose_aspects(aspects, known=ALL_ASPECTS, default=BENCHMARK_ASPECTS)
    path = find(f"{name}/sentihood-{split}.json", data_dir)
    records = parse_json(read_text(path), str(path))
    if not isinstance(records, list) or not records:
        raise DataError(f"{path} is not a list of sentences; expected a Sentihood file")
    merger = Merger()
    examples = []
    for number, record in enumerate(records, start=1):
        where = f"{path} record {number}"
        text = member(record, "text", str, where)
        targets = _targets(text)
        opinions = [
            _opinion(entry, {target.name for target in targets}, f"{where}, opinion {place}")
            for place, entry in enumerate(member(record, "opinions", list, where), start=1)
        ]
        merged = merger.merge(opinion for opinion in opinions if opinion.aspect in chosen)
        examples.append(Example(str(member(record, "id", int, where)), text, targets, merged))
    merger.warn(f"{name} {split}")
    return Dataset(name, split, chosen, LABELS, tuple(examples))


def _targets(text: str) -> tuple[Target, ...]:
    """Find LOCATION1, always a target, and LOCATION2 where it is in the text, even glued to words (`LOCATION2e`)."""
    targets = []
    for name in ("LOCATION1", "LOCATION2"):
        mentions = tuple(Span(*match.span()) for match in re.finditer(name, text))
        targets += [Target(name, mentions, implied=not mentions)] if mentions or name == "LOCATION1" else []
    return tuple(targets)


def _opinion(entry: object, targets: set[str], where: str) -> Opinion:
    target, aspect = member(entry, "target_entity", str, where), member(entry, "aspect", str, where)
    polarity = member(entry, "sentiment", str, where).lower()
    if target not in targets or aspect not in ALL_ASPECTS or polarity not in LABELS[1:]:
        raise DataError(f"{where} is {polarity!r} on {aspect!r} of {target!r}; expected a Sentihood opinion")
    return Opinion(target, aspect, polarity)
