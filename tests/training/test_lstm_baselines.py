"""The LSTM baselines through the one loop: they learn, go into a model folder and come back; concepts go with them."""

import json
from dataclasses import replace

import numpy as np
import pytest
import torch

from predicted_groups import predict_examples
from tabsa.checkpoint.model_folder import read_folder, write_folder
from tabsa.datasets.loading import load
from tabsa.embeddings.concepts import ConceptTable
from tabsa.encoding.arrays import count_words, encode
from tabsa.errors import ModelError
from tabsa.evaluation.calibration import scaled
from tabsa.inference.evaluating import evaluate
from tabsa.inference.predictor import load as load_predictor
from tabsa.models.export import export
from tabsa.schema import Dataset, Example, Span, Target
from tabsa.training.config import run_config
from tabsa.training.preparation import Prepared, prepare
from tabsa.training.result import write_result
from tabsa.training.validation import predict
from tabsa.training.words import Trainer
from unchecked import unchecked

KINDS = ["lstm-final", "lstm-loc", "lstm-ta-sa", "sentic-lstm"]
ASPECTS = ["general", "price"]


def config(kind, **sections):
    return run_config(
        {
            "kind": kind,
            "data": {"name": "places", "aspects": ASPECTS},
            "vectors": {"size": 16},
            "model": {"units": 8} | sections.pop("model", {}),
            "training": {"epochs": 3, "balance": "sentence", "optimiser": "adam", "rate": 0.01, "batch_size": 32},
            **sections,
        }
    )


@pytest.fixture(scope="module", params=KINDS)
def run(request, tmp_path_factory):
    """A trained run of each kind: its trainer, evaluations and model folder."""
    of = config(request.param)
    prepared, kept = prepare(of)
    trainer = Trainer(of, prepared, (1, 2))
    evaluations = list(trainer.run())
    path = tmp_path_factory.mktemp("models") / request.param
    folder = write_result(path, of, prepared, kept, (1, 2), trainer.progress, trainer.best)
    return trainer, evaluations, folder


def test_three_epochs_lower_the_loss_of_every_seed(run):
    _, evaluations, _ = run
    first, last = np.array(evaluations[0].loss), np.array(evaluations[-1].loss)
    assert (last < 0.97 * first).all()


def test_the_folders_model_answers_as_the_best_seed_did(run):
    trainer, _, written = run
    folder = read_folder(written.path)
    best = int(np.argmax(trainer.progress.best))
    trainer.model.load_state_dict(trainer.best)
    expected = predict(trainer.model, trainer.prepared.dev)[best]
    dev = load("places", "dev", aspects=ASPECTS)
    found = predict_examples(load_predictor(folder.path), dev)
    np.testing.assert_allclose(found, scaled(expected, folder.config.temperature), atol=1e-5)
    # And so the card says what users get.
    report = evaluate(folder.path, dev, bootstrap=0)
    assert folder.metrics["dev"]["sun"] == pytest.approx(report.sun, abs=1e-6)
    assert folder.metrics["dev"]["ma"] == pytest.approx(report.ma, abs=1e-6)


def test_only_a_model_that_reads_concepts_keeps_them(run):
    trainer, _, folder = run
    facts = folder.metrics["concepts"]
    if trainer.config.kind != "sentic-lstm":
        assert (folder.concepts, facts) == (None, None)
        return
    assert facts["source"]["name"] == "lexicon.tsv"
    assert facts["concepts"] == len(folder.concepts) > 400
    assert 0.05 < facts["known_tokens"] < 0.9
    assert folder.concepts.source.name == "lexicon.tsv"
    assert "- concepts: lexicon.tsv" in (folder.path / "README.md").read_text("utf-8")


@pytest.fixture(scope="module")
def sentic():
    return prepare(config("sentic-lstm"))


def test_prepared_data_has_its_concepts_and_no_others(sentic, tmp_path):
    prepared, kept = sentic
    assert kept.concepts is not None
    assert 1 < len(prepared.concepts) < len(kept.concepts)
    assert not prepared.concepts[0].any()
    cheap = kept.concepts.matrix[kept.concepts.index["cheap"]]
    assert (prepared.concepts == cheap).all(1).any()
    for data in (prepared.train, prepared.dev):
        assert data.concepts.shape == data.tokens.shape
        assert not data.concepts[data.tokens == 0].any()
        assert not data.concepts[np.isin(data.tokens, prepared.targets)].any()
    prepared.save(tmp_path / "prepared.safetensors")
    again = Prepared.read(tmp_path / "prepared.safetensors")
    np.testing.assert_array_equal(again.concepts, prepared.concepts)
    np.testing.assert_array_equal(again.dev.concepts, prepared.dev.concepts)


def test_a_model_without_concepts_prepares_none():
    prepared, kept = prepare(config("lstm-loc"))
    assert (prepared.concepts, prepared.train.concepts, kept.concepts) == (None, None, None)


@pytest.mark.parametrize(("max_length", "expected"), [(0, [1, 0, 0, 0, 2, 2, 2, 2]), (4, [1, 0, 0, 0])])
def test_concepts_are_those_of_the_words_that_are_read(max_length, expected):
    text = "Cheaper in Camden: a lot of fun" if not max_length else "Cheaper in Camden. A lot of fun."
    example = Example("1", text, (Target("Camden", (Span(11, 17),)),))
    dataset = Dataset("one", "train", ("price",), ("none", "positive"), [example])
    words = count_words([dataset], targets=2, max_length=max_length)
    table = ConceptTable(("", "cheap", "a_lot_of_fun"), np.array([[0.0], [1.0], [2.0]], np.float32))
    rows = {word: row for row, word in enumerate(words, start=1)}
    encoded = encode(dataset, rows, targets=2, max_length=max_length, concepts=table)
    assert encoded.concepts.tolist() == [expected]
    assert encode(dataset, rows, targets=2, max_length=max_length).concepts is None


def test_concepts_reach_the_model(sentic):
    prepared, _ = sentic
    trainer = Trainer(config("sentic-lstm"), prepared, (1,))
    without = replace(prepared.dev, concepts=np.zeros_like(prepared.dev.concepts))
    assert not np.allclose(predict(trainer.model, prepared.dev), predict(trainer.model, without))
    torch.testing.assert_close(trainer.model.concept_vectors, torch.from_numpy(prepared.concepts))


def test_a_seed_trains_the_same_way_alone_and_in_a_group():
    of = config("sentic-lstm", training={"epochs": 2, "balance": "mixed", "optimiser": "adam", "batch_size": 64})
    prepared, _ = prepare(of)
    group, alone = Trainer(of, prepared, (4, 5)), Trainer(of, prepared, (5,))
    losses = [[evaluation.loss[-1] for evaluation in trainer.run()] for trainer in (group, alone)]
    np.testing.assert_allclose(losses[0], losses[1], rtol=1e-4)


def test_a_folder_without_its_concepts_is_refused(sentic, tmp_path):
    prepared, kept = sentic
    of = config("sentic-lstm")
    trainer = Trainer(of, prepared, (1,))
    trainer.validate([0.0], 0.0)
    folder = write_result(tmp_path / "model", of, prepared, kept, (1,), trainer.progress, trainer.best)
    (unchecked(folder.path) / "concepts.safetensors").unlink()
    with pytest.raises(ModelError, match=r"has no concepts\.safetensors"):
        export(read_folder(folder.path))
    (folder.path / "concepts.safetensors").write_bytes(b"broken")
    with pytest.raises(ModelError, match="is damaged"):
        _ = read_folder(folder.path).concepts
    (folder.path / "concepts.safetensors").write_bytes((folder.path / "vectors.safetensors").read_bytes())
    with pytest.raises(ModelError, match="does not hold concepts"):
        _ = read_folder(folder.path).concepts


def test_writing_another_model_over_it_removes_old_concepts(sentic, tmp_path):
    prepared, kept = sentic
    of = config("sentic-lstm")
    trainer = Trainer(of, prepared, (1,))
    trainer.validate([0.0], 0.0)
    folder = write_result(tmp_path / "model", of, prepared, kept, (1,), trainer.progress, trainer.best)
    assert len(folder.concepts) == len(kept.concepts)
    again = write_folder(folder.path, folder.config, {}, kept.vectors, {}, "")
    assert again.concepts is None
    assert json.loads((folder.path / "metrics.json").read_text()) == {}
