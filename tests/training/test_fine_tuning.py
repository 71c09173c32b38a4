"""Fine-tuning a reader on labels of one's own, with the encoder kept and with everything trained."""

import csv
import itertools
import json

import numpy as np
import pytest
import torch

import tabsa
from reader_factory import LABELS
from reader_folder import small_reader, torch_answers, weights_of, write_reader
from tabsa.encoding.answers import PresenceCalibration
from tabsa.errors import ConfigError, DataError, OutputError
from tabsa.models.reader.reader_engine import ReaderEngine
from tabsa.models.reader.reader_network import load_weights, untied_weights
from tabsa.nn.context import EVALUATION
from tabsa.schema import Dataset, Example, Opinion, Span, Target
from tabsa.training.config import run_config
from tabsa.training.fine_tuning import labelled_texts, labels_for, start_weights
from tabsa.training.fit import fit
from tabsa.training.kept_reader import Fold, KeptReader, KeptTrainer, calibrated, held_answers, kept_batch
from tabsa.training.kept_texts import keep_texts
from tabsa.training.sources import asked_run, asked_training

SHAPES = [
    {"late_interaction": 2, "sizes": {"layers": 3}},
    {"late_interaction": 1, "sizes": {"layers": 2}},
    {"kind": "mpnet", "late_interaction": 2, "sizes": {"layers": 3}},
]
QUICK = {"training": {"rate": 0.01, "epochs": 6, "batch_size": 8}, "model": {"dropout": 0.0}}
WORDS = {"good": "positive", "bad": "negative"}


def labelled(count=48, implied=False, labels=WORDS) -> Dataset:
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
def test_what_was_kept_is_answered_as_the_whole_reader_answers(tmp_path, options):
    model = small_reader(**options)
    engine = ReaderEngine(write_reader(tmp_path, model, "float32", ("float32",)), 1)
    data = Dataset("x", "all", ("food", "price"), LABELS, labelled(9).examples + labelled(3, implied=True).examples)
    kept = keep_texts(engine, data, LABELS)
    path = KeptReader(small_reader(**options | {"untied": True}).config, model.shape, len(LABELS), [1])
    own = weights_of(model)
    load_weights(path, own | untied_weights(own, model.shape.layers, model.config.late_interaction))
    with torch.no_grad():
        found = list(held_answers(path, kept, [Fold(np.array([0]), np.arange(len(kept)))]))
    said = np.zeros((len(kept.questions.targets), len(LABELS)))
    for _, rows, answers in found:
        said[rows] = answers
    passages = [passage for example in data.examples for passage in engine.cut(example.text, example.targets)]
    expected = torch_answers(model, engine, passages, data.aspects)
    np.testing.assert_allclose(said, np.concatenate(expected).reshape(-1, len(LABELS)), atol=2e-3)


def test_batches_padding_and_other_questions_change_nothing(base):
    engine = ReaderEngine(base, 1)
    kept = keep_texts(engine, labelled(12), base.config.labels)
    options = dict(base.config.model) | {"untied": True}
    options.pop("shape")
    model = KeptReader(tabsa_config(options), small_shape(base), len(base.config.labels), [1])
    load_weights(model, start_weights(base, base.config.labels))
    first = kept.questions.first

    def ask(rows):
        asked = [np.arange(first[row], first[row + 1]) for row in rows]
        with torch.no_grad():
            logits = model(kept_batch(kept, [np.array(rows)], [asked]), context=EVALUATION).logits[0]
        return {row: logits[n, : len(own)].numpy() for n, (row, own) in enumerate(zip(rows, asked, strict=True))}

    together, alone = ask([0, 4, 3, 9]), [ask([row]) for row in (0, 4, 3, 9)]
    for answers in alone:
        for row, expected in answers.items():
            np.testing.assert_allclose(together[row], expected, atol=1e-5)


def tabsa_config(options):
    from tabsa.models.reader.reader_config import ReaderConfig

    return ReaderConfig(**options)


def small_shape(base):
    from tabsa.models.reader.reader_config import EncoderShape

    return EncoderShape(**base.config.model["shape"])


def test_logits_are_calibrated_as_probabilities_are():
    rng = np.random.default_rng(3)
    logits = rng.normal(0, 3, (50, 4))
    shares = np.exp(logits) / np.exp(logits).sum(-1, keepdims=True)
    calibration = PresenceCalibration(1.9, -0.3, 1.4)
    found = calibrated(torch.from_numpy(logits), calibration).exp().numpy()
    np.testing.assert_allclose(found, calibration.apply(shares), atol=1e-12)


def test_labels_are_the_bases_unless_the_data_has_others():
    base = ("none", "positive", "negative", "neutral", "mixed")
    assert labels_for(base, ("none", "positive")) == base
    assert labels_for(base, ("none", "positive", "conflict")) == ("none", "positive", "negative", "neutral", "conflict")
    assert labels_for(base, ("none", "angry", "positive")) == ("none", "angry", "positive")


def test_a_label_starts_as_the_bases_of_that_name(base):
    found = start_weights(base, ("none", "negative", "angry"))
    known = base.config.labels.index("negative")
    np.testing.assert_array_equal(found["output"][:, 1], base.weights["output"][:, known])
    np.testing.assert_allclose(found["output"][:, 2], base.weights["output"][:, 1:].mean(1), rtol=1e-6)
    assert found["output"].shape[1] == 3
    np.testing.assert_array_equal(found["question_layers.1.out"], base.weights["encoder.layers.2.out"])


def test_few_labels_are_crossed_and_many_held_out(base):
    few, many = labelled(30), labelled(1200)
    crossed = labelled_texts(few, None, config(base))
    assert crossed.crossed
    assert len(set(crossed.folds)) == 4
    assert len(crossed.held.examples) == 30
    held = labelled_texts(many, None, config(base))
    assert not held.crossed
    assert 0.1 < len(held.held.examples) / 1200 < 0.2
    given = labelled_texts(few, labelled(7), config(base))
    assert len(given.held.examples) == 7
    with pytest.raises(DataError, match="one text"):
        labelled_texts(labelled(1), None, config(base))


@pytest.mark.parametrize("crossed", [True, False])
def test_a_seed_never_learns_from_what_it_is_judged_on(base, crossed):
    from tabsa.training.fine_tuning import begin

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


@pytest.fixture(scope="module")
def tuned(base, tmp_path_factory):
    out = tmp_path_factory.mktemp("tuned") / "mine"
    return fit(config(base), out, data=labelled())


def test_it_learns_and_the_folder_answers_so(base, tuned):
    (before, after) = tuned.rows
    assert after.epoch > 0
    assert after.dev["questions"]["opinion_f1"] > before.dev["questions"]["opinion_f1"] + 0.2
    model = tabsa.load(tuned.folder.path)
    assert model.aspects == ("food", "price")
    assert model.precision == "int8"
    report = tabsa.evaluate(model, labelled(), bootstrap=0)
    assert report.questions["opinion_f1"] > 0.8
    base_report = tabsa.evaluate(tabsa.load(base.path), labelled(), bootstrap=0)
    assert report.questions["opinion_f1"] > base_report.questions["opinion_f1"] + 0.2


def test_the_encoder_is_kept_as_it_was(base, tuned):
    before, after = base.stored_weights(), tuned.folder.stored_weights()
    for name in before:
        if name.startswith("encoder."):
            np.testing.assert_array_equal(before[name], after[name], err_msg=name)
    assert after["question_layers.0.query"].dtype == np.float16


def test_the_folder_says_how_it_was_made(tuned):
    metrics = tuned.folder.metrics
    assert [entry["epoch"] for entry in metrics["history"]] == list(range(len(metrics["history"])))
    assert metrics["history"][0]["loss"] is None
    assert metrics["history"][-1]["dev_loss"] < metrics["history"][0]["dev_loss"]
    assert metrics["split"] == "cross-validation"
    page = (tuned.folder.path / "report.html").read_text()
    assert "<svg" in page
    assert "cross-validation" in (tuned.folder.path / "README.md").read_text()


def test_what_is_scored_is_what_evaluate_measured(tuned, tmp_path):
    """The same answers by `evaluate`, one text at a time, and by `score`."""
    from tabsa.inference.evaluating import predict_questions

    model, data = tabsa.load(tuned.folder.path), labelled()
    answers = predict_questions(model, data)
    rows = iter(answers)
    for example in data.examples:
        said = model.predict(example.text, example.targets)
        for opinion in said.opinions:
            expected = next(rows)
            found = [opinion.probabilities[label] for label in ("none", "positive", "negative")]
            assert np.argmax(found) == np.argmax(expected) or abs(np.diff(np.sort(expected)[-2:]))[0] < 1e-3


def test_where_nothing_is_to_be_learnt_the_base_is_kept(base, tmp_path):
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
    said = model.predict("this place is bad food", ["the place"])
    assert {opinion.polarity for opinion in said.opinions} <= {"none", "delighted", "cross"}
    assert tabsa.evaluate(model, data, bootstrap=0).questions["opinion_f1"] > 0.6


def test_a_tuned_reader_is_a_base_too(tuned, tmp_path):
    again = fit(config(tuned.folder), tmp_path / "again", data=labelled(30))
    assert again.folder.config.model["untied"] is True
    assert tabsa.evaluate(tabsa.load(again.folder.path), labelled(), bootstrap=0).questions["opinion_f1"] > 0.7


def test_a_run_goes_on_where_it_stopped(base, tmp_path):
    from tabsa.training.callbacks import Callback

    class Stop(Callback):
        def on_validation(self, trainer, validation):
            if validation.epoch == 3:
                raise KeyboardInterrupt

    whole = fit(config(base), tmp_path / "whole", data=labelled())
    with pytest.raises(KeyboardInterrupt):
        fit(config(base), tmp_path / "parts", callbacks=[Stop()], data=labelled())
    with pytest.raises(OutputError, match="already holds a run"):
        fit(config(base), tmp_path / "parts", data=labelled())
    parts = fit(config(base), tmp_path / "parts", resume=True, data=labelled())
    first, second = whole.folder.stored_weights(), parts.folder.stored_weights()
    for name in first:
        np.testing.assert_array_equal(first[name], second[name], err_msg=name)


def test_everything_can_be_trained(base, tmp_path):
    tuning = {"encoder": "trained", "base": str(base.path)}
    run = config(base, fine_tuning=tuning, training={"epochs": 4, "rate": 0.003, "optimiser": "adamw"})
    fitted = fit(run, tmp_path / "mine", data=labelled(96))
    assert fitted.rows[-1].epoch > 0
    changed = fitted.folder.weights["encoder.layers.0.out"] != base.weights["encoder.layers.0.out"]
    assert changed.mean() > 0.1
    report = tabsa.evaluate(tabsa.load(fitted.folder.path), labelled(), bootstrap=0)
    assert report.questions["opinion_f1"] > 0.6


def test_minutes_bound_the_epochs(base, tmp_path):
    run = config(base, fine_tuning={"base": str(base.path), "minutes": 0.0005}, training={"epochs": 5000})
    fitted = fit(run, tmp_path / "mine", data=labelled())
    assert fitted.folder.metrics["history"][-1]["epoch"] < 200


def test_training_is_asked_for_with_a_table_or_a_configuration(tmp_path):
    table = tmp_path / "mine.csv"
    with table.open("w", newline="") as stream:
        csv.writer(stream).writerows([["Review", "aspect", "polarity"], ["good food", "food", "positive"]])
    run = asked_run(table, minutes=2, epochs=3)
    assert (run.kind, run.fine_tuning.base, run.fine_tuning.minutes, run.training.epochs) == ("reader", "reader", 2, 3)
    assert run.training.optimiser == "adamw"
    assert asked_run(table, kind="lr").fine_tuning.base == ""
    assert asked_run(table, full=True).fine_tuning.encoder == "trained"
    from tabsa.datasets.records import Columns

    assert asked_run(table, columns=Columns(text="Review")).data.columns.text == "Review"
    (tmp_path / "run.toml").write_text('[data]\nname = "mine.csv"\n')
    assert asked_run(tmp_path / "run.toml").data.name == str(table)
    with pytest.raises(ConfigError, match="give one"):
        asked_run(table, base="reader", kind="lr")
    with pytest.raises(ConfigError, match="trained from nothing"):
        asked_run(table, kind="lr", full=True)
    with pytest.raises(DataError, match="expected your labels"):
        asked_run(tmp_path / "absent.csv")
    with pytest.raises(ConfigError, match="whole configuration"):
        asked_training({"kind": "lr"}, base="reader")


def test_only_a_reader_is_a_base(tmp_path):
    with pytest.raises(ConfigError, match="the base 'places' is a delayed-entnet; fine-tuning starts from a reader"):
        fit(run_config({"fine_tuning": {"base": "places"}}), tmp_path / "x", data=labelled())


def test_epochs_by_the_data_are_for_fine_tuning():
    with pytest.raises(ConfigError, match=r"'training\.epochs' is 0"):
        run_config({"kind": "delayed-entnet", "training": {"epochs": 0}})
    with pytest.raises(ConfigError, match="for readers, and 'kind' is 'lr'"):
        run_config({"kind": "lr", "fine_tuning": {"base": "reader"}})


def test_a_large_inventory_is_asked_in_part(base):
    from tabsa.training.fine_tuning import begin

    data = labelled(12)
    wide = Dataset("wide", "all", (*data.aspects, *(f"price {n}" for n in range(60))), data.labels, data.examples)
    texts = labelled_texts(wide, None, config(base))
    trainer = begin(config(base), texts).trainer
    assert isinstance(trainer, KeptTrainer)
    rng = np.random.default_rng(0)
    for row in range(len(trainer.kept)):
        drawn = trainer._drawn(row, rng)
        labels = trainer.kept.questions.labels[drawn]
        assert len(drawn) == len(set(drawn)) == 24
        first, end = trainer.kept.questions.first[row : row + 2]
        assert (labels > 0).sum() == (trainer.kept.questions.labels[first:end] > 0).sum()


def test_the_history_is_json(tuned):
    assert json.loads(json.dumps(tuned.folder.metrics))["history"]
