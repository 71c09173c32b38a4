"""A folder from a stranger: graphs that name other files or have no end, links, numbers that are none."""

import os
import shutil
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from reader_folder import small_reader, write_reader
from tabsa import load
from tabsa.checkpoint.checksums import CHECKSUMS
from tabsa.checkpoint.model_folder import ANSWERING, read_folder, shipped_models
from tabsa.errors import ModelError
from tabsa.models.export import export
from tabsa.models.onnx.graph_file import graph_content
from unchecked import unchecked

TEXT, TARGETS = "Camden is cheap but not safe.", ["Camden"]


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


def refused(path: Path) -> str:
    with pytest.raises(ModelError) as caught:
        load(path).predict(TEXT, TARGETS)
    message = str(caught.value)
    assert "\n" not in message
    return message


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
    assert f"model.onnx names the file {location!r}, which no graph of its kind reads" in refused(folder)


@pytest.mark.parametrize("location", ["../secret", "/etc/hostname", "./weights.safetensors", "tokenizer.json"])
@pytest.mark.parametrize("name", ["read.onnx", "ask.onnx"])
@pytest.mark.usefixtures("never_opened")
def test_a_reader_s_graphs_name_its_weights_and_no_other_file(reader: Path, name: str, location: str) -> None:
    model = loaded(reader / name)
    tensor = next(tensor for tensor in model.graph.initializer if tensor.external_data)
    outside(tensor, location=location, offset=0, length=16)
    write(reader / name, model)
    if name == "read.onnx":
        assert f"{name} names the file {location!r}" in refused(reader)
    else:
        with pytest.raises(ModelError, match=f"{name} names the file"):
            load(reader).engine._session(name, "")  # type: ignore[attr-defined]


@pytest.mark.usefixtures("never_opened")
def test_data_behind_the_end_of_the_weights(reader: Path) -> None:
    model, end = loaded(reader / "read.onnx"), (reader / "weights.safetensors").stat().st_size
    tensor = next(tensor for tensor in model.graph.initializer if tensor.external_data)
    outside(tensor, location="weights.safetensors", offset=end - 8, length=16)
    write(reader / "read.onnx", model)
    assert "read.onnx names bytes behind the end of weights.safetensors" in refused(reader)


@pytest.mark.parametrize(
    "entries",
    [
        [("location", "weights.safetensors")],
        [("location", "weights.safetensors"), ("offset", "-8"), ("length", "16")],
        [("location", "weights.safetensors"), ("offset", "8"), ("length", "9" * 30)],
        [("location", "weights.safetensors"), ("location", "/etc/hostname"), ("offset", "8"), ("length", "8")],
        [("location", "weights.safetensors"), ("offset", "8"), ("length", "8"), ("basepath", "/etc")],
        [("offset", "8"), ("length", "8")],
    ],
)
@pytest.mark.usefixtures("never_opened")
def test_data_outside_is_described_in_one_way(reader: Path, entries: list[tuple[str, str]]) -> None:
    model = loaded(reader / "read.onnx")
    tensor = next(tensor for tensor in model.graph.initializer if tensor.external_data)
    outside(tensor)
    for key, value in entries:
        tensor.external_data.add(key=key, value=value)
    write(reader / "read.onnx", model)
    assert "read.onnx cannot be run (data outside" in refused(reader)


@pytest.mark.usefixtures("never_opened")
def test_numbers_of_an_attribute_lie_inside_too(folder: Path) -> None:
    model = loaded(folder / "model.onnx")
    tensor = numpy_helper.from_array(np.zeros(4, np.float32), "hidden")
    outside(tensor, location="../secret", offset=0, length=16)
    model.graph.node[0].attribute.append(helper.make_attribute("value", tensor))
    write(folder / "model.onnx", model)
    assert "names the file '../secret'" in refused(folder)


# ---- links


@pytest.mark.parametrize("name", [name for name in ANSWERING if "int8" not in name and name != "concepts.safetensors"])
def test_links_are_refused(folder: Path, reader: Path, name: str) -> None:
    path = folder if (folder / name).exists() else reader
    if name == "weights.safetensors":
        path = reader  # graphs of words have their weights inside
    kept = (path / name).rename(path.parent / name)
    (path / name).symlink_to(kept)
    assert f"{path / name} is a link; a model folder holds its files themselves" in refused(path)


def test_a_link_to_a_folder_is_the_user_s_own_choice(folder: Path) -> None:
    link = folder.parent / "chosen"
    link.symlink_to(folder)
    assert load(link).predict(TEXT, TARGETS).opinions == load(folder).predict(TEXT, TARGETS).opinions


@pytest.mark.parametrize("name", ["config.json", "vectors.safetensors", "model.onnx", CHECKSUMS])
def test_a_pipe_is_not_waited_for(folder: Path, name: str) -> None:
    (folder / name).unlink(missing_ok=True)
    os.mkfifo(folder / name)
    assert f"{folder / name} is no regular file" in refused(folder)


# ---- graphs that none of our builders made


def endless() -> onnx.ModelProto:
    """A Loop that goes on as long as true is true."""
    inside = [helper.make_tensor_value_info(name, TensorProto.BOOL, []) for name in ("going", "on")]
    number = helper.make_tensor_value_info("number", TensorProto.INT64, [])
    body = helper.make_graph([helper.make_node("Identity", ["going"], ["on"])], "body", [number, inside[0]], inside[1:])
    nodes = [helper.make_node("Loop", ["", "true"], [], body=body), helper.make_node("Identity", ["true"], ["out"])]
    result = helper.make_tensor_value_info("out", TensorProto.BOOL, [])
    constants = [numpy_helper.from_array(np.array(True), "true")]
    return helper.make_model(helper.make_graph(nodes, "endless", [], [result], constants))


@pytest.mark.usefixtures("never_opened")
def test_an_endless_loop_is_not_begun(folder: Path) -> None:
    model = loaded(folder / "model.onnx")
    hostile = endless().graph
    model.graph.node.extend(hostile.node[:1])
    model.graph.initializer.extend(hostile.initializer)
    write(folder / "model.onnx", model)
    message = refused(folder)
    assert "model.onnx has the operator 'Loop', which no graph of its kind has" in message
    assert message.endswith(f"make it again with `tabsa export {folder}`")


@pytest.mark.parametrize("operator", ["If", "ai.onnx.ml:TreeEnsembleRegressor", "com.microsoft:EPContext", "LSTM"])
@pytest.mark.usefixtures("never_opened")
def test_operators_of_others(folder: Path, operator: str) -> None:
    model = loaded(folder / "model.onnx")
    domain, _, name = operator.rpartition(":")
    body = next(a.g for node in model.graph.node if node.op_type == "Scan" for a in node.attribute if a.name == "body")
    body.node.append(helper.make_node(name, [], ["more"], domain=domain))  # inside the Scan
    write(folder / "model.onnx", model)
    assert f"has the operator {operator!r}" in refused(folder)


@pytest.mark.usefixtures("never_opened")
def test_a_scan_in_a_scan_and_what_our_graphs_never_have(folder: Path) -> None:
    path = folder / "model.onnx"
    model = loaded(path)
    scan = next(node for node in model.graph.node if node.op_type == "Scan")
    body = next(a.g for a in scan.attribute if a.name == "body")
    inner = onnx.NodeProto()
    inner.CopyFrom(scan)
    body.node.append(inner)
    write(path, model)
    assert "a graph inside a graph has another inside" in refused(folder)
    shutil.copy(shipped_models()["places"] / "model.onnx", path)
    model = loaded(path)
    model.functions.append(helper.make_function("own", "f", [], [], [], []))
    write(path, model)
    assert "has the field 25 of a model" in refused(folder)


def test_any_bytes_are_a_graph_or_a_value_error() -> None:
    """Cut off, or with bytes changed: never another exception, and never without an end."""
    whole = (shipped_models()["reader"] / "ask.onnx").read_bytes()
    known = graph_content(whole)
    rng = np.random.default_rng(3)
    for _ in range(150):
        data = bytearray(whole[: rng.integers(len(whole))] if rng.random() < 0.3 else whole)
        for place in rng.integers(len(data), size=rng.integers(4)) if data else ():
            data[place] = rng.integers(256)
        try:
            assert graph_content(bytes(data)).operators
        except ValueError:
            continue
    assert graph_content(whole) == known


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


@pytest.mark.parametrize("name", ["output_bias", "encoder.norm_bias"])
def test_a_reader_s_answers_that_are_no_shares(tmp_path: Path, name: str) -> None:
    from safetensors.numpy import load_file, save_file

    path = unchecked(write_reader(tmp_path / "reader", small_reader(), "float32").path)
    stored = load_file(path / "weights.safetensors")
    stored[name][0] = np.nan
    save_file(stored, path / "weights.safetensors")
    message = refused(path)
    assert "answers with something that is no share" in message


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
        ('"targets": 2', '"targets": 1000000000', "'targets' is 1000000000, which no model folder has"),
        ('"attention_scale": 1.0', '"attention_scale": "much"', "'model.attention_scale' is 'much'; expected a number"),
        ('"attention_scale": 1.0', '"attention_scale": ' + "1" * 4000, "'model.attention_scale' is 1111"),
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
