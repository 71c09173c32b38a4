"""Teaching by readers: pools of questions, other tokenisers' pieces, and the paper's sentences as questions."""

import importlib.util
from pathlib import Path

from question_sets import READER, config, prepared, questions_of
from reader_factory import piece_reader
from tabsa.encoding.arrays import UNLABELLED
from tabsa.encoding.pieces import NO_SLOT

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
