"""A dataset as arrays: every passage's words as rows of the vocabulary, and the labels of its targets. NumPy only."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tabsa.embeddings.concepts import ConceptTable
from tabsa.encoding.answers import strongest_of
from tabsa.encoding.passages import Passage, passages
from tabsa.encoding.target_words import aspect_words, passage_words, target_word
from tabsa.errors import DataError
from tabsa.schema import Dataset

PADDING: Final = "<padding>"  # always row 0
UNLABELLED: Final = -1  # the label of a pair that nothing is learnt from


def label_indices(dataset: Dataset, polarities: Iterable[str], labels: Sequence[str] = ()) -> list[int]:
    """Return polarities as places among the labels, by default the dataset's; a one-line DataError names another."""
    index = {label: place for place, label in enumerate(labels or dataset.labels)}
    try:
        return [index[polarity] for polarity in polarities]
    except KeyError as e:
        expected = ", ".join(index)
        raise DataError(f"{dataset.name} {dataset.split} has the polarity {e}; expected one of {expected}") from e


def gold_labels(dataset: Dataset) -> NDArray[np.int64]:
    """Return the gold label of every row as a place among `dataset.labels`: (groups, aspects).

    It is UNLABELLED where the text has aspects of its own and this is none of them.
    """
    groups = list(dataset.groups())
    gold = np.full((len(groups), len(dataset.aspects)), UNLABELLED, np.int64)
    for row, (example, target) in zip(gold, groups, strict=True):
        known = [n for n, name in enumerate(dataset.aspects) if example.aspects is None or name in example.aspects]
        row[known] = label_indices(dataset, (example.polarity(target.name, dataset.aspects[n]) for n in known))
    return gold


def passage_labels(gold: NDArray[np.int64], *, first: bool) -> NDArray[np.int64]:
    """Return what a passage teaches about a target whose text has these labels, (aspects,).

    Opinions are learnt from the `first` passage that is read for the target; of the others it is only known that they
    are silent where the whole text is.
    """
    return gold if first else np.where(gold == 0, 0, UNLABELLED)


class Reading(NamedTuple):
    """One reading of an example: a passage, and the dataset's groups that its targets are."""

    passage: Passage
    groups: list[int]


def readings(dataset: Dataset, *, targets: int, max_length: int = 0) -> Iterator[Reading]:
    """Yield every reading of a dataset, in order; groups are numbered as in `Dataset.groups`."""
    first = 0
    for example in dataset.examples:
        group_of = {target.name: first + place for place, target in enumerate(example.targets)}
        for passage in passages(example.text, example.targets, at_once=targets, max_length=max_length):
            yield Reading(passage, [group_of[name] for name in passage.targets])
        first += len(example.targets)


def count_words(datasets: Iterable[Dataset], *, targets: int, max_length: int = 0) -> Counter[str]:
    """Count how often each word stands in the datasets; the target tokens and the aspects' words count once more."""
    counts: Counter[str] = Counter(target_word(slot) for slot in range(targets))
    for dataset in datasets:
        for aspect in dataset.aspects:
            counts.update(aspect_words(aspect))
        for reading in readings(dataset, targets=targets, max_length=max_length):
            counts.update(passage_words(reading.passage))
    return counts


@dataclass(frozen=True)
class Encoded:
    """A dataset as arrays; N readings, T tokens at most, K targets, A aspects, G groups."""

    tokens: NDArray[np.int32]  # rows of the vocabulary, 0 after the end, (N, T)
    lengths: NDArray[np.int32]  # (N,)
    labels: NDArray[np.int8]  # what is learnt; UNLABELLED where nothing is, (N, K, A)
    groups: NDArray[np.int32]  # which of the dataset's group, -1 where there is none, (N, K)
    gold: NDArray[np.int64]  # what is right, (G, A)
    concepts: NDArray[np.int32] | None = None  # for a model that reads them: rows of their table, 0 for none, (N, T)

    def __len__(self) -> int:
        return len(self.lengths)


def encode(
    dataset: Dataset,
    rows: Mapping[str, int],
    *,
    targets: int,
    max_length: int = 0,
    concepts: ConceptTable | None = None,
) -> Encoded:
    """Encode a dataset all of whose words are in `rows` (word to vocabulary row), with its `concepts` if given."""
    found = list(readings(dataset, targets=targets, max_length=max_length))
    words = [passage_words(reading.passage) for reading in found]
    gold = gold_labels(dataset)
    tokens = np.zeros((len(found), max(map(len, words), default=0)), np.int32)
    labels = np.full((len(found), targets, len(dataset.aspects)), UNLABELLED, np.int8)
    groups = np.full((len(found), targets), -1, np.int32)
    matched = None if concepts is None else np.zeros_like(tokens)
    seen: set[int] = set()
    for n, (reading, read) in enumerate(zip(found, words, strict=True)):
        if matched is not None and concepts is not None:
            matched[n, : len(read)] = concepts.match(read)
        tokens[n, : len(read)] = [rows[word] for word in read]
        for slot, group in enumerate(reading.groups):
            labels[n, slot] = passage_labels(gold[group], first=group not in seen)
            groups[n, slot] = group
        seen.update(reading.groups)
    lengths = np.array([len(read) for read in words], np.int32)
    return Encoded(tokens, lengths, labels, groups, gold, matched)


def combine(data: Encoded, probabilities: NDArray[Any]) -> NDArray[np.float64]:
    """Return the answers about every group, (..., G, A, labels), of those of every reading, (..., N, K, A, labels)."""
    return combine_readings(data.groups, len(data.gold), probabilities)


def combine_readings(groups: NDArray[Any], count: int, probabilities: NDArray[Any]) -> NDArray[np.float64]:
    """Combine the readings of `count` groups, given the group of each target of each reading, (N, K), or -1.

    A group that is read several times is answered by the strongest reading, one that is read nowhere is silent.
    """
    n, slot = np.nonzero(groups >= 0)
    return strongest_of(groups[n, slot], count, probabilities[..., n, slot, :, :])
