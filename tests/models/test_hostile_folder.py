"""A folder from a stranger: graphs that name other files, links, numbers that are none."""

import os
import shutil
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from reader_folder import small_reader, write_reader
from tabsa.checkpoint.checksums import CHECKSUMS
from tabsa.checkpoint.model_folder import ANSWERING, read_folder
from tabsa.errors import ModelError
from tabsa.models.export import export
from tabsa.models.onnx.session import open_session
from tabsa.models.reader.reader_storage import WEIGHTS
from unchecked import refused_folder as refused
from unchecked import unchecked


@pytest.fixture
def folder(tiny_model: Path, tmp_path: Path) -> Path:
    return unchecked(Path(shutil.copytree(tiny_model, tmp_path / "folder")))


@pytest.fixture(scope="module")
def small(tmp_path_factory) -> Path:
    return write_reader(tmp_path_factory.mktemp("readers") / "small", small_reader(), "int8").path


@pytest.fixture
def reader(small: Path, tmp_path: Path) -> Path:
    return unchecked(Path(shutil.copytree(small, tmp_path / "reader")))


@pytest.fixture
def never_opened(monkeypatch: pytest.MonkeyPatch) -> None:
    """onnxruntime does not see a graph that we refuse."""

    def opened(*_: object, **__: object) -> None:
        raise AssertionError("onnxruntime has opened it")

    monkeypatch.setattr("onnxruntime.InferenceSession", opened)


def loaded(path: Path) -> onnx.ModelProto:
    return onnx.load(path, load_external_data=False)


def write(path: Path, model: onnx.ModelProto) -> None:
    path.write_bytes(model.SerializeToString())


def outside(tensor: onnx.TensorProto, **entries: object) -> None:
    """Have a tensor's numbers lie in another file."""
    for kept in ("raw_data", "float_data", "external_data"):
        tensor.ClearField(kept)
    tensor.data_location = TensorProto.EXTERNAL
    for key, value in entries.items():
        tensor.external_data.add(key=key, value=str(value))


# ---- data outside the folder


@pytest.mark.parametrize("location", ["../secret", "/etc/hostname", "link", "weights.safetensors", "./model.onnx", ""])
@pytest.mark.usefixtures("never_opened")
def test_a_graph_of_words_names_no_file(folder: Path, location: str) -> None:
    (folder.parent / "secret").write_bytes(b"s" * 4096)
    (folder / "link").symlink_to(folder.parent / "secret")
    model = loaded(folder / "model.onnx")
    outside(model.graph.initializer[0], location=location, offset=0, length=16)
    write(folder / "model.onnx", model)
    assert "model.onnx names a file that no graph of its kind reads" in refused(folder)


@pytest.mark.parametrize("location", ["../secret", "/etc/hostname", "./weights.safetensors", "tokenizer.json"])
@pytest.mark.parametrize("name", ["read.onnx", "ask.onnx"])
@pytest.mark.usefixtures("never_opened")
def test_a_reader_s_graphs_name_its_weights_and_no_other_file(reader: Path, name: str, location: str) -> None:
    model = loaded(reader / name)
    tensor = next(tensor for tensor in model.graph.initializer if tensor.external_data)
    outside(tensor, location=location, offset=0, length=16)
    write(reader / name, model)
    if name == "read.onnx":
        assert f"{name} names a file that no graph of its kind reads" in refused(reader)
    else:
        with pytest.raises(ModelError, match=f"{name} names a file"):
            open_session(read_folder(reader), name, lambda _: True, weights=WEIGHTS)


@pytest.mark.parametrize(
    "entries",
    [
        [("location", "weights.safetensors"), ("offset", "END"), ("length", "16")],
        [("location", "weights.safetensors"), ("location", "/etc/hostname"), ("offset", "8"), ("length", "8")],
        [("offset", "8"), ("length", "8")],
    ],
)
def test_data_that_is_not_in_the_weights(reader: Path, entries: list[tuple[str, str]]) -> None:
    model, end = loaded(reader / "read.onnx"), (reader / "weights.safetensors").stat().st_size
    tensor = next(tensor for tensor in model.graph.initializer if tensor.external_data)
    outside(tensor)
    for key, value in entries:
        tensor.external_data.add(key=key, value=value.replace("END", str(end - 8)))
    write(reader / "read.onnx", model)
    assert "make it again with `tabsa export" in refused(reader)


@pytest.mark.usefixtures("never_opened")
def test_numbers_of_an_attribute_lie_inside_too(folder: Path) -> None:
    model = loaded(folder / "model.onnx")
    tensor = numpy_helper.from_array(np.zeros(4, np.float32), "hidden")
    outside(tensor, location="../secret", offset=0, length=16)
    model.graph.node[0].attribute.append(helper.make_attribute("value", tensor))
    write(folder / "model.onnx", model)
    assert "names a file" in refused(folder)


# ---- links


@pytest.mark.parametrize("name", [name for name in ANSWERING if "int8" not in name and name != "concepts.safetensors"])
def test_links_are_refused(folder: Path, reader: Path, name: str) -> None:
    path = folder if (folder / name).exists() else reader
    if name == "weights.safetensors":
        path = reader  # graphs of words have their weights inside
    kept = (path / name).rename(path.parent / name)
    (path / name).symlink_to(kept)
    assert f"{path / name} is a link; a model folder holds its files themselves" in refused(path)


@pytest.mark.parametrize("name", ["config.json", "vectors.safetensors", "model.onnx", CHECKSUMS])
def test_a_pipe_is_not_waited_for(folder: Path, name: str) -> None:
    (folder / name).unlink(missing_ok=True)
    os.mkfifo(folder / name)
    assert f"{folder / name} is no regular file" in refused(folder)


# ---- numbers that are none


@pytest.mark.parametrize("number", [np.nan, np.inf, -1.0, 2.0])
def test_answers_that_are_no_shares(folder: Path, number: float) -> None:
    model = loaded(folder / "model.onnx")
    last = next(node for node in model.graph.node if list(node.output) == ["probabilities"])
    model.graph.initializer.append(numpy_helper.from_array(np.array(number, np.float32), "wrong"))
    spoilt = helper.make_node("Add", [last.input[0], "wrong"], ["spoilt"])
    last.input[0] = "spoilt"
    model.graph.node.insert(len(model.graph.node) - 3, spoilt)
    write(folder / "model.onnx", model)
    assert "answers with something that is no share from 0 to 1; the model is damaged" in refused(folder)


def test_a_graph_that_fails_while_it_runs(folder: Path) -> None:
    model = loaded(folder / "model.onnx")
    reshape = next(node for node in model.graph.node if node.op_type == "Reshape")
    model.graph.initializer.append(numpy_helper.from_array(np.array([7, 77]), "wrong"))
    reshape.input[1] = "wrong"
    write(folder / "model.onnx", model)
    assert "model.onnx cannot be run (" in refused(folder)


# ---- export


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('"targets": 2', '"targets": 1000000000', "'targets' is 1000000000; expected at least 1"),
        (
            '"attention_scale": 1.0',
            '"attention_scale": "much"',
            "'model.attention_scale' is 'much'; expected a finite number",
        ),
        ('"chains": 3', '"chains": [3]', "'model.chains' is [3]; expected a whole number"),
    ],
)
def test_an_export_of_what_no_model_is(folder: Path, old: str, new: str, message: str) -> None:
    config = folder / "config.json"
    assert old in config.read_text()
    config.write_text(config.read_text().replace(old, new))
    with pytest.raises(ModelError) as caught:
        export(read_folder(folder))
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)
