"""Distillation (Hinton et al., 2015): a student learns the soft labels of teachers, models that are trained first.

A few thousand sentences leave much to chance: seeds of one configuration differ, and the mean of their answers is
better than any of them. A student is taught that mean, of the training sentences and of augmented versions of them. It
then costs what one model costs.
"""

from dataclasses import replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from tabsa.encoding import Encoded
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
