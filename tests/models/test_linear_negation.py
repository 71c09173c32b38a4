"""Which words are negated."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tabsa.models.linear.linear_features import negated
from tabsa.text.tokens import tokenise

NEGATIONS = ("not", "n't", "no", "never", "dont", "wouldnt", "without", "hardly", "less", "lacks")
ENDS = (",", ".", "!", "...", "(", "--", "but")


def marked(text: str, reach: int = 5) -> list[str]:
    words = [token.word for token in tokenise(text)]
    return [word for word, under in zip(words, negated(words, reach), strict=True) if under]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("It is not that safe at night, but cheap", "that safe at night"),
        ("It isn't safe", "safe"),
        ("It isn\u2019t safe", "safe"),
        ("you cannot park", "park"),
        ("NEVER again", "again"),
        ("not a bad place to live in at all", "a bad place to live"),
        ("not cheap but safe", "cheap"),
        ("It is safe", ""),
        ("it knots", ""),
        ("", ""),
    ],
)
def test_what_is_negated(text, expected):
    assert " ".join(marked(text)) == expected


@pytest.mark.parametrize("word", NEGATIONS)
def test_negations(word):
    assert negated([word, "safe"], 1) == [False, True]


@pytest.mark.parametrize("word", ENDS)
def test_ends_of_a_clause(word):
    assert negated(["not", "safe", word, "dear"], 9) == [False, True, False, False]


def slow(words: list[str], reach: int, place: int) -> bool:
    """Whether some negation stands near enough before a place, with no end between them or there."""
    return any(
        words[before] in NEGATIONS and not set(words[before + 1 : place + 1]) & set(ENDS)
        for before in range(max(place - reach, 0), place)
    )


@given(st.lists(st.sampled_from([*NEGATIONS, *ENDS, "safe", "dear", "a1"]), max_size=12), st.integers(0, 6))
def test_against_a_slow_search(words, reach):
    assert negated(words, reach) == [slow(words, reach, place) for place in range(len(words))]
