"""Fitting the linear baseline: against scikit-learn, and that dev and test leave no trace where they must not."""

import dataclasses
import io
import json
import sys
import warnings

import numpy as np
import pytest
from rich.console import Console

from tabsa.checkpoint.model_folder import read_folder
from tabsa.datasets import load
from tabsa.encoding.arrays import gold_labels, readings
from tabsa.errors import ConfigError, TabsaError
from tabsa.evaluation.report import evaluate
from tabsa.inference.evaluating import predict_examples
from tabsa.inference.predictor import load as load_predictor
from tabsa.models.linear.linear_features import LRConfig, passage_ngrams
from tabsa.models.linear.linear_model import softmax
from tabsa.schema import Dataset, Example, Opinion
from tabsa.text import TargetFinder

pytest.importorskip("scipy")
pytest.importorskip("torch")  # the configuration of a run knows the neural systems, too

from tabsa.cli.progress import ProgressBar
from tabsa.training import regression as linear
from tabsa.training.callbacks import Callback
from tabsa.training.config import DataConfig, RunConfig, run_config
from tabsa.training.fit import fit
from tabsa.training.regression import (
    FittedModel,
    choose_bias,
    fit_datasets,
    fit_model,
    score_dataset,
    write_fitted,
)

ASPECTS = ("price", "safety")
WORDS = LRConfig(pos_ngrams=0, c=(1.0, 10.0))
ONE_C = dataclasses.replace(WORDS, c=(3.0,), decision="argmax")


@pytest.fixture(scope="module")
def places() -> dict[str, Dataset]:
    return {split: load("places", split, aspects=ASPECTS) for split in ("train", "dev", "test")}


@pytest.fixture(scope="module")
def fitted(places) -> FittedModel:
    return fit_datasets(WORDS, places["train"], places["dev"])


def found_in(dataset: Dataset, config: LRConfig = WORDS) -> list[list[str]]:
    """The n-grams of every target of texts that are read whole, in the order of the dataset."""
    found: dict[int, list[str]] = {}
    for reading in readings(dataset, targets=99):
        found |= dict(zip(reading.groups, passage_ngrams(reading.passage, config), strict=True))
    return [found[group] for group in sorted(found)]


def said_of(model, dataset: Dataset) -> np.ndarray:
    """What the regressions say of every target of texts that are read whole, in the order of the dataset."""
    return softmax(model.logits(model.space.encode(found_in(dataset, model.config))))


def scrambled(dataset: Dataset) -> Dataset:
    """The same labels on other texts."""
    examples = [
        dataclasses.replace(example, text="zebra " * len(example.text), targets=tuple(
            dataclasses.replace(target, mentions=()) for target in example.targets
        ))
        for example in dataset.examples
    ]  # fmt: skip
    return dataclasses.replace(dataset, examples=examples)


# ---- what is fitted


@pytest.mark.parametrize(("class_power", "class_weight"), [(0.0, None), (1.0, "balanced")])
def test_probabilities_are_scikit_learns(places, class_power, class_weight):
    pytest.importorskip("sklearn")
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.linear_model import LogisticRegression

    config = dataclasses.replace(ONE_C, class_power=class_power)
    model = fit_datasets(config, places["train"], places["dev"]).model
    ours = said_of(model, places["test"])
    vectoriser = TfidfVectorizer(analyzer=lambda found: found, binary=True)
    train = vectoriser.fit_transform(found_in(places["train"]))
    test = vectoriser.transform(found_in(places["test"]))
    for aspect, gold in enumerate(gold_labels(places["train"]).T):
        theirs = LogisticRegression(C=3.0, class_weight=class_weight, max_iter=9000, tol=1e-9).fit(train, gold)
        np.testing.assert_allclose(ours[:, aspect], theirs.predict_proba(test), atol=1e-5)


def test_it_learns(fitted, places):
    report = evaluate(places["test"], said_of(fitted.model, places["test"]), bootstrap=0)
    assert report.sun["aspect_auc"] > 0.8
    assert report.sun["macro_f1"] > 0.6


def test_the_same_data_give_the_same_model(fitted, places):
    again = fit_datasets(WORDS, places["train"], places["dev"])
    assert again.model.space.ngrams == fitted.model.space.ngrams
    np.testing.assert_array_equal(again.model.weights, fitted.model.weights)
    assert (again.best, again.trials) == (fitted.best, fitted.trials)


# ---- nothing leaks


def test_ngrams_that_only_dev_or_test_have_are_unknown(fitted, places):
    known = {ngram for found in found_in(places["train"]) for ngram in found}
    assert set(fitted.model.space.ngrams) == known
    for split in ("dev", "test"):
        assert {ngram for found in found_in(places[split]) for ngram in found} - known


def test_for_a_given_c_dev_changes_nothing(places):
    one = fit_datasets(ONE_C, places["train"], places["dev"]).model
    other = fit_datasets(ONE_C, places["train"], scrambled(places["dev"])).model
    assert one.space.ngrams == other.space.ngrams
    np.testing.assert_array_equal(one.space.scale, other.space.scale)
    np.testing.assert_array_equal(one.weights, other.weights)
    np.testing.assert_array_equal(one.intercepts, other.intercepts)


def test_only_the_two_splits_named_are_read(monkeypatch):
    requested = []

    def recording(name, split, **options):
        requested.append(split)
        return load(name, split, **options)

    monkeypatch.setattr("tabsa.training.preparation.load", recording)
    fit_model(RunConfig("lr", ONE_C, DataConfig(name="places")))
    assert requested == ["train", "dev"]


# ---- what dev chooses


def test_the_best_c_is_kept(fitted):
    assert [trial.c for trial in fitted.trials] == [1.0, 10.0]
    assert fitted.best == max(fitted.trials, key=lambda trial: trial.score)
    assert fitted.model.none_bias == fitted.best.none_bias


def test_the_reports_are_those_of_the_model(fitted, places):
    dev = places["dev"]
    for decision, bias in (("argmax", 0.0), ("threshold", fitted.best.none_bias)):
        model = dataclasses.replace(fitted.model, none_bias=bias)
        assert score_dataset(model, dev).to_dict() == fitted.reports[decision].to_dict()


def test_argmax_moves_nothing(places):
    argmax = fit_datasets(ONE_C, places["train"], places["dev"])
    assert argmax.model.none_bias == 0
    assert argmax.reports["threshold"].sun["macro_f1"] >= argmax.reports["argmax"].sun["macro_f1"]


def test_the_bias_is_the_one_that_makes_dev_right():
    gold = np.array([[0], [0], [1], [2]])
    logits = np.array([[[3.0, 0, 0]], [[2.6, 0, 0]], [[1.0, 0.1, 0]], [[1.4, 0, 0.1]]])
    judged = linear._Features([], np.arange(4), gold, gold)
    bias, score = choose_bias(logits, judged, "sun.strict_accuracy", "threshold")
    assert bias == -1.4  # the smallest that turns both opinions up
    assert score == 1
    assert choose_bias(logits, judged, "sun.strict_accuracy", "argmax") == (0.0, 0.5)
    assert choose_bias(logits, judged, "aspect_auc", "threshold") == (0.0, 1.0)  # which no bias changes


# ---- few classes


def tiny(split: str, polarities: list[tuple[str, str]]) -> Dataset:
    """One sentence a pair of polarities, of price and of safety; the word gives it away."""
    examples = []
    for n, pair in enumerate(polarities):
        text = f"Camden is {pair[0]}price and {pair[1]}safety"
        opinions = tuple(Opinion("Camden", a, p) for a, p in zip(ASPECTS, pair, strict=True) if p != "none")
        examples.append(Example(str(n), text, TargetFinder(["Camden"]).find(text), opinions))
    return Dataset("tiny", split, ASPECTS, ("none", "positive", "negative"), examples)


def test_an_aspect_with_one_or_two_classes():
    data = tiny("train", [("none", "none"), ("positive", "none")] * 4)
    model = fit_datasets(dataclasses.replace(ONE_C, c=(1000.0,)), data, data).model
    probabilities = model.predict([reading.passage for reading in readings(data, targets=9)])
    np.testing.assert_allclose(probabilities.sum(-1), 1)
    assert probabilities.argmax(-1).tolist() == [[0, 0], [1, 0]] * 4
    assert probabilities[..., 2].max() < 1e-30  # no aspect is ever negative


# ---- the run and its folder


def test_the_folder_of_a_run(tmp_path, places):
    config = RunConfig("lr", dataclasses.replace(WORDS, c=(3.0,)), DataConfig(name="places", aspects=ASPECTS))
    fitted = fit_model(config)
    folder = read_folder(write_fitted(tmp_path, config, fitted).path)
    predictions = predict_examples(load_predictor(folder.path), places["test"])
    report = evaluate(places["test"], predictions, bootstrap=0)
    assert report.sun == pytest.approx(score_dataset(fitted.model, places["test"]).sun)
    assert folder.config.max_length == 50
    metrics = json.loads((tmp_path / "metrics.json").read_text())
    assert list(metrics["decisions"]) == ["argmax", "threshold"]
    assert metrics["dev"]["sun"] == metrics["decisions"]["threshold"]["sun"]
    assert (metrics["c"], metrics["none_bias"]) == (3.0, fitted.best.none_bias)
    assert "| threshold, ma |" in (tmp_path / "README.md").read_text()


def test_options_that_leave_nothing_to_fit(places):
    with pytest.raises(ConfigError, match=r"'model\.c' is empty"):
        fit_datasets(dataclasses.replace(WORDS, c=()), places["train"], places["dev"])


def test_a_run_of_this_kind_is_known():
    config = run_config({"kind": "lr", "model": {"pos_ngrams": 0, "c": [1, 2.5]}})
    assert config.model == LRConfig(pos_ngrams=0, c=(1.0, 2.5))
    with pytest.raises(ConfigError, match=r"'model\.c' is 0\.0; expected at least"):
        run_config({"kind": "lr", "model": {"c": [0]}})


def test_without_scipy(places, monkeypatch):
    monkeypatch.setitem(sys.modules, "scipy.sparse", None)
    with pytest.raises(TabsaError, match=r"needs SciPy: pip install 'tabsa\[train\]'"):
        fit_datasets(WORDS, places["train"], places["dev"])


def test_biases_are_tried_from_zero_outwards():
    assert linear._BIASES[0] == 0
    assert sorted(linear._BIASES) == pytest.approx(np.linspace(-6, 6, 121))


@pytest.mark.data
def test_sentihood_words_only(data_dir):
    """Fitted with no tagger at all; each floor is a point or two below what it reaches."""
    options = LRConfig(pos_ngrams=0, c=(3.0,))
    fitted = fit_model(RunConfig("lr", options, DataConfig(name="sentihood", max_length=0)), data_dir)
    report = fitted.reports["threshold"]
    floors = {"macro_f1": 0.79, "aspect_auc": 0.94, "sentiment_accuracy": 0.88, "sentiment_auc": 0.92}
    assert {name for name, floor in floors.items() if report.sun[name] < floor} == set()


# ---- how far it is


class Heard(Callback):
    def __init__(self) -> None:
        self.steps: list[tuple[str, float]] = []
        self.ended = 0

    def on_step(self, name: str, share: float) -> None:
        assert not self.ended
        self.steps.append((name, share))

    def on_steps_end(self) -> None:
        self.ended += 1


def test_callbacks_hear_how_far_it_is(tmp_path):
    config = RunConfig("lr", WORDS, DataConfig(name="places", aspects=ASPECTS))
    heard = Heard()
    fit(config, tmp_path / "model", callbacks=[heard])
    shares = [share for _, share in heard.steps]
    assert shares == sorted(shares)
    assert (shares[0], shares[-1], heard.ended) == (0, 1, 1)
    assert list(dict.fromkeys(name for name, _ in heard.steps)) == ["reading", "C = 1", "C = 10"]
    assert sum(0 < share < 0.5 for share in shares) > 100  # texts read


def test_they_hear_of_an_end_that_came_too_soon(tmp_path):
    heard = Heard()
    with pytest.raises(ConfigError, match=r"'model\.c' is empty"):
        fit(RunConfig("lr", dataclasses.replace(WORDS, c=()), DataConfig(name="places")), tmp_path, callbacks=[heard])
    assert heard.ended == 1


@pytest.mark.parametrize("terminal", [True, False])
def test_the_bar_is_shown_on_a_terminal_only(tmp_path, monkeypatch, terminal):
    stream = io.StringIO()
    console = Console(file=stream, force_terminal=terminal, width=80)
    monkeypatch.setattr("tabsa.cli.progress.err", console)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fit(RunConfig("lr", WORDS, DataConfig(name="places")), tmp_path / "model", callbacks=[ProgressBar()])
    shown = stream.getvalue()
    assert ("C = 10" in shown and "100%" in shown) == terminal
    assert bool(shown.strip()) == terminal
