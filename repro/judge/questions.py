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

from tabsa.schema import MIXED, NEGATIVE, NEUTRAL, NONE, POSITIVE, Dataset

LABELS = (NONE, POSITIVE, NEGATIVE, NEUTRAL, MIXED)
_TEXT, _QUESTION, _UNNAMED = (
    'Someone writes: "{}"\n',
    "What does it say of {}, on {}? It is",
    "What does it say on {}? It is",
)
_MULTIPLE = 16  # lengths are rounded up to these, so that few shapes occur


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


class Batch(NamedTuple):
    """Trees side by side; `rows` and `columns` say where each question's last token is."""

    tokens: Tensor  # (B, T)
    positions: Tensor  # (B, T)
    mask: Tensor  # (B, T, T), true where a token attends
    rows: Tensor  # (Q,)
    columns: Tensor  # (Q,)
    labels: Tensor  # (Q, labels)


def encode(tokenizer: Any, text: str, questions: Sequence[tuple[str, str]], labels: NDArray[np.float32]) -> Item:
    """Encode a text and its (target, aspect) questions; an empty target is what the text does not name."""

    def tokens(words: str) -> NDArray[np.int32]:
        return np.array(tokenizer.encode(words, add_special_tokens=False).ids, np.int32)

    asked = tuple(tokens(_QUESTION.format(*pair) if pair[0] else _UNNAMED.format(pair[1])) for pair in questions)
    return Item(tokens(_TEXT.format(text)), asked, labels)


def items_of(dataset: Dataset, tokenizer: Any) -> list[Item]:
    """Encode a labelled dataset, every question that it asks in its order."""
    questions: dict[str, list[tuple[str, str]]] = {}
    labels: dict[str, list[int]] = {}
    for example, target, aspect, polarity in dataset.questions():
        questions.setdefault(example.id, []).append((target.name, aspect))
        labels.setdefault(example.id, []).append(LABELS.index(polarity))
    one_hot = np.eye(len(LABELS), dtype=np.float32)
    return [
        encode(tokenizer, example.text, questions[example.id], one_hot[labels[example.id]])
        for example in dataset.examples
        if example.id in questions
    ]


def renumbered(items: Sequence[Item], tokens: NDArray[np.integer]) -> list[Item]:
    """Number tokens by their place among those that occur, as a packed decoder has them."""

    def places(ids: NDArray[np.int32]) -> NDArray[np.int32]:
        found = np.searchsorted(tokens, ids)
        if not np.array_equal(tokens[np.minimum(found, len(tokens) - 1)], ids):
            raise ValueError("a token is not among those that were packed")
        return found.astype(np.int32)

    return [Item(places(item.text), tuple(map(places, item.questions)), item.labels) for item in items]


def pack_items(items: Sequence[Item], device: torch.device | str = "cpu") -> Batch:
    """Put trees side by side."""
    length = -(-max(item.length for item in items) // _MULTIPLE) * _MULTIPLE
    tokens, positions = (np.zeros((len(items), length), np.int64) for _ in range(2))
    branch = np.full((len(items), length), -1, np.int64)  # 0: the text, n: its question n, -1: padding
    rows, columns = [], []
    for row, item in enumerate(items):
        start = len(item.text)
        tokens[row, :start], positions[row, :start], branch[row, :start] = item.text, np.arange(start), 0
        for number, question in enumerate(item.questions, 1):
            end = start + len(question)
            tokens[row, start:end], branch[row, start:end] = question, number
            positions[row, start:end] = len(item.text) + np.arange(len(question))
            rows.append(row)
            columns.append(end - 1)
            start = end
    which = torch.from_numpy(branch).to(device)
    before = torch.ones(length, length, dtype=torch.bool, device=device).tril()
    mask = before & ((which[:, None] == 0) | (which[:, None] == which[:, :, None])) & (which >= 0)[:, None]
    mask |= torch.eye(length, dtype=torch.bool, device=device)  # padding attends to itself: no row may be empty
    labels = torch.from_numpy(np.concatenate([item.labels for item in items]))
    arrays = (torch.from_numpy(array).to(device) for array in (tokens, positions))
    return Batch(
        *arrays, mask, torch.tensor(rows, device=device), torch.tensor(columns, device=device), labels.to(device)
    )


def batches(items: Sequence[Item], size: int, shuffle: random.Random | None = None) -> Iterator[list[int]]:
    """Yield places of `size` items of like length; in random order where there is a generator, else by length."""
    order = list(range(len(items)))
    if shuffle is None:
        order.sort(key=lambda place: items[place].length)
        yield from (order[start : start + size] for start in range(0, len(order), size))
        return
    shuffle.shuffle(order)
    found = []
    for start in range(0, len(order), 8 * size):
        pool = sorted(order[start : start + 8 * size], key=lambda place: items[place].length)
        found += [pool[first : first + size] for first in range(0, len(pool), size)]
    shuffle.shuffle(found)
    yield from found
