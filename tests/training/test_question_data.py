"""From a configuration to texts with questions, one file that holds them, and the batches that a reader reads."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from safetensors.numpy import save

from question_sets import DATA, LARGE, READER, SMALL, VOCABULARY, config, prepared, questions_of
from reader_factory import make_reader
from tabsa.encoding.arrays import UNLABELLED
from tabsa.encoding.pieces import NO_SLOT
from tabsa.errors import DataError
from tabsa.nn.context import EVALUATION
from tabsa.schema import Dataset, Example, Opinion, Target
from tabsa.training import question_data as module
from tabsa.training.question_data import PreparedQuestions, named_dataset
from tabsa.training.question_training import Batches, probabilities_of
from tabsa.training.run_config import run_config
from tabsa.training.word_data import Prepared
from tabsa_repro.prepared_file import read_prepared, write_prepared
from tabsa_repro.seed_runs import prepare_with_test


def reader(seeds=(1,), **options):
    return make_reader(seeds=seeds, sizes={"vocabulary": VOCABULARY, "longest": 64}, **options)


def test_everything_is_encoded_with_one_table_of_aspects():
    ready = prepared(judged=(DATA["own:train"],))
    assert ready.labels == ("none", "positive", "negative", "neutral")
    assert ready.aspects[: len(SMALL)] == SMALL
    assert set(ready.aspects) == {*SMALL, *LARGE}
    assert ready.repeats == (1, 1, 2)
    assert [len(rows) for rows in ready.inventories] == [0, 0, len(LARGE)]
    assert [ready.aspects[row] for row in ready.inventories[2]] == [*LARGE]
    assert ready.train.sets.tolist() == [0] * 12 + [1] * 8 + [2] * 30
    assert ready.aspect_pieces.shape[0] == len(ready.aspects)
    for row, example in enumerate(DATA["large:train"].examples):  # of a large inventory only what is judged is there
        expected = {(opinion.aspect, opinion.polarity) for opinion in example.opinions}
        found = {(ready.aspects[a], ready.labels[label]) for _, a, label in questions_of(ready.train, 20 + row)}
        assert found == expected
    dev, own = ready.held
    assert (dev.name, dev.aspects, dev.labels) == ("main dev", 3, ready.labels)
    assert dev.gold.tolist() == [ready.labels.index(polarity) for *_, polarity in DATA["main:dev"].questions()]
    assert (own.name, own.aspects, len(own.gold)) == ("own train", 0, 16)  # each text has aspects of its own


def same(one, other):
    """Compare what may be nested dataclasses of arrays."""
    if isinstance(one, np.ndarray):
        return one.dtype == other.dtype and np.array_equal(one, other)
    if isinstance(one, tuple):
        return len(one) == len(other) and all(map(same, one, other))
    return all(map(same, vars(one).values(), vars(other).values())) if hasattr(one, "__dict__") else one == other


def prepared_questions():
    """With soft labels, and aspects as a view of a table."""
    ready = prepared(judged=(DATA["own:train"],))
    soft = np.random.default_rng(1).random((len(ready.train.targets), 4)).astype(np.float16)
    columns = np.stack([ready.train.targets.astype(np.int32), ready.train.aspects], axis=1)
    return replace(ready, train=replace(ready.train, soft_labels=soft, aspects=columns[:, 1]))


def prepared_words():
    return prepare_with_test(run_config({"kind": "sentic-lstm", "vectors": {"size": 5}}))


@pytest.mark.parametrize(("ready", "other"), [(prepared_questions, Prepared), (prepared_words, PreparedQuestions)])
def test_what_is_prepared_comes_back_from_its_file(ready, other, tmp_path):
    path, ready = tmp_path / "ready.safetensors", ready()
    with pytest.raises(DataError, match="cannot read"):
        read_prepared(path, type(ready))
    write_prepared(path, ready)
    again = read_prepared(path, type(ready))
    assert same(ready, again)
    assert not same(ready, replace(again, labels=("none",)))
    for content, cls in ((path.read_bytes(), other), (path.read_bytes()[:-3], type(ready)), (save({}), type(ready))):
        path.write_bytes(content)
        with pytest.raises(DataError, match="is damaged, or not what preparing for a run wrote"):
            read_prepared(path, cls)


def test_labels_have_one_order_and_conflict_is_mixed(monkeypatch):
    text = (Target("it", implied=True),)
    example = Example("1", "it", text, (Opinion("it", "food", "conflict"), Opinion("it", "food", "positive")))
    data = Dataset("semeval", "train", ("food",), ("none", "odd", "positive", "conflict"), (example,))
    monkeypatch.setattr(module, "load", lambda *_, **__: data)
    found = named_dataset("semeval", "train", None, None)
    assert found.labels == ("none", "odd", "positive", "mixed")
    assert [opinion.polarity for opinion in found.examples[0].opinions] == ["mixed", "positive"]
    ready = module.prepare_questions(config(questions={"sets": []}), READER)
    assert ready.labels == ("none", "positive", "mixed", "odd")


def slow_batch(ready, data, rows):
    """A batch for one seed as lists, text by text, without padding: pieces, slots, and questions in words."""
    texts = []
    for row in rows:
        own = slice(data.starts[row], data.starts[row + 1])
        pieces = [ready.pieces.first, *data.pieces[own].tolist(), ready.pieces.last]
        words = ready.aspect_pieces
        questions = [
            (target, [piece for piece in words[aspect].tolist() if piece != NO_SLOT], label)
            for target, aspect, label in questions_of(data, row)
        ]
        texts.append((pieces, [-1, *data.slots[own].tolist(), -1], questions))
    return texts


def test_a_batch_is_its_texts_padded():
    ready, rng = prepared(), np.random.default_rng(2)
    soft = rng.random((len(ready.train.targets), 4)).astype(np.float16)
    data = replace(ready.train, soft_labels=soft)
    batches = Batches(reader(), ready, data)
    for size in (1, 3, 7):
        rows = rng.integers(0, len(data), (2, size))
        batch = batches.batch(rows)
        for seed in range(2):
            expected = slow_batch(ready, data, rows[seed])
            longest = max(len(pieces) for one in rows for pieces, _, _ in slow_batch(ready, data, one))
            assert batch.pieces.shape == batch.slots.shape == (2, size, longest)
            for text, (pieces, slots, questions) in enumerate(expected):
                rest = longest - len(pieces)
                assert batch.pieces[seed, text].tolist() == [*pieces, *[ready.pieces.padding] * rest]
                assert batch.slots[seed, text].tolist() == [*slots, *[-1] * rest]
                assert batch.lengths[seed, text] == len(pieces)
                assert (batch.labels[seed, text, len(questions) :] == UNLABELLED).all()
                for n, (target, words, label) in enumerate(questions):
                    assert (batch.targets[seed, text, n], batch.labels[seed, text, n]) == (target, label)
                    row = int(batch.aspect_rows[seed, text, n])
                    length = int(batch.aspect_lengths[seed, row])
                    assert batch.aspects[seed, row, :length].tolist() == words
                    assert (batch.aspects[seed, row, length:] == ready.pieces.padding).all()
                    own = data.soft_labels[data.first[rows[seed, text]] + n]
                    np.testing.assert_allclose(batch.soft_labels[seed, text, n], own)
        tensors = [value for value in vars(batch).values() if value is not None]
        assert all(tensor.dtype in (torch.int64, torch.float32) for tensor in tensors)


def test_batches_of_an_epoch_are_of_like_length_and_read_every_text_once():
    ready = prepared()
    batches = Batches(reader(), ready, ready.train)
    orders = batches.orders(7, np.random.default_rng(1))
    assert all(len(rows) == 7 for rows in orders)
    rows = np.concatenate(orders)
    assert len(rows) == len({*rows.tolist()}) == len(ready.train) // 7 * 7
    spread = [np.ptp(batches.lengths[rows]) for rows in orders]
    assert np.mean(spread) < np.mean([np.ptp(batches.lengths[rows]) for rows in rows.reshape(7, -1).T])
    again = batches.orders(7, np.random.default_rng(1))
    assert [rows.tolist() for rows in again] == [rows.tolist() for rows in orders]
    (single,) = batches.orders(70, np.random.default_rng(1))  # more than there are: some twice
    assert len(single) == 70
    assert {*single.tolist()} == {*range(len(ready.train))}


def test_probabilities_are_those_of_each_text_by_itself(monkeypatch):
    monkeypatch.setattr("tabsa.training.question_training._TOKENS", 100)
    ready, model = prepared(), reader((1, 2))
    data = ready.train
    found = probabilities_of(model, ready, data)
    assert found.shape == (2, len(data.targets), 4)
    batches = Batches(model, ready, data)
    for row in range(0, len(data), 5):
        expected = model(batches.batch(np.array([[row], [row]])), context=EVALUATION).logits.softmax(-1)[:, 0]
        own = slice(data.first[row], data.first[row + 1])
        np.testing.assert_allclose(found[:, own], expected[:, : own.stop - own.start].detach(), atol=1e-5)
