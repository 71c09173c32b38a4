"""Distillation (Hinton et al., 2015): a student learns the soft labels of teachers, models that are trained first.

A few thousand sentences leave much to chance: seeds of one configuration differ, and the mean of their answers is
better than any of them. A student is taught that mean, of the training sentences and of augmented versions of them. It
then costs what one model costs.
"""

from dataclasses import replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from tabsa.encoding.arrays import Encoded
from tabsa.encoding.pieces import NO_SLOT, PieceReader
from tabsa.encoding.questions import AspectTable, Questions
from tabsa.models.base import Model
from tabsa.training.augmentation import JOINTS, compose, first_readings, joined, near_words, replace_words
from tabsa.training.config import RunConfig
from tabsa.training.preparation import Prepared
from tabsa.training.validation import reading_probabilities

_APART: Final = 1000  # between the seeds of a student and of its teachers


def teacher_seeds(config: RunConfig) -> range:
    """The seeds of a run's teachers."""
    first = config.training.seed + _APART
    return range(first, first + config.distillation.teachers)


def with_soft_labels(config: RunConfig, prepared: Prepared, teachers: Model) -> Prepared:
    """All versions of the training sentences, with the mean of what the seeds of `teachers` say of each."""
    near = near_words(prepared.train.tokens, prepared.words, prepared.targets, prepared.matrix)
    train = joined([version(config, prepared, near, number) for number in range(config.augmentation.copies)])
    soft_labels = reading_probabilities(teachers, train).mean(0).astype(np.float32)
    soft_labels[train.groups < 0] = 0
    return replace(prepared, train=train, soft_labels=soft_labels)


def version(config: RunConfig, prepared: Prepared, near: NDArray[np.int32], number: int) -> Encoded:
    """A version of the training sentences; number 0 is as they stand. Words of other splits do not come in."""
    if number == 0:
        return prepared.train
    seed = config.training.seed + number
    data = first_readings(prepared.train, len(prepared.train) - prepared.composed)
    if prepared.composed:
        joints = [prepared.words.index(word) for word in JOINTS]
        data = compose(data, prepared.targets, joints, share=config.augmentation.composed, seed=seed)
    rng = np.random.default_rng([seed, 2])
    return replace(data, tokens=replace_words(data.tokens, near, config.augmentation.replaced, rng))


def as_questions(prepared: Prepared, data: Encoded, reader: PieceReader, table: AspectTable) -> Questions:
    """Readings of word vectors as texts for a reader, so that it can teach: each target and aspect is a question.

    Questions are in the order of (reading, target, aspect), those of readings' absent targets left out.
    """
    pieces: list[int] = []
    slots: list[int] = []
    starts, first = [0], [0]
    asked: list[tuple[int, int, int, int]] = []
    rows = [table.row(aspect) for aspect in prepared.aspects]
    slot_of = {row: slot for slot, row in enumerate(prepared.targets)}
    for n, length in enumerate(data.lengths.tolist()):
        numbers: dict[int, int] = {}  # slots anew, by first mention, as a reader has them
        for word in data.tokens[n, :length].tolist():
            if word in slot_of:
                slot = numbers.setdefault(slot_of[word], len(numbers))
                pieces += reader.placeholder(slot)
                slots += [slot] * len(reader.placeholder(slot))
            else:
                found = reader.words(prepared.words[word])
                pieces += found
                slots += [NO_SLOT] * len(found)
        starts.append(len(pieces))
        for target in np.flatnonzero(data.groups[n] >= 0).tolist():
            for place, row in enumerate(rows):
                number = (n * data.labels.shape[1] + target) * len(rows) + place
                asked.append((numbers.get(target, NO_SLOT), row, int(data.labels[n, target, place]), number))
        first.append(len(asked))
    columns = np.array(asked, np.int64).reshape(-1, 4).T
    return Questions(
        np.array(pieces, np.int32),
        np.array(slots, np.int16),
        np.array(starts, np.int64),
        np.array(first, np.int64),
        columns[0].astype(np.int16),
        columns[1].astype(np.int32),
        columns[2].astype(np.int8),
        columns[3].astype(np.int32),
        np.zeros(len(data), np.int16),
    )


def with_answers(prepared: Prepared, train: Encoded, asked: Questions, soft: NDArray[np.floating]) -> Prepared:
    """A run's data with what a reader said to `as_questions` of `train`, (Q, labels), in the data's own labels."""
    shape = (*train.labels.shape, len(prepared.labels))
    soft_labels = np.zeros(shape, np.float32)
    soft_labels.reshape(-1, shape[-1])[asked.numbers] = soft
    return replace(prepared, train=train, soft_labels=soft_labels)
