"""The one way to train: from Python, with callbacks, resumed, and of every kind of system."""

from pathlib import Path

import pytest

import tabsa
from tabsa.errors import ConfigError, OutputError
from tabsa.training.callbacks import Callback
from tabsa.training.config import run_config
from tabsa.training.fit import choose_device, fit

CONFIG = {
    "kind": "lstm-loc",
    "data": {"name": "places", "aspects": ["price", "safety"]},
    "vectors": {"size": 8},
    "model": {"units": 3},
    "training": {"epochs": 2, "balance": "sentence", "optimiser": "adam", "rate": 0.01, "batch_size": 64},
}


class Recorder(Callback):
    """Remembers what it heard."""

    def __init__(self):
        self.heard = []

    def on_start(self, trainer, role, folder):
        self.heard.append((role, folder.name if folder else None))

    def on_update(self, trainer, update, losses):
        self.heard.append(("update", update))

    def on_validation(self, trainer, validation):
        self.heard.append(("validation", validation.epoch))

    def on_end(self, trainer):
        self.heard.append(("end",))


def test_train_gives_a_model_that_predicts_and_evaluates(tmp_path):
    model = tabsa.train(CONFIG, out=tmp_path / "model")
    assert model.aspects == ("price", "safety")
    assert len(model.predict("Camden is cheap.", ["Camden"]).opinions) == 2
    report = tabsa.evaluate(model, "places", "dev", bootstrap=0)
    assert model.folder.metrics["dev"]["sun"] == pytest.approx(report.sun, abs=1e-6)  # the card says what users get


def test_callbacks_hear_of_everything_in_order(tmp_path):
    recorder = Recorder()
    fitted = fit(run_config(CONFIG), tmp_path / "model", callbacks=[recorder])
    updates = [heard for heard in recorder.heard if heard[0] == "update"]
    assert recorder.heard[0] == ("model", "run")
    assert recorder.heard[-1] == ("end",)
    assert [update for _, update in updates] == list(range(1, len(updates) + 1))
    assert [heard for heard in recorder.heard if heard[0] == "validation"] == [("validation", 1), ("validation", 2)]
    assert [row.name for row in fitted.rows] == ["1"]


def test_a_run_is_resumed_and_not_overwritten(tmp_path):
    class Stop(Callback):
        def on_validation(self, trainer, validation):
            if validation.epoch == 2:
                raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        tabsa.train(CONFIG, out=tmp_path / "model", callbacks=[Stop()])
    with pytest.raises(OutputError, match="already holds a run") as caught:
        tabsa.train(CONFIG, out=tmp_path / "model")
    assert caught.value.code == "run_exists"
    resumed = tabsa.train(CONFIG, out=tmp_path / "model", resume=True)
    whole = tabsa.train(CONFIG, out=tmp_path / "whole")
    for name, array in whole.folder.weights.items():
        assert (resumed.folder.weights[name] == array).all()


def test_lr_is_trained_the_same_way(tmp_path):
    path = tmp_path / "lr.toml"
    path.write_text('kind = "lr"\n[data]\nname = "places"\n[model]\npos_ngrams = 0\nc = [3.0]\n', "utf-8")
    model = tabsa.train(path, out=tmp_path / "lr")
    assert model.system.name == "lr"
    assert model.predict("Leith is cheap.", ["Leith"]).opinions


def test_devices():
    assert choose_device("cpu") == "cpu"
    assert choose_device("auto") in ("cpu", "cuda")
    with pytest.raises(ConfigError, match="expected cpu, cuda or auto"):
        choose_device("tpu")


def test_tensorboard_has_the_figures(tmp_path):
    pytest.importorskip("tensorboard")
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    fit(run_config(CONFIG), tmp_path / "model")
    events = EventAccumulator(str(tmp_path / "model" / "run")).Reload()
    assert {"loss/1", "dev sun macro_f1/1"} <= set(events.Tags()["scalars"])
    assert len(events.Scalars("loss/1")) == 2


def test_without_pytorch_there_is_one_clear_line(tmp_path: Path, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "tabsa.training.fit", None)
    with pytest.raises(tabsa.TabsaError, match=r"training needs PyTorch: pip install 'tabsa\[train\]'"):
        tabsa.train(CONFIG, out=tmp_path / "model")
