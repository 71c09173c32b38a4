"""Batches of sentences: what each of the three balances draws, and what a class weighs."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tabsa.encoding.arrays import UNLABELLED, Encoded
from tabsa.errors import DataError
from tabsa.training.loop import class_weights
from tabsa.training.word_training import Sampler

BALANCES = ["mixed", "turns", "sentence"]


def make(readings=100, *, seed=0, shares=(0.7, 0.2, 0.1)):
    """Random readings of two targets, the second of which is sometimes absent, and three aspects."""
    rng = np.random.default_rng(seed)
    lengths = rng.integers(1, 30, readings).astype(np.int32)
    labels = rng.choice(len(shares), (readings, 2, 3), p=shares).astype(np.int8)
    labels[rng.random(readings) < 0.4, 1] = UNLABELLED
    labelled = labels[:, :, 0] != UNLABELLED
    groups = np.full((readings, 2), -1, np.int32)
    groups[labelled] = np.arange(labelled.sum())
    tokens = (np.arange(30) < lengths[:, None]).astype(np.int32)
    return Encoded(tokens, lengths, labels, groups, labels[labelled].astype(np.int64))


def with_counts(*counts):
    """One reading for each label, of one target and one aspect, with `counts[label]` of each label."""
    labels = np.repeat(np.arange(len(counts)), counts).astype(np.int8).reshape(-1, 1, 1)
    lengths = np.random.default_rng(0).integers(1, 9, len(labels)).astype(np.int32)
    groups, gold = np.arange(len(labels), dtype=np.int32)[:, None], labels[:, 0].astype(np.int64)
    return Encoded(np.ones((len(labels), 9), np.int32), lengths, labels, groups, gold)


def epoch(of, balance, batch_size, *, seed=1, state=2):
    return list(Sampler(of, balance, batch_size, seed=seed).epoch(np.random.default_rng(state)))


def labels_drawn(drawn):
    return [int(label) for label in drawn.labels[drawn.labels != UNLABELLED]]


def plain(batches):
    return [(drawn.rows.tolist(), drawn.labels.tolist()) for drawn in batches]


@pytest.mark.parametrize("balance", BALANCES)
@pytest.mark.parametrize("batch_size", [1, 7, 32, 1000])
def test_what_is_learnt_is_what_the_data_says_by_falling_length(balance, batch_size):
    of = make()
    batches = epoch(of, balance, batch_size)
    assert len(batches) == Sampler(of, balance, batch_size, seed=1).updates > 0
    for drawn in batches:
        there = drawn.labels != UNLABELLED
        assert drawn.labels.shape == (len(drawn.rows), 2, 3)
        assert there.any((1, 2)).all()
        assert np.array_equal(drawn.labels[there], of.labels[drawn.rows][there])
        assert (np.diff(of.lengths[drawn.rows]) <= 0).all()


@pytest.mark.parametrize("balance", BALANCES)
def test_the_same_state_of_the_generator_gives_the_same_epoch(balance):
    of = make(77)
    sampler, rng = Sampler(of, balance, 16, seed=1), np.random.default_rng(2)
    first, between = plain(sampler.epoch(rng)), rng.bit_generator.state
    second = plain(sampler.epoch(rng))
    assert first != second
    assert first == plain(epoch(of, balance, 16))
    # Resuming: a new sampler and a generator with the state from between the epochs.
    resumed = np.random.default_rng(99)
    resumed.bit_generator.state = between
    assert second == plain(Sampler(of, balance, 16, seed=1).epoch(resumed))
    sizes = [[len(drawn.rows) for drawn in epoch(of, balance, 16, seed=s, state=s)] for s in range(4)]
    assert sizes == [sizes[0]] * 4  # all seeds have batches of the same sizes


@pytest.mark.parametrize("balance", ["mixed", "turns"])
def test_one_class_is_too_few(balance):
    with pytest.raises(DataError, match=f"has 1 class of label; balance '{balance}' needs two or more"):
        Sampler(with_counts(5), balance, 4, seed=1)
    assert len(epoch(with_counts(5), "sentence", 4)) == 2


@given(st.integers(1, 40), st.lists(st.integers(1, 60), min_size=2, max_size=5))
def test_mixed_batches_have_equal_shares_of_every_class(batch_size, counts):
    in_all = Counter()
    batches = epoch(with_counts(*counts), "mixed", batch_size)
    for drawn in batches:
        found = Counter(labels_drawn(drawn))
        assert len(drawn.rows) == found.total() == batch_size
        shares = [found[label] for label in range(len(counts))]
        assert max(shares) - min(shares) <= 1
        in_all += found
    if len(batches) % len(counts) == 0:  # what does not divide evenly has gone round
        assert len({in_all[label] for label in range(len(counts))}) == 1


def test_turns_give_one_class_a_batch_each_in_turn():
    batches = epoch(with_counts(100, 20, 33), "turns", 8)
    assert [set(labels_drawn(drawn)) for drawn in batches] == [{1}, {2}, {0}] * 2  # the rarest first
    assert {len(drawn.rows) for drawn in batches} == {8}
    assert len({row for drawn in batches[::3] for row in drawn.rows}) == 16  # no pair of it twice in an epoch


@given(st.integers(1, 120), st.integers(1, 40))
def test_every_sentence_comes_once_an_epoch(readings, batch_size):
    of = make(readings)
    batches = epoch(of, "sentence", batch_size)
    assert sorted(row for drawn in batches for row in drawn.rows) == list(range(readings))
    assert all(len(drawn.rows) == batch_size for drawn in batches[:-1])
    assert all(np.array_equal(drawn.labels, of.labels[drawn.rows]) for drawn in batches)


@given(st.lists(st.integers(0, 50), min_size=1, max_size=5).filter(any), st.floats(0, 1))
def test_class_weights(counts, power):
    weights = class_weights(np.array(counts, np.float64), power)
    unscaled = [count**-power if count else 0.0 for count in counts]
    mean = sum(weight * count for weight, count in zip(unscaled, counts, strict=True)) / sum(counts)
    assert weights.tolist() == pytest.approx([weight / mean for weight in unscaled], rel=1e-5)
