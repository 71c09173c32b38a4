"""That a model folder's files are those that were written."""

import hashlib
import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from tabsa import load
from tabsa.checkpoint.checksums import CHECKSUMS
from tabsa.checkpoint.model_folder import ANSWERING, read_folder, shipped_models
from tabsa.errors import ModelError
from tabsa.models.export import export
from unchecked import TARGETS, TEXT, unchecked
from unchecked import refused_folder as refused


@pytest.fixture
def folder(tiny_model: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(tiny_model, tmp_path / "folder"))


def written(path: Path) -> dict[str, str]:
    found: dict[str, str] = json.loads((path / CHECKSUMS).read_text())["sha256"]
    return found


def expected(path: Path) -> dict[str, str]:
    there = sorted(name for name in ANSWERING if (path / name).exists())
    return {name: hashlib.sha256((path / name).read_bytes()).hexdigest() for name in there}


def flip(path: Path, place: int, bit: int = 1) -> None:
    data = bytearray(path.read_bytes())
    data[place] ^= bit
    path.write_bytes(data)


def test_training_and_export_write_the_checksum_of_every_file(folder: Path) -> None:
    assert written(folder) == expected(folder)
    assert set(written(folder)) == {"config.json", "model.onnx", "vectors.safetensors", "weights.safetensors"}


@pytest.mark.parametrize("name", ["reader", "places"])
def test_the_models_in_the_box_have_theirs(name: str) -> None:
    path = shipped_models()[name]
    assert written(path) == expected(path)
    unnamed = {file.name for file in path.iterdir()} - set(written(path))
    assert unnamed <= {CHECKSUMS, "README.md", "metrics.json", "reliability.svg"}


@pytest.mark.parametrize(("name", "precision"), [("reader", "float32"), ("reader", "int8"), ("places", "float32")])
def test_an_export_of_a_model_in_the_box_changes_no_answer(tmp_path: Path, name: str, precision: str) -> None:
    path = Path(shutil.copytree(shipped_models()[name], tmp_path / name))
    export(read_folder(path), precision)  # type: ignore[arg-type]
    texts = ["Camden is lovely but dear, and Hull is not.", "The tube to Camden is far. " * 9, "Hull"]
    models = [load(model, precision=precision) for model in (name, path)]  # type: ignore[arg-type]
    read = [list(model.predict_many(texts, ["Camden", "Hull"])) for model in models]
    answers = [[[*opinion.probabilities.values()] for one in found for opinion in one.opinions] for found in read]
    # What a graph of words has as constants is computed where it is built.
    np.testing.assert_allclose(*answers, rtol=0, atol=0 if name == "reader" else 1e-6)


def test_every_byte_counts(folder: Path) -> None:
    """A flipped bit anywhere in a file that an answer comes from is one line that names the file."""
    rng = np.random.default_rng(1)
    for name in ("config.json", "model.onnx", "vectors.safetensors"):
        size = (folder / name).stat().st_size
        for place in (*rng.integers(size, size=12).tolist(), 0, size - 1):
            flip(folder / name, place)
            assert str(folder / name) in refused(folder)
            flip(folder / name, place)
    load(folder).predict(TEXT, TARGETS)


@pytest.mark.parametrize("name", ["tokenizer.json", "weights.safetensors", "read.int8.onnx", "ask.int8.onnx"])
def test_a_reader_s_files(tmp_path: Path, name: str) -> None:
    path = Path(shutil.copytree(shipped_models()["reader"], tmp_path / "reader"))
    flip(path / name, (path / name).stat().st_size // 2, 4)
    line = f"{path / name} is damaged: its SHA-256 is not that in checksums.json; "
    message = refused(path)
    assert message.startswith(line)
    remedy = f"make it again with `tabsa export {path} --precision int8`"
    assert message.removeprefix(line) == (
        remedy if name.endswith(".onnx") else "copy the folder again, or delete checksums.json if the change is yours"
    )


def test_what_people_edit_may_change(folder: Path) -> None:
    for name in ("README.md", "metrics.json", "notes.txt"):
        (folder / name).write_text("{}")
    assert load(folder).predict(TEXT, TARGETS).opinions


@pytest.mark.parametrize("content", ["", "[]", "{}", '{"sha256": 3}', '{"sha256": {"config.json": 3}}', "[" * 99_999])
def test_checksums_that_are_none(folder: Path, content: str) -> None:
    (folder / CHECKSUMS).write_text(content)
    assert str(folder / CHECKSUMS) in refused(folder)


@pytest.mark.parametrize("content", ["", "[]", "NaN", "[" * 100_000, '{"targets": ' + "9" * 5000 + "}", "[1", "\0"])
@pytest.mark.parametrize("name", ["config.json", "metrics.json"])
def test_json_that_python_cannot_read(folder: Path, name: str, content: str) -> None:
    (unchecked(folder) / name).write_text(content)
    with pytest.raises(ModelError, match=name) as caught:
        _ = read_folder(folder).metrics
    assert len(str(caught.value)) < 500


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"kind": 3}, "'kind' is 3"),
        ({"model": [1]}, "'model' is [1]"),
        ({"aspects": "price"}, "'aspects' is 'price'"),
        ({"aspects": ["price", "safety", "price"]}, "'aspects' has a name twice"),
        ({"aspects": ["price", "a\x1b[2Jb", "c", "d"]}, "expected words, without control characters"),
        ({"aspects": ["x"] * 100_000}, "'aspects' are 100,000; expected 1 to 10,000"),
        ({"labels": ["positive", "none", "negative"]}, "expected 'none' first, and others"),
        ({"targets": True}, "'targets' is True"),
        ({"targets": 10**9}, "'targets' is 1000000000"),
        ({"max_length": -1}, "'max_length' is -1"),
        ({"temperature": 10**400}, "'temperature' is 1000"),
        ({"calibration": {"presence_temperature": "much"}}, "'calibration.presence_temperature' is 'much'"),
        ({"windows": [1, 2, 3]}, "'windows' is (1, 2, 3)"),
        ({"bias": [0.5, True, 1]}, "'bias' is True"),
    ],
)
def test_a_configuration_that_no_model_has(folder: Path, change: dict[str, object], message: str) -> None:
    config = unchecked(folder) / "config.json"
    config.write_text(json.dumps(json.loads(config.read_text()) | change))
    refusal = refused(folder)
    assert message in refusal
    assert len(refusal) < 500


def test_arrays_of_sizes_that_no_array_has(folder: Path) -> None:
    header = {"words": {"dtype": "U8", "shape": [0, 2**62, 2**62], "data_offsets": [0, 0]}}
    data = json.dumps(header).encode()
    (unchecked(folder) / "vectors.safetensors").write_bytes(len(data).to_bytes(8, "little") + data)
    assert "vectors.safetensors" in refused(folder)
