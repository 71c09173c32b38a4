"""What the linear baseline sees of a text."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tabsa.linear.config import LRConfig
from tabsa.linear.features import FeatureSpace, example_ngrams, ngrams, row_sums
from tabsa.schema import Example, Target
from tabsa.text import TargetFinder

WORDS = LRConfig(word_ngrams=2, pos_ngrams=0)
BOTH = LRConfig(word_ngrams=1, pos_ngrams=2)
TAGS = {"London": "NNP", "is": "VBZ", "dear": "JJ", ",": ",", "unlike": "IN"}


def example(text: str, *names: str) -> Example:
    return Example("1", text, TargetFinder(names).find(text))


def tagger(words):
    return [TAGS[word] for word in words]


CAMDEN = example("Camden is dear, unlike Brixton", "Camden", "Brixton")


def test_a_worked_example():
    camden, brixton = example_ngrams(CAMDEN, WORDS)
    assert camden == [
        "w:<target>", "w:is", "w:dear", "w:,", "w:unlike", "w:<other>",
        "w:<target> is", "w:is dear", "w:dear ,", "w:, unlike", "w:unlike <other>",
    ]  # fmt: skip
    assert brixton == [
        "w:<other>", "w:is", "w:dear", "w:,", "w:unlike", "w:<target>",
        "w:<other> is", "w:is dear", "w:dear ,", "w:, unlike", "w:unlike <target>",
    ]  # fmt: skip


def test_tags_are_masked_as_words_are():
    camden, brixton = example_ngrams(CAMDEN, BOTH, tagger)
    assert camden[6:] == [
        "t:<target>", "t:VBZ", "t:JJ", "t:,", "t:IN", "t:<other>",
        "t:<target> VBZ", "t:VBZ JJ", "t:JJ ,", "t:, IN", "t:IN <other>",
    ]  # fmt: skip
    assert [ngram for ngram in brixton if "<" in ngram] == [
        "w:<other>", "w:<target>", "t:<other>", "t:<target>", "t:<other> VBZ", "t:IN <target>",
    ]  # fmt: skip


def test_every_target_but_the_asked_one_is_other():
    three = example("Camden or Brixton or Hackney", "Camden", "Brixton", "Hackney")
    words = [found[:5] for found in example_ngrams(three, WORDS)]
    assert words[1] == ["w:<other>", "w:or", "w:<target>", "w:or", "w:<other>"]
    assert len(words) == 3


def test_names_do_not_matter():
    seen = []

    def recording(words):
        seen.append(list(words))
        return tagger(words)

    renamed = example("Hampstead Garden Suburb is dear, unlike Soho", "Hampstead Garden Suburb", "Soho")
    assert list(example_ngrams(renamed, BOTH, recording)) == list(example_ngrams(CAMDEN, BOTH, recording))
    assert seen == [["London", "is", "dear", ",", "unlike", "London"]] * 2  # once for both targets


def test_case_is_folded_for_words_but_not_for_the_tagger():
    shouted = example("Camden IS dear", "Camden")
    assert next(example_ngrams(shouted, WORDS))[1] == "w:is"
    cased = LRConfig(word_ngrams=1, pos_ngrams=1, lowercase=False)
    seen = []
    assert next(example_ngrams(shouted, cased, lambda words: seen.extend(words) or ["X"] * 3))[1] == "w:IS"
    assert seen == ["London", "IS", "dear"]


def test_a_text_is_cut_where_asked():
    assert next(example_ngrams(CAMDEN, WORDS, max_length=2)) == ["w:<target>", "w:is", "w:<target> is"]


def test_a_target_that_the_text_only_implies():
    implied = Example("1", "so dear", (Target("Camden"),))
    assert list(example_ngrams(implied, WORDS)) == [["w:so", "w:dear", "w:so dear"]]


def test_tags_need_a_tagger():
    with pytest.raises(ValueError, match="need a tagger"):
        list(example_ngrams(CAMDEN, BOTH))


@given(st.lists(st.sampled_from("abc"), max_size=8), st.integers(1, 4))
def test_ngrams_are_all_runs(items, longest):
    runs = ["x:" + " ".join(items[i : i + n]) for n in range(1, longest + 1) for i in range(len(items) - n + 1)]
    assert ngrams("x:", items, longest) == runs


# ---- the space

GROUPS = [["a", "b", "a"], ["b", "c"], ["b"], []]


def dense(space: FeatureSpace, groups) -> np.ndarray:
    rows = space.encode(groups)
    matrix = np.zeros((len(rows.starts) - 1, len(space.ngrams)))
    for n in range(len(matrix)):
        part = slice(rows.starts[n], rows.starts[n + 1])
        matrix[n, rows.columns[part]] = rows.values[part]
    return matrix


def test_presence_and_counts():
    space = FeatureSpace.of(GROUPS, LRConfig(tf_idf=False))
    assert space.ngrams == ("a", "b", "c")
    assert dense(space, GROUPS).tolist() == [[1, 1, 0], [0, 1, 1], [0, 1, 0], [0, 0, 0]]
    counting = FeatureSpace.of(GROUPS, LRConfig(tf_idf=False, counts=True))
    assert dense(counting, GROUPS)[0].tolist() == [2, 1, 0]


def test_rare_ngrams_are_left_out():
    assert FeatureSpace.of(GROUPS, LRConfig(min_count=2)).ngrams == ("b",)  # `a` stands twice, but in one group


def test_ngrams_outside_the_space_change_nothing():
    space = FeatureSpace.of(GROUPS, LRConfig())
    assert np.array_equal(dense(space, [["a", "new", "b"]]), dense(space, [["a", "b"]]))
    assert dense(space, [["new"]]).tolist() == [[0, 0, 0]]


groups = st.lists(st.lists(st.sampled_from("abcdef"), max_size=6), min_size=1, max_size=8).filter(any)


@settings(deadline=None)  # the first call imports scikit-learn
@given(groups, groups, st.booleans())
def test_tf_idf_is_scikit_learns(train, new, counts):
    text = pytest.importorskip("sklearn.feature_extraction.text")
    theirs = text.TfidfVectorizer(analyzer=lambda found: found, binary=not counts).fit(train)
    space = FeatureSpace.of(train, LRConfig(counts=counts))
    order = [theirs.vocabulary_[ngram] for ngram in space.ngrams]
    for data in (train, new):
        np.testing.assert_allclose(dense(space, data), theirs.transform(data).toarray()[:, order], atol=1e-6)


def test_the_order_of_ngrams_does_not_matter():
    space = FeatureSpace.of(GROUPS, LRConfig())
    one, other = space.encode([["c", "a", "b"]]), space.encode([["b", "c", "a"]])
    assert one.columns.tolist() == other.columns.tolist() == [0, 1, 2]
    assert one.values.tolist() == other.values.tolist()


def test_the_order_of_columns_is_that_of_the_data():
    ordered = FeatureSpace.of([[str(n) for n in range(100)]], LRConfig())
    assert ordered.ngrams == tuple(str(n) for n in range(100))


def test_a_scale_that_does_not_fit():
    with pytest.raises(ValueError, match="do not fit"):
        FeatureSpace(("a", "b"), np.ones(1, np.float32), LRConfig())


@given(st.lists(st.integers(0, 3), max_size=6))
def test_row_sums_with_empty_rows(lengths):
    starts = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    values = np.arange(float(starts[-1]) * 2).reshape(-1, 2)
    expected = [values[a:b].sum(axis=0) for a, b in pairwise(starts)]
    assert np.array_equal(row_sums(values, starts), np.array(expected).reshape(-1, 2))
