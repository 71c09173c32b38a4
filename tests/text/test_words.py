"""The words that may carry an opinion."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tabsa.schema import Span
from tabsa.text.words import word_spans


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("I don't think it's over-priced.", ["I", "don't", "think", "it's", "over-priced"]),
        ("7.5/10; £5.99, 1,000 of 100%!", ["7.5/10", "£", "5.99", "1,000", "of", "100"]),
        ("Love it 😍👍🏽 👨‍👩‍👧", ["Love", "it", "😍", "👍🏽", "👨‍👩‍👧"]),
        ("很好吃，服务差。", ["很", "好", "吃", "服", "务", "差"]),
        ("a <b>safe</b> | x + y ~ = ^ `z`", ["a", "b", "safe", "b", "x", "y", "z"]),
        ("_really_ ok_then", ["_really_", "ok_then"]),
        ("— … “fine” ‘ok’ … !!!", ["fine", "ok"]),
        ("Überraschend gut, ça va, नमस्ते", ["Überraschend", "gut", "ça", "va", "नमस्ते"]),
        ("", []),
    ],
)
def test_words(text, words):
    assert [text[start:end] for start, end in word_spans(text)] == words


def test_mentions_and_what_hangs_on_them_are_left_out():
    text = "Camden's bars and Leith’s pubs, not Leithing"
    spans = word_spans(text, [Span(18, 23), Span(0, 6)])
    assert [text[start:end] for start, end in spans] == ["bars", "and", "pubs", "not", "Leithing"]


@given(st.text(max_size=80))
def test_spans_are_in_order_and_hold_no_space(text):
    reached = 0
    for start, end in word_spans(text):
        assert reached <= start < end
        assert not any(character.isspace() for character in text[start:end])
        reached = end
