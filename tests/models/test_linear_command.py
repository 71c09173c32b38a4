"""The linear baseline from the command line: trained, evaluated, and what is said when something is missing."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("scipy")
pytest.importorskip("torch")

CONFIG = Path(__file__).parents[2] / "repro" / "tabsa_repro" / "configs" / "table1" / "lr.toml"
PLACES = ("--set", "data.name=places", "--set", "model.c=[10.0]")
WORDS_ONLY = (*PLACES, "--set", "model.pos_ngrams=0")


def tabsa(*arguments: object, without: tuple[str, ...] = ()) -> subprocess.CompletedProcess[str]:
    """Run the command line in a process of its own that cannot import the modules named."""
    code = f"import sys; sys.modules.update(dict.fromkeys({without!r})); from tabsa.cli import main; main()"
    command = [sys.executable, "-c", code, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """Trained on words only, on a machine without NLTK."""
    path = tmp_path_factory.mktemp("lr") / "model"
    run = tabsa("train", CONFIG, "--out", path, "--seeds", 2, *WORDS_ONLY, without=("nltk",))
    assert run.returncode == 0, run.stderr
    assert "no randomness" in run.stderr
    assert "train of places has 308 opinions in 280 texts: few for a model that starts from nothing;" in run.stderr
    assert "C 10 kept" in run.stdout
    return path


def test_evaluation_needs_neither_pytorch_nor_scikit_learn(folder):
    modules = ("torch", "sklearn", "scipy", "nltk")
    run = tabsa("evaluate", folder, "--data", "places", "--split", "dev", "--bootstrap", 0, "--json", without=modules)
    assert (run.returncode, run.stderr) == (0, "")
    report = json.loads(run.stdout)
    # What training said of dev is what the folder gives.
    assert report["sun"] == pytest.approx(json.loads((folder / "metrics.json").read_text())["dev"]["sun"])
