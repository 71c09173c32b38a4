"""Learning from teachers: models trained first, whose mean answers take the place of the labels.

A few thousand sentences leave much to chance: seeds of one configuration differ, and the mean of their answers is
better than any of them. A student is taught that mean (Hinton et al., 2015), of the training sentences and of versions
of them in which some words gave way to near ones (as Jiao et al., 2020, do) and others were composed. It then costs
what one model costs.
"""

import gc
from collections.abc import Callable
from dataclasses import replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from tabsa.batch import Encoded
from tabsa.models import Model
from tabsa.training.compose import JOINTS, compose
from tabsa.training.config import RunConfig, teachers_config
from tabsa.training.judging import predict
from tabsa.training.loop import Trainer
from tabsa.training.prepare import Prepared

Train = Callable[[Trainer, str], None]
"""Trains to the end; the name tells a run's groups of teachers apart."""

_NEAR: Final = 8  # words that may stand for a word
_LEAST: Final = 0.4  # cosine of a word that may
_BLOCK: Final = 1024
_SEEDS: Final = 1000  # between those of a student and of its teachers


def teach(config: RunConfig, prepared: Prepared, device: str, train: Train) -> Prepared:
    """What a run learns from: `prepared`, or, where it asks for teachers, versions of it with what they say."""
    teaching = config.teaching
    if not teaching.teachers:
        return prepared
    own = teachers_config(config)
    first = config.training.seed + _SEEDS * teaching.rounds
    trainer = Trainer(own, teach(own, prepared, device, train), range(first, first + teaching.teachers), device)
    train(trainer, f"teachers-{teaching.rounds}")
    trainer.put(trainer.best)
    taught = lessons(config, prepared, trainer.model)
    del trainer
    gc.collect()  # a trainer and its graphs refer to each other, and hold a GPU's memory
    return taught


def lessons(config: RunConfig, prepared: Prepared, teachers: Model) -> Prepared:
    """All versions of the training sentences, with the mean of what the seeds of `teachers` say of each."""
    near = near_words(prepared)
    versions = [version(config, prepared, near, number) for number in range(config.teaching.copies)]
    train = _joined(versions)
    mean = predict(teachers, train).mean(0).astype(np.float32)  # (groups, A, labels)
    said = np.zeros((*train.labels.shape, len(prepared.labels)), np.float32)
    there = train.groups >= 0
    said[there] = mean[train.groups[there]]
    return replace(prepared, train=train, said=said)


def version(config: RunConfig, prepared: Prepared, near: NDArray[np.int32], number: int) -> Encoded:
    """A version of the training sentences; number 0 is as they stand."""
    if number == 0:
        return prepared.train
    seed = config.training.seed + number
    data = _first(prepared.train, len(prepared.train) - prepared.composed)
    if prepared.composed:
        joints = [prepared.words.index(word) for word in JOINTS]
        data = compose(data, prepared.targets, joints, share=config.data.composed, seed=seed)
    return replace(data, tokens=replaced(data.tokens, near, config.teaching.replaced, np.random.default_rng([seed, 2])))


def near_words(prepared: Prepared) -> NDArray[np.int32]:
    """For each row of the vocabulary, rows of the nearest words of the training data, (V, 8), 0 where there are fewer.

    Words of other splits do not come in, nor do target tokens and whatever is not made of letters.
    """
    used = np.unique(prepared.train.tokens)
    words = np.array([row for row in used if prepared.words[row].isalpha() and row not in prepared.targets], np.int32)
    result = np.zeros((len(prepared.matrix), _NEAR), np.int32)
    norms = np.linalg.norm(prepared.matrix, axis=1, keepdims=True)
    unit = prepared.matrix / np.maximum(norms, 1e-12)
    for start in range(0, len(words), _BLOCK):
        block = words[start : start + _BLOCK]
        cosine = unit[block] @ unit[words].T
        cosine[np.arange(len(block)), start + np.arange(len(block))] = -1  # not itself
        best = np.argsort(-cosine, axis=1, kind="stable")[:, :_NEAR]
        close = np.take_along_axis(cosine, best, axis=1) >= _LEAST
        result[block, : best.shape[1]] = np.where(close, words[best], 0)
    return result


def replaced(
    tokens: NDArray[np.int32], near: NDArray[np.int32], share: float, rng: np.random.Generator
) -> NDArray[np.int32]:
    """Tokens, each of which gives way with probability `share` to one of its near words, if that one is there."""
    others = near[tokens, rng.integers(near.shape[1], size=tokens.shape)]
    chosen = (rng.random(tokens.shape) < share) & (others > 0)
    return np.where(chosen, others, tokens)


def _first(data: Encoded, count: int) -> Encoded:
    return Encoded(data.tokens[:count], data.lengths[:count], data.labels[:count], data.groups[:count])


def _joined(versions: list[Encoded]) -> Encoded:
    """All versions behind each other, their groups numbered anew."""
    tokens, lengths, labels, groups = (
        np.concatenate([getattr(data, name) for data in versions]) for name in ("tokens", "lengths", "labels", "groups")
    )
    there = groups >= 0
    groups[there] = np.arange(there.sum())
    return Encoded(tokens, lengths, labels, groups)
