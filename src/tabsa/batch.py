"""Examples as arrays: tokens as rows of the vocabulary, labels of every target-aspect pair. NumPy only.

A model knows a fixed number of targets, K, each by a token of its own. An example with more of them is read several
times, K targets at a time; the mentions of the others are then ordinary words.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tabsa.concepts import ConceptTable
from tabsa.schema import Dataset, Target
from tabsa.text import tokenise_marked
from tabsa.vectors import WordVectors, lookup

PADDING: Final = "<padding>"  # always row 0
NOT_ASKED: Final = -1  # the label of a pair that is not there


def target_word(slot: int) -> str:
    """The token that stands for the model's target number `slot`, from 0; no text contains it as a word."""
    return f"<target{slot + 1}>"


def aspect_words(aspect: str) -> list[str]:
    """The words an aspect's vector is the mean of: `transit-location` is `transit` and `location`."""
    return re.findall(r"[^\W_]+", aspect.lower()) or [aspect.lower()]


def aspect_matrix(aspects: Sequence[str], vectors: WordVectors) -> NDArray[np.float32]:
    """The mean vector of each aspect's words, (A, d)."""
    return np.stack([lookup(dict.fromkeys(aspect_words(aspect)), vectors).matrix.mean(0) for aspect in aspects])


def marked_words(text: str, targets: Sequence[Target], max_length: int = 0) -> list[str]:
    """The text's words, case folded, each mention of a target replaced by the target's token; 0 means no limit."""
    tokens = tokenise_marked(text, targets)
    words = [token.word if token.target is None else target_word(token.target) for token in tokens]
    return words[:max_length] if max_length else words


def neighbours(slots: Sequence[int | None], targets: int) -> NDArray[np.float32]:
    """Whose mention each word stands after and before, (T, targets, 2); `slots` says which words mention a target.

    For a target, +1 where the last mention up to the word (first entry) or the next one from it on (second entry) is
    its own, -1 where it is another target's, 0 where there is none.
    """
    result = np.zeros((len(slots), targets, 2), np.float32)
    for entry, order in enumerate((range(len(slots)), reversed(range(len(slots))))):
        whose = None
        for place in order:
            whose = slots[place] if slots[place] is not None else whose
            if whose is not None:
                result[place, :, entry] = -1
                result[place, whose, entry] = 1
    return result


class Reading(NamedTuple):
    """One reading of an example: its words, and the dataset's groups that the model's targets stand for."""

    words: list[str]
    groups: list[int]


def readings(dataset: Dataset, *, targets: int, max_length: int = 0) -> Iterator[Reading]:
    """Every reading of a dataset, in order; groups are numbered as in `Dataset.groups`."""
    group = 0
    for example in dataset.examples:
        for start in range(0, len(example.targets), targets):
            asked = example.targets[start : start + targets]
            yield Reading(marked_words(example.text, asked, max_length), list(range(group, group + len(asked))))
            group += len(asked)


def count_words(datasets: Iterable[Dataset], *, targets: int, max_length: int = 0) -> Counter[str]:
    """How often each word stands in the datasets; the target tokens and the aspects' words count once more."""
    counts: Counter[str] = Counter(target_word(slot) for slot in range(targets))
    for dataset in datasets:
        for aspect in dataset.aspects:
            counts.update(aspect_words(aspect))
        for reading in readings(dataset, targets=targets, max_length=max_length):
            counts.update(reading.words)
    return counts


@dataclass(frozen=True)
class Encoded:
    """A dataset as arrays; N readings, T tokens at most, K targets, A aspects."""

    tokens: NDArray[np.int32]  # rows of the vocabulary, 0 after the end, (N, T)
    lengths: NDArray[np.int32]  # (N,)
    labels: NDArray[np.int8]  # NOT_ASKED where the example has no such target, (N, K, A)
    groups: NDArray[np.int32]  # the dataset's group, -1 where there is none, (N, K)
    concepts: NDArray[np.int32] | None = None  # for a model that reads them: rows of their table, 0 for none, (N, T)

    def __len__(self) -> int:
        return len(self.lengths)

    def arrays(self) -> dict[str, NDArray[np.generic]]:
        """The arrays by name, for saving."""
        names = ("tokens", "lengths", "labels", "groups", "concepts")
        return {name: array for name in names if (array := getattr(self, name)) is not None}


def encode(
    dataset: Dataset,
    rows: Mapping[str, int],
    *,
    targets: int,
    max_length: int = 0,
    concepts: ConceptTable | None = None,
) -> Encoded:
    """Encode a dataset all of whose words are in `rows` (word to vocabulary row), with its `concepts` if given."""
    read = list(readings(dataset, targets=targets, max_length=max_length))
    gold = [
        [dataset.labels.index(example.polarity(target.name, aspect)) for aspect in dataset.aspects]
        for example, target in dataset.groups()
    ]
    longest = max((len(reading.words) for reading in read), default=0)
    tokens = np.zeros((len(read), longest), np.int32)
    labels = np.full((len(read), targets, len(dataset.aspects)), NOT_ASKED, np.int8)
    groups = np.full((len(read), targets), -1, np.int32)
    matched = None if concepts is None else np.zeros_like(tokens)
    for n, reading in enumerate(read):
        if matched is not None and concepts is not None:
            matched[n, : len(reading.words)] = concepts.match(reading.words)
        tokens[n, : len(reading.words)] = [rows[word] for word in reading.words]
        for slot, group in enumerate(reading.groups):
            labels[n, slot] = gold[group]
            groups[n, slot] = group
    lengths = np.array([len(reading.words) for reading in read], np.int32)
    return Encoded(tokens, lengths, labels, groups, matched)
