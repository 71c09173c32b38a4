"""Teaching by readers: pools of questions, other tokenisers' pieces, and the paper's sentences as questions."""

import importlib.util
from dataclasses import replace
from pathlib import Path

import numpy as np

from question_sets import READER, config, prepared, questions_of
from reader_factory import piece_reader
from run_factory import small
from tabsa.encoding.arrays import UNLABELLED
from tabsa.encoding.pieces import NO_SLOT
from tabsa.encoding.questions import AspectTable

SCRIPTS = Path(__file__).parents[2] / "repro" / "reader"


def loaded(name):
    spec = importlib.util.spec_from_file_location(name, SCRIPTS / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_a_pool_asks_more_of_more_versions_of_the_texts():
    drawer = loaded("pool").PoolDrawer(config(), prepared())
    pool, once = drawer.pool(2, extra=3, dropped=0.2), len(drawer)
    assert len(pool) == 2 * once
    assert (pool.labels == UNLABELLED).sum() > once
    for row in range(len(pool)):
        questions = questions_of(pool, row)
        assert len({question[:2] for question in questions}) == len(questions)
        slots = pool.slots[pool.starts[row] : pool.starts[row + 1]].tolist()
        assert all(slot in slots for slot, _, _ in questions if slot != NO_SLOT)
    assert pool.lengths[once:].sum() < pool.lengths[:once].sum() * 0.95  # nothing is dropped of the first


def test_another_tokenisers_numbers():
    """MPNet's has the same pieces under other numbers, and other special ones."""
    piece_rows = loaded("pool").piece_rows
    other = piece_reader(special=("<pad>", "<unk>", "<s>", "</s>"), extra=("one", "more"))
    rows, back = piece_rows(READER, other), piece_rows(other, READER)
    for word in ("hotel", "battery"):
        assert rows[[*READER.words(word)]].tolist() == [*other.words(word)]
    assert (rows[READER.first], rows[READER.last]) == (other.first, other.last)
    assert back[other.wordpieces.vocabulary["more"]] == READER.wordpieces.unknown
    assert (back[rows[[*READER.words("hotel")]]] == READER.words("hotel")).all()


def test_readings_of_words_as_questions_and_back():
    """A reader's answer lands where the reading, target and aspect are that the question is about."""
    script = loaded("paper_network")
    words = replace(small(), words=("<padding>", *(f"w{n}" for n in range(1, 12))))
    reader = piece_reader()
    table = AspectTable(reader)
    questions = script.as_questions(words, words.train, reader, table)
    names = {number: piece for piece, number in reader.wordpieces.vocabulary.items()}
    soft = np.random.default_rng(1).dirichlet(np.ones(len(words.labels)), len(questions.targets))
    taught = script.with_answers(words, words.train, questions, soft)
    count, slot_rows = 0, {row: slot for slot, row in enumerate(words.targets)}
    for n in range(len(words.train)):
        read = words.train.tokens[n, : words.train.lengths[n]].tolist()
        order = [*dict.fromkeys(slot_rows[row] for row in read if row in slot_rows)]
        pieces = questions.pieces[questions.starts[n] : questions.starts[n + 1]]
        assert [names[piece] for piece in pieces].count("entity") == sum(row in slot_rows for row in read)
        for target in range(len(words.targets)):
            if words.train.groups[n, target] < 0:
                assert not taught.soft_labels[n, target].any()
                continue
            for aspect in range(len(words.aspects)):
                np.testing.assert_allclose(taught.soft_labels[n, target, aspect], soft[count], rtol=1e-6)
                assert questions.targets[count] == (order.index(target) if target in order else NO_SLOT)
                assert questions.aspects[count] == table.rows[words.aspects[aspect]]
                assert questions.labels[count] == words.train.labels[n, target, aspect]
                count += 1
    assert count == len(questions.targets)
