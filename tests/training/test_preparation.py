import zipfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tabsa.datasets import loading as datasets
from tabsa.embeddings.vectors import lookup
from tabsa.encoding.arrays import PADDING, count_words
from tabsa.encoding.target_words import aspect_words, target_word
from tabsa.errors import DataError, DataNotFoundError
from tabsa.schema import Dataset, Example, Opinion, Target
from tabsa.training import preparation as module
from tabsa.training.config import RunConfig, run_config
from tabsa.training.preparation import Prepared, prepare

GLOVE = """\
the 0.1 0.2 0.3
price 1.00001 2.0 3.0
safe 0.5 0.25 0.125
location 4 5 6
transit 0 1 0
unheard 7 7 7
"""


def config(**sections: Any) -> RunConfig:
    return run_config(
        {
            "data": {"aspects": ["price", "transit-location"], "targets": 2, "max_length": 20}
            | sections.get("data", {}),
            "vectors": {"size": 5, "first": 0} | sections.get("vectors", {}),
        }
    )


@pytest.fixture
def glove(tmp_path: Path) -> Path:
    path = tmp_path / "vectors" / "glove.txt"
    path.parent.mkdir()
    path.write_text(GLOVE, "utf-8")
    return path


def words_of(of: RunConfig) -> list[str]:
    """The vocabulary that a preparation of `places` has, row by row."""
    splits = [datasets.load("places", split, aspects=of.data.aspects) for split in ("train", "dev")]
    return [PADDING, *count_words(splits, targets=of.data.targets, max_length=of.data.max_length)]


# ---- arrays


def test_places_without_any_file() -> None:
    of = config()
    prepared, kept = prepare(of)
    words = words_of(of)
    assert prepared.aspects == ("price", "transit-location")
    assert prepared.labels == ("none", "positive", "negative")
    assert prepared.matrix.shape == (len(words), 5)
    assert prepared.matrix.dtype == np.float32
    assert not prepared.matrix[0].any()
    assert np.array_equal(prepared.matrix[1:], lookup(words[1:], kept.vectors).matrix)
    assert [words[row] for row in prepared.targets] == [target_word(0), target_word(1)]
    assert len(np.unique(prepared.matrix, axis=0)) == len(words)  # every word can be told from every other
    assert prepared.train.tokens.max() < len(words)
    assert prepared.train.tokens.shape[1] <= 512
    assert kept.coverage.share() < 0.5


def test_an_aspect_is_the_mean_of_its_words() -> None:
    prepared, kept = prepare(config())
    for vector, aspect in zip(prepared.aspect_vectors, prepared.aspects, strict=True):
        parts = lookup(aspect_words(aspect), kept.vectors).matrix
        np.testing.assert_allclose(vector, parts.mean(0), rtol=1e-6)


def test_the_same_configuration_prepares_the_same() -> None:
    first, second = prepare(config())[0], prepare(config())[0]
    assert np.array_equal(first.matrix, second.matrix)
    assert np.array_equal(first.train.tokens, second.train.tokens)


@pytest.mark.parametrize("targets", [1, 3])
def test_as_many_targets_as_are_asked_for(targets: int) -> None:
    prepared, _ = prepare(config(data={"targets": targets}))
    assert len(set(prepared.targets)) == targets
    assert prepared.train.labels.shape[1:] == (targets, 2)


def test_aspects() -> None:
    every = datasets.load("places", "train", aspects=["all"]).aspects
    assert prepare(config(data={"aspects": ["all"]}))[0].aspects == every
    assert prepare(config(data={"aspects": []}))[0].aspects == datasets.load("places", "train").aspects
    assert prepare(config(data={"aspects": ["quiet", "price"]}))[0].aspects == ("quiet", "price")


def test_gold_is_by_group() -> None:
    prepared, _ = prepare(config())
    dev = datasets.load("places", "dev", aspects=["price", "transit-location"])
    expected = [[dev.labels.index(e.polarity(t.name, a)) for a in dev.aspects] for e, t in dev.groups()]
    assert prepared.dev.gold.tolist() == expected


# ---- vectors from a file


def test_words_get_their_vectors_from_a_file(glove: Path) -> None:
    of = config(vectors={"file": str(glove)})
    prepared, kept = prepare(of)
    words = words_of(of)
    assert prepared.matrix.shape == (len(words), 3)
    assert prepared.matrix[words.index("safe")].tolist() == [0.5, 0.25, 0.125]
    assert {"the", "price", "safe", "location", "transit"} <= set(kept.vectors.words)
    assert "unheard" not in kept.vectors.words
    np.testing.assert_allclose(prepared.aspect_vectors[1], [2, 3, 3])
    assert kept.vectors.source is not None
    assert kept.vectors.source.name == "glove.txt"
    assert 0 < kept.coverage.share() < 1


def test_training_sees_the_numbers_that_a_model_folder_keeps(glove: Path) -> None:
    prepared, kept = prepare(config(vectors={"file": str(glove)}))
    assert np.array_equal(kept.vectors.matrix, kept.vectors.matrix.astype(np.float16).astype(np.float32))
    assert prepared.aspect_vectors[0].tolist() == [1, 2, 3]


def test_the_first_words_of_the_file_are_kept_for_texts_to_come(glove: Path) -> None:
    glove.write_text("unheard 7 7 7\nunseen 8 8 8\n" + GLOVE.replace("unheard", "unread"), "utf-8")
    _, kept = prepare(config(vectors={"file": str(glove), "first": 1}))
    assert "unheard" in kept.vectors.words
    assert "unseen" not in kept.vectors.words


def test_a_file_below_the_data_folder_or_in_a_zip(glove: Path) -> None:
    expected = prepare(config(vectors={"file": str(glove)}))[0].matrix
    found = prepare(config(vectors={"file": "vectors/glove.txt"}), glove.parents[1])[0].matrix
    assert np.array_equal(found, expected)
    with zipfile.ZipFile(glove.with_name("glove.zip"), "w") as archive:
        archive.write(glove, "glove.3d.txt")
    inside = prepare(config(vectors={"file": str(glove.with_name("glove.zip"))}))[0].matrix
    assert np.array_equal(inside, expected)


def test_no_such_vectors(tmp_path: Path) -> None:
    with pytest.raises(DataNotFoundError, match=r"^no glove/none\.txt in .*$"):
        prepare(config(vectors={"file": "glove/none.txt"}), tmp_path)
    with pytest.raises(DataNotFoundError, match=r"none\.txt"):
        prepare(config(vectors={"file": str(tmp_path / "none.txt")}))


# ---- data that does not do


def dataset(split: str, *polarities: str, labels: tuple[str, ...]) -> Dataset:
    examples = [
        Example(str(n), f"X is word{n}", (Target("X", implied=True),), (Opinion("X", "price", polarity),))
        for n, polarity in enumerate(polarities)
    ]
    return Dataset("mine", split, ("price",), labels, examples)


def prepare_these(train: Dataset, dev: Dataset, monkeypatch: pytest.MonkeyPatch) -> Prepared:
    splits = {"train": train, "dev": dev}
    monkeypatch.setattr(module, "load", lambda _, split, **__: splits[split])
    return prepare(config(data={"name": "mine", "aspects": []}))[0]


def test_dev_has_the_labels_of_train_in_their_order(monkeypatch: pytest.MonkeyPatch) -> None:
    train = dataset("train", "good", "bad", "mixed", labels=("none", "good", "bad", "mixed"))
    dev = dataset("dev", "bad", "good", labels=("none", "bad", "good"))
    prepared = prepare_these(train, dev, monkeypatch)
    assert prepared.labels == ("none", "good", "bad", "mixed")
    assert prepared.dev.gold.tolist() == [[2], [1]]


def test_a_polarity_that_train_does_not_have(monkeypatch: pytest.MonkeyPatch) -> None:
    train = dataset("train", "good", "bad", labels=("none", "good", "bad"))
    dev = dataset("dev", "odd", labels=("none", "odd"))
    with pytest.raises(DataError, match="mine dev has the polarity 'odd', which train does not have"):
        prepare_these(train, dev, monkeypatch)


@pytest.mark.parametrize("empty", ["train", "dev"])
def test_no_opinions(empty: str, monkeypatch: pytest.MonkeyPatch) -> None:
    splits = {split: dataset(split, "good", labels=("none", "good")) for split in ("train", "dev")}
    splits[empty] = replace(splits[empty], examples=[Example("1", "X", (Target("X"),))])
    with pytest.raises(DataError, match=f"mine {empty} has no opinions on price"):
        prepare_these(splits["train"], splits["dev"], monkeypatch)


def test_a_column_of_something_else_than_polarities(monkeypatch: pytest.MonkeyPatch) -> None:
    scores = [f"{n / 100}" for n in range(200)]
    train = dataset("train", *scores, labels=("none", *scores))
    with pytest.raises(DataError, match="mine has 200 polarities; expected at most 127"):
        prepare_these(train, train, monkeypatch)


def test_a_file_too_small_to_hold_anything_out(tmp_path: Path) -> None:
    path = tmp_path / "mine.csv"
    path.write_text("text,target,aspect,polarity\nX is good,X,price,good\n")
    with pytest.raises(DataError, match="is too small to hold out"):
        prepare(config(data={"name": str(path), "aspects": []}))


# ---- saving


def test_save_and_read(tmp_path: Path) -> None:
    prepared, _ = prepare(config())
    prepared.save(tmp_path / "prepared.safetensors")
    again = Prepared.read(tmp_path / "prepared.safetensors")
    assert (again.targets, again.aspects, again.labels) == (prepared.targets, prepared.aspects, prepared.labels)
    for name in ("matrix", "aspect_vectors"):
        assert np.array_equal(getattr(again, name), getattr(prepared, name))
    for split in ("train", "dev"):
        arrays = getattr(prepared, split).arrays()
        assert getattr(again, split).arrays().keys() == arrays.keys()
        for name, array in arrays.items():
            found = getattr(again, split).arrays()[name]
            assert (found.dtype, found.tolist()) == (array.dtype, array.tolist())


def test_what_is_no_prepared_data(tmp_path: Path) -> None:
    path = tmp_path / "prepared.safetensors"
    with pytest.raises(DataError, match="cannot read"):
        Prepared.read(path)
    prepare(config())[0].save(path)
    path.write_bytes(path.read_bytes()[:-3])
    with pytest.raises(DataError, match="is damaged, or not what"):
        Prepared.read(path)
    from safetensors.numpy import save_file

    save_file({"x": np.ones(1)}, path)
    with pytest.raises(DataError, match="is damaged, or not what"):
        Prepared.read(path)


def test_words_from_another_file_are_aligned(tmp_path: Path, glove: Path) -> None:
    rng = np.random.default_rng(0)
    own = {line.split()[0]: line for line in GLOVE.splitlines()}
    words = [*own, "posh", "never-asked"]
    other = tmp_path / "more.txt"
    other.write_text("".join(f"{word} {rng.normal():.4f} {rng.normal():.4f}\n" for word in words), encoding="utf-8")
    text = tmp_path / "own.jsonl"
    text.write_text(
        '{"id": "1", "text": "Camden is posh", "targets": ["Camden"], '
        '"opinions": [{"target": "Camden", "aspect": "price", "polarity": "negative"}]}\n',
        encoding="utf-8",
    )
    data_section = {"name": "places", "more": str(text)}
    vectors = {"file": str(glove), "aligned": str(other)}
    _, kept = prepare(config(data=data_section, vectors=vectors))
    assert "posh" in kept.vectors
    assert "never-asked" not in kept.vectors
    _, kept = prepare(config(data=data_section, vectors=vectors | {"aligned_first": 50}))
    assert "never-asked" in kept.vectors
    _, without = prepare(config(data=data_section, vectors={"file": str(glove)}))
    assert "posh" not in without.vectors


def test_more_data_is_learnt_from_and_not_selected_by(tmp_path: Path) -> None:
    plain, _ = prepare(config(data={"name": "places"}))
    text = tmp_path / "own.jsonl"
    line = '{"id": "%d", "text": "Camden is posh", "targets": ["Camden"], "opinions": [%s]}\n'
    opinion = '{"target": "Camden", "aspect": "price", "polarity": "%s"}'
    text.write_text(line % (1, opinion % "negative") + line % (2, ""), encoding="utf-8")
    more, _ = prepare(config(data={"name": "places", "more": str(text)}))
    assert len(more.train) == len(plain.train) + 2
    assert len(more.dev) == len(plain.dev)
    text.write_text(line % (1, opinion % "mixed"), encoding="utf-8")
    with pytest.raises(DataError, match="polarity 'mixed'"):
        prepare(config(data={"name": "places", "more": str(text)}))
