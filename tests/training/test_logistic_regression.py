"""The linear baseline: its weights against their equations, and that dev and test leave no trace."""

import dataclasses
import io
import json
import sys
import warnings

import numpy as np
import pytest
from rich.console import Console

from predicted_groups import predict_examples
from tabsa.checkpoint.model_folder import read_folder
from tabsa.datasets.loading import load
from tabsa.encoding.answers import softmax
from tabsa.encoding.arrays import gold_labels, readings
from tabsa.errors import ConfigError, TabsaError
from tabsa.evaluation.report import evaluate
from tabsa.inference.predictor import load as load_predictor
from tabsa.models.linear.linear_features import LRConfig, passage_ngrams
from tabsa.schema import Dataset, Example, Opinion
from tabsa.text.targets import TargetFinder

pytest.importorskip("sklearn")
pytest.importorskip("torch")  # the configuration of a run knows the neural systems, too

from tabsa.cli.progress import ProgressBar
from tabsa.training import logistic_regression as module
from tabsa.training.callbacks import Callback
from tabsa.training.fit import fit
from tabsa.training.logistic_regression import choose_bias, fit_datasets, probabilities_of
from tabsa.training.run_config import DataConfig, RunConfig

ASPECTS = ("price", "safety")
WORDS = LRConfig(pos_ngrams=0, c=(1.0, 10.0))
ONE_C = dataclasses.replace(WORDS, c=(3.0,), decision="argmax")


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
    assert (again.model.space.ngrams, again.trials) == (fitted.model.space.ngrams, fitted.trials)
    report = evaluate(places["test"], probabilities_of(fitted.model, places["test"]), bootstrap=0)
    assert report.sun["aspect_auc"] > 0.8
    assert report.sun["macro_f1"] > 0.6


def test_dev_and_test_leave_no_trace(places, fitted, monkeypatch, tmp_path):
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
    requested = []

    def recording(name, split, **options):
        requested.append(split)
        return load(name, split, **options)

    monkeypatch.setattr("tabsa.training.word_data.load", recording)
    fit(RunConfig("lr", ONE_C, DataConfig(name="places")), tmp_path / "model")
    assert requested == ["train", "dev"]


def test_what_dev_chooses(fitted, places):
    assert [trial.c for trial in fitted.trials] == [1.0, 10.0]
    assert fitted.best == max(fitted.trials, key=lambda trial: trial.score)
    assert fitted.model.none_bias == fitted.best.none_bias
    for decision, bias in (("argmax", 0.0), ("threshold", fitted.best.none_bias)):
        model = dataclasses.replace(fitted.model, none_bias=bias)
        report = evaluate(places["dev"], probabilities_of(model, places["dev"]), bootstrap=0)
        assert report.to_dict() == fitted.reports[decision].to_dict()
    argmax = fit_datasets(ONE_C, places["train"], places["dev"])
    assert argmax.model.none_bias == 0
    assert argmax.reports["threshold"].sun["macro_f1"] >= argmax.reports["argmax"].sun["macro_f1"]


def test_the_bias_is_the_one_that_makes_dev_right():
    gold = np.array([[0], [0], [1], [2]])
    logits = np.array([[[3.0, 0, 0]], [[2.6, 0, 0]], [[1.0, 0.1, 0]], [[1.4, 0, 0.1]]])
    judged = module._Features([], np.arange(4), gold, gold)
    bias, score = choose_bias(logits, judged, "mean", "threshold")
    assert bias == -1.4  # the smallest that turns both opinions up
    assert score == 1
    assert choose_bias(logits, judged, "mean", "argmax")[0] == 0.0
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
    assert list(metrics["decisions"]) == ["argmax", "threshold"]
    assert metrics["dev"]["sun"] == metrics["decisions"]["threshold"]["sun"]
    assert (metrics["c"], metrics["none_bias"]) == (3.0, fitted.best.none_bias)
    assert "| threshold, ma |" in (tmp_path / "README.md").read_text()


def test_what_cannot_be_fitted_is_one_line(places, monkeypatch):
    with pytest.raises(ConfigError, match=r"'model\.c' is empty"):
        fit_datasets(dataclasses.replace(WORDS, c=()), places["train"], places["dev"])
    monkeypatch.setitem(sys.modules, "sklearn.linear_model", None)
    with pytest.raises(TabsaError, match=r"needs scikit-learn: pip install 'tabsa\[train\]'"):
        fit_datasets(WORDS, places["train"], places["dev"])


@pytest.mark.data
def test_sentihood_words_only(data_dir):
    """Fitted with no tagger at all; each floor is a point or two below what it reaches."""
    options = LRConfig(pos_ngrams=0, c=(3.0,))
    train, dev = (load("sentihood", split, data_dir=data_dir) for split in ("train", "dev"))
    report = fit_datasets(options, train, dev).reports["threshold"]
    floors = {"macro_f1": 0.79, "aspect_auc": 0.94, "sentiment_accuracy": 0.88, "sentiment_auc": 0.92}
    assert {name for name, floor in floors.items() if report.sun[name] < floor} == set()


class Recorder(Callback):
    def __init__(self):
        self.steps, self.ended = [], 0

    def on_step(self, name, share):
        assert not self.ended
        self.steps.append((name, share))

    def on_steps_end(self):
        self.ended += 1


def test_callbacks_learn_how_far_it_is(tmp_path):
    seen = Recorder()
    fit(RunConfig("lr", WORDS, DataConfig(name="places", aspects=ASPECTS)), tmp_path / "model", callbacks=[seen])
    shares = [share for _, share in seen.steps]
    assert shares == sorted(shares)
    assert (shares[0], shares[-1], seen.ended) == (0, 1, 1)
    assert list(dict.fromkeys(name for name, _ in seen.steps)) == ["reading", *ASPECTS, "choosing"]
    broken = Recorder()
    with pytest.raises(ConfigError, match=r"'model\.c' is empty"):
        fit(RunConfig("lr", dataclasses.replace(WORDS, c=()), DataConfig(name="places")), tmp_path, callbacks=[broken])
    assert broken.ended == 1


@pytest.mark.parametrize("terminal", [True, False])
def test_the_bar_is_shown_on_a_terminal_only(tmp_path, monkeypatch, terminal):
    stream = io.StringIO()
    monkeypatch.setattr("tabsa.cli.console.err", Console(file=stream, force_terminal=terminal, width=80))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fit(RunConfig("lr", WORDS, DataConfig(name="places")), tmp_path / "model", callbacks=[ProgressBar()])
    assert bool(stream.getvalue().strip()) == terminal
