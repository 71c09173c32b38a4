"""The linear baseline: its weights against their equations, and that dev and test leave no trace."""

import dataclasses
import json
import sys

import numpy as np
import pytest

from predicted_groups import predict_examples
from tabsa.checkpoint.model_folder import read_folder
from tabsa.datasets.loading import load
from tabsa.encoding.answers import softmax
from tabsa.encoding.arrays import gold_labels, readings
from tabsa.errors import TabsaError
from tabsa.evaluation.report import evaluate
from tabsa.inference.predictor import load as load_predictor
from tabsa.models.linear.linear_features import LRConfig, passage_ngrams
from tabsa.schema import Dataset, Example, Opinion
from tabsa.text.targets import TargetFinder

pytest.importorskip("sklearn")
pytest.importorskip("torch")  # the configuration of a run knows the neural systems, too

from tabsa.training import logistic_regression as module
from tabsa.training.fit import fit
from tabsa.training.logistic_regression import choose_bias, fit_datasets, probabilities_of
from tabsa.training.loop import selected
from tabsa.training.run_config import DataConfig, RunConfig

ASPECTS = ("price", "safety")
WORDS = LRConfig(pos_ngrams=0, c=(1.0, 10.0))
ONE_C = dataclasses.replace(WORDS, c=(3.0,))


@pytest.fixture(scope="module")
def places():
    return {split: load("places", split, aspects=ASPECTS) for split in ("train", "dev", "test")}


@pytest.fixture(scope="module")
def fitted(places):
    return fit_datasets(WORDS, places["train"], places["dev"])


def found_in(dataset):
    """The n-grams of every target of texts that are read whole, in the order of the dataset."""
    found = {}
    for reading in readings(dataset, targets=99):
        found |= dict(zip(reading.groups, passage_ngrams(reading.passage, WORDS), strict=True))
    return [found[group] for group in sorted(found)]


def slopes(matrix, gold, weights, intercepts, c, power):
    """The gradient of one aspect's objective, row by row and label by label."""
    classes, counts = np.unique(gold, return_counts=True)
    weighs = {int(one): float(count) ** -power for one, count in zip(classes, counts, strict=True)}
    scale = len(gold) / sum(weighs[int(one)] * count for one, count in zip(classes, counts, strict=True))
    of_weights, of_intercepts = weights.astype(np.float64).copy(), np.zeros(len(classes))
    for row, label in zip(matrix, gold, strict=True):
        shares = softmax(row @ weights.astype(np.float64) + intercepts)
        for place, one in enumerate(classes):
            wrong = c * scale * weighs[int(label)] * (shares[place] - (one == label))
            of_weights[:, place] += wrong * row
            of_intercepts[place] += wrong
    return of_weights, of_intercepts


@pytest.mark.parametrize("power", [0.0, 0.5, 1.0])
def test_no_weight_can_be_bettered(places, power):
    """The slope of the objective, computed plainly, is nothing; of the weights as they start it is far from that."""
    train = dataclasses.replace(places["train"], examples=places["train"].examples[:80])
    model = fit_datasets(dataclasses.replace(ONE_C, class_power=power), train, places["dev"]).model
    rows, gold = model.space.encode(found_in(train)), gold_labels(train)
    matrix = np.zeros((len(gold), len(model.space.ngrams)))
    for n, (start, end) in enumerate(zip(rows.starts[:-1], rows.starts[1:], strict=True)):
        matrix[n, rows.columns[start:end]] = rows.values[start:end]
    for aspect in range(len(ASPECTS)):
        own = (model.weights[:, aspect], model.intercepts[aspect])
        of_weights, of_intercepts = slopes(matrix, gold[:, aspect], *own, 3.0, power)
        assert np.abs(of_weights).max() < 1e-4
        assert np.abs(of_intercepts).max() < 1e-3  # weights are kept in float32, and a slope sums over all rows
        assert np.abs(slopes(matrix, gold[:, aspect], own[0] * 0, own[1] * 0, 3.0, power)[0]).max() > 0.1


def test_the_same_data_give_the_same_model_and_it_learns(fitted, places):
    again = fit_datasets(WORDS, places["train"], places["dev"])
    np.testing.assert_array_equal(again.model.weights, fitted.model.weights)
    assert (again.model.space.ngrams, again.c) == (fitted.model.space.ngrams, fitted.c)
    report = evaluate(places["test"], probabilities_of(fitted.model, places["test"]), bootstrap=0)
    assert report.sun["aspect_auc"] > 0.8
    assert report.sun["macro_f1"] > 0.6


def test_dev_and_test_leave_no_trace(places, fitted):
    known = {ngram for found in found_in(places["train"]) for ngram in found}
    assert set(fitted.model.space.ngrams) == known
    for split in ("dev", "test"):
        assert {ngram for found in found_in(places[split]) for ngram in found} - known
    scrambled = dataclasses.replace(
        places["dev"], examples=[dataclasses.replace(e, text="zebra " * len(e.text)) for e in places["dev"].examples]
    )
    one, other = (fit_datasets(ONE_C, places["train"], dev).model for dev in (places["dev"], scrambled))
    for name in ("weights", "intercepts"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name))
    np.testing.assert_array_equal(one.space.scale, other.space.scale)


def test_what_dev_chooses(fitted, places):
    alone = [fit_datasets(dataclasses.replace(WORDS, c=(c,)), places["train"], places["dev"]) for c in WORDS.c]
    scores = [selected({"sun": one.report.sun, "ma": one.report.ma}, "mean") for one in alone]
    assert fitted.c == WORDS.c[int(np.argmax(scores))]
    plain, moved = dataclasses.replace(fitted.model, none_bias=0.0), fitted.model
    reports = [evaluate(places["dev"], probabilities_of(model, places["dev"]), bootstrap=0) for model in (plain, moved)]
    assert reports[1].to_dict() == fitted.report.to_dict()
    assert reports[1].sun["macro_f1"] >= reports[0].sun["macro_f1"]


def test_the_bias_is_the_one_that_makes_dev_right():
    gold = np.array([[0], [0], [1], [2]])
    logits = np.array([[[3.0, 0, 0]], [[2.6, 0, 0]], [[1.0, 0.1, 0]], [[1.4, 0, 0.1]]])
    judged = module._Features([], np.arange(4), gold, gold)
    bias, score = choose_bias(logits, judged, "mean")
    assert bias == -1.4  # the smallest that turns both opinions up
    assert score == 1
    assert module._BIASES[0] == 0
    assert sorted(module._BIASES) == pytest.approx(np.linspace(-6, 6, 121))


def test_an_aspect_with_one_or_two_classes():
    """One sentence a pair of polarities, of price and of safety; the word gives it away."""
    examples = []
    for n, pair in enumerate([("none", "none"), ("positive", "none")] * 4):
        text = f"Camden is {pair[0]}price and {pair[1]}safety"
        opinions = tuple(Opinion("Camden", a, p) for a, p in zip(ASPECTS, pair, strict=True) if p != "none")
        examples.append(Example(str(n), text, TargetFinder(["Camden"]).find(text), opinions))
    data = Dataset("tiny", "train", ASPECTS, ("none", "positive", "negative"), examples)
    model = fit_datasets(dataclasses.replace(ONE_C, c=(1000.0,)), data, data).model
    probabilities = model.predict([reading.passage for reading in readings(data, targets=9)])
    np.testing.assert_allclose(probabilities.sum(-1), 1)
    assert probabilities.argmax(-1).tolist() == [[0, 0], [1, 0]] * 4
    assert probabilities[..., 2].max() < 1e-30  # no aspect is ever negative


def test_the_folder_of_a_run(tmp_path, places):
    config = RunConfig("lr", dataclasses.replace(WORDS, c=(3.0,)), DataConfig(name="places", aspects=ASPECTS))
    fitted = fit_datasets(config.model, places["train"], places["dev"], None, config.data.max_length)
    folder = read_folder(fit(config, tmp_path).folder.path)
    report = evaluate(places["test"], predict_examples(load_predictor(folder.path), places["test"]), bootstrap=0)
    own = probabilities_of(fitted.model, places["test"])
    assert report.sun == pytest.approx(evaluate(places["test"], own, bootstrap=0).sun)
    metrics = json.loads((tmp_path / "metrics.json").read_text())
    assert metrics["dev"]["sun"] == pytest.approx(fitted.report.sun)
    assert (metrics["c"], metrics["none_bias"]) == (3.0, fitted.model.none_bias)
    assert "| places dev, % | sun | ma |" in (tmp_path / "README.md").read_text()


def test_without_scikit_learn(places, monkeypatch):
    monkeypatch.setitem(sys.modules, "sklearn.linear_model", None)
    with pytest.raises(TabsaError, match=r"needs scikit-learn: pip install 'tabsa\[train\]'"):
        fit_datasets(WORDS, places["train"], places["dev"])
