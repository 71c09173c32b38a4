"""The fitted regressions as arrays, and their model folder."""

import dataclasses
import json
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from predicted_groups import predict_examples
from tabsa.checkpoint.model_folder import read_folder
from tabsa.datasets.loading import load
from tabsa.encoding.arrays import readings
from tabsa.encoding.passages import Passage
from tabsa.errors import DataError, ModelError
from tabsa.evaluation.metrics import all_metrics
from tabsa.inference.predictor import load as load_predictor
from tabsa.models.linear.linear_features import FeatureSpace, LRConfig, passage_ngrams
from tabsa.models.linear.linear_model import LinearModel, read_model, write_model
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


@pytest.fixture(scope="module")
def model(passages) -> LinearModel:
    """Random weights over the n-grams of half of the data."""
    half = passages[: len(passages) // 2]
    space = FeatureSpace.of([found for one in half for found in passage_ngrams(one, CONFIG)], CONFIG)
    rng = np.random.default_rng(0)
    weights = rng.normal(size=(len(space.ngrams), 2, 3)).astype(np.float32)
    return LinearModel(space, weights, rng.normal(size=(2, 3)).astype(np.float32), ASPECTS, LABELS)


def slow_probabilities(model: LinearModel, found: list[str], aspect: int) -> list[float]:
    """One target, one aspect, the equations as they stand."""
    kept = {ngram for ngram in found if ngram in model.space.column}
    squares = sum(float(model.space.scale[model.space.column[ngram]]) ** 2 for ngram in kept)
    logits = [float(b) for b in model.intercepts[aspect]]
    for ngram in kept:
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


def test_blocks_do_not_show(model, passages, monkeypatch):
    whole = model.predict(passages)
    monkeypatch.setattr("tabsa.models.linear.linear_model._BLOCK", 3)
    np.testing.assert_array_equal(model.predict(passages), whole)


def test_no_example_and_no_known_ngram(model):
    assert model.predict([]).shape == (0, 2, 3)
    unknown = model.logits(model.space.encode([["w:never seen"], []]))
    np.testing.assert_allclose(unknown, np.broadcast_to(model.intercepts, (2, 2, 3)))


@settings(deadline=None, max_examples=30)
@given(bias=st.floats(-4, 4))
def test_the_bias_moves_the_border_of_none_and_nothing_else(model, passages, bias):
    before = model.predict(passages)
    after = dataclasses.replace(model, none_bias=bias).predict(passages)
    gold = np.random.default_rng(1).integers(0, 3, before.shape[:2])
    for family in ("sun", "ma"):
        for name in ("aspect_auc", "sentiment_accuracy", "sentiment_auc"):
            figures = [all_metrics(gold, probabilities)[family][name] for probabilities in (before, after)]
            assert figures[0] == pytest.approx(figures[1])
    margin = np.log(before[..., 1:].max(-1)) - np.log(before[..., 0])
    clear = abs(margin - bias) > 1e-9
    assert ((after.argmax(-1) != 0) == (margin > bias))[clear].all()


def test_arrays_that_do_not_fit(model):
    with pytest.raises(ValueError, match="do not fit"):
        dataclasses.replace(model, aspects=("price",))


# ---- the folder


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
    assert len(folder.vectors) == 0


def test_the_folder_is_plain_files(written):
    assert sorted(path.name for path in written.path.iterdir()) == [
        "README.md", "config.json", "metrics.json", "vectors.safetensors", "weights.safetensors",
    ]  # fmt: skip


def test_lone_surrogates_survive(model, tmp_path):
    space = FeatureSpace(("w:\ud800", "w:é"), np.ones(2, np.float32), CONFIG)
    odd = LinearModel(space, np.ones((2, 2, 3), np.float32), np.zeros((2, 3), np.float32), ASPECTS, LABELS)
    assert read_model(write_model(tmp_path / "odd", odd, {}, "")).space.ngrams == space.ngrams


def test_aspects_and_labels_in_the_datas_order(written, places):
    folder = read_folder(written.path)
    turned = dataclasses.replace(places, aspects=ASPECTS[::-1], labels=("none", "negative", "positive"))
    expected = predict_dataset(folder, places)[:, ::-1][..., [0, 2, 1]]
    np.testing.assert_allclose(predict_dataset(folder, turned), expected)


def test_the_share_of_a_polarity_that_the_data_does_not_have_goes_to_the_others(written, places):
    """A text that judges does so in the data's polarities; how likely it is to be silent stays."""
    folder = read_folder(written.path)
    every = predict_dataset(folder, places)
    fewer = predict_dataset(folder, dataclasses.replace(places, labels=LABELS[:2]))
    np.testing.assert_allclose(fewer, np.stack([every[..., 0], 1 - every[..., 0]], axis=-1), rtol=1e-9)


@pytest.mark.parametrize(("field", "names"), [("aspects", ("price", "noise")), ("labels", (*LABELS, "mixed"))])
def test_what_the_model_does_not_know(written, places, field, names):
    with pytest.raises(DataError, match=f"'{names[-1]}', which the model does not know"):
        predict_dataset(read_folder(written.path), dataclasses.replace(places, **{field: names}))


@pytest.mark.parametrize("name", ["ngrams", "scale", "weights", "intercepts", "none_bias"])
@pytest.mark.parametrize("how", ["missing", "short", "not finite"])
def test_a_folder_with_wrong_arrays(written, name, how):
    from safetensors.numpy import load_file, save_file

    path = written.path / "weights.safetensors"
    arrays = load_file(path)
    match how:
        case "missing":
            del arrays[name]
        case "short":
            arrays[name] = arrays[name][:-1] if name != "ngrams" else arrays[name][: arrays[name].tolist().index(10)]
        case "not finite":
            arrays[name] = np.full_like(arrays[name], np.nan) if name != "ngrams" else arrays[name][:0]
    save_file({key: np.ascontiguousarray(array) for key, array in arrays.items()}, path)
    with pytest.raises(ModelError, match="does not hold a 'lr'") as caught:
        read_model(read_folder(written.path))
    assert "\n" not in str(caught.value)


def test_another_kind_of_folder(written):
    path = written.path / "config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"kind": "entnet"}))
    with pytest.raises(ModelError, match="holds a 'entnet'; expected 'lr'"):
        read_model(read_folder(written.path))


def test_prediction_needs_only_numpy(written):
    code = (
        "import sys\n"
        "for name in ('torch', 'sklearn', 'scipy', 'nltk'): sys.modules[name] = None\n"
        "from pathlib import Path\n"
        "from tabsa.datasets.loading import load\n"
        "from tabsa.inference.evaluating import predict_questions\n"
        "from tabsa.inference.predictor import load as load_model\n"
        f"dataset = load('places', 'dev', aspects={ASPECTS})\n"
        f"print(predict_questions(load_model(Path({str(written.path)!r})), dataset).shape)"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.startswith("(")


def test_importing_is_light():
    code = "import tabsa.models.linear, sys; print(*{name.partition('.')[0] for name in sys.modules})"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert not {"torch", "nltk", "sklearn", "scipy"} & set(loaded)
