"""The fitted regressions as arrays, and their model folder."""

import dataclasses
import sys
from pathlib import Path

import numpy as np
import pytest

from predicted_groups import predict_examples
from tabsa.checkpoint.model_folder import read_folder
from tabsa.datasets.loading import load
from tabsa.encoding.arrays import readings
from tabsa.encoding.passages import Passage
from tabsa.errors import DataError, DataNotFoundError, ModelError, TabsaError
from tabsa.inference.predictor import load as load_predictor
from tabsa.models.linear.linear_features import FeatureSpace, LRConfig, passage_ngrams
from tabsa.models.linear.linear_model import LinearModel, read_model, tagger_for, write_model
from tabsa.schema import Dataset
from unchecked import unchecked

ASPECTS = ("price", "safety")
LABELS = ("none", "positive", "negative")
CONFIG = LRConfig(pos_ngrams=0)


@pytest.fixture(scope="module")
def places() -> Dataset:
    return load("places", "dev", aspects=ASPECTS)


@pytest.fixture(scope="module")
def passages(places) -> list[Passage]:
    """What is read of every text."""
    return [reading.passage for reading in readings(places, targets=9)]


def predict_dataset(folder, dataset: Dataset) -> np.ndarray:
    return predict_examples(load_predictor(folder.path), dataset)


def random_model(passages, config, tagger=None) -> LinearModel:
    """Random weights over the n-grams of half of the data."""
    half = passages[: len(passages) // 2]
    space = FeatureSpace.of([found for one in half for found in passage_ngrams(one, config, tagger)], config)
    rng = np.random.default_rng(0)
    weights = rng.normal(size=(len(space.ngrams), 2, 3)).astype(np.float32)
    return LinearModel(space, weights, rng.normal(size=(2, 3)).astype(np.float32), ASPECTS, LABELS)


@pytest.fixture(scope="module")
def model(passages) -> LinearModel:
    return random_model(passages, CONFIG)


def slow_probabilities(model: LinearModel, found: list[str], aspect: int) -> list[float]:
    """One target, one aspect, the equations as they stand."""
    known = {ngram for ngram in found if ngram in model.space.column}
    squares = sum(float(model.space.scale[model.space.column[ngram]]) ** 2 for ngram in known)
    logits = [float(b) for b in model.intercepts[aspect]]
    for ngram in known:
        column = model.space.column[ngram]
        value = float(model.space.scale[column]) / squares**0.5
        logits = [z + float(w) * value for z, w in zip(logits, model.weights[column, aspect], strict=True)]
    logits[0] += model.none_bias
    powers = [np.exp(z) for z in logits]
    return [power / sum(powers) for power in powers]


def test_probabilities_are_the_softmax_of_the_equation(model, passages):
    model = dataclasses.replace(model, none_bias=-0.7)
    probabilities = model.predict(passages)
    groups = [found for passage in passages for found in passage_ngrams(passage, CONFIG)]
    assert probabilities.shape == (len(groups), 2, 3)
    expected = [[slow_probabilities(model, found, aspect) for aspect in range(2)] for found in groups]
    np.testing.assert_allclose(probabilities, expected, atol=1e-12)


def test_no_example_no_known_ngram_and_arrays_that_do_not_fit(model):
    assert model.predict([]).shape == (0, 2, 3)
    unknown = model.logits(model.space.encode([["w:never seen"], []]))
    np.testing.assert_allclose(unknown, np.broadcast_to(model.intercepts, (2, 2, 3)))
    with pytest.raises(ValueError, match="an array of shape"):
        dataclasses.replace(model, aspects=("price",))


@pytest.fixture
def written(model, tmp_path):
    folder = write_model(tmp_path / "model", dataclasses.replace(model, none_bias=-0.3), {"dev": {}}, "# a card\n")
    unchecked(folder.path)
    return folder


def test_a_round_trip_gives_the_same_numbers(model, written, places, passages):
    folder = read_folder(written.path)
    again = read_model(folder)
    assert again.space.ngrams == model.space.ngrams
    assert again.config == CONFIG
    assert again.none_bias == -0.3
    expected = dataclasses.replace(model, none_bias=-0.3).predict(passages)
    numbers = [group for reading in readings(places, targets=9) for group in reading.groups]
    np.testing.assert_allclose(predict_dataset(folder, places)[numbers], expected, atol=1e-7)  # float32 in use
    assert (folder.config.kind, folder.config.aspects, folder.config.labels) == ("lr", ASPECTS, LABELS)
    assert not (folder.path / "vectors.safetensors").exists()


def test_a_folder_reads_the_tags_that_it_was_trained_with(places, passages, tmp_path, monkeypatch):
    def tagger(words):
        return ["LONG" if len(word) > 3 else "SHORT" for word in words]

    model = random_model(passages, LRConfig(pos_ngrams=2), tagger)
    folder = write_model(tmp_path / "model", model, {}, "")
    monkeypatch.setattr("tabsa.models.linear.linear_model.tagger_for", lambda _: tagger)
    numbers = [group for reading in readings(places, targets=9) for group in reading.groups]
    np.testing.assert_allclose(predict_dataset(folder, places)[numbers], model.predict(passages, tagger), atol=1e-7)


@pytest.mark.parametrize("name", ["ngrams", "scale", "weights", "intercepts", "none_bias"])
@pytest.mark.parametrize("how", ["missing", "short"])
def test_a_folder_with_wrong_arrays(written, name, how):
    from safetensors.numpy import load_file, save_file

    path = written.path / "weights.safetensors"
    arrays = load_file(path)
    if how == "missing":
        del arrays[name]
    else:
        arrays[name] = arrays[name][:-1] if name != "ngrams" else arrays[name][: arrays[name].tolist().index(10)]
    save_file({key: np.ascontiguousarray(array) for key, array in arrays.items()}, path)
    with pytest.raises(ModelError, match=r"does not hold (a 'lr'|weights)") as caught:
        read_model(read_folder(written.path))
    assert "\n" not in str(caught.value)


def test_answers_that_are_no_shares(model, tmp_path):
    folder = write_model(tmp_path, dataclasses.replace(model, none_bias=np.nan), {"dev": {}}, "")
    with pytest.raises(ModelError, match="answers with something that is no share"):
        load_predictor(folder.path).predict("Camden is dear.", ["Camden"])


FOLDER = "nltk_data/taggers/averaged_perceptron_tagger_eng"
PARTS = {
    "weights": '{"bias": {"NN": 1}, "i suffix ing": {"VBG": 2}}',
    "tagdict": '{"the": "DT"}',
    "classes": '["NN", "VBG"]',
}


@pytest.fixture
def no_data(tmp_path, monkeypatch):
    """A machine without data."""
    pytest.importorskip("nltk")
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    monkeypatch.delenv("TABSA_DATA", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def put(folder: Path, parts=PARTS) -> Path:
    (folder / FOLDER).mkdir(parents=True)
    for name, content in parts.items():
        (folder / FOLDER / f"averaged_perceptron_tagger_eng.{name}.json").write_text(content)
    return folder


def test_tags_from_a_data_folder(tmp_path, no_data):
    assert tagger_for(LRConfig(), put(tmp_path / "data"))(["the", "going", "cat"]) == ["DT", "VBG", "NN"]


def test_a_tagger_that_is_not_there_or_damaged_is_one_line(tmp_path, no_data, monkeypatch):
    with pytest.raises(DataNotFoundError, match="`tabsa data fetch nltk-tagger`") as caught:
        tagger_for(LRConfig())
    assert "\n" not in str(caught.value)
    assert caught.value.code == "no_tagger"  # which the command line knows an option for
    with pytest.raises(DataError, match=r"weights\.json is not valid JSON: .* `tabsa data fetch nltk-tagger`"):
        tagger_for(LRConfig(), put(tmp_path / "data", PARTS | {"weights": "{"}))
    monkeypatch.setitem(sys.modules, "nltk.tag.perceptron", None)
    with pytest.raises(TabsaError, match="pip install nltk"):
        tagger_for(LRConfig())
    assert tagger_for(LRConfig(pos_ngrams=0)) is None
