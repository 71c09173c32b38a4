"""The n-grams of the linear baseline, its negations and their numbers."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tabsa.encoding.passages import Passage, passages
from tabsa.models.linear.linear_features import FeatureSpace, LRConfig, negated, passage_ngrams
from tabsa.text.targets import TargetFinder

WORDS = LRConfig(word_ngrams=2, pos_ngrams=0, char_ngrams=0, negation=0)
BOTH = LRConfig(word_ngrams=1, pos_ngrams=2, char_ngrams=0, negation=0)
TAGS = {"London": "NNP", "is": "VBZ", "dear": "JJ", ",": ",", "unlike": "IN"}


def passage(text: str, *names: str) -> Passage:
    (only,) = passages(text, TargetFinder(names).find(text), at_once=9, max_length=0)
    return only


def tagger(words):
    return [TAGS[word] for word in words]


CAMDEN = passage("Camden is dear, unlike Brixton", "Camden", "Brixton")


def test_tags_are_masked_as_words_are():
    camden, brixton = passage_ngrams(CAMDEN, BOTH, tagger)
    assert camden[6:] == [
        "t:<target>", "t:VBZ", "t:JJ", "t:,", "t:IN", "t:<other>",
        "t:<target> VBZ", "t:VBZ JJ", "t:JJ ,", "t:, IN", "t:IN <other>",
    ]  # fmt: skip
    assert [ngram for ngram in brixton if "<" in ngram] == [
        "w:<other>", "w:<target>", "t:<other>", "t:<target>", "t:<other> VBZ", "t:IN <target>",
    ]  # fmt: skip


def test_names_do_not_matter_and_tags_need_a_tagger():
    seen = []

    def recording(words):
        seen.append(list(words))
        return tagger(words)

    renamed = passage("Hampstead Garden Suburb is dear, unlike Soho", "Hampstead Garden Suburb", "Soho")
    assert list(passage_ngrams(renamed, BOTH, recording)) == list(passage_ngrams(CAMDEN, BOTH, recording))
    assert seen == [["London", "is", "dear", ",", "unlike", "London"]] * 2  # once for both targets
    with pytest.raises(ValueError, match="need a tagger"):
        list(passage_ngrams(CAMDEN, BOTH))


# ---- characters and negations


def test_the_worked_example_of_the_docstring():
    text = passage("Camden is not dear, unlike Brixton", "Camden", "Brixton")
    found = next(passage_ngrams(text, replace(WORDS, char_ngrams=5, negation=5)))
    assert found[:13] == [
        "w:<target>", "w:is", "w:not", "w:<not>dear", "w:,", "w:unlike", "w:<other>",
        "w:<target> is", "w:is not", "w:not <not>dear", "w:<not>dear ,", "w:, unlike", "w:unlike <other>",
    ]  # fmt: skip
    assert found[13:22] == [
        "c: is ", "c: not", "c:not ", "c: not ",
        "c:<not> dea", "c:<not>dear", "c:<not>ear ", "c:<not> dear", "c:<not>dear ",
    ]  # fmt: skip
    assert found[22:] == [
        "c: unl", "c:unli", "c:nlik", "c:like", "c:ike ", "c: unli", "c:unlik", "c:nlike", "c:like ",
    ]  # fmt: skip


words = st.lists(st.sampled_from(["camden", "is", "not", "isnt", "dear", "but", ",", "Less"]), max_size=12)


# ---- the space


def dense(space: FeatureSpace, groups) -> np.ndarray:
    rows = space.encode(groups)
    matrix = np.zeros((len(rows.starts) - 1, len(space.ngrams)))
    for n in range(len(matrix)):
        part = slice(rows.starts[n], rows.starts[n + 1])
        matrix[n, rows.columns[part]] = rows.values[part]
    return matrix


groups = st.lists(st.lists(st.sampled_from("abcdef"), max_size=6), min_size=1, max_size=8).filter(any)


@settings(deadline=None)  # the first call imports scikit-learn
@given(groups, groups)
def test_tf_idf_is_scikit_learns(train, new):
    text = pytest.importorskip("sklearn.feature_extraction.text")
    theirs = text.TfidfVectorizer(analyzer=lambda found: found, binary=True).fit(train)
    space = FeatureSpace.of(train, LRConfig())
    order = [theirs.vocabulary_[ngram] for ngram in space.ngrams]
    for data in (train, new):
        np.testing.assert_allclose(dense(space, data), theirs.transform(data).toarray()[:, order], atol=1e-6)


# ---- negations

NEGATIONS = ("not", "n't", "no", "never", "dont", "wouldnt", "without", "hardly", "less", "lacks")
ENDS = (",", ".", "!", "...", "(", "--", "but")


def slow(words: list[str], reach: int, place: int) -> bool:
    """Whether some negation stands near enough before a place, with no end between them or there."""
    return any(
        words[before] in NEGATIONS and not set(words[before + 1 : place + 1]) & set(ENDS)
        for before in range(max(place - reach, 0), place)
    )


@given(st.lists(st.sampled_from([*NEGATIONS, *ENDS, "safe", "dear", "a1"]), max_size=12), st.integers(0, 6))
def test_negations_against_a_slow_search(words, reach):
    assert negated(words, reach) == [slow(words, reach, place) for place in range(len(words))]
