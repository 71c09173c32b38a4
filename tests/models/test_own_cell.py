"""The cell that is written is the cell that trains and answers: overridden in a subclass, or edited in its file."""

import dataclasses
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch

import tabsa
from memory_factory import random_batch, random_weights
from tabsa import load
from tabsa.errors import ModelError
from tabsa.models.entnet.entnet_network import DelayedEntNet
from tabsa.models.export import ChangedNetworkError, export
from tabsa.models.folder_network import load_model
from tabsa.models.registry import SYSTEMS
from tabsa.nn import memory, scan
from tabsa.nn.memory import MemoryCell, MemoryState
from tabsa.training.fit import fit
from tabsa.training.run_config import run_config

TEXT, TARGETS = "Camden is cheap but Hull is not safe.", ["Camden", "Hull"]
RUN = {
    "data": {"aspects": ["price", "safety"]},
    "vectors": {"size": 8},
    "model": {"chains": 3},
    "training": {"epochs": 1, "validate_every": 1, "optimiser": "adam", "rate": 0.02},
}


class VectorGate(MemoryCell):
    """The paper's footnote: a gate of one number a dimension."""

    def gate(self, weights, state, word, keys, nearby):
        logit = word.unsqueeze(2) * (state.memory + keys.unsqueeze(1))
        if weights.delay is not None:
            logit = logit + weights.delay.vector[:, None, None] * state.delay
        return torch.sigmoid(logit if nearby is None else logit + nearby.unsqueeze(-1))


class VectorGateEntNet(DelayedEntNet):
    cell = VectorGate()


def trained(out: Path, kind: str = "delayed-entnet") -> Path:
    return fit(run_config({"kind": kind, **RUN}), out, device="cpu").folder.path


@pytest.fixture(scope="module")
def plain(tmp_path_factory) -> Path:
    return trained(tmp_path_factory.mktemp("plain") / "model")


@pytest.fixture
def vector_gate(monkeypatch: pytest.MonkeyPatch) -> None:
    system = dataclasses.replace(SYSTEMS["delayed-entnet"], name="vector-gate", network=f"{__name__}:VectorGateEntNet")
    monkeypatch.setitem(SYSTEMS, "vector-gate", system)


def probabilities(model: Path) -> list[float]:
    return [share for one in load(model).predict(TEXT, TARGETS).opinions for share in one.probabilities.values()]


@pytest.mark.filterwarnings("ignore:.*PyTorch runs its network")
@pytest.mark.usefixtures("vector_gate")
def test_a_subclass_trains_and_answers(plain: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.warns(match="VectorGate is not the memory that the fast paths compute"):
        model = trained(tmp_path / "model", "vector-gate")
    folder = load(model).folder
    start, other = folder.weights["memory"], load(plain).folder.weights["memory"]
    assert start.shape == other.shape
    assert abs(start - other).max() > 1e-3  # the same start, and other gradients
    assert not (model / "model.onnx").exists()
    assert (plain / "model.onnx").exists()
    assert probabilities(model) != pytest.approx(probabilities(plain), abs=1e-3)
    with pytest.raises(ChangedNetworkError, match="is used through PyTorch"):
        export(folder)
    assert isinstance(load_model(folder, folder.vectors.matrix, (0, 1)).cell, VectorGate)
    monkeypatch.setattr("tabsa.models.onnx.word_engine.find_spec", lambda _: None)
    with pytest.raises(
        ModelError, match=r"has no model\.onnx, so PyTorch runs its network: pip install 'tabsa\[train\]'"
    ):
        probabilities(model)


def test_the_network_answers_as_its_graph(plain: Path, tmp_path: Path) -> None:
    copy = Path(shutil.copytree(plain, tmp_path / "copy"))
    for name in ("model.onnx", "checksums.json"):
        (copy / name).unlink()
    with pytest.warns(match="has no graph: PyTorch runs its network"):
        found = load(copy).predict(TEXT, TARGETS)
    expected = load(plain).predict(TEXT, TARGETS)
    for one, other in zip(found.opinions, expected.opinions, strict=True):
        assert one.probabilities == pytest.approx(other.probabilities, abs=1e-5)
    for passage, other in zip(found.passages, expected.passages, strict=True):
        np.testing.assert_allclose(passage.gates, other.gates, atol=1e-5)
    np.testing.assert_allclose(found.attention, expected.attention, atol=1e-5)


def test_an_edited_file_trains_and_answers(plain: Path, tmp_path: Path) -> None:
    package = Path(tabsa.__file__).parent
    copy = tmp_path / "edited" / "tabsa"
    shutil.copytree(package, copy, ignore=shutil.ignore_patterns("pretrained", "__pycache__", "page"))
    file = copy / "nn" / "memory.py"
    code = file.read_text()
    edited = code.replace("return torch.sigmoid(logit ", "return 0.5 * torch.sigmoid(logit ")
    assert edited != code
    file.write_text(edited)
    tests, out = Path(__file__).parent, tmp_path / "model"
    script = "import sys, tabsa, test_own_cell as test; from pathlib import Path; "
    script += "print(tabsa.__file__, *test.probabilities(test.trained(Path(sys.argv[1]))))"
    path = os.pathsep.join(map(str, (copy.parent, tests, tests.parent / "helpers")))
    command, environment = [sys.executable, "-c", script, str(out)], {**os.environ, "PYTHONPATH": path}
    run = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    file_used, *found = run.stdout.split()
    assert file_used == str(copy / "__init__.py")
    assert "MemoryCell is not the memory that the fast paths compute" in run.stderr
    assert not (out / "model.onnx").exists()
    assert [float(share) for share in found] != pytest.approx(probabilities(plain), abs=1e-3)


def scaled_memory(step):
    def changed(self, *args):
        state, gate = step(self, *args)
        return MemoryState(1.01 * state.memory, state.delay), gate

    return changed


CHANGES = {
    "step": scaled_memory,
    "gate": lambda gate: lambda self, *args: gate(self, *args).clamp(min=0.05),
    "candidate": lambda candidate: lambda self, *args: torch.tanh(candidate(self, *args)),
    "gate, its gradient": lambda gate: lambda self, *args: gate(self, *args).detach(),
}


@pytest.mark.parametrize("part", [*CHANGES, "gru", "prelu", "unit_norm"])
def test_any_change_of_the_cell_is_noticed(part: str, monkeypatch: pytest.MonkeyPatch) -> None:
    scan._computes_the_step.cache_clear()
    assert scan.is_unchanged(MemoryCell())
    scan._computes_the_step.cache_clear()
    if part in CHANGES:
        name = part.partition(",")[0]
        monkeypatch.setattr(MemoryCell, name, CHANGES[part](getattr(MemoryCell, name)))
    else:
        original = getattr(memory, part)
        monkeypatch.setattr(memory, part, lambda *args: 1.001 * original(*args))
    weights = random_weights(2, 5)
    words, keys, lengths = random_batch(2, 4, 6, 5, 3)
    with pytest.warns(match="MemoryCell is not the memory that the fast paths compute: it is run word by word"):
        found = scan.scan(MemoryCell(), weights, words, keys, lengths)
    scan._computes_the_step.cache_clear()
    expected = scan.scan(MemoryCell(), weights, words, keys, lengths, path="step")
    assert torch.equal(found.memory, expected.memory)
