"""Texts and what is asked of them, as arrays: what a model with any aspects learns from and is judged by. NumPy only.

All texts stand behind each other in one array, and so do all questions; `starts` and `first` say where each text's
begin. A question is a target's slot in its text, a row of the table of aspects, and a label.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tabsa.encoding.answers import keep_strongest
from tabsa.encoding.labels import NOT_ASKED
from tabsa.encoding.pieces import PieceReader
from tabsa.encoding.windows import NO_SLOT
from tabsa.errors import DataError
from tabsa.schema import Dataset


@dataclass(frozen=True)
class Questions:
    """N texts with P word pieces and Q questions in all."""

    pieces: NDArray[np.int32]  # (P,), without those around a text
    slots: NDArray[np.int16]  # the slot of the target that a piece stands for, or NO_SLOT, (P,)
    starts: NDArray[np.int64]  # where each text's pieces begin, and the end, (N + 1,)
    first: NDArray[np.int64]  # where each text's questions begin, and the end, (N + 1,)
    targets: NDArray[np.int16]  # the slot of a question's target, NO_SLOT where it is implied, (Q,)
    aspects: NDArray[np.int32]  # rows of the table of aspects, (Q,)
    labels: NDArray[np.int8]  # what is learnt, NOT_ASKED where nothing is, (Q,)
    numbers: NDArray[np.int32]  # which of `Dataset.questions` it is, (Q,)
    sets: NDArray[np.int16]  # which dataset each text is of, (N,)
    soft_labels: NDArray[np.float16] | None = None  # teachers', (Q, labels)

    def __len__(self) -> int:
        return len(self.sets)

    @property
    def lengths(self) -> NDArray[np.int64]:
        """Pieces of each text, with the two around it."""
        return np.diff(self.starts) + 2

    def arrays(self, prefix: str = "") -> dict[str, NDArray[Any]]:
        """The arrays by name, for saving; whole ones, because safetensors writes the memory behind a view."""
        named = {field.name: getattr(self, field.name) for field in fields(self)}
        return {prefix + name: np.ascontiguousarray(array) for name, array in named.items() if array is not None}

    @classmethod
    def of(cls, arrays: Mapping[str, NDArray[Any]], prefix: str = "") -> "Questions":
        """What `arrays` gave."""
        return cls(**{name.removeprefix(prefix): array for name, array in arrays.items() if name.startswith(prefix)})


class AspectTable:
    """The wordings of aspects that are asked, each once, and their word pieces."""

    def __init__(self, reader: PieceReader, known: Iterable[str] = ()) -> None:
        self.reader = reader
        self.rows: dict[str, int] = {}
        for aspect in known:
            self.row(aspect)

    def row(self, aspect: str) -> int:
        """The row of a wording; a new one gets the next."""
        return self.rows.setdefault(aspect, len(self.rows))

    def pieces(self) -> NDArray[np.int32]:
        """The pieces of every wording with the two around it, padded with NO_SLOT: (A, L)."""
        return padded_aspects(self.reader, tuple(self.rows))


def padded_aspects(reader: PieceReader, aspects: Sequence[str]) -> NDArray[np.int32]:
    """The pieces of wordings as a model reads them, padded with -1: (A, L)."""
    coded = [(reader.first, *reader.words(wording(aspect)), reader.last) for aspect in aspects]
    table = np.full((len(coded), max(map(len, coded), default=2)), NO_SLOT, np.int32)
    for row, pieces in zip(table, coded, strict=True):
        row[: len(pieces)] = pieces
    return table


def wording(aspect: str) -> str:
    """An aspect's name as words: `transit-location` is `transit location`."""
    return " ".join(aspect.replace("-", " ").replace("_", " ").replace("/", " ").split())


def encode_questions(
    dataset: Dataset, reader: PieceReader, table: AspectTable, labels: Sequence[str], *, longest: int, number: int = 0
) -> Questions:
    """Every text of a dataset with everything that is asked of it; `number` is the dataset's among several.

    What a text says is learnt from the first passage that is read for a target; of later ones only silence is.
    """
    index = {label: place for place, label in enumerate(labels)}
    parts: dict[str, list[Any]] = {name: [] for name in ("pieces", "slots", "targets", "aspects", "labels", "numbers")}
    starts, first, asked = [0], [0], 0
    for example in dataset.examples:
        wanted = dataset.aspects if example.aspects is None else example.aspects
        place = {target.name: asked + n * len(wanted) for n, target in enumerate(example.targets)}
        asked += len(example.targets) * len(wanted)
        seen: set[str] = set()
        for passage in reader.cut(example.text, example.targets, longest=longest):
            parts["pieces"] += [piece.id for piece in passage.pieces]
            parts["slots"] += [piece.slot for piece in passage.pieces]
            starts.append(len(parts["pieces"]))
            marked = {piece.slot for piece in passage.pieces}
            for slot, name in enumerate(passage.targets):
                for n, aspect in enumerate(wanted):
                    polarity = example.polarity(name, aspect)
                    if polarity not in index:
                        raise DataError(
                            f"{dataset.name} {dataset.split} has the polarity '{polarity}'; expected one of "
                            f"{', '.join(labels)}"
                        )
                    label = index[polarity]
                    parts["targets"].append(slot if slot in marked else NO_SLOT)
                    parts["aspects"].append(table.row(aspect))
                    parts["labels"].append(NOT_ASKED if label and name in seen else label)
                    parts["numbers"].append(place[name] + n)
            seen.update(passage.targets)
            first.append(len(parts["targets"]))
    kinds = {"pieces": np.int32, "slots": np.int16, "targets": np.int16, "aspects": np.int32, "labels": np.int8}
    arrays = {name: np.array(values, kinds.get(name, np.int32)) for name, values in parts.items()}
    counts = np.array(starts, np.int64), np.array(first, np.int64)
    sets = np.full(len(starts) - 1, number, np.int16)
    return Questions(starts=counts[0], first=counts[1], sets=sets, **arrays)


def joined_questions(parts: Sequence[Questions]) -> Questions:
    """Several sets of texts behind each other; the numbers of questions stay those of their own datasets."""

    def ends(arrays: Sequence[NDArray[np.int64]]) -> NDArray[np.int64]:
        before = np.cumsum([0, *(array[-1] for array in arrays)])
        moved = [array[:-1] + start for array, start in zip(arrays, before, strict=False)]
        return np.concatenate([*moved, before[-1:]])

    def all_of(name: str) -> NDArray[Any]:
        return np.concatenate([getattr(part, name) for part in parts])

    plain = ("pieces", "slots", "targets", "aspects", "labels", "numbers", "sets")
    soft = None if any(part.soft_labels is None for part in parts) else all_of("soft_labels")
    return Questions(
        starts=ends([part.starts for part in parts]),
        first=ends([part.first for part in parts]),
        soft_labels=soft,
        **{name: all_of(name) for name in plain},
    )


def answers_of(data: Questions, count: int, probabilities: NDArray[Any]) -> NDArray[np.float64]:
    """What is said to each of a dataset's `count` questions, (..., count, labels), of what is said to each in `data`.

    One that is asked of several passages is answered by the strongest, one that is asked of none is silent.
    """
    result = np.zeros((*probabilities.shape[:-2], count, probabilities.shape[-1]))
    result[..., 0] = 1
    found, first = np.unique(data.numbers, return_index=True)
    result[..., found, :] = probabilities[..., first, :]
    for again in np.setdiff1d(np.arange(len(data.numbers)), first).tolist():
        number = data.numbers[again]
        result[..., number, :] = keep_strongest(result[..., number, :], probabilities[..., again, :])
    return result
