"""Fine-tuning a reader on labels of one's own, with the encoder frozen and with everything trained."""

import csv
import itertools

import numpy as np
import pytest
import torch

import tabsa
from reader_factory import LABELS
from reader_folder import small_reader, torch_answers, weights_of, write_reader
from tabsa.datasets.records import Columns
from tabsa.encoding.answers import PresenceCalibration
from tabsa.errors import ConfigError, DataError, OutputError
from tabsa.models.reader.reader_engine import ReaderEngine
from tabsa.models.reader.reader_network import load_weights, untied_weights
from tabsa.schema import Dataset, Example, Opinion, Span, Target
from tabsa.training import cached_features as cached
from tabsa.training.cached_features import Fold, FrozenEncoderReader, cache_features, calibrated, held_answers
from tabsa.training.callbacks import Callback
from tabsa.training.fine_tuning import begin, labelled_texts, labels_for, start_weights
from tabsa.training.fit import fit
from tabsa.training.run_config import requested_run, run_config

SHAPES = [
    {"late_interaction": 2, "sizes": {"layers": 3}},
    {"late_interaction": 1, "sizes": {"layers": 2}},
    {"kind": "mpnet", "late_interaction": 2, "sizes": {"layers": 3}},
]
QUICK = {"training": {"rate": 0.01, "epochs": 6, "batch_size": 8}, "model": {"dropout": 0.0}}
WORDS = {"good": "positive", "bad": "negative"}


def labelled(count=48, implied=False, labels=WORDS):
    """Texts that say `good` or `bad` of the food, the price, or both, of Camden or of what they do not name."""
    examples = []
    for number in range(count):
        first, second = list(labels)[number % 2], list(labels)[number // 2 % 2]
        both = number % 3 == 0
        start = "this place" if implied else "camden"
        text = f"{start} is {first} food" + (f" and {second} price" if both else "") + f" {'a ' * (number % 5)}"
        target = Target("", implied=True) if implied else Target("camden", (Span(0, 6),))
        opinions = [Opinion(target.name, "food", labels[first])]
        opinions += [Opinion(target.name, "price", labels[second])] if both else []
        examples.append(Example(str(number), text + str(number), (target,), tuple(opinions)))
    names = tuple(dict.fromkeys(labels.values()))
    return Dataset("labels", "all", ("food", "price"), ("none", *names), tuple(examples))


@pytest.fixture(scope="module")
def base(tmp_path_factory):
    model = small_reader(late_interaction=2, rounded=True, sizes={"layers": 3, "size": 64, "inner": 64})
    return write_reader(tmp_path_factory.mktemp("base") / "base", model, "int8")


def config(base, **sections):
    values = {"fine_tuning": {"base": str(base.path)}, **QUICK}
    return run_config({**values, **{name: {**values.get(name, {}), **more} for name, more in sections.items()}})


@pytest.mark.parametrize("options", SHAPES, ids=str)
def test_cached_features_are_answered_as_the_whole_reader_answers(tmp_path, options):
    model = small_reader(**options)
    engine = ReaderEngine(write_reader(tmp_path, model, "float32", ("float32",)), 1)
    aspects = ("food", "the price of a room", "")
    data = Dataset("x", "all", aspects, LABELS, labelled(9).examples + labelled(3, implied=True).examples)
    features = cache_features(engine, data, LABELS)
    path = FrozenEncoderReader(small_reader(**options | {"untied": True}).config, model.shape, len(LABELS), [1])
    own = weights_of(model)
    load_weights(path, own | untied_weights(own, model.shape.layers, model.config.late_interaction))
    found = np.zeros((len(features.questions.targets), len(LABELS)))
    with torch.no_grad():
        for _, rows, answers in held_answers(path, features, [Fold(np.array([0]), np.arange(len(features)))]):
            found[rows] = answers
    passages = [passage for example in data.examples for passage in engine.cut(example.text, example.targets)]
    expected = torch_answers(model, engine, passages, data.aspects)
    np.testing.assert_allclose(found, np.concatenate(expected).reshape(-1, len(LABELS)), atol=2e-3)


def test_logits_are_calibrated_as_probabilities_are():
    logits = np.random.default_rng(3).normal(0, 3, (50, 4))
    shares = np.exp(logits) / np.exp(logits).sum(-1, keepdims=True)
    calibration = PresenceCalibration(1.9, -0.3, 1.4)
    found = calibrated(torch.from_numpy(logits), calibration).exp().numpy()
    np.testing.assert_allclose(found, calibration.apply(shares), atol=1e-12)


def test_labels_are_the_bases_unless_the_data_has_others(base):
    known = ("none", "positive", "negative", "neutral", "mixed")
    assert labels_for(known, ("none", "positive")) == known
    assert labels_for(known, ("none", "positive", "conflict")) == (*known[:4], "conflict")
    assert labels_for(known, ("none", "angry", "positive")) == ("none", "angry", "positive")
    found = start_weights(base, ("none", "negative", "angry"))
    negative = base.config.labels.index("negative")
    np.testing.assert_array_equal(found["output"][:, 1], base.weights["output"][:, negative])
    np.testing.assert_allclose(found["output"][:, 2], base.weights["output"][:, 1:].mean(1), rtol=1e-6)
    assert found["output"].shape[1] == 3
    np.testing.assert_array_equal(found["question_layers.1.out"], base.weights["encoder.layers.2.out"])


def test_few_labels_are_crossed_and_many_held_out(base):
    few, many = labelled(30), labelled(1200)
    crossed = labelled_texts(few, None, config(base))
    assert crossed.crossed
    assert len(set(crossed.folds)) == 4
    assert len(crossed.part(held=True).examples) == 30
    held = labelled_texts(many, None, config(base))
    assert not held.crossed
    assert 0.1 < len(held.part(held=True).examples) / 1200 < 0.2
    given = labelled_texts(few, labelled(7), config(base))
    assert [len(given.part(held=held).examples) for held in (True, False)] == [7, 30]
    with pytest.raises(DataError, match="one text"):
        labelled_texts(labelled(1), None, config(base))


@pytest.mark.parametrize("crossed", [True, False])
def test_a_seed_never_learns_from_what_it_is_judged_on(base, crossed):
    texts = labelled_texts(labelled(40), None if crossed else labelled(12), config(base))
    trainer = begin(config(base), texts).trainer
    for number, fold in enumerate(trainer.folds):
        assert not {*fold.learnt} & {*fold.held}
        for batch in itertools.islice(trainer.batches(), 3):
            assert {*batch[number]} <= {*fold.learnt}
    held = np.concatenate([fold.held for fold in trainer.folds])
    assert sorted(held) == sorted(set(held))
    assert len(trainer.folds) == (5 if crossed else 1)
    assert len(trainer.folds[-1].held) == (0 if crossed else 12)


def test_a_large_inventory_is_learnt_in_part(base):
    data = labelled(12)
    wide = Dataset("wide", "all", (*data.aspects, *(f"price {n}" for n in range(60))), data.labels, data.examples)
    trainer = begin(config(base), labelled_texts(wide, None, config(base))).trainer
    questions, rng = trainer.features.questions, np.random.default_rng(0)
    for row in range(len(trainer.features)):
        drawn = trainer._drawn(row, rng)
        first, end = questions.first[row : row + 2]
        assert len(drawn) == len(set(drawn)) == 12
        opinions = (questions.labels[first:end] > 0).sum()
        batch = cached.feature_batch(trainer.features, [[row]], [[drawn]], trainer.device)  # which stands for all
        assert (questions.labels[drawn] > 0).sum() == opinions
        silent = (len(data.aspects) + 60 - opinions) / (12 - opinions)
        assert batch.weights.tolist() == [[[1 if n > 0 else pytest.approx(silent) for n in questions.labels[drawn]]]]


@pytest.fixture(scope="module")
def tuned(base, tmp_path_factory):
    return fit(config(base), tmp_path_factory.mktemp("tuned") / "mine", data=labelled())


def test_it_learns_and_the_folder_answers_so(base, tuned):
    (before, after) = tuned.rows
    assert after.epoch > 0
    assert after.dev["questions"]["opinion_f1"] > before.dev["questions"]["opinion_f1"] + 0.2
    model, data = tabsa.load(tuned.folder.path), labelled()
    assert model.aspects == ("food", "price")
    assert model.precision == "int8"
    report = tabsa.evaluate(model, data, bootstrap=0)
    assert report.questions["opinion_f1"] > 0.8
    base_report = tabsa.evaluate(tabsa.load(base.path), data, bootstrap=0)
    assert report.questions["opinion_f1"] > base_report.questions["opinion_f1"] + 0.2


def test_the_encoder_stays_and_the_folder_says_how_it_was_made(base, tuned):
    before, after = base.stored_weights(), tuned.folder.stored_weights()
    for name in before:
        if name.startswith("encoder."):
            np.testing.assert_array_equal(before[name], after[name], err_msg=name)
    assert after["question_layers.0.qkv"].dtype == np.float16
    metrics = tuned.folder.metrics
    assert [entry["epoch"] for entry in metrics["history"]] == list(range(len(metrics["history"])))
    assert metrics["history"][0]["loss"] is None
    assert metrics["history"][-1]["dev_loss"] < metrics["history"][0]["dev_loss"]
    assert metrics["split"] == "cross-validation"
    assert "<svg" in (tuned.folder.path / "report.html").read_text()
    assert "cross-validation" in (tuned.folder.path / "README.md").read_text()


def test_where_nothing_is_to_be_learnt_the_base_stays(base, tmp_path):
    rng = np.random.default_rng(0)
    data = labelled(24)
    noise = [
        Example(e.id, e.text, e.targets, (Opinion("camden", "food", str(rng.choice(["positive", "negative"]))),))
        for e in data.examples
    ]
    noisy = Dataset("noise", "all", ("food", "price"), data.labels, tuple(noise))
    fitted = fit(config(base, training={"rate": 1e-9}), tmp_path / "mine", data=noisy)
    assert fitted.rows[-1].epoch == 0
    assert "not surely better" in fitted.notes[-1]
    model, before = tabsa.load(fitted.folder.path, precision="float32"), tabsa.load(base.path, precision="float32")
    for example in noisy.examples[:5]:
        one, other = (m.predict(example.text, example.targets, ["food"]).opinions[0] for m in (model, before))
        assert one.probabilities == other.probabilities
    for name, array in base.stored_weights().items():
        np.testing.assert_array_equal(array, fitted.folder.stored_weights()[name], err_msg=name)


def test_own_polarities_and_texts_that_name_nothing(base, tmp_path):
    data = labelled(48, implied=True, labels={"good": "delighted", "bad": "cross"})
    fitted = fit(config(base), tmp_path / "mine", data=data)
    assert fitted.folder.config.labels == ("none", "delighted", "cross")
    assert fitted.folder.config.implied
    model = tabsa.load(fitted.folder.path)
    found = model.predict("this place is bad food", ["the place"])
    assert {opinion.polarity for opinion in found.opinions} <= {"none", "delighted", "cross"}
    assert tabsa.evaluate(model, data, bootstrap=0).questions["opinion_f1"] > 0.6


def test_a_tuned_reader_is_a_base_too(tuned, tmp_path):
    again = fit(config(tuned.folder), tmp_path / "again", data=labelled(30))
    assert again.folder.config.model["untied"] is True
    assert tabsa.evaluate(tabsa.load(again.folder.path), labelled(), bootstrap=0).questions["opinion_f1"] > 0.7


def test_a_run_goes_on_where_it_stopped(base, tuned, tmp_path):
    class Stop(Callback):
        def on_validation(self, trainer, validation):
            if validation.epoch == 3:
                raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fit(config(base), tmp_path / "parts", callbacks=[Stop()], data=labelled())
    with pytest.raises(OutputError, match="already holds a run"):
        fit(config(base), tmp_path / "parts", data=labelled())
    parts = fit(config(base), tmp_path / "parts", resume=True, data=labelled())
    first, second = tuned.folder.stored_weights(), parts.folder.stored_weights()
    for name in first:
        np.testing.assert_array_equal(first[name], second[name], err_msg=name)


@pytest.mark.parametrize("encoder", ["trained", "frozen"])
def test_minutes_bound_the_epochs(base, tmp_path, encoder):
    tuning = {"base": str(base.path), "minutes": 0.0005, "encoder": encoder}
    of = config(base, fine_tuning=tuning, training={"epochs": 5000})
    for resume in (False, True):
        fitted = fit(of, tmp_path / "mine", data=labelled(), resume=resume)
        assert fitted.folder.metrics["history"][-1]["epoch"] < 200


def test_everything_can_be_trained(base, tmp_path):
    tuning = {"encoder": "trained", "base": str(base.path)}
    run = config(base, fine_tuning=tuning, training={"epochs": 4, "rate": 0.003})
    fitted = fit(run, tmp_path / "mine", data=labelled(96))
    assert fitted.rows[-1].epoch > 0
    changed = fitted.folder.weights["encoder.layers.0.out"] != base.weights["encoder.layers.0.out"]
    assert changed.mean() > 0.1
    report = tabsa.evaluate(tabsa.load(fitted.folder.path), labelled(), bootstrap=0)
    assert report.questions["opinion_f1"] > 0.6


def write_table(path, rows):
    with path.open("w", newline="", encoding="utf-8") as stream:
        csv.writer(stream).writerows([("text", "target", "aspect", "polarity"), *rows])
    return path


def test_a_table_and_corrections_beside_it_are_learnt_from(base, tmp_path):
    rows = [(e.text, "camden", o.aspect, o.polarity) for e in labelled(24).examples for o in e.opinions]
    table = write_table(tmp_path / "mine.csv", rows)
    more = write_table(tmp_path / "more.csv", [("camden is far and dear", "camden", "distance", "negative")])
    settings = ("training.epochs=1", "training.batch_size=8")
    run, data = requested_run(table, base=str(base.path), more=more, settings=settings)
    assert data is None
    fitted = fit(run, tmp_path / "model")
    assert fitted.folder.metrics["texts"] == 25
    assert fitted.folder.config.aspects == ("food", "price", "distance")


def test_training_is_requested_with_a_table_or_a_configuration(tmp_path):
    table = write_table(tmp_path / "mine.csv", [("x", "y", "food", "positive")])
    run, _ = requested_run(table, minutes=2, epochs=3)
    assert (run.kind, run.fine_tuning.base, run.fine_tuning.minutes, run.training.epochs) == ("reader", "reader", 2, 3)
    assert requested_run(table, kind="lr")[0].fine_tuning.base == ""
    assert requested_run(table, full=True)[0].fine_tuning.encoder == "trained"
    assert requested_run(table, columns=Columns(text="Review"))[0].data.columns.text == "Review"
    (tmp_path / "run.toml").write_text('[data]\nname = "mine.csv"\n')
    assert requested_run(tmp_path / "run.toml")[0].data.name == str(table)
    run, data = requested_run(labelled(3), epochs=2)
    assert (len(data.examples), run.training.epochs, run.fine_tuning.base) == (3, 2, "reader")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"base": "reader", "kind": "lr"}, "give one"),
        ({"kind": "lr", "full": True}, "trained from nothing"),
        ({"data": "absent.csv"}, "expected your labels"),
        ({"data": {"kind": "lr"}, "base": "reader"}, "whole configuration"),
        ({"data": {"kind": "delayed-entnet", "training": {"epochs": 0}}}, r"'training\.epochs' is 0"),
        ({"data": {"kind": "lr", "fine_tuning": {"base": "reader"}}}, "for readers, and 'kind' is 'lr'"),
        ({"data": {"kind": "entnet", "training": {"select": "opinion_f1"}}}, "which is for readers"),
        *(
            ({"data": {"kind": kind, "data": {"targets": targets}, "augmentation": {"composed": 1}}}, "composed")
            for kind, targets in (("entnet", 1), ("sentic-lstm", 2))
        ),
    ],
)
def test_what_cannot_be_trained_is_one_line(tmp_path, options, message):
    table = write_table(tmp_path / "mine.csv", [("x", "y", "food", "positive")])
    with pytest.raises((ConfigError, DataError), match=message):
        requested_run(**{"data": table} | options)


def test_only_a_reader_is_a_base(tmp_path):
    with pytest.raises(ConfigError, match="the base 'places' is a delayed-entnet; fine-tuning starts from a reader"):
        fit(run_config({"fine_tuning": {"base": "places"}}), tmp_path / "x", data=labelled())


@pytest.mark.parametrize("encoder", ["frozen", "trained"])
def test_what_finds_opinions_worse_than_the_base_is_never_taken(base, tmp_path, monkeypatch, encoder):
    figures = itertools.chain([0.9], itertools.repeat(0.8))  # of the base, and of every epoch, whatever its loss
    for module in ("cached_features", "question_training"):
        name = f"tabsa.training.{module}.question_metrics"
        monkeypatch.setattr(name, lambda *_: {"opinion_f1": next(figures), "presence_f1": 0.5})
    monkeypatch.setattr("tabsa.training.question_training.figures_of", lambda *_: {})
    fitted = fit(config(base, fine_tuning={"encoder": encoder}), tmp_path / "mine", data=labelled())
    assert fitted.rows[-1].epoch == 0
    losses = [line["dev_loss"] for line in fitted.folder.metrics["history"]]
    assert encoder == "trained" or min(losses[1:]) < losses[0]
