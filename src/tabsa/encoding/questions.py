"""Texts and questions about them as arrays, for training and validating a model with open aspects. NumPy only.

All texts stand one after the other in one array, and so do all questions; `starts` and `first` say where each text's
begin. A question is a target's slot in its text, a row of the table of aspects, and a label.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from tabsa.encoding.answers import strongest_of
from tabsa.encoding.arrays import UNLABELLED, label_indices
from tabsa.encoding.pieces import NO_SLOT, PieceReader, wording
from tabsa.schema import Dataset

_KINDS: Final = {
    "pieces": np.int32,
    "slots": np.int16,
    "targets": np.int16,
    "aspects": np.int32,
    "labels": np.int8,
    "numbers": np.int32,
}


@dataclass(frozen=True)
class Questions:
    """N texts with P word pieces and Q questions in all."""

    pieces: NDArray[np.int32]  # (P,), without those around a text
    slots: NDArray[np.int16]  # the slot of the target that a piece stands for, or NO_SLOT, (P,)
    starts: NDArray[np.int64]  # where each text's pieces begin, and the end, (N + 1,)
    first: NDArray[np.int64]  # where each text's questions begin, and the end, (N + 1,)
    targets: NDArray[np.int16]  # the slot of a question's target, NO_SLOT where it is implied, (Q,)
    aspects: NDArray[np.int32]  # rows of the table of aspects, (Q,)
    labels: NDArray[np.int8]  # what is learnt, UNLABELLED where nothing is, (Q,)
    numbers: NDArray[np.int32]  # which of `Dataset.questions` it is, (Q,)
    sets: NDArray[np.int16]  # which dataset each text is of, (N,)
    soft_labels: NDArray[np.float16] | None = None  # teachers', (Q, labels)

    def __len__(self) -> int:
        return len(self.sets)

    @property
    def lengths(self) -> NDArray[np.int64]:
        """Pieces of each text, with the two around it."""
        return np.diff(self.starts) + 2

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return the arrays by name, for saving; whole ones, because safetensors writes all the memory of a view."""
        return {name: np.ascontiguousarray(array) for name, array in vars(self).items() if array is not None}


class AspectTable:
    """The wordings of aspects, each once, and their word pieces."""

    def __init__(self, reader: PieceReader, known: Iterable[str] = ()) -> None:
        self.reader = reader
        self.rows = {aspect: row for row, aspect in enumerate(dict.fromkeys(known))}

    def row(self, aspect: str) -> int:
        """Return the row of a wording; a new one gets the next."""
        return self.rows.setdefault(aspect, len(self.rows))

    def pieces(self) -> NDArray[np.int32]:
        """Return the pieces of every wording with the two around it, padded with NO_SLOT: (A, L)."""
        coded = [(self.reader.first, *self.reader.words(wording(aspect)), self.reader.last) for aspect in self.rows]
        table = np.full((len(coded), max(map(len, coded), default=2)), NO_SLOT, np.int32)
        for row, pieces in zip(table, coded, strict=True):
            row[: len(pieces)] = pieces
        return table


def encode_questions(
    dataset: Dataset, reader: PieceReader, table: AspectTable, labels: Sequence[str], *, longest: int, number: int = 0
) -> Questions:
    """Encode every text of a dataset with all its questions; `number` is the dataset's among several.

    What a text says is learnt from the first passage that is read for a target; of later ones only silence is.
    """
    parts: dict[str, list[int]] = {name: [] for name in _KINDS}
    starts, first, count = [0], [0], 0
    for example in dataset.examples:
        wanted = dataset.aspects if example.aspects is None else example.aspects
        place = {target.name: count + n * len(wanted) for n, target in enumerate(example.targets)}
        count += len(example.targets) * len(wanted)
        seen: set[str] = set()
        for passage in reader.cut(example.text, example.targets, longest=longest):
            parts["pieces"] += [piece.id for piece in passage.pieces]
            parts["slots"] += [piece.slot for piece in passage.pieces]
            starts.append(len(parts["pieces"]))
            marked = {piece.slot for piece in passage.pieces}
            for slot, name in enumerate(passage.targets):
                gold = label_indices(dataset, (example.polarity(name, aspect) for aspect in wanted), labels)
                parts["targets"] += [slot if slot in marked else NO_SLOT] * len(wanted)
                parts["aspects"] += [table.row(aspect) for aspect in wanted]
                parts["labels"] += [UNLABELLED if label and name in seen else label for label in gold]
                parts["numbers"] += range(place[name], place[name] + len(wanted))
            seen.update(passage.targets)
            first.append(len(parts["targets"]))
    arrays: dict[str, NDArray[Any]] = {name: np.array(values, _KINDS[name]) for name, values in parts.items()}
    arrays |= {"starts": np.array(starts, np.int64), "first": np.array(first, np.int64)}
    return Questions(**arrays, sets=np.full(len(starts) - 1, number, np.int16))


def joined_questions(parts: Sequence[Questions]) -> Questions:
    """Join several sets of texts; the numbers of questions stay those of their own datasets."""

    def all_of(name: str) -> NDArray[Any]:
        return np.concatenate([getattr(part, name) for part in parts])

    def ends(name: str) -> NDArray[np.int64]:
        arrays = [getattr(part, name) for part in parts]
        before = np.cumsum([0, *(array[-1] for array in arrays)])
        moved = [array[:-1] + start for array, start in zip(arrays, before, strict=False)]
        return np.concatenate([*moved, before[-1:]])

    lacking = {name for part in parts for name, array in vars(part).items() if array is None}
    plain = {field.name for field in fields(Questions)} - {"starts", "first"} - lacking
    return Questions(starts=ends("starts"), first=ends("first"), **{name: all_of(name) for name in plain})


def answers_of(data: Questions, count: int, probabilities: NDArray[Any]) -> NDArray[np.float64]:
    """Return the answer to each of a dataset's `count` questions, (..., count, labels), of those to each in `data`.

    A question about several passages is answered by the strongest, one about none is silent.
    """
    return strongest_of(data.numbers, count, probabilities[..., None, :])[..., 0, :]
