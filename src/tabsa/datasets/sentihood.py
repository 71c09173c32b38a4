"""Sentihood (Saeidi et al., 2016): what people say about the neighbourhoods of London.

In every sentence the neighbourhoods are written LOCATION1 and LOCATION2. Two file sets exist: "sentihood-original" as
first published, which repeats some opinions and contradicts itself once, and "sentihood", where most of that is mended.
Both load as the same examples. The benchmark judges four of the twelve aspects.
"""

import re
from collections.abc import Sequence
from pathlib import Path

from tabsa.datasets.choices import choose_aspects
from tabsa.datasets.locate import find
from tabsa.datasets.merging import Merger
from tabsa.errors import DataError
from tabsa.files import read_text
from tabsa.schema import NEGATIVE, NONE, POSITIVE, Dataset, Example, Opinion, Span, Target
from tabsa.tables.fields import member, parse_json

SPLITS = ("train", "dev", "test")
LABELS = (NONE, POSITIVE, NEGATIVE)
BENCHMARK_ASPECTS = ("general", "price", "safety", "transit-location")
ALL_ASPECTS = (
    *BENCHMARK_ASPECTS,
    *("dining", "green-nature", "live", "multicultural", "nightlife", "quiet", "shopping", "touristy"),
)


def load(name: str, split: str, *, data_dir: Path | None = None, aspects: Sequence[str] | None = None) -> Dataset:
    """One split of the file set `name`; opinions on aspects that are not asked for are left out.

    Args:
        name: "sentihood" or "sentihood-original", which is also the folder's name.
        split: one of `SPLITS`.
        data_dir: the first folder to look in for the file set.
        aspects: some of `ALL_ASPECTS`, or "all" for the twelve; by default the four of the benchmark.
    """
    chosen = choose_aspects(aspects, known=ALL_ASPECTS, default=BENCHMARK_ASPECTS)
    path = find(f"{name}/sentihood-{split}.json", data_dir)
    records = parse_json(read_text(path), str(path))
    if not isinstance(records, list) or not records:
        raise DataError(f"{path} is not a list of sentences; expected a Sentihood file")
    merger = Merger()
    examples: dict[str, Example] = {}
    for number, record in enumerate(records, start=1):
        where = f"{path} record {number}"
        example = _example(record, chosen, merger, where)
        if example.id in examples:
            raise DataError(f"{where} has the id {example.id} of an earlier record; ids are unique in a split")
        examples[example.id] = example
    merger.warn(f"{name} {split}")
    return Dataset(name, split, chosen, LABELS, tuple(examples.values()))


def _example(record: object, aspects: Sequence[str], merger: Merger, where: str) -> Example:
    text = member(record, "text", str, where)
    targets = _targets(text)
    opinions = [
        _opinion(entry, {target.name for target in targets}, f"{where}, opinion {number}")
        for number, entry in enumerate(member(record, "opinions", list, where), start=1)
    ]
    return Example(
        id=str(member(record, "id", int, where)),
        text=text,
        targets=targets,
        opinions=merger.merge(opinion for opinion in opinions if opinion.aspect in aspects),
    )


def _targets(text: str) -> tuple[Target, ...]:
    """LOCATION1 always, and LOCATION2 where it stands in the text, even glued to other words (`LOCATION2e`)."""
    spans = {
        name: tuple(Span(*match.span()) for match in re.finditer(name, text)) for name in ("LOCATION1", "LOCATION2")
    }
    wanted = {name: mentions for name, mentions in spans.items() if mentions or name == "LOCATION1"}
    return tuple(Target(name, mentions, implied=not mentions) for name, mentions in wanted.items())


def _opinion(entry: object, targets: set[str], where: str) -> Opinion:
    opinion = Opinion(
        target=member(entry, "target_entity", str, where),
        aspect=member(entry, "aspect", str, where),
        polarity=member(entry, "sentiment", str, where).lower(),
    )
    if opinion.target not in targets:
        raise DataError(f"{where} is about {opinion.target!r}; the sentence has {', '.join(sorted(targets))}")
    if opinion.aspect not in ALL_ASPECTS:
        raise DataError(f"{where} is on the aspect {opinion.aspect!r}; expected one of {', '.join(ALL_ASPECTS)}")
    if opinion.polarity not in (POSITIVE, NEGATIVE):
        raise DataError(f"{where} has the sentiment {opinion.polarity!r}; expected Positive or Negative")
    return opinion
