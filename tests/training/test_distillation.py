"""Distillation: versions of the sentences, their soft labels, and that these are what is learnt."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from tabsa.encoding.arrays import UNLABELLED
from tabsa.errors import ConfigError
from tabsa.nn.context import EVALUATION
from tabsa.training.augmentation import JOINTS, near_words, replace_words
from tabsa.training.callbacks import Callback
from tabsa.training.config import DistillationConfig, RunConfig, run_config, teachers_config
from tabsa.training.distillation import version, with_soft_labels
from tabsa.training.fit import train_seeds
from tabsa.training.loop import cross_entropy
from tabsa.training.preparation import Prepared, prepare
from tabsa.training.words import Trainer


def config(**distillation: Any) -> RunConfig:
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
def prepared() -> Prepared:
    return prepare(config(), test="test")[0]


def test_the_composed_sentences_are_counted(prepared: Prepared) -> None:
    plain = len(prepared.train) - prepared.composed
    assert prepared.composed == int(0.2 * plain) > 0


def test_near_words_against_a_slow_loop(prepared: Prepared) -> None:
    rng = np.random.default_rng(1)
    matrix = rng.normal(size=(len(prepared.words), 4)).astype(np.float32)
    matrix[0] = 0
    data = Prepared(**{**vars(prepared), "matrix": matrix})
    found = near_words(data.train.tokens, data.words, data.targets, data.matrix)
    used = [row for row in np.unique(data.train.tokens) if data.words[row].isalpha() and row not in data.targets]
    unit = matrix / np.maximum(np.linalg.norm(matrix, axis=1, keepdims=True), 1e-12)
    for row in used[:40]:
        close = sorted((-float(unit[row] @ unit[other]), other) for other in used if other != row)[:8]
        expected = [other for cosine, other in close if -cosine >= 0.4]
        assert sorted(found[row][found[row] > 0]) == sorted(expected)
    others = sorted(set(range(len(data.words))) - set(used))
    assert not found[others].any()  # padding, targets, punctuation, and words that the training data lacks
    assert set(found.ravel()) <= {0, *used}
    assert len(others) > 10


def test_replaced_words_are_near_ones_and_as_many_as_asked() -> None:
    rng = np.random.default_rng(2)
    near = np.zeros((50, 8), np.int32)
    near[10:] = rng.integers(10, 50, (40, 8))
    tokens = rng.integers(0, 50, (400, 30)).astype(np.int32)
    found = replace_words(tokens, near, 0.2, np.random.default_rng(3))
    changed = found != tokens
    assert not changed[tokens < 10].any()
    assert 0.17 < changed[tokens >= 10].mean() < 0.21
    assert all(new in near[old] for old, new in zip(tokens[changed], found[changed], strict=True))
    np.testing.assert_array_equal(found, replace_words(tokens, near, 0.2, np.random.default_rng(3)))
    np.testing.assert_array_equal(tokens, replace_words(tokens, near, 0.0, rng))


def test_versions_keep_labels_and_targets(prepared: Prepared) -> None:
    near, plain = np.tile(np.arange(len(prepared.words), dtype=np.int32)[:, None], 8), len(prepared.train)
    near = np.roll(near, 1, axis=0)
    near[[0, *prepared.targets]] = 0
    plain -= prepared.composed
    first, second, third = (version(config(), prepared, near, number) for number in range(3))
    assert first is prepared.train
    np.testing.assert_array_equal(second.labels[:plain], first.labels[:plain])
    for data in (second, third):
        assert 0.1 < (data.tokens != first.tokens)[:plain][first.tokens[:plain] > 0].mean() < 0.2
        for row in prepared.targets:
            np.testing.assert_array_equal((data.tokens == row)[:plain], (first.tokens == row)[:plain])
    assert (second.tokens[plain:] != third.tokens[plain:]).any()
    assert {prepared.words.index(word) for word in JOINTS} & set(second.tokens[plain:].ravel())


def test_soft_labels_are_the_mean_of_the_teachers(prepared: Prepared) -> None:
    trainer = Trainer(teachers_config(config()), prepared, (5, 6, 7))
    taught = with_soft_labels(config(), prepared, trainer.model)
    assert len(taught.train) == 3 * len(prepared.train)
    assert taught.soft_labels is not None
    for row in (0, len(prepared.train) + 3, len(taught.train) - 1):
        length = int(taught.train.lengths[row])
        tokens = torch.from_numpy(taught.train.tokens[row, :length]).long().expand(3, 1, -1)
        logits = trainer.model(tokens, torch.full((3, 1), length), context=EVALUATION).logits
        mean = logits.double().softmax(-1).mean(0)[0].detach().numpy()
        there = taught.train.groups[row] >= 0
        np.testing.assert_allclose(taught.soft_labels[row][there], mean[there], atol=1e-5)
        assert not taught.soft_labels[row][~there].any()


def test_the_loss_against_a_slow_loop() -> None:
    rng = np.random.default_rng(4)
    logits = torch.from_numpy(rng.normal(size=(2, 5, 2, 3, 4)))
    labels = torch.from_numpy(rng.integers(-1, 4, (2, 5, 2, 3)))
    soft = torch.from_numpy(rng.dirichlet(np.ones(4), (2, 5, 2, 3)))
    weights = torch.from_numpy(rng.random(4) + 0.1)
    found = cross_entropy(logits, labels, weights, soft)
    for seed in range(2):
        total = weight = 0.0
        for place in np.ndindex(5, 2, 3):
            label = int(labels[(seed, *place)])
            if label == UNLABELLED:
                continue
            powers = np.exp(logits[(seed, *place)].numpy())
            entropy = -sum(soft[(seed, *place)].numpy() * np.log(powers / powers.sum()))
            total += float(weights[label]) * entropy
            weight += float(weights[label])
        assert found[seed].item() == pytest.approx(total / weight)
    sure = torch.nn.functional.one_hot(labels.clamp(min=0), 4).double()
    torch.testing.assert_close(cross_entropy(logits, labels, weights, sure), cross_entropy(logits, labels, weights))


def test_a_student_learns_soft_labels_and_not_the_labels(prepared: Prepared) -> None:
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
        trainer = Trainer(of, Prepared(**{**vars(prepared), "dev": prepared.train, "soft_labels": given}), (1,))
        figures.append(list(trainer.run())[-1].figures[0]["sun"]["sentiment_auc"])
    right, wrong = figures
    assert right > 0.65
    assert wrong < 0.35


def test_shuffled_targets_keep_their_soft_labels(prepared: Prepared) -> None:
    of = config(teachers=0)
    of = run_config({"kind": of.kind, "training": {"balance": "sentence", "batch_size": 40, "shuffle_targets": True}})
    soft = np.zeros((*prepared.train.labels.shape, 3), np.float32)
    soft[..., 0], soft[..., 1] = prepared.train.labels, 0.5
    trainer = Trainer(of, Prepared(**{**vars(prepared), "soft_labels": soft}), (1, 2))
    drawn = [next(iter(s.epoch(o))) for s, o in zip(trainer.samplers, trainer.orders, strict=True)]
    batch = trainer.batch(drawn)
    assert batch.soft_labels is not None
    torch.testing.assert_close(batch.soft_labels[..., 0], batch.labels.float())
    assert any((batch.labels[n].numpy() != d.labels).any() for n, d in enumerate(drawn))


class Recorder(Callback):
    """Remembers who was trained."""

    def __init__(self) -> None:
        self.seen: list[tuple[str, tuple[int, ...], bool, int]] = []

    def on_start(self, trainer: Trainer, role: str, folder: Path | None) -> None:
        assert folder is None
        taught = trainer.prepared.soft_labels is not None
        self.seen.append((role, trainer.seeds, taught, trainer.config.distillation.teachers))


def test_teachers_are_trained_first_with_seeds_of_their_own(prepared: Prepared) -> None:
    recorder = Recorder()
    trainer = train_seeds(config(settings=("training.rate=0.02",)), prepared, (1,), callbacks=[recorder])
    assert recorder.seen == [("teachers", (1001, 1002), False, 0), ("model", (1,), True, 2)]
    assert trainer.prepared.test is prepared.test
    plain = train_seeds(config(teachers=0), prepared, (1,), callbacks=[recorder])
    assert recorder.seen[2:] == [("model", (1,), False, 0)]
    assert plain.prepared is prepared


def test_the_teachers_configuration() -> None:
    own = teachers_config(config(settings=("training.rate=0.02", "model.chains=4")))
    assert (own.training.rate, own.model.chains) == (0.02, 4)
    assert own.distillation == DistillationConfig()
    with pytest.raises(ConfigError, match=r"'distillation\.settings': unknown key 'training\.rat'"):
        config(settings=("training.rat=1",))
    for kind in ("lr", "sentic-lstm"):
        with pytest.raises(ConfigError, match=r"'distillation\.teachers' is for models that read words alone"):
            run_config({"kind": kind, "distillation": {"teachers": 3}})
