"""Texts held apart so that every part has its share of every aspect's polarities (Sechidis et al., 2011)."""

from collections import Counter, defaultdict
from collections.abc import Hashable, Sequence

from tabsa.datasets.splits import share as drawn
from tabsa.schema import NONE, Dataset


def stratified_parts(dataset: Dataset, shares: Sequence[float], seed: int = 1) -> list[int]:
    """The part that each example goes to, where the parts are to have these shares of the data.

    Examples with the same text, but for case and white space, go to the same part. Iterative stratification: the rarest
    pair of an aspect and a polarity first, each of its texts to the part that lacks most of it.
    """
    texts: dict[str, list[int]] = defaultdict(list)
    for number, example in enumerate(dataset.examples):
        texts[" ".join(example.text.casefold().split())].append(number)
    kinds = [Counter(kind for n in numbers for kind in _kinds(dataset, n)) for numbers in texts.values()]
    order = [drawn(f"{seed} {text}") for text in texts]
    chosen = _parts(kinds, [share / sum(shares) for share in shares], order)
    parts = [0] * len(dataset.examples)
    for numbers, part in zip(texts.values(), chosen, strict=True):
        for number in numbers:
            parts[number] = part
    return parts


def _kinds(dataset: Dataset, number: int) -> list[Hashable]:
    """What a text brings: its opinions, or that it has none."""
    return [(one.aspect, one.polarity) for one in dataset.examples[number].opinions] or [NONE]


def _parts(kinds: Sequence[Counter[Hashable]], shares: Sequence[float], order: Sequence[float]) -> list[int]:
    """The part of each text, by what they bring; those that bring the same in a random `order`."""
    total: Counter[Hashable] = Counter()
    holders: dict[Hashable, set[int]] = defaultdict(set)
    for text, own in enumerate(kinds):
        total.update(own)
        for kind in own:
            holders[kind].add(text)
    lacking = [{kind: share * count for kind, count in total.items()} for share in shares]
    room = [share * len(kinds) for share in shares]
    parts = [-1] * len(kinds)
    while holders:
        rarest = min(holders, key=lambda kind: (len(holders[kind]), str(kind)))
        for text in sorted(holders.pop(rarest), key=lambda one: order[one]):
            part = max(range(len(shares)), key=lambda n: (lacking[n][rarest], room[n]))
            parts[text] = part
            room[part] -= 1
            for kind, count in kinds[text].items():
                lacking[part][kind] -= count
                if kind in holders:
                    holders[kind].discard(text)
                    if not holders[kind]:
                        del holders[kind]
    return parts
