"""From a configuration to arrays of words: vocabulary, vectors, splits, and one file that holds them."""

import json
import zipfile
from dataclasses import replace

import numpy as np
import pytest

from tabsa.datasets import loading as datasets
from tabsa.embeddings.vectors import lookup
from tabsa.encoding.arrays import PADDING, count_words
from tabsa.encoding.target_words import aspect_words, target_word
from tabsa.errors import DataError
from tabsa.schema import Dataset, Example, Opinion, Target
from tabsa.training import word_data as module
from tabsa.training.run_config import run_config
from tabsa.training.word_data import prepare

GLOVE = """\
the 0.1 0.2 0.3
price 1.00001 2.0 3.0
safe 0.5 0.25 0.125
location 4 5 6
transit 0 1 0
unread 7 7 7
"""


def config(kind="delayed-entnet", **sections):
    data = {"aspects": ["price", "transit-location"], "targets": 2, "max_length": 20} | sections.pop("data", {})
    vectors = {"size": 5, "first": 0} | sections.pop("vectors", {})
    return run_config({"kind": kind, "data": data, "vectors": vectors, **sections})


@pytest.fixture
def glove(tmp_path):
    path = tmp_path / "vectors" / "glove.txt"
    path.parent.mkdir()
    path.write_text(GLOVE, "utf-8")
    return path


def words_of(of):
    """The vocabulary that a preparation of `places` has, row by row."""
    splits = [datasets.load("places", split, aspects=of.data.aspects) for split in ("train", "dev")]
    return [PADDING, *count_words(splits, targets=of.data.targets, max_length=of.data.max_length)]


def test_places_without_any_file():
    of = config()
    prepared, vocabulary = prepare(of)
    words = words_of(of)
    assert prepared.aspects == ("price", "transit-location")
    assert prepared.labels == ("none", "positive", "negative")
    assert prepared.matrix.shape == (len(words), 5)
    assert prepared.matrix.dtype == np.float32
    assert not prepared.matrix[0].any()
    assert np.array_equal(prepared.matrix[1:], lookup(words[1:], vocabulary.vectors).matrix)
    assert [words[row] for row in prepared.targets] == [target_word(0), target_word(1)]
    assert len(np.unique(prepared.matrix, axis=0)) == len(words)  # every word can be told from every other
    assert prepared.train.tokens.max() < len(words)
    assert vocabulary.known_tokens < 0.5
    for vector, aspect in zip(prepared.aspect_vectors, prepared.aspects, strict=True):
        parts = lookup(aspect_words(aspect), vocabulary.vectors).matrix
        np.testing.assert_allclose(vector, parts.mean(0), rtol=1e-6)
    dev = datasets.load("places", "dev", aspects=["price", "transit-location"])
    expected = [[dev.labels.index(e.polarity(t.name, a)) for a in dev.aspects] for e, t in dev.groups()]
    assert prepared.dev.gold.tolist() == expected


def test_targets_aspects_and_composed_sentences():
    for targets in (1, 3):
        prepared, _ = prepare(config(data={"targets": targets}))
        assert len(set(prepared.targets)) == targets
        assert prepared.train.labels.shape[1:] == (targets, 2)
    assert prepare(config(data={"aspects": ["quiet", "price"]}))[0].aspects == ("quiet", "price")
    plain, composed = prepare(config())[0], prepare(config(augmentation={"composed": 0.5}))[0]
    assert len(composed.train) == len(plain.train) + len(plain.train) // 2
    assert len(composed.dev) == len(plain.dev)


def test_words_get_their_vectors_from_a_file(glove):
    of = config(vectors={"file": str(glove)})
    prepared, vocabulary = prepare(of)
    words = words_of(of)
    assert prepared.matrix.shape == (len(words), 3)
    assert prepared.matrix[words.index("safe")].tolist() == [0.5, 0.25, 0.125]
    assert {"the", "price", "safe", "location", "transit"} <= set(vocabulary.vectors.words)
    assert "unread" not in vocabulary.vectors.words
    np.testing.assert_allclose(prepared.aspect_vectors[1], [2, 3, 3])
    assert vocabulary.vectors.source.name == "glove.txt"
    assert 0 < vocabulary.known_tokens < 1
    # Training sees the numbers that a model folder has.
    matrix = vocabulary.vectors.matrix
    assert np.array_equal(matrix, matrix.astype(np.float16).astype(np.float32))
    assert prepared.aspect_vectors[0].tolist() == [1, 2, 3]
    glove.write_text("unheard 7 7 7\nunseen 8 8 8\n" + GLOVE, "utf-8")
    _, vocabulary = prepare(config(vectors={"file": str(glove), "first": 1}))
    assert "unheard" in vocabulary.vectors.words  # for texts to come
    assert "unseen" not in vocabulary.vectors.words


def test_a_file_below_the_data_folder_or_in_a_zip(glove):
    expected = prepare(config(vectors={"file": str(glove)}))[0].matrix
    found = prepare(config(vectors={"file": "vectors/glove.txt"}), glove.parents[1])[0].matrix
    assert np.array_equal(found, expected)
    with zipfile.ZipFile(glove.with_name("glove.zip"), "w") as archive:
        archive.write(glove, "glove.3d.txt")
    inside = prepare(config(vectors={"file": str(glove.with_name("glove.zip"))}))[0].matrix
    assert np.array_equal(inside, expected)


def test_words_from_another_file_are_aligned_and_more_data_is_learnt_from(tmp_path, glove):
    rng = np.random.default_rng(0)
    words = [*(line.split()[0] for line in GLOVE.splitlines()), "posh", "never-used"]
    other, more = tmp_path / "more.txt", tmp_path / "own.jsonl"
    other.write_text("".join(f"{word} {rng.normal():.4f} {rng.normal():.4f}\n" for word in words), "utf-8")

    def write(polarity):
        opinions = [{"target": "Camden", "aspect": "price", "polarity": polarity}]
        row = {"id": "1", "text": "Camden is posh", "targets": ["Camden"], "opinions": opinions}
        more.write_text(json.dumps(row) + "\n", "utf-8")

    write("negative")
    data, vectors = {"more": str(more)}, {"file": str(glove), "aligned": str(other)}
    prepared, vocabulary = prepare(config(data=data, vectors=vectors))
    assert "posh" in vocabulary.vectors.words
    assert "never-used" not in vocabulary.vectors.words
    assert "never-used" in prepare(config(data=data, vectors=vectors | {"aligned_first": 50}))[1].vectors.words
    plain, without = prepare(config(vectors={"file": str(glove)}))
    assert "posh" not in without.vectors.words
    assert (len(prepared.train), len(prepared.dev)) == (len(plain.train) + 1, len(plain.dev))
    write("mixed")
    with pytest.raises(DataError, match="polarity 'mixed'"):
        prepare(config(data=data))


def dataset(split, *polarities, labels):
    examples = [
        Example(str(n), f"X is word{n}", (Target("X", implied=True),), (Opinion("X", "price", polarity),))
        for n, polarity in enumerate(polarities)
    ]
    return Dataset("mine", split, ("price",), labels, examples)


def prepare_these(train, dev, monkeypatch):
    splits = {"train": train, "dev": dev}
    monkeypatch.setattr(module, "load", lambda _, split, **__: splits[split])
    return prepare(config(data={"name": "mine", "aspects": []}))[0]


def test_dev_has_the_labels_of_train_in_their_order(monkeypatch):
    train = dataset("train", "good", "bad", "mixed", labels=("none", "good", "bad", "mixed"))
    dev = dataset("dev", "bad", "good", labels=("none", "bad", "good"))
    prepared = prepare_these(train, dev, monkeypatch)
    assert prepared.labels == ("none", "good", "bad", "mixed")
    assert prepared.dev.gold.tolist() == [[2], [1]]


GOOD = dataset("train", "good", "bad", labels=("none", "good", "bad"))
EMPTY = replace(GOOD, examples=[Example("1", "X", (Target("X"),))])


@pytest.mark.parametrize(
    ("train", "dev", "message"),
    [
        (GOOD, dataset("dev", "odd", labels=("none", "odd")), "mine dev has the polarity 'odd', which train does not"),
        (EMPTY, GOOD, "mine train has no opinions on price"),
        (GOOD, replace(EMPTY, split="dev"), "mine dev has no opinions on price in its 1 text; a single file"),
    ],
)
def test_data_that_does_not_do(train, dev, message, monkeypatch):
    with pytest.raises(DataError, match=message):
        prepare_these(train, dev or train, monkeypatch)


def test_data_has_its_concepts():
    prepared, vocabulary = prepare(config("sentic-lstm"))
    assert not prepared.concepts[0].any()
    np.testing.assert_array_equal(prepared.concepts, vocabulary.concepts.matrix)
    assert np.count_nonzero(prepared.train.concepts) > 100
    for data in (prepared.train, prepared.dev):
        assert data.concepts.shape == data.tokens.shape
        assert not data.concepts[data.tokens == 0].any()
        assert not data.concepts[np.isin(data.tokens, prepared.targets)].any()
    prepared, vocabulary = prepare(config("lstm-loc"))
    assert (prepared.concepts, prepared.train.concepts, vocabulary.concepts) == (None, None, None)
