import dataclasses
import json
import os
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import save

from tabsa.checkpoint.model_config import FORMAT, ModelConfig
from tabsa.checkpoint.model_folder import (
    ALIASES,
    DEFAULT,
    GRAPHS,
    READER_GRAPHS,
    ModelFolder,
    open_folder,
    read_folder,
    shipped_models,
    write_folder,
)
from tabsa.embeddings.vectors import VectorSource, WordVectors
from tabsa.errors import ModelError, OutputError
from unchecked import unchecked

CONFIG = ModelConfig(
    kind="entnet",
    model={"chains": 3, "keys": "hybrid", "l2": 0.001},
    aspects=("price", "night life", "Größe"),
    labels=("none", "good", "bad"),
    targets=2,
    max_length=50,
    temperature=1.5,
)
WEIGHTS = {
    "hidden": np.arange(6, dtype=np.float32).reshape(2, 3),
    "turned": np.arange(6, dtype=np.float32).reshape(2, 3).T,
    "empty": np.zeros((0, 3), np.float32),
}
VECTORS = WordVectors(
    ("dear", "東京", "new york", ""),
    np.array([[0.5, -1], [2, 0.1], [0, 0], [1, 1]], np.float32),
    0.1234567890123,
    VectorSource("glove.txt", "ab" * 32),
)
METRICS = {"dev": {"sun": {"macro_f1": 0.5, "sentiment_auc": None}}, "seed": 3}


def write(path: Path, **changes: Any) -> ModelFolder:
    parts: dict[str, Any] = {"weights": WEIGHTS, "vectors": VECTORS, "metrics": METRICS, "card": "# é"}
    return write_folder(path, **{"config": CONFIG} | parts | changes)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    path = tmp_path / "deep" / "model"
    write(path)
    return unchecked(path)


def refused(read: Callable[[], object]) -> str:
    with pytest.raises(ModelError) as caught:
        read()
    message = str(caught.value)
    assert "\n" not in message
    return message


# ---- round trip


def test_what_is_written_is_read(folder: Path) -> None:
    model = read_folder(folder)
    assert model.config == CONFIG
    assert model.metrics == METRICS
    assert model.weights.keys() == WEIGHTS.keys()
    for name, array in WEIGHTS.items():
        assert np.array_equal(model.weights[name], array)
        assert model.weights[name].dtype == np.float32
    assert (model.vectors.words, model.vectors.scale) == (VECTORS.words, VECTORS.scale)
    assert model.vectors.source == VECTORS.source
    assert np.array_equal(model.vectors.matrix, VECTORS.matrix.astype(np.float16).astype(np.float32))
    assert (folder / "README.md").read_text("utf-8") == "# é"
    names = {path.name for path in folder.iterdir()}
    assert names == {"README.md", "config.json", "metrics.json", "vectors.safetensors", "weights.safetensors"}


def test_a_folder_of_word_pieces(folder: Path) -> None:
    """It has a tokeniser and no vectors; nothing of the model that was there is left."""
    calibration = {"presence_temperature": 2.0, "presence_bias": -1, "polarity_temperature": 0.5}
    for name in ("model.onnx", "model.int8.onnx", "read.onnx", "ask.int8.onnx", "concepts.safetensors"):
        (folder / name).write_bytes(b"old")
    numbers, scale = np.array([[1, -63], [63, 0]], np.int8), np.array([0.5, 0.25], np.float32)
    weights = {"matrix": numbers, "matrix.scale": scale, "bias": np.ones(2, np.float16)}
    config = dataclasses.replace(CONFIG, calibration=calibration)
    write(folder, config=config, weights=weights, vectors=None, files={"tokenizer.json": b"{}"})
    model = read_folder(folder)
    assert model.config == config
    assert model.weights.keys() == {"matrix", "bias"}
    assert model.weights["matrix"].tolist() == [[0.5, -15.75], [31.5, 0]]
    assert {array.dtype for array in model.weights.values()} == {np.dtype(np.float32)}
    assert model.stored_weights("bias", "none").keys() == {"bias"}
    names = {"README.md", "checksums.json", "config.json", "metrics.json", "tokenizer.json", "weights.safetensors"}
    assert {path.name for path in folder.iterdir()} == names
    assert "cannot read" in refused(lambda: model.vectors)


# ---- what is no model folder


def change(folder: Path, **values: Any) -> None:
    path = folder / "config.json"
    path.write_text(json.dumps(json.loads(path.read_text("utf-8")) | values), "utf-8")


def test_no_folder(tmp_path: Path) -> None:
    file = tmp_path / "model.bin"
    file.write_text("x")
    for path in (file, tmp_path / "none"):
        assert refused(lambda path=path: read_folder(path)) == (  # type: ignore[misc]
            f"{path} is not a model folder; expected one that `tabsa train` made"
        )
    assert "has no config.json" in refused(lambda: read_folder(tmp_path))


def test_another_format_and_a_configuration_that_lacks_something(folder: Path) -> None:
    change(folder, targets=None)
    assert (
        refused(lambda: read_folder(folder)) == f"{folder / 'config.json'} has no 'targets'; the folder is incomplete"
    )
    change(folder, format="tabsa model 2")
    assert refused(lambda: read_folder(folder)) == f"{folder} has format 'tabsa model 2'; this version reads '{FORMAT}'"


@pytest.mark.parametrize("name", ["weights", "vectors"])
@pytest.mark.parametrize("size", [0, 60, -1])
def test_damaged_numbers(folder: Path, name: str, size: int) -> None:
    path = folder / f"{name}.safetensors"
    path.write_bytes(path.read_bytes()[:size])
    assert refused(lambda: getattr(read_folder(folder), name)).startswith(f"{path} is damaged (")


ONE = np.ones((1, 2), np.float16)


@pytest.mark.parametrize(
    ("matrix", "words", "facts"),
    [
        (ONE, None, {"scale": "1"}),
        (np.nan * ONE, b"a", {"scale": "1"}),
        (ONE, b"\xff", {"scale": "1"}),
        (ONE, b"a", {}),
        (ONE, b"a", {"scale": "1", "source": "3"}),
    ],
)
def test_numbers_that_are_no_word_vectors(
    folder: Path, matrix: np.ndarray, words: bytes | None, facts: dict[str, str]
) -> None:
    arrays = {"matrix": matrix} | ({} if words is None else {"words": np.frombuffer(words, np.uint8)})
    (folder / "vectors.safetensors").write_bytes(save(arrays, facts))
    assert "vectors.safetensors does not hold word vectors" in refused(lambda: read_folder(folder).vectors)


# ---- nothing in a folder can run


class Evil:
    """Unpickled, it would leave a mark."""

    def __reduce__(self) -> tuple[Any, ...]:
        return os.mkdir, (os.environ["TABSA_TEST_MARK"],)


def test_a_pickle_is_refused_and_not_run(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mark = tmp_path / "mark"
    monkeypatch.setenv("TABSA_TEST_MARK", str(mark))
    evil = pickle.dumps(Evil())
    for name in ("weights.safetensors", "vectors.safetensors", "metrics.json", "config.json"):
        (folder / name).write_bytes(evil)
        refused(lambda name=name: getattr(read_folder(folder), name.partition(".")[0]))  # type: ignore[misc]
        assert not mark.exists()
        write(folder)
    pickle.loads(evil)  # it is evil indeed
    assert mark.exists()


# ---- writing


def test_a_folder_that_is_half_written_is_none(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OutputError, match=r"cannot write .*weights\.safetensors: No space left on device"):
        write(folder)
    assert "has no config.json" in refused(lambda: read_folder(folder))
    assert not list(folder.glob(".*.tmp"))


# ---- by name


def test_the_models_of_the_package_by_name() -> None:
    shipped = shipped_models()
    assert list(shipped) == ["reader", "places"]
    assert open_folder().path == open_folder(DEFAULT).path == shipped["reader"]
    assert ALIASES == {"fast": "places"}
    assert open_folder("fast").path == open_folder("places").path == shipped["places"]


# ---- precision


@pytest.mark.parametrize(
    ("options", "files", "expected"),
    [
        ({"rounded": True}, READER_GRAPHS["int8"], "int8"),
        ({"rounded": True}, READER_GRAPHS["int8"][:1], "float32"),
        ({"rounded": False}, READER_GRAPHS["int8"], "float32"),
        ({}, (GRAPHS["int8"],), "float32"),
    ],
)
def test_auto_is_what_the_model_was_trained_for(
    tmp_path: Path, options: dict[str, Any], files: tuple[str, ...], expected: str
) -> None:
    model = write(tmp_path / "model", config=dataclasses.replace(CONFIG, model=options))
    for name in files:
        (model.path / name).touch()
    assert model.precision() == model.precision("auto") == expected
    assert (model.precision("float32"), model.precision("int8")) == ("float32", "int8")
