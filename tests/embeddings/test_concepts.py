from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tabsa.embeddings.concepts import ConceptTable, forms, load_concepts, read_concepts
from tabsa.errors import DataError


def table(*names):
    matrix = np.arange(len(names) + 1, dtype=np.float32)[:, None] * np.ones((1, 2), np.float32)
    return ConceptTable(("", *names), matrix)


def matched(concepts, text):
    return [concepts.names[row] for row in concepts.match(text.split())]


def write(folder, text, name="concepts.tsv"):
    path = Path(folder) / name
    path.write_text(text, encoding="utf-8")
    return path


INFLECTED = (
    "rents=rent parties=party churches=church buses=bus knives=knife people=person mugged=mug rated=rate "
    "walked=walk worried=worry living=live shopping=shop stolen=steal cheaper=cheap safest=safe bigger=big "
    "noisier=noisy n't=not well-connected=well_connected "
)


@pytest.mark.parametrize(("word", "lemma"), [pair.split("=") for pair in INFLECTED.split()])
def test_inflected_words_are_found_by_their_lemma(word, lemma):
    assert forms(word)[0] == word
    assert matched(table(lemma), word) == [lemma]
    assert matched(table(lemma, word), word) == [word]  # the word itself comes first


@pytest.mark.parametrize(
    ("word", "other"), [("evening", "even"), ("news", "new"), ("red", "r"), ("used", "us"), ("bus", "bu")]
)
def test_words_that_only_look_inflected(word, other):
    assert matched(table(other), word) == [""]


WORDS = st.lists(st.sampled_from("abcd"), max_size=12)
NAMES = st.lists(st.lists(st.sampled_from("abc"), min_size=1, max_size=4).map("_".join), unique=True)


@given(WORDS, NAMES)
def test_matching_is_greedy_longest_first(words, names):
    concepts = table(*names)
    expected, start = [], 0
    while start < len(words):
        found = [n for n in range(len(words) - start, 0, -1) if "_".join(words[start : start + n]) in names]
        length = found[0] if found else 1
        expected += ["_".join(words[start : start + length]) if found else ""] * length
        start += length
    assert [concepts.names[row] for row in concepts.match(words)] == expected


def test_reading_senticnets_columns(tmp_path):
    header = "concept\tpleasantness\tattention\tsensitivity\taptitude\tmood1\tmood2\tpolarity_label\tpolarity"
    header += "".join(f"\tsemantics{n}" for n in range(1, 6))
    row = "a_lot_of_fun\t0.814\t0\t-0.5\t0.856\t#joy\t#admiration\tpositive\t0.557\tjoy\tfun_play\t\tjoy\tbig_joy"
    path = write(tmp_path, f"{header}\n{row}\n")
    concepts = read_concepts(path)
    assert len(concepts) == 1
    assert concepts.names == ("", "a_lot_of_fun")
    np.testing.assert_allclose(concepts.matrix, [[0] * 5, [0.814, 0, -0.5, 0.856, 0.557]], atol=1e-3)
    assert (concepts.matrix == concepts.matrix.astype(np.float16)).all()  # what a model folder stores
    assert concepts.source.name == "concepts.tsv"
    assert len(concepts.source.sha256) == 64


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("", "columns, named in the first line: 'concept', and numbers"),
        ("concept\tmood1\ncalm\t#joy", "columns, named in the first line: 'concept', and numbers"),
        ("concept\tx\ncalm", "row 2: list index out of range; expected a concept and 1 numbers"),
        ("concept\tx\ncalm\t1\nbig\tmuch", "row 3: could not convert string to float: 'much'"),
        ("concept\tx\ncalm\t1\nCalm\t2", "row 3: 'calm'; expected each concept once"),
        ("concept\tx\ncalm\tnan", "expected numbers below 65,504"),
    ],
)
def test_mistakes_are_one_line(tmp_path, text, line):
    with pytest.raises(DataError, match=line) as e:
        read_concepts(write(tmp_path, text))
    assert "\n" not in str(e.value)


def test_the_lexicon_says_what_it_should():
    lexicon = load_concepts()
    assert lexicon.source.name == "lexicon.tsv"
    assert len(lexicon) >= 400
    assert lexicon.matrix.shape[1] == 5
    assert np.abs(lexicon.matrix).max() <= 1
    polarity = {name: lexicon.matrix[row, 4] for name, row in lexicon.index.items()}
    for good, bad in (("safe", "unsafe"), ("cheap", "expensive"), ("lively", "boring"), ("friendly", "rude")):
        assert polarity[good] > 0 > polarity[bad]
    assert matched(lexicon, "the muggings were n't good") == ["", "mugging", "", "not_good", "not_good"]
