"""Our word pieces against the library that is used for them elsewhere."""

import json

from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer

from reader_factory import tokeniser
from tabsa.text.wordpieces import WordPieces

LIBRARY = tokeniser()
OURS = WordPieces.of(json.loads(LIBRARY.to_str()))
LETTERS = "abcABC019 éñÅßİﬁ½²ω中好文日한글,.!?'’“”#_-/\t\n\r\u00a0\u2009\u200b\u00ad\u0301\u0000\ufffd\u007f🙂"


def both(text):
    coded = LIBRARY.encode(text, add_special_tokens=False)
    found = OURS.cut(text)
    return [(n, *span) for n, span in zip(coded.ids, coded.offsets, strict=True)], [tuple(piece) for piece in found]


@settings(max_examples=600)
@given(st.text(st.sampled_from(LETTERS), max_size=40))
def test_any_text_has_the_librarys_pieces_and_offsets(text):
    expected, found = both(text)
    assert found == expected


def test_the_marks_of_models_are_plain_text_in_a_text():
    """The library takes a literal [SEP] of a text for the end of it, where that is an added token."""
    marked = Tokenizer.from_str(LIBRARY.to_str())
    marked.add_special_tokens(["[SEP]"])
    assert len(marked.encode("a [SEP] b", add_special_tokens=False).ids) == 3
    ours = WordPieces.of(json.loads(marked.to_str()))
    assert ours.cut("a [SEP] b") == OURS.cut("a [SEP] b")
    assert len(ours.cut("a [SEP] b")) > 3
    assert OURS.around == tuple(LIBRARY.encode("").ids)
