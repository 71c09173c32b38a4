import json
import re
import shutil

import pytest

from tabsa.inference.predictor import load
from unchecked import unchecked

PRECISE = ("--precision", "int8")


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


def test_export_in_int8(command_line, folder):
    code, stdout, stderr = command_line("export", folder, "--precision", "int8")
    assert (code, stderr) == (0, "")
    assert stdout.startswith(str(folder / "model.int8.onnx"))
    probabilities = load(folder, precision="int8").predict("Camden is cheap", ["Camden"]).opinions[0].probabilities
    assert probabilities == pytest.approx(
        load(folder).predict("Camden is cheap", ["Camden"]).opinions[0].probabilities, abs=0.02
    )
    code, stdout, _ = command_line("predict", "Camden is cheap", "-t", "Camden", "--model", folder, *PRECISE, "--json")
    assert code == 0
    assert json.loads(stdout)["opinions"][0]["probabilities"] == probabilities


def test_without_the_int8_graph(command_line, folder):
    code, stdout, stderr = command_line("predict", "Camden is cheap", "-t", "Camden", "--model", folder, *PRECISE)
    assert (code, stdout) == (1, "")
    assert stderr == (
        f"error: {folder} has no model.int8.onnx; make it with `tabsa export {folder} --precision int8`\n"
    )


def test_a_folder_that_is_none(command_line, tmp_path):
    code, stdout, stderr = command_line("export", tmp_path / "nothing")
    assert (code, stdout) == (1, "")
    assert "is not a model folder" in stderr


def test_a_system_that_cannot_be_exported(command_line, folder):
    config = unchecked(folder) / "config.json"
    config.write_text(config.read_text("utf-8").replace('"delayed-entnet"', '"lr"'), "utf-8")
    code, _, stderr = command_line("export", folder)
    assert code == 1
    assert stderr.startswith(
        "error: a 'lr' needs no graph to predict, and has none to export; these have: lstm-final, "
    )
    assert stderr.count("\n") == 1
