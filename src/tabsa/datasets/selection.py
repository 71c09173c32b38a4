"""Selection: the aspects of a dataset that are used, one opinion for each pair, and the part that each text goes to."""

import hashlib
import warnings
from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Sequence
from typing import Final

from tabsa.errors import DataError, DataWarning, unknown_name
from tabsa.schema import NONE, Dataset, Opinion

ALL: Final = "all"


def choose_aspects(wanted: Sequence[str] | None, *, known: Sequence[str], default: Sequence[str]) -> tuple[str, ...]:
    """Return the aspects wanted, in that order and each once: names, or "all"; `default` where nothing is wanted."""
    if wanted is None:
        return tuple(default)
    names = (wanted,) if isinstance(wanted, str) else tuple(dict.fromkeys(wanted))
    if names == (ALL,):
        return tuple(known)
    if not names:
        raise DataError(f"no aspect is asked for; name some of {', '.join(known)}, or all")
    for name in names:
        if name not in known:
            raise unknown_name("aspect", name, known, also=", or all")
    return names


class Merger:
    """Reduces opinions to one for each target-aspect pair, over any number of examples, and counts what it drops."""

    def __init__(self) -> None:
        self.dropped = 0

    def merge(self, opinions: Iterable[Opinion]) -> tuple[Opinion, ...]:
        """Return one example's opinions in order of first appearance; of two on one pair, the later one."""
        every = list(opinions)
        merged = {(one.target, one.aspect): one for one in every}
        self.dropped += len(every) - len(merged)
        return tuple(merged.values())

    def warn(self, where: str) -> None:
        """Give one `DataWarning` that counts what was dropped, if anything was."""
        if self.dropped:
            message = f"{where}: dropped {self.dropped} repeated or conflicting opinion{'s' * (self.dropped > 1)}"
            warnings.warn(message, DataWarning, stacklevel=4)


def share(text: str) -> float:
    """Return a number in [0, 1) that depends on the text alone, for splits that never change and share no text."""
    digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()
    return (int.from_bytes(digest[:8], "big") >> 11) / 2**53


def stratified_parts(dataset: Dataset, shares: Sequence[float], seed: int = 1) -> list[int]:
    """Return the part of each example, where parts are to have these shares of every aspect's polarities.

    Examples with the same text, but for case and white space, go to the same part. Iterative stratification (Sechidis
    et al., 2011): the rarest pair of an aspect and a polarity first, each of its texts to the part that lacks most.
    """
    texts: dict[str, list[int]] = defaultdict(list)
    for number, example in enumerate(dataset.examples):
        texts[" ".join(example.text.casefold().split())].append(number)
    kinds = [Counter[Hashable]() for _ in texts]
    for count, numbers in zip(kinds, texts.values(), strict=True):
        for opinions in (dataset.examples[number].opinions for number in numbers):
            count.update(((one.aspect, one.polarity) for one in opinions) if opinions else (NONE,))
    order = [share(f"{seed} {text}") for text in texts]
    chosen = _parts(kinds, [one / sum(shares) for one in shares], order)
    part_of = {number: part for numbers, part in zip(texts.values(), chosen, strict=True) for number in numbers}
    return [part_of[number] for number in range(len(dataset.examples))]


def _parts(kinds: Sequence[Counter[Hashable]], shares: Sequence[float], order: Sequence[float]) -> list[int]:
    """Return the part of each text, by the kinds of opinion in it; those with the same kinds in a random `order`."""
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
