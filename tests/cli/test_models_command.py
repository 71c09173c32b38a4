"""`tabsa models` and `tabsa export`."""

import json
import re
import shutil

import pytest

from command_line import refused
from open_model import open_model
from tabsa.inference.predictor import load
from tabsa.models.registry import SYSTEMS
from tabsa.text.aspects import EVERYDAY
from unchecked import unchecked

__all__ = ["open_model"]  # a fixture
TABLE = ["lr", "lstm-final", "lstm-loc", "lstm-ta-sa", "sentic-lstm", "entnet", "delayed-entnet"]
OPEN = ["reader", "reader-large"]


def test_json_lists_every_system_and_model(command_line):
    found = json.loads(command_line("models", "--json")[1])
    systems = {system["name"]: system for system in found["systems"]}
    assert list(systems) == list(SYSTEMS) == [*TABLE, *OPEN]
    assert [name for name, system in systems.items() if system["open_aspects"]] == OPEN
    assert "concepts" in systems["sentic-lstm"]["needs"]
    assert "POS tagger" in systems["lr"]["needs"]
    assert all(system["about"] and system["paper"] for system in systems.values())
    models = [(one["name"], one["aliases"], one["default"], one["precision"]) for one in found["models"]]
    assert models == [("reader", [], True, "int8"), ("places", ["fast"], False, "float32")]


def test_people_see_aspects_and_other_names(command_line, monkeypatch, open_model):
    monkeypatch.setattr("tabsa.cli.console.out.width", 200)
    words = [line.split() for line in command_line("models")[1].splitlines()]
    assert ["the", "default"] in words
    assert ["or", "fast"] in words
    monkeypatch.setattr("tabsa.checkpoint.model_folder.shipped_models", lambda: {"open": open_model})
    assert f"any words; by default {', '.join(EVERYDAY)}" in command_line("models")[1]


@pytest.fixture
def folder(tiny_model, tmp_path):
    return shutil.copytree(tiny_model, tmp_path / "model")


def test_export_makes_what_predicting_needs(command_line, folder, tiny_model):
    (folder / "model.onnx").unlink()
    code, stdout, stderr = command_line("export", folder)
    assert (code, stderr) == (0, "")
    assert re.fullmatch(rf"{re.escape(str(folder / 'model.onnx'))}: \d+\.\d MB\n", stdout)
    again = load(folder).predict("Camden is cheap", ["Camden"]).to_dict()
    assert again == load(tiny_model).predict("Camden is cheap", ["Camden"]).to_dict()


def test_what_cannot_be_exported(folder, tmp_path):
    in_eight = "a 'delayed-entnet' cannot be exported in int8; these can: reader, reader-large"
    assert refused("export", folder, "--precision", "int8") == in_eight
    assert "is not a model folder" in refused("export", tmp_path / "nothing")
    config = unchecked(folder) / "config.json"
    config.write_text(config.read_text("utf-8").replace('"delayed-entnet"', '"lr"'), "utf-8")
    needs = "a 'lr' has no graph to export, and predicts without; these can: entnet, "
    assert refused("export", folder).startswith(needs)
