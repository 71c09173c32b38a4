"""Texts and their questions as one tree: the text first, then every question beside it, each reading text and itself.

Positions of a question go on from the text's end, so it is read as if it alone stood there, and a text is read once.
"""

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from tabsa.schema import MIXED, NEGATIVE, NEUTRAL, NONE, POSITIVE

LABELS = (NONE, POSITIVE, NEGATIVE, NEUTRAL, MIXED)
ANSWERS = tuple(f" {label}" for label in LABELS)  # one token each: their output rows start the judge's head
SOMEONE = "Someone writes"  # before a text; a public set with conventions of its own has its name there
_TEXT, _QUESTION, _UNNAMED = '{}: "{}"\n', " {}, {}:", "it"
_MULTIPLE = 16  # lengths are rounded up to these, so that few shapes occur
_MOST = 420  # tokens of a text


@dataclass(frozen=True)
class Item:
    """A text with its questions as tokens, and the label or soft label of each where there is one."""

    text: NDArray[np.int32]
    questions: tuple[NDArray[np.int32], ...]
    labels: NDArray[np.float32]  # (questions, labels)

    @property
    def length(self) -> int:
        """Count the tokens of the tree."""
        return len(self.text) + sum(map(len, self.questions))

    def sampled(self, most: int, draw: random.Random) -> "Item":
        """Draw at most so many of its questions."""
        if len(self.questions) <= most:
            return self
        chosen = draw.sample(range(len(self.questions)), most)
        return Item(self.text, tuple(self.questions[n] for n in chosen), self.labels[chosen])


class Batch(NamedTuple):
    """Trees side by side; `rows` and `columns` say where each question's last token is."""

    tokens: Tensor  # (B, T)
    positions: Tensor  # (B, T)
    mask: Tensor  # (B, T, T), true where a token attends
    rows: Tensor  # (Q,)
    columns: Tensor  # (Q,)
    labels: Tensor  # (Q, labels)


def encode(tokenizer: Any, rows: Sequence[dict[str, Any]]) -> list[Item]:
    """Encode rows of `text`, `questions` ([target or null, aspect] each), perhaps `labels` by number and `style`."""

    def all_of(texts: list[str]) -> list[NDArray[np.int32]]:
        return [np.array(e.ids, np.int32) for e in tokenizer.encode_batch(texts, add_special_tokens=False)]

    texts = all_of([_TEXT.format(row.get("style", SOMEONE), row["text"]) for row in rows])
    pairs = list(dict.fromkeys((target, aspect) for row in rows for target, aspect in row["questions"]))
    coded = all_of([_QUESTION.format(target or _UNNAMED, aspect) for target, aspect in pairs])
    of_pair = dict(zip(pairs, coded, strict=True))
    one_hot = np.eye(len(LABELS), dtype=np.float32)
    return [
        Item(
            text[:_MOST],
            tuple(of_pair[target, aspect] for target, aspect in row["questions"]),
            one_hot[row["labels"]] if "labels" in row else np.zeros((len(row["questions"]), len(LABELS)), np.float32),
        )
        for text, row in zip(texts, rows, strict=True)
    ]


def renumbered(items: Sequence[Item], tokens: NDArray[np.integer]) -> list[Item]:
    """Number tokens by their place among those that were packed, as a packed decoder has them; others are the first."""
    place = np.zeros(int(tokens.max()) + 2, np.int32)
    place[tokens] = np.arange(len(tokens))

    def places(ids: NDArray[np.int32]) -> NDArray[np.int32]:
        return place[np.minimum(ids, len(place) - 1)]

    return [Item(places(item.text), tuple(map(places, item.questions)), item.labels) for item in items]


class Trees:
    """The trees of items as flat arrays, from which batches are gathered."""

    def __init__(self, items: Sequence[Item]) -> None:
        parts = [part for item in items for part in (item.text, *item.questions)]
        sizes = np.array([len(part) for part in parts])
        counts = np.array([len(item.questions) for item in items])
        of_item = np.repeat(np.arange(len(items)), counts + 1)  # of each part
        first = np.concatenate([[0], np.cumsum(counts + 1)])[:-1]  # the part that is each item's text
        inside = np.arange(sizes.sum()) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        branch = np.arange(len(parts)) - first[of_item]  # 0: the text, n: its question n
        text_length = sizes[first][of_item] * (branch > 0)
        self.tokens = np.concatenate(parts)
        self.branches = np.repeat(branch, sizes).astype(np.int16)
        self.positions = (inside + np.repeat(text_length, sizes)).astype(np.int16)
        self.lengths = np.bincount(of_item, sizes, len(items)).astype(np.int64)
        self.starts = np.cumsum(self.lengths) - self.lengths
        ends = np.cumsum(sizes) - 1
        self.last = (ends - self.starts[of_item])[branch > 0]  # of each question, in its tree
        self.first = np.cumsum(counts) - counts
        self.counts = counts
        self.labels = np.concatenate([item.labels for item in items])

    def __len__(self) -> int:
        return len(self.counts)

    def questions(self, places: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the numbers of the questions of some trees, one tree after the other."""
        counts = self.counts[places]
        return np.repeat(self.first[places] - np.cumsum(counts) + counts, counts) + np.arange(counts.sum())

    def batch(self, places: NDArray[np.int64], device: torch.device | str = "cpu") -> Batch:
        """Put trees side by side."""
        lengths = self.lengths[places]
        width = -(-int(lengths.max()) // _MULTIPLE) * _MULTIPLE
        inside = np.arange(width) < lengths[:, None]
        index = np.where(inside, self.starts[places][:, None] + np.arange(width), 0)

        def sent(array: NDArray[Any]) -> Tensor:
            tensor = torch.from_numpy(array)
            return tensor.pin_memory().to(device, non_blocking=True) if "cuda" in str(device) else tensor

        def gathered(values: NDArray[np.integer], padding: int) -> Tensor:
            return sent(np.where(inside, values[index], padding).astype(np.int64))

        branch = gathered(self.branches, -1)
        before = torch.ones(width, width, dtype=torch.bool, device=device).tril()
        mask = before & ((branch[:, None] == 0) | (branch[:, None] == branch[:, :, None])) & (branch >= 0)[:, None]
        mask |= torch.eye(width, dtype=torch.bool, device=device)  # padding attends to itself: no row may be empty
        chosen = self.questions(places)
        rows = np.repeat(np.arange(len(places)), self.counts[places])
        others = map(sent, (rows, self.last[chosen], self.labels[chosen]))
        return Batch(gathered(self.tokens, 0), gathered(self.positions, 0), mask, *others)


def batches(
    lengths: NDArray[np.int64], tokens: int, shuffle: random.Random | None = None
) -> Iterator[NDArray[np.int64]]:
    """Yield places of trees of like length, at most `tokens` with their padding; in random order with a generator."""
    order = list(range(len(lengths)))
    pools = [order]
    if shuffle is not None:
        shuffle.shuffle(order)
        pools = [order[start : start + 512] for start in range(0, len(order), 512)]
    found = []
    for pool in pools:
        chosen: list[int] = []
        for place in sorted(pool, key=lambda place: lengths[place]):
            if chosen and (len(chosen) + 1) * lengths[place] > tokens:
                found.append(np.array(chosen))
                chosen = []
            chosen.append(place)
        found.append(np.array(chosen))
    if shuffle is not None:
        shuffle.shuffle(found)
    yield from found
