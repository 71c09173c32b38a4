"""The paper's network taught by readers: its sentences as questions, and the answers back in their places."""

import importlib.util
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from reader_factory import piece_reader
from run_factory import small
from tabsa.encoding.pieces import NO_SLOT
from tabsa.encoding.questions import AspectTable

SCRIPT = Path(__file__).parents[2] / "repro" / "reader" / "paper_network.py"


@pytest.fixture(scope="module")
def script():
    spec = importlib.util.spec_from_file_location("paper_network", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_readings_of_words_as_questions_and_back(script):
    """A reader's answer lands where the reading, target and aspect are that the question is about."""
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
