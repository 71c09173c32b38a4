"""Whole runs of readers: from a file of one's own to a model folder that answers as training did."""

import json
from pathlib import Path

import numpy as np
import pytest
import torch

from encoder_folder import write_encoder
from question_sets import SMALL
from reader_factory import piece_reader, write_tokeniser
from tabsa.checkpoint.weight_storage import pack_weights, unpack_weights
from tabsa.datasets.loading import load
from tabsa.encoding.answers import PresenceCalibration
from tabsa.encoding.questions import answers_of
from tabsa.errors import ConfigError
from tabsa.inference.evaluating import predict_questions
from tabsa.inference.predictor import Predictor
from tabsa.models.reader.reader_network import load_weights
from tabsa.training.callbacks import Callback
from tabsa.training.fit import fit
from tabsa.training.question_training import ReaderTrainer, build_reader, probabilities_of
from tabsa.training.run_config import run_config

MPNET = ("<pad>", "<unk>", "<s>", "</s>")


@pytest.fixture(scope="module")
def encoders(tmp_path_factory):
    """A small BERT, and a small MPNet with the same words under other numbers."""
    found = {}
    for kind, special in (("bert", {}), ("mpnet", {"special": MPNET, "extra": ("more", "words")})):
        folder = found[kind] = tmp_path_factory.mktemp(kind)
        pieces = len(piece_reader(**special).wordpieces.vocabulary)
        write_encoder(folder, kind, sizes={"vocabulary": pieces, "longest": 64})
        write_tokeniser(folder / "tokenizer.json", **special)
    return found


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    """Texts that judge what they name, in one file a split."""
    folder = tmp_path_factory.mktemp("data")
    rng = np.random.default_rng(3)
    for split, count in (("train", 40), ("dev", 16)):
        rows = []
        for number in range(count):
            aspect, other = (str(one) for one in rng.choice(SMALL, 2, replace=False))
            polarity = ("positive", "negative")[number % 2]
            judged = f"Camden : {aspect} is {'good' if polarity == 'positive' else 'bad'} and a{number} Hull is far"
            opinion = {"target": "Camden", "aspect": aspect, "polarity": polarity}
            rows.append(
                {"text": judged, "targets": ["Camden", "Hull"], "aspects": [aspect, other], "opinions": [opinion]}
            )
        (folder / f"{split}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return folder


def run_of(encoder, table, **sections):
    base = {
        "kind": "reader",
        "model": {"encoder": str(encoder), "late_interaction": 1, "dropout": 0.0},
        "data": {"name": str(table), "max_length": 60},
        "training": {"epochs": 2, "batch_size": 8, "optimiser": "adamw", "rate": 0.003, "ema": 0.5},
    }
    for name, values in sections.items():
        base[name] = base.get(name, {}) | values
    return run_config(base)


@pytest.mark.parametrize("kind", ["bert", "mpnet"])
def test_a_folder_answers_as_training_did(kind, encoders, table, tmp_path):
    """The Predictor's answers are the network's, calibrated: one reading for both."""
    of = run_of(encoders[kind], table)
    fitted = fit(of, tmp_path / "model", seeds=2)
    folder = fitted.folder
    assert {"read.onnx", "ask.onnx", "tokenizer.json", "config.json"} <= {path.name for path in folder.path.iterdir()}
    prepared, model, _ = build_reader(of, (0,), None)
    load_weights(model, folder.weights)
    held = prepared.held[0]
    own = answers_of(held.data, len(held.gold), probabilities_of(model, prepared, held.data)[0])
    expected = PresenceCalibration(**folder.config.calibration).apply(own)
    dataset = load(str(table), "dev")
    found = predict_questions(Predictor(folder), dataset)
    np.testing.assert_allclose(found, expected[:, : len(dataset.labels)], atol=2e-3)  # weights are stored in float16
    assert json.loads((folder.path / "metrics.json").read_text())["dev"]["questions"].keys() >= {"opinion_f1"}
    assert len(fitted.rows) == 2


def test_it_learns_and_resumes(encoders, table, tmp_path):
    """A run that is broken off and taken up ends as one that was not."""
    longer = run_of(encoders["bert"], table, training={"epochs": 3})
    whole = fit(longer, tmp_path / "whole").folder
    seen = []

    class Breaker(Callback):
        def on_validation(self, trainer, validation):
            seen.append(validation.epoch)
            if validation.epoch == 2:
                raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fit(longer, tmp_path / "parts", callbacks=[Breaker()])
    resumed = fit(longer, tmp_path / "parts", resume=True).folder
    assert seen == [1, 2]
    for name, array in whole.weights.items():
        np.testing.assert_array_equal(resumed.weights[name], array)


def test_an_encoder_that_is_not_there_is_refused(table):
    with pytest.raises(ConfigError, match="no folder 'nowhere'"):
        build_reader(run_of(Path("nowhere"), table), (1,), None)


def test_an_encoder_by_its_name_on_the_hub(encoders, table, monkeypatch):
    """The hub's own cache is where its files lie; where it has none, that is one line."""
    monkeypatch.setattr("huggingface_hub.snapshot_download", lambda name, allow_patterns: str(encoders["bert"]))
    assert build_reader(run_of(Path("someone/encoder"), table), (1,), None)[1].shape.kind == "bert"

    def offline(name, allow_patterns):
        raise OSError("we are offline\nand say so at length")

    monkeypatch.setattr("huggingface_hub.snapshot_download", offline)
    with pytest.raises(ConfigError, match=r"the hub does not give it .we are offline.$"):
        build_reader(run_of(Path("someone/encoder"), table), (1,), None)


def test_a_rounded_reader_is_what_int8_stores(encoders, table):
    """Quantisation-aware training: the folder in int8 answers as the network did, but for float16 in vectors."""
    of = run_of(encoders["bert"], table, model={"rounded": True})
    prepared, model, _ = build_reader(of, (1,), None)
    assert not model.encoder.words.requires_grad
    trainer = ReaderTrainer(of, prepared, model)
    before = model.encoder.layers[0].qkv.detach().clone()
    assert all(np.isfinite(validation.loss).all() for validation in trainer.run())
    assert not torch.equal(before, model.encoder.layers[0].qkv)  # rounding lets gradients through
    weights = {name: tensor.detach()[0].numpy() for name, tensor in model.named_parameters()}
    stored = unpack_weights(pack_weights(weights, "int8", tables=("encoder.words",)))
    _, plain, _ = build_reader(run_of(encoders["bert"], table), (1,), None)
    load_weights(plain, stored)
    data = prepared.held[0].data
    expected = probabilities_of(model, prepared, data)
    np.testing.assert_allclose(probabilities_of(plain, prepared, data), expected, atol=2e-3)
