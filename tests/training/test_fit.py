"""Whole runs of the paper's systems: callbacks, resuming, and folders that answer as the best seed did."""

import numpy as np
import pytest

import tabsa
from predicted_groups import predict_examples
from tabsa.checkpoint.model_folder import read_folder
from tabsa.datasets.loading import load
from tabsa.encoding.arrays import combine
from tabsa.errors import ConfigError, ModelError, OutputError
from tabsa.models.folder_network import load_model
from tabsa.training.callbacks import Callback
from tabsa.training.fit import choose_device, fit, train_seeds
from tabsa.training.run_config import run_config
from tabsa.training.run_folder import Run
from tabsa.training.word_data import prepare
from tabsa.training.word_training import reading_probabilities, write_result
from unchecked import unchecked

CONFIG = {
    "kind": "lstm-loc",
    "data": {"name": "places", "aspects": ["price", "safety"]},
    "vectors": {"size": 8},
    "model": {"units": 3},
    "training": {"epochs": 2, "balance": "sentence", "optimiser": "adam", "rate": 0.01, "batch_size": 64},
}


class Recorder(Callback):
    """Remembers what it was called with."""

    def __init__(self):
        self.seen = []

    def on_start(self, trainer, role, folder):
        self.seen.append((role, folder.name if folder else None))

    def on_update(self, trainer, update, losses):
        self.seen.append(("update", update))

    def on_validation(self, trainer, validation):
        self.seen.append(("validation", validation.epoch))

    def on_end(self, trainer):
        self.seen.append(("end",))


def test_train_gives_a_model_and_calls_back_in_order(tmp_path):
    recorder = Recorder()
    model = tabsa.train(CONFIG, out=tmp_path / "model", callbacks=[recorder])
    assert model.aspects == ("price", "safety")
    assert len(model.predict("Camden is cheap.", ["Camden"]).opinions) == 2
    report = tabsa.evaluate(model, "places", "dev", bootstrap=0)
    assert model.folder.metrics["dev"]["sun"] == pytest.approx(report.sun, abs=1e-6)  # the card says what users get
    with pytest.raises(OutputError, match="already holds a run") as caught:
        tabsa.train(CONFIG, out=tmp_path / "model")
    assert caught.value.code == "run_exists"
    again = tabsa.train(CONFIG, out=tmp_path / "model", resume=True)  # how runs go on is in test_run_folder
    assert again.folder.sha256 == model.folder.sha256
    updates = [seen for seen in recorder.seen if seen[0] == "update"]
    assert (recorder.seen[0], recorder.seen[-1]) == (("model", "run"), ("end",))
    assert [update for _, update in updates] == list(range(1, len(updates) + 1))
    assert [seen for seen in recorder.seen if seen[0] == "validation"] == [("validation", 1), ("validation", 2)]


def test_what_cannot_be_run_is_one_line(tmp_path, monkeypatch):
    assert choose_device("cpu") == "cpu"
    assert choose_device("auto") in ("cpu", "cuda")
    with pytest.raises(ConfigError, match="expected cpu, cuda or auto"):
        choose_device("tpu")
    with pytest.raises(ConfigError, match="only fine-tuning takes a dataset as it is"):
        fit(run_config(CONFIG), tmp_path / "model", data=load("places", "dev"))
    monkeypatch.setitem(__import__("sys").modules, "tabsa.training.fit", None)
    with pytest.raises(tabsa.TabsaError, match=r"training needs PyTorch: pip install 'tabsa\[train\]'"):
        tabsa.train(CONFIG, out=tmp_path / "model")


@pytest.fixture(scope="module", params=["lstm-final", "lstm-loc", "lstm-ta-sa", "sentic-lstm", "entnet"])
def run(request, tmp_path_factory):
    """Two seeds of each kind: the trainer, its losses and its model folder."""
    of = run_config(
        {
            **CONFIG,
            "kind": request.param,
            "vectors": {"size": 16},
            "model": {"chains": 2} if request.param == "entnet" else {"units": 8},
            "training": CONFIG["training"] | {"epochs": 3, "batch_size": 32},
        }
    )
    prepared, vocabulary = prepare(of)
    losses = []

    class Losses(Callback):
        def on_validation(self, trainer, validation):
            losses.append(validation.loss)

    trainer = train_seeds(of, prepared, (1, 2), Run(callbacks=[Losses()]))
    path = tmp_path_factory.mktemp("models") / request.param
    return trainer, losses, write_result(path, of, prepared, vocabulary, (1, 2), trainer.progress, trainer.best)


def test_the_folders_model_answers_as_the_best_seed_did(run):
    trainer, losses, written = run
    assert (np.array(losses[-1]) < 0.97 * np.array(losses[0])).all()
    folder, prepared = read_folder(written.path), trainer.prepared
    trainer.put(trainer.best)
    expected = reading_probabilities(trainer.model, prepared.dev)[trainer.progress.best_seed()]
    if folder.concepts is None:
        again = load_model(folder, prepared.matrix, prepared.targets)
        np.testing.assert_allclose(reading_probabilities(again, prepared.dev)[0], expected, atol=1e-6)
    found = predict_examples(tabsa.load(folder.path), load("places", "dev", aspects=["price", "safety"]))
    powers = combine(prepared.dev, expected) ** (1 / folder.config.temperature)
    np.testing.assert_allclose(found, powers / powers.sum(-1, keepdims=True), atol=1e-5)


def test_only_a_model_that_reads_concepts_has_them(run):
    trainer, _, folder = run
    if trainer.config.kind != "sentic-lstm":
        assert folder.concepts is None
        return
    assert folder.concepts.source.name == "lexicon.tsv"
    assert "- concepts: lexicon.tsv" in (folder.path / "README.md").read_text("utf-8")
    (unchecked(folder.path) / "concepts.safetensors").write_bytes((folder.path / "vectors.safetensors").read_bytes())
    with pytest.raises(ModelError, match="does not hold concepts"):
        _ = read_folder(folder.path).concepts
