import re
from dataclasses import replace

import numpy as np
import pytest
import torch

from question_sets import DATA, LARGE, NAMES, READER, SMALL, VOCABULARY, prepared, questions_of
from reader_factory import make_reader, piece_reader
from tabsa.encoding.arrays import UNLABELLED
from tabsa.encoding.pieces import NO_SLOT
from tabsa.errors import DataError
from tabsa.nn.context import EVALUATION
from tabsa.schema import Dataset, Example, Opinion, Target
from tabsa.training import questions as module
from tabsa.training.questions import (
    PreparedQuestions,
    known_pieces,
    labels_of,
    named_dataset,
    piece_rows,
    translated,
)
from tabsa.training.reader import Batches, probabilities_of


def test_everything_is_encoded_with_one_table_of_aspects():
    ready = prepared()
    assert ready.labels == ("none", "positive", "negative", "neutral")
    assert ready.aspects == tuple(dict.fromkeys([*SMALL, *ready.aspects]))
    assert set(ready.aspects) == {*SMALL, *LARGE}
    assert ready.repeats == (1, 1, 2)
    assert [len(rows) for rows in ready.inventories] == [0, 0, len(LARGE)]
    assert [ready.aspects[row] for row in ready.inventories[2]] == [*LARGE]
    assert ready.train.sets.tolist() == [0] * 12 + [1] * 8 + [2] * 30
    assert ready.aspect_pieces.shape[0] == len(ready.aspects)
    of_large = ready.train.first[20:]
    assert (ready.train.labels[of_large[0] :] > 0).all()  # of a large inventory only what is judged is kept
    for row, example in enumerate(DATA["large:train"].examples):
        expected = {(opinion.aspect, opinion.polarity) for opinion in example.opinions}
        found = {(ready.aspects[a], ready.labels[label]) for _, a, label in questions_of(ready.train, 20 + row)}
        assert found == expected
    (held,) = ready.held
    assert (held.name, held.aspects, held.labels) == ("main dev", 3, ready.labels)
    gold = [ready.labels.index(polarity) for *_, polarity in DATA["main:dev"].questions()]
    assert held.gold.tolist() == gold


def test_further_sets_are_judged_and_not_learnt():
    ready = prepared(judged=(DATA["own:train"],))
    assert [held.name for held in ready.held] == ["main dev", "own train"]
    assert ready.held[1].aspects == 0  # each text asks its own
    assert len(ready.held[1].gold) == 16


def test_what_is_prepared_comes_back_from_its_file(tmp_path):
    ready = prepared(judged=(DATA["own:train"],))
    soft = np.random.default_rng(1).random((len(ready.train.targets), 4)).astype(np.float16)
    ready = replace(ready, train=replace(ready.train, soft_labels=soft))
    ready.save(tmp_path / "ready.safetensors")
    again = PreparedQuestions.read(tmp_path / "ready.safetensors")
    for one, other in [
        (ready.train, again.train),
        *((a.data, b.data) for a, b in zip(ready.held, again.held, strict=True)),
    ]:
        assert set(one.arrays()) == set(other.arrays())
        for name, array in one.arrays().items():
            np.testing.assert_array_equal(array, getattr(other, name), err_msg=name)
            assert array.dtype == getattr(other, name).dtype
    for one, other in zip(ready.held, again.held, strict=True):
        np.testing.assert_array_equal(one.gold, other.gold)
        assert (one.name, one.aspects, one.labels) == (other.name, other.aspects, other.labels)
    for name in ("aspects", "repeats", "labels", "pieces"):
        assert getattr(ready, name) == getattr(again, name), name
    np.testing.assert_array_equal(ready.aspect_pieces, again.aspect_pieces)
    assert [rows.tolist() for rows in ready.inventories] == [rows.tolist() for rows in again.inventories]


@pytest.mark.parametrize("content", [None, b"", b"nothing of the kind"])
def test_a_file_of_something_else_is_refused(content, tmp_path):
    path = tmp_path / "ready.safetensors"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(DataError, match=re.escape(str(path))):
        PreparedQuestions.read(path)


def test_another_tokenisers_numbers():
    """MPNet's has the same pieces under other numbers, and other special ones."""
    special = ("<pad>", "<unk>", "<s>", "</s>")
    other = piece_reader(special=special, extra=("one", "more"))
    rows = piece_rows(READER, other)
    ready = prepared()
    moved = translated(ready, rows, known_pieces(other))
    again = {number: piece for piece, number in other.wordpieces.vocabulary.items()}
    for old, new in [(ready.train, moved.train), (ready.held[0].data, moved.held[0].data)]:
        assert [again[piece] for piece in new.pieces] == [NAMES[piece] for piece in old.pieces]
        np.testing.assert_array_equal(old.slots, new.slots)
    for aspect, row in zip(ready.aspects, moved.aspect_pieces, strict=True):
        assert row[row >= 0].tolist() == [other.first, *other.words(aspect), other.last]
    assert moved.aspect_pieces.dtype == np.int32
    assert (moved.pieces.first, moved.pieces.last, moved.pieces.padding) == (other.first, other.last, 0)
    lacking = piece_rows(other, READER)
    assert lacking[other.wordpieces.vocabulary["more"]] == READER.wordpieces.unknown
    assert lacking[rows[READER.words("hotel")[0]]] == READER.words("hotel")[0]


def test_labels_have_one_order_and_conflict_is_mixed(monkeypatch):
    one = Dataset("x", "train", (), ("none", "negative", "odd"), ())
    other = Dataset("y", "train", (), ("none", "mixed", "positive"), ())
    assert labels_of([one, other]) == ("none", "positive", "negative", "mixed", "odd")
    example = Example("1", "it", (Target("it"),), (Opinion("it", "food", "conflict"), Opinion("it", "a", "positive")))
    data = Dataset("semeval", "train", ("food",), ("none", "positive", "conflict"), (example,))
    monkeypatch.setattr(module, "load", lambda *_, **__: data)
    renamed = named_dataset("semeval", "train", None, None)
    assert renamed.labels == ("none", "positive", "mixed")
    assert [opinion.polarity for opinion in renamed.examples[0].opinions] == ["mixed", "positive"]


def slow_batch(ready, data, rows):
    """A batch for one seed as lists, text by text, without padding: pieces, slots, and questions in words."""
    texts = []
    for row in rows:
        pieces = [ready.pieces.first, *data.pieces[data.starts[row] : data.starts[row + 1]].tolist(), ready.pieces.last]
        slots = [-1, *data.slots[data.starts[row] : data.starts[row + 1]].tolist(), -1]
        asked = []
        for target, aspect, label in questions_of(data, row):
            words = [piece for piece in ready.aspect_pieces[aspect].tolist() if piece != NO_SLOT]
            asked.append((target, words, label))
        texts.append((pieces, slots, asked))
    return texts


def test_a_batch_is_its_texts_padded():
    ready = prepared()
    data = ready.train
    rng = np.random.default_rng(2)
    data = replace(data, soft_labels=rng.random((len(data.targets), 4)).astype(np.float16))
    batches = Batches(ready, data)
    for size in (1, 3, 7):
        rows = rng.integers(0, len(data), (2, size))
        batch = batches.batch(rows)
        for seed in range(2):
            expected = slow_batch(ready, data, rows[seed])
            longest = max(len(pieces) for one in rows for pieces, _, _ in slow_batch(ready, data, one))
            assert batch.pieces.shape == batch.slots.shape == (2, size, longest)
            for text, (pieces, slots, asked) in enumerate(expected):
                rest = longest - len(pieces)
                assert batch.pieces[seed, text].tolist() == [*pieces, *[ready.pieces.padding] * rest]
                assert batch.slots[seed, text].tolist() == [*slots, *[-1] * rest]
                assert batch.lengths[seed, text] == len(pieces)
                assert (batch.labels[seed, text, len(asked) :] == UNLABELLED).all()
                for n, (target, words, label) in enumerate(asked):
                    assert (batch.targets[seed, text, n], batch.labels[seed, text, n]) == (target, label)
                    row = int(batch.aspect_rows[seed, text, n])
                    length = int(batch.aspect_lengths[seed, row])
                    assert batch.aspects[seed, row, :length].tolist() == words
                    assert (batch.aspects[seed, row, length:] == ready.pieces.padding).all()
                    soft = data.soft_labels[data.first[rows[seed, text]] + n]
                    np.testing.assert_allclose(batch.soft_labels[seed, text, n], soft)
        tensors = [value for value in vars(batch).values() if value is not None]
        assert all(tensor.dtype in (torch.int64, torch.float32) for tensor in tensors)


def test_batches_of_an_epoch_are_of_like_length_and_read_every_text_once():
    ready = prepared()
    batches = Batches(ready, ready.train)
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
    monkeypatch.setattr("tabsa.training.reader._TOKENS", 100)
    ready = prepared()
    model = make_reader(seeds=(1, 2), sizes={"vocabulary": VOCABULARY, "longest": 64})
    data = ready.train
    found = probabilities_of(model, ready, data)
    assert found.shape == (2, len(data.targets), 4)
    batches = Batches(ready, data)
    for row in range(0, len(data), 5):
        batch = batches.batch(np.array([[row], [row]]))
        expected = model(batch, context=EVALUATION).logits.softmax(-1)[:, 0]
        own = slice(data.first[row], data.first[row + 1])
        count = own.stop - own.start
        np.testing.assert_allclose(found[:, own], expected[:, :count].detach(), atol=1e-5)
