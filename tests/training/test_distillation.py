"""Augmentation and distillation: composed sentences, near words, and that soft labels are what is learnt."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from tabsa.encoding.arrays import UNLABELLED, Encoded
from tabsa.errors import ConfigError
from tabsa.nn.context import EVALUATION
from tabsa.training.augmentation import compose, near_words, replace_words
from tabsa.training.callbacks import Callback
from tabsa.training.fit import train_seeds, versions
from tabsa.training.run_config import DistillationConfig, run_config, teachers_config
from tabsa.training.run_folder import Run
from tabsa.training.word_training import Trainer
from tabsa_repro.seed_runs import prepare_with_test

TARGETS, JOINT_ROWS = (1, 2), (8, 9)


def sentences():
    """Three sentences about one target, of 3, 2 and 4 words, and one about two; no sentence is longer than 7."""
    tokens = np.zeros((4, 7), np.int32)
    rows = [[1, 10, 11], [12, 1], [13, 1, 14, 1], [1, 15, 2, 16, 17, 17, 17]]
    for row, words in zip(tokens, rows, strict=True):
        row[: len(words)] = words
    labels = np.full((4, 2, 1), UNLABELLED, np.int8)
    labels[:, 0, 0] = [0, 1, 2, 1]
    labels[3, 1, 0] = 2
    groups = np.array([[0, -1], [1, -1], [2, -1], [3, 4]], np.int32)
    gold = labels[groups >= 0].astype(np.int64)
    return Encoded(tokens, np.array([3, 2, 4, 7], np.int32), labels, groups, gold)


def test_two_sentences_become_one_about_two_targets():
    before = sentences()
    after = compose(before, TARGETS, JOINT_ROWS, share=10.0, seed=3)
    assert len(after) == 4 + 40
    np.testing.assert_array_equal(after.tokens[:4], before.tokens)
    parts = {tuple(before.tokens[n, : before.lengths[n]]): before.labels[n, 0, 0] for n in range(3)}
    seen = set()
    for n in range(4, 44):
        words = after.tokens[n, : after.lengths[n]].tolist()
        assert not after.tokens[n, after.lengths[n] :].any()
        (joint,) = [place for place, word in enumerate(words) if word in JOINT_ROWS]
        first, second = tuple(words[:joint]), tuple(1 if word == 2 else word for word in words[joint + 1 :])
        assert 2 not in first
        assert 1 not in words[joint + 1 :]
        assert after.labels[n].ravel().tolist() == [parts[first], parts[second]]
        seen.add((first, second))
    assert len(seen) > 4
    there = after.groups >= 0
    assert sorted(after.groups[there]) == list(range(len(after.gold)))
    np.testing.assert_array_equal(after.gold[after.groups[there]], after.labels[there])
    both = Encoded(before.tokens[3:], before.lengths[3:], before.labels[3:], before.groups[3:] - 3, before.gold[3:])
    assert len(compose(both, TARGETS, JOINT_ROWS, share=5.0, seed=1)) == 1  # nothing to compose


def config(**distillation):
    """A small run on `places` with teachers."""
    return run_config(
        {
            "kind": "delayed-entnet",
            "data": {"name": "places"},
            "augmentation": {"composed": 0.2, "copies": 3},
            "vectors": {"size": 12},
            "model": {"chains": 3},
            "training": {"epochs": 1, "batch_size": 32, "balance": "sentence", "optimiser": "adam", "rate": 0.01},
            "distillation": {"teachers": 2} | distillation,
        }
    )


@pytest.fixture(scope="module")
def prepared():
    return prepare_with_test(config())


def test_near_words_against_a_slow_loop(prepared):
    matrix = np.random.default_rng(1).normal(size=(len(prepared.words), 4)).astype(np.float32)
    matrix[0] = 0
    found = near_words(prepared.train.tokens, prepared.words, prepared.targets, matrix)
    words, targets = prepared.words, prepared.targets
    used = [row for row in np.unique(prepared.train.tokens) if words[row].isalpha() and row not in targets]
    unit = matrix / np.maximum(np.linalg.norm(matrix, axis=1, keepdims=True), 1e-12)
    for row in used[:40]:
        close = sorted((-float(unit[row] @ unit[other]), other) for other in used if other != row)[:8]
        expected = [other for cosine, other in close if -cosine >= 0.4]
        assert sorted(found[row][found[row] > 0]) == sorted(expected)
    others = sorted(set(range(len(words))) - set(used))
    assert not found[others].any()  # padding, targets, punctuation, and words that the training data lacks


def test_replaced_words_are_near_ones_and_as_many_as_wanted():
    rng = np.random.default_rng(2)
    near = np.zeros((50, 8), np.int32)
    near[10:] = rng.integers(10, 50, (40, 8))
    tokens = rng.integers(0, 50, (400, 30)).astype(np.int32)
    found = replace_words(tokens, near, 0.2, np.random.default_rng(3))
    changed = found != tokens
    assert not changed[tokens < 10].any()
    assert 0.17 < changed[tokens >= 10].mean() < 0.21
    assert all(new in near[old] for old, new in zip(tokens[changed], found[changed], strict=True))


def test_versions_share_labels_and_targets(prepared, monkeypatch):
    near = np.roll(np.tile(np.arange(len(prepared.words), dtype=np.int32)[:, None], 8), 1, axis=0)
    near[[0, *prepared.targets]] = 0
    monkeypatch.setattr("tabsa.training.fit.near_words", lambda *_: near)
    every, size = versions(config(), prepared), len(prepared.train)
    plain = size - prepared.composed
    assert prepared.composed == int(0.2 * plain) > 0
    first, second, third = (slice(n * size, (n + 1) * size) for n in range(3))
    np.testing.assert_array_equal(every.tokens[first], prepared.train.tokens)
    np.testing.assert_array_equal(every.labels[second][:plain], every.labels[first][:plain])
    start = every.tokens[first][:plain]
    for part in (second, third):
        tokens = every.tokens[part][:plain]
        assert 0.1 < (tokens != start)[start > 0].mean() < 0.2
        for row in prepared.targets:
            np.testing.assert_array_equal(tokens == row, start == row)
    assert (every.tokens[second][plain:] != every.tokens[third][plain:]).any()


class Recorder(Callback):
    """Remembers who was trained, and the teachers' weights."""

    def __init__(self):
        self.seen, self.teachers = [], None

    def on_start(self, trainer, role, folder):
        taught = trainer.prepared.soft_labels is not None
        self.seen.append((role, trainer.seeds, taught, trainer.config.distillation.teachers))

    def on_end(self, trainer):
        if trainer.config.distillation.teachers == 0 and self.teachers is None:
            self.teachers = trainer.config, trainer.best


def test_teachers_are_trained_first_and_their_mean_is_the_soft_label(prepared):
    recorder = Recorder()
    trainer = train_seeds(config(settings=("training.rate=0.02",)), prepared, (1,), Run(callbacks=[recorder]))
    assert recorder.seen == [("teachers", (1001, 1002), False, 0), ("model", (1,), True, 2)]
    assert trainer.prepared.test is prepared.test
    train, soft = trainer.prepared.train, trainer.prepared.soft_labels
    assert len(train) == 3 * len(prepared.train)
    teachers = Trainer(recorder.teachers[0], prepared, (1001, 1002))
    teachers.put(recorder.teachers[1])
    for row in (0, len(prepared.train) + 3, len(train) - 1):
        length = int(train.lengths[row])
        tokens = torch.from_numpy(train.tokens[row, :length]).long().expand(2, 1, -1)
        logits = teachers.model(tokens, torch.full((2, 1), length), context=EVALUATION).logits
        mean = logits.double().softmax(-1).mean(0)[0].detach().numpy()
        there = train.groups[row] >= 0
        np.testing.assert_allclose(soft[row][there], mean[there], atol=1e-5)
        assert not soft[row][~there].any()


def test_a_student_learns_soft_labels_and_not_the_labels(prepared):
    """Teachers that take positive for negative teach just that."""
    of = run_config(
        {
            "kind": "entnet",
            "data": {"name": "places"},
            "model": {"chains": 2, "input_dropout": 0.0, "output_dropout": 0.0},
            "training": {"epochs": 20, "batch_size": 64, "balance": "sentence", "optimiser": "adam", "rate": 0.01},
        }
    )
    soft = np.eye(3, dtype=np.float32)[[0, 2, 1]][np.maximum(prepared.train.labels, 0)]
    figures = []
    for given in (None, soft):
        trainer = Trainer(of, replace(prepared, dev=prepared.train, soft_labels=given), (1,))
        figures.append(list(trainer.run())[-1].figures[0]["sun"]["sentiment_auc"])
    right, wrong = figures
    assert right > 0.65
    assert wrong < 0.35


def test_the_teachers_configuration():
    own = teachers_config(config(settings=("training.rate=0.02", "model.chains=4")))
    assert (own.training.rate, own.model.chains) == (0.02, 4)
    assert own.distillation == DistillationConfig()
    with pytest.raises(ConfigError, match=r"'distillation\.settings': unknown key 'training\.rat'"):
        config(settings=("training.rat=1",))
    for kind in ("lr", "sentic-lstm", "reader"):
        with pytest.raises(ConfigError, match=r"'distillation\.teachers' is for models that read words alone"):
            run_config({"kind": kind, "distillation": {"teachers": 3}})
