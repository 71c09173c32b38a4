import numpy as np
import pytest

from tabsa.encoding.arrays import UNLABELLED, Encoded
from tabsa.errors import ConfigError
from tabsa.training.augmentation import compose
from tabsa.training.config import run_config
from tabsa.training.preparation import prepare

TARGETS, JOINTS = (1, 2), (8, 9)


def data():
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
    before = data()
    after = compose(before, TARGETS, JOINTS, share=10.0, seed=3)
    assert len(after) == 4 + 40
    np.testing.assert_array_equal(after.tokens[:4], before.tokens)
    parts = {tuple(before.tokens[n, : before.lengths[n]]): before.labels[n, 0, 0] for n in range(3)}
    seen = set()
    for n in range(4, 44):
        words = after.tokens[n, : after.lengths[n]].tolist()
        assert not after.tokens[n, after.lengths[n] :].any()
        (joint,) = [place for place, word in enumerate(words) if word in JOINTS]
        first, second = tuple(words[:joint]), tuple(1 if word == 2 else word for word in words[joint + 1 :])
        assert 2 not in first
        assert 1 not in words[joint + 1 :]
        assert after.labels[n].ravel().tolist() == [parts[first], parts[second]]
        seen.add((first, second))
    assert len(seen) > 4
    there = after.groups >= 0
    assert sorted(after.groups[there]) == list(range(len(after.gold)))
    np.testing.assert_array_equal(after.gold[after.groups[there]], after.labels[there])


def test_the_same_seed_composes_the_same():
    one, two, other = (compose(data(), TARGETS, JOINTS, share=2.0, seed=seed) for seed in (1, 1, 2))
    np.testing.assert_array_equal(one.tokens, two.tokens)
    assert (one.tokens != other.tokens).any()


def test_nothing_to_compose():
    alone = data()
    both = Encoded(alone.tokens[3:], alone.lengths[3:], alone.labels[3:], alone.groups[3:] - 3, alone.gold[3:])
    assert len(compose(both, TARGETS, JOINTS, share=5.0, seed=1)) == 1


def test_prepared_data_has_them_in_train_only():
    prepared, _ = prepare(run_config({"augmentation": {"composed": 0.5}, "vectors": {"size": 8}}))
    plain, _ = prepare(run_config({"vectors": {"size": 8}}))
    assert len(prepared.train) == len(plain.train) + len(plain.train) // 2
    assert len(prepared.dev) == len(plain.dev)


@pytest.mark.parametrize(
    "values",
    [
        {"augmentation": {"composed": 1}, "data": {"targets": 1}},
        {"kind": "sentic-lstm", "augmentation": {"composed": 1}},
    ],
)
def test_models_that_cannot_use_them_are_refused(values):
    with pytest.raises(ConfigError, match="composed"):
        run_config(values | {"augmentation": {"composed": 1}})
