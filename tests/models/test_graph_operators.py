"""The registry's operators are just those that the builders use: no graph of ours has others, and none is too many."""

import dataclasses

import numpy as np
import onnx
import pytest
import torch

from entnet_factory import VARIANTS
from entnet_factory import make as make_entnet
from reader_folder import small_reader, write_reader
from tabsa.checkpoint.model_folder import shipped_models
from tabsa.models.base import Vocabulary
from tabsa.models.entnet.entnet_onnx import entnet
from tabsa.models.lstm.lstm_onnx import lstm, sentic_lstm
from tabsa.models.onnx import operators
from tabsa.models.onnx.graph_file import graph_content
from tabsa.models.registry import SYSTEMS


def names(graph: onnx.GraphProto) -> set[str]:
    """The operators of a graph, as the package onnx reads it."""
    found = set()
    for node in graph.node:
        found.add(f"{node.domain}:{node.op_type}" if node.domain else node.op_type)
        for attribute in node.attribute:
            found |= names(attribute.g) if attribute.type == onnx.AttributeProto.GRAPH else set()
    return found


def checked(*models: onnx.ModelProto) -> set[str]:
    """The operators of graphs, after our own reading of their files found the same."""
    found = set()
    for model in models:
        own = names(model.graph)
        assert graph_content(model.SerializeToString()).operators == own
        found |= own
    return found


def lstm_weights(kind: str) -> dict[str, np.ndarray]:
    system = SYSTEMS[kind]
    vocabulary = Vocabulary(torch.randn(3, 6), (1, 2), torch.zeros(3, 6), 3, torch.randn(4, 3))
    model = system.network_class()(system.config_class(), vocabulary, (1,))
    return {name: parameter.detach()[0].numpy() for name, parameter in model.named_parameters()}


def test_lstms():
    kinds = ("lstm-final", "lstm-loc", "lstm-ta-sa")
    built = (lstm(kind, lstm_weights(kind), 2, half=half) for kind in kinds for half in (False, True))
    assert checked(*built) == operators.LSTM


def test_sentic_lstm():
    weights = lstm_weights("sentic-lstm")
    built = (sentic_lstm(weights, np.ones((4, 3), np.float32), 2, half=half) for half in (False, True))
    assert checked(*built) == operators.SENTIC


def test_entnets():
    models = [onnx.load(file) for file in shipped_models()["places"].glob("*.onnx")]  # large enough for float16
    for variant in VARIANTS:
        model = make_entnet(**variant)
        weights = {name: parameter.detach()[0].float().numpy() for name, parameter in model.named_parameters()}
        vectors = (model.target_vectors.float().numpy(), model.aspect_vectors.float().numpy())
        for slope in (weights["slope"], weights["slope"] + 3):
            for precision in ("float32", "int8"):
                given = (dataclasses.asdict(model.config), weights | {"slope": slope}, *vectors)
                models.append(entnet(*given, half=True, precision=precision))
    assert checked(*models) == operators.ENTNET


def test_readers(tmp_path):
    variants = [{}, {"along": 2, "layers": 0}, {"kind": "mpnet", "along": 1, "layers": 1}]
    found = set()
    for number, variant in enumerate(variants):
        for storage in ("float16", "int8"):
            path = write_reader(tmp_path / f"{number} {storage}", small_reader(**variant), storage).path
            found |= checked(*(onnx.load(file, load_external_data=False) for file in path.glob("*.onnx")))
    assert found == operators.READER


@pytest.mark.parametrize("name", ["reader", "places"])
def test_the_models_in_the_box(name):
    for file in shipped_models()[name].glob("*.onnx"):
        model = onnx.load(file, load_external_data=False)
        assert checked(model) <= {"reader": operators.READER, "places": operators.ENTNET}[name]
        outside = [tensor for tensor in model.graph.initializer if tensor.external_data]
        places = [{entry.key: entry.value for entry in tensor.external_data} for tensor in outside]
        expected = [(place["location"], int(place["offset"]), int(place["length"])) for place in places]
        assert [tuple(part) for part in graph_content(file.read_bytes()).outside] == expected
        assert bool(expected) == (name == "reader")


def test_a_system_with_a_graph_says_what_it_is_built_of():
    assert {name for name, system in SYSTEMS.items() if system.operators} == {
        name for name, system in SYSTEMS.items() if system.graph
    }
    repeating = {"If", "Loop", "Scan", "SequenceMap"}
    assert {name for system in SYSTEMS.values() for name in system.operators & repeating} == {"Scan"}
