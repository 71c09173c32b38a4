"""`tabsa reproduce`: a system or an experiment, on one machine or two, its pictures now or later."""

import json
import os
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest

import tabsa
import tabsa_repro
from command_line import refused
from result_factory import TINY

SETTINGS = [word for setting in TINY for word in ("--set", setting)]


@pytest.fixture
def reproduce(command_line, monkeypatch, tmp_path):
    """Runs `tabsa reproduce` in an empty folder; gives the exit code, stdout and stderr."""
    monkeypatch.chdir(tmp_path)
    return partial(command_line, "reproduce")


def test_quick_says_so_and_stays_out_of_the_results(reproduce, tmp_path):
    code, stdout, stderr = reproduce("entnet", "--seeds", 1, "--quick", *SETTINGS)
    assert code == 0, stderr
    assert "no comparison" in stderr
    assert "entnet: training with 1 seed on cpu" in stderr
    assert "epoch 1: loss" in stderr
    for word in ("paper", "diff.", "66.3", "entnet", "places test, %"):
        assert word in stdout
    (record,) = json.loads((tmp_path / "runs" / "reproduce-quick" / "table1.json").read_text())
    assert "--quick" in record["command"]
    assert not (tmp_path / "repro").exists()


def test_two_machines(reproduce, tmp_path):
    code, stdout, _ = reproduce("table1", "--only", "lstm-final", "--prepare", "ready", *SETTINGS)
    assert code == 0
    (path,) = (tmp_path / "ready").iterdir()
    assert stdout.startswith(f"ready/{path.name}: ")
    assert not (tmp_path / "repro").exists()
    command = [sys.executable, "-c", _BARE, "reproduce", "table1", "--only", "lstm-final", "--seeds", "2"]
    command += ["--prepared", "ready", "--out", "out", *SETTINGS]
    sources = os.pathsep.join(str(Path(package.__file__).parents[1]) for package in (tabsa, tabsa_repro))
    environment = os.environ | {"PYTHONPATH": sources}
    result = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, env=environment, check=False)
    assert result.returncode == 0, result.stderr
    (record,) = json.loads((tmp_path / "out" / "table1.json").read_text())
    assert record["seeds"] == [1, 2]


# What a machine with a GPU has is PyTorch, and what else the command line cannot do without.
_BARE = """
import sys
absent = "onnxruntime onnx pyarrow nltk scipy sklearn matplotlib pandas fastapi uvicorn"
sys.modules.update(dict.fromkeys(absent.split()))
from tabsa.cli import main
main()
"""


def test_without_matplotlib_results_are_kept_and_the_way_to_draw_is_said(reproduce, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    small = (*SETTINGS, "--set", "training.epochs=1")
    code, _, stderr = reproduce("figure3", "--only", "chains-2", "--seeds", 1, "--out", "out", *small)
    assert code == 0, stderr
    assert "tabsa[plot]" in stderr
    assert "then the same command draws" in stderr
    assert (tmp_path / "out" / "figure3.json").exists()
    monkeypatch.undo()
    pytest.importorskip("matplotlib")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("tabsa_repro.running.train", lambda *_: pytest.fail("nothing is to be trained"))
    code, stdout, stderr = reproduce("figure3", "--only", "chains-2", "--seeds", 1, "--out", "out", *small)
    assert (code, "already there" in stderr, "76.6 ± 0.4" in stdout) == (0, True, True)
    assert (tmp_path / "out" / "figure3.png").stat().st_size > 10_000


def test_errors_are_one_line(reproduce, tmp_path):
    assert "figure3 has no part 'chain'" in refused("reproduce", "figure3", "--only", "chain")
    assert "not a setting" in refused("reproduce", "table1", "--set", "rate")
    assert "the device is 'tpu'" in refused("reproduce", "table1", "--device", "tpu")
    assert "lr reads texts" in refused("reproduce", "table1", "--only", "lr", "--prepared", "ready")


def test_usage(reproduce):
    assert reproduce("table2")[0] == 2
    assert reproduce("entnet", "--only", "lr")[0] == 2
    code, stdout, _ = reproduce("--help")
    assert code == 0
    assert "tabsa reproduce delayed-entnet --seeds 1 --quick" in " ".join(stdout.replace("│", " ").split())
