"""What stands in for a missing word: the order of the ways, and the random vectors."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tabsa.embeddings.fallbacks import candidates, random_vector
from tabsa.embeddings.vectors import WordVectors, hashed_vectors, known_share, lookup

# fmt: off
WORDS = (
    "the", "and", "or", "us", "London", "DLR", "clubs", "bars", "bedroom", "southwest", "lowkey", "can't", "o'clock",
    "not", "have", "are", "will", "am", "would", "is", "1500", "1400", "20", "15", "4", "number", "percent",
    ",", "!", ".", "(", '"', "-", "---",
)
# fmt: on


def table(*words: str) -> WordVectors:
    rows = np.arange(1, len(words) + 1, dtype=np.float32)[:, None] * np.ones(4, dtype=np.float32)
    return WordVectors(words, rows, scale=0.5)


VECTORS = table(*WORDS)


# Each way, with words and what they are found by.
# fmt: off
FOUND = {
    "exact": [
        ("the", "the"),
    ],
    "case": [
        ("THE", "the"), ("london", "London"), ("LONDON", "London"), ("dlr", "DLR"),
    ],
    "clitic": [
        ("n't", "not"), ("n’t", "not"), ("N'T", "not"), ("'ve", "have"), ("’re", "are"), ("'ll", "will"),
        ("'m", "am"), ("'d", "would"), ("`s", "is"),
    ],
    "number": [
        ("1,500", "1500"), ("1,500.00", "1500"), ("1437", "1400"), ("020", "20"), ("15.", "15"), ("£15", "15"),
        ("4.75", "4"), ("987,654", "number"), ("9" * 5000, "number"),
    ],
    "punctuation": [
        ("``", '"'), ("''", '"'), ("”", '"'), ("-lrb-", "("), ("-LRB-", "("), ("[", "("), (")", ","), ("—", "-"),
        (":", ","), ("?", "!"), ("!!!!", "!"), ("/", "or"), ("%", "percent"), ("can’t", "can't"),
        ("o’clock", "o'clock"), ("south-west", "southwest"), ("low‑key", "lowkey"),
    ],
    "parts": [
        ("clubs/bars", "clubs bars"), ("4-bedroom", "4 bedroom"), ("London/", "London"), ("london/the", "London the"),
        ("15-20", "15 20"),
    ],
    "random": [
        ("new_clubs", ""), ("u.s.", ""), (":-)", ""), ("location1", ""), ("location1/location2", ""),
        ("location1/bars", ""), ("", ""), (" ", ""), ("\udc80", ""),
    ],
}
# fmt: on


@pytest.mark.parametrize(("how", "word", "found"), [(how, *pair) for how, pairs in FOUND.items() for pair in pairs])
def test_each_way(how, word, found):
    result = lookup([word], VECTORS)
    assert result.how == (how,)
    if found:
        expected = np.mean([VECTORS[f] for f in found.split(" ")], axis=0)
        np.testing.assert_allclose(result[word], expected, rtol=1e-6)
    else:
        np.testing.assert_array_equal(result[word], random_vector(word, 4, scale=0.5))


text = st.text(st.characters(codec=None), max_size=12)


@given(st.lists(text, min_size=1, max_size=20, unique=True), st.randoms(use_true_random=False))
def test_a_random_vector_depends_on_its_word_alone(words, random):
    shuffled = random.sample(words, len(words))
    one, other = hashed_vectors(words, 8), hashed_vectors([*shuffled, "another word entirely"], 8)
    for word in words:
        np.testing.assert_array_equal(one[word], other[word])
    assert len({row.tobytes() for row in one.matrix}) == len(words)


@given(text)
def test_candidates_hold_every_spelling_that_lookup_uses(word):
    spellings = candidates(word)
    assert spellings[0] == word
    assert len(set(spellings)) == len(spellings)
    full = lookup([word], VECTORS)
    known = [w for w in VECTORS.words if w in spellings] or ["the"]
    rows = VECTORS.matrix[[VECTORS.index[w] for w in known]]
    partial = lookup([word], WordVectors(tuple(known), rows, VECTORS.scale))
    assert full.how == partial.how
    np.testing.assert_array_equal(full.matrix, partial.matrix)


def test_random_vectors_never_change():
    np.testing.assert_allclose(random_vector("location1", 3, scale=1.0), [0.9095923, 0.3926619, -0.6698646], rtol=1e-6)


def test_the_share_of_known_tokens():
    counts = {"the": 10, "n't": 5, "posh": 3, "grotty": 2}
    assert known_share(lookup(counts, VECTORS), counts) == 0.75
    assert known_share(lookup([], VECTORS), {}) == 0
