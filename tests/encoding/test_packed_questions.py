import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from reader_factory import piece_reader, tokeniser
from tabsa.encoding.pieces import NO_SLOT
from tabsa.encoding.questions import Questions, packed_texts

FIRST, LAST = 1, 2
NAMES = ((30, 41), (30, 42), (33,), (30, 44, 45))  # two pieces of a placeholder are read; a single one twice
READ = ((30, 41), (30, 42), (33, 33), (30, 44))
PIECES = {number: piece for piece, number in tokeniser().get_vocab().items()}
READER = piece_reader()


def questions(texts):
    """Of (pieces, [(slot, aspect), ...]) of each text."""
    targets = [slot for _, questions in texts for slot, _ in questions]
    aspects = [aspect for _, questions in texts for _, aspect in questions]
    return Questions(
        pieces=np.array([piece for pieces, _ in texts for piece in pieces], np.int32),
        slots=np.full(sum(len(pieces) for pieces, _ in texts), NO_SLOT, np.int16),
        starts=np.cumsum([0, *(len(pieces) for pieces, _ in texts)]),
        first=np.cumsum([0, *(len(questions) for _, questions in texts)]),
        targets=np.array(targets, np.int16),
        aspects=np.array(aspects, np.int32),
        labels=np.zeros(len(targets), np.int8),
        numbers=np.arange(len(targets), dtype=np.int32),
        sets=np.zeros(len(texts), np.int16),
    )


def padded(words):
    """A table of aspects, (A, L)."""
    rows = [[FIRST, *own, LAST] for own in words]
    longest = max(map(len, rows))
    return np.array([row + [NO_SLOT] * (longest - len(row)) for row in rows], np.int32)


def slow_packed(texts, words):
    """(piece, owner, place) of everything that is read for each text, one by one."""
    found = []
    for pieces, questions in texts:
        row = [(piece, 0, place) for place, piece in enumerate([FIRST, *pieces, LAST])]
        end = len(row)
        for number, (slot, aspect) in enumerate(questions, 1):
            row.append((FIRST, number, end))
            if slot != NO_SLOT:
                row += [(piece, number, end + 1 + n) for n, piece in enumerate(READ[slot])]
            # The places of a name stay free where there is none.
            row += [(piece, number, end + 3 + n) for n, piece in enumerate([*words[aspect], LAST])]
        found.append(row)
    return found


def split(packed):
    """What a `PackedTexts` says of each text."""
    columns = (packed.pieces.tolist(), packed.owners.tolist(), packed.places.tolist())
    rows = [*zip(*columns, strict=True)]
    return [rows[start:end] for start, end in zip(packed.starts[:-1], packed.starts[1:], strict=True)]


numbers = st.integers(50, 99)


@st.composite
def texts_and_words(draw):
    words = draw(st.lists(st.lists(numbers, max_size=4), min_size=1, max_size=4))
    question = st.tuples(st.integers(NO_SLOT, len(NAMES) - 1), st.integers(0, len(words) - 1))
    text = st.tuples(st.lists(numbers, max_size=6), st.lists(question, max_size=5))
    return draw(st.lists(text, max_size=5)), words


@given(texts_and_words())
def test_what_is_read_is_that_of_a_plain_loop(drawn):
    texts, words = drawn
    packed = packed_texts(questions(texts), padded(words), FIRST, LAST, NAMES)
    expected = slow_packed(texts, words)
    assert split(packed) == expected
    assert packed.lengths.tolist() == [len(row) for row in expected]
    assert (packed.pieces.dtype, packed.owners.dtype, packed.places.dtype) == (np.int32, np.int16, np.int16)
