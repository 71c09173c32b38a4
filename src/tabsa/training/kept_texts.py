"""What a reader has read of texts, computed once with onnxruntime: fine-tuning with the encoder kept starts from it.

A text's keys and values do not depend on what is asked, nor on what is learnt where the encoder stays as it is, so an
epoch costs only the questions.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from tabsa.encoding.pieces import PiecePassage
from tabsa.encoding.questions import AspectTable, Questions, encode_questions
from tabsa.errors import DataError
from tabsa.models.reader.reader_engine import ReaderEngine
from tabsa.schema import Dataset

_IN_MEMORY: Final = 2**31  # bytes; more lies in a file
_READ_AT_ONCE: Final = 4096  # passages


@dataclass(frozen=True)
class KeptTexts:
    """N passages with P word pieces and Q questions in all, and what was read of them."""

    questions: Questions
    heard: NDArray[np.float16]  # keys and values of each layer, of all passages behind each other, (P, layers x 2, d)
    starts: NDArray[np.int64]  # where each passage's begin, and the end, (N + 1,)
    targets: NDArray[np.float32]  # the states of all passages' targets, (G, d)
    asked: NDArray[np.int64]  # the row in `targets` of each question's, (Q,)
    aspects: NDArray[np.float32]  # the vectors of the aspects that are asked, (A, d)
    owners: NDArray[np.int64]  # the example that each passage is of, (N,)

    def __len__(self) -> int:
        return len(self.owners)

    @property
    def lengths(self) -> NDArray[np.int64]:
        """Pieces of each passage, with the two around it."""
        return np.diff(self.starts)


def keep_texts(
    engine: ReaderEngine,
    dataset: Dataset,
    labels: Sequence[str],
    *,
    spill: Path | None = None,
    on_read: Callable[[int, int], None] = lambda _done, _all: None,
) -> KeptTexts:
    """Read a dataset's texts once.

    Args:
        engine: the reader that reads.
        dataset: its texts and questions.
        labels: the order of the labels to learn.
        spill: the file that holds what was read where that is more than memory should.
        on_read: hears how many passages are read, of how many.
    """
    longest = engine.folder.config.max_length
    table = AspectTable(engine.pieces)
    questions = encode_questions(dataset, engine.pieces, table, labels, longest=longest)
    passages: list[PiecePassage] = []
    owners: list[int] = []
    for number, example in enumerate(dataset.examples):
        # Not in windows: nobody knows which of a long text's windows carries its label.
        cut = list(engine.pieces.cut(example.text, example.targets, longest=longest))
        passages += cut
        owners += [number] * len(cut)
    if not len(questions.targets):
        raise DataError(f"{dataset.name}: nothing is asked of its texts; expected targets and aspects to ask about")
    starts = np.concatenate([[0], np.cumsum([len(passage.pieces) + 2 for passage in passages])]).astype(np.int64)
    first = np.concatenate([[0], np.cumsum([len(passage.targets) for passage in passages])]).astype(np.int64)
    size = engine.shape.encoder.size
    heard = _room((int(starts[-1]), len(engine.shape.keys_values), size), spill)
    targets = np.empty((int(first[-1]), size), np.float32)
    for start in range(0, len(passages), _READ_AT_ONCE):
        part = passages[start : start + _READ_AT_ONCE]
        for done, (number, kept) in enumerate(engine.features(part), 1):
            row = start + number
            heard[starts[row] : starts[row + 1]] = kept.keys_values.transpose(1, 0, 2)
            targets[first[row] : first[row + 1]] = kept.targets
            on_read(start + done, len(passages))
    asked = _asked(passages, questions, first)
    vectors = engine.aspect_vectors(tuple(table.rows))
    return KeptTexts(questions, heard, starts, targets, asked, vectors, np.array(owners, np.int64))


def _asked(passages: Sequence[PiecePassage], questions: Questions, first: NDArray[np.int64]) -> NDArray[np.int64]:
    """The target of each question: every target of a passage is asked the same aspects, one target after another."""
    rows = []
    for passage, start, count in zip(passages, first, np.diff(questions.first), strict=False):
        each = int(count) // max(1, len(passage.targets))
        rows.append(np.repeat(start + np.arange(len(passage.targets)), each))
    return np.concatenate([*rows, np.array([], np.int64)])


def _room(shape: tuple[int, ...], spill: Path | None) -> NDArray[np.float16]:
    size = 2 * int(np.prod(shape, dtype=np.int64))
    if spill is None or size <= _IN_MEMORY:
        return np.empty(shape, np.float16)
    spill.parent.mkdir(parents=True, exist_ok=True)
    mapped: NDArray[Any] = np.memmap(spill, np.float16, "w+", shape=shape)
    return mapped
