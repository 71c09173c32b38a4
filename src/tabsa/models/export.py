"""Model folders to graphs that onnxruntime runs: built from the weights, by hand, for the networks as we wrote them."""

from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from tabsa.checkpoint.model_folder import GRAPHS, ModelFolder, Precision, add_files
from tabsa.errors import ModelError, first_line
from tabsa.models.registry import SYSTEMS, System, system_of
from tabsa.schema import Span, Target

_TOLERANCE = 1e-4  # by which a probability of the graph may differ from the network's


class ChangedNetworkError(ModelError):
    """A network is not what its graph computes; its folder is used through PyTorch."""

    kind = "changed_network"


def export(folder: ModelFolder, precision: Precision = "float32") -> Path:
    """Write the folder's `model.onnx`, and return its path.

    A system with several graphs names them itself; the path is then the first one's. Raises a ChangedNetworkError where
    the network was changed, such as its memory cell, and its graph was not.
    """
    system = system_of(folder)
    able = [name for name, other in SYSTEMS.items() if (other.open_aspects if precision == "int8" else other.graph)]
    if system.name not in able:
        why = "cannot be exported in int8" if system.graph else "has no graph to export, and predicts without"
        raise ModelError(f"a '{system.name}' {why}; these can: {', '.join(able)}")
    if not find_spec("onnx"):
        raise ModelError("exporting needs the package onnx: pip install 'tabsa[train]'")
    system.read_options(folder)  # refuses those that no model has
    if find_spec("torch") and not system.open_aspects:  # without PyTorch nobody trained anything here
        _compare_with_network(folder, system)
    built = _built(folder, system, precision, half=folder.compact)
    models: dict[str, Any] = built if isinstance(built, dict) else {GRAPHS[precision]: built}
    add_files(folder, {name: model.SerializeToString() for name, model in models.items()})
    return folder.path / next(iter(models))


def _built(folder: ModelFolder, system: System, precision: Precision, *, half: bool) -> Any:
    import onnx

    try:
        return system.build_graph(folder, precision, half=half)
    except (
        KeyError, IndexError, ValueError, TypeError, AttributeError, OverflowError,
        onnx.checker.ValidationError, onnx.shape_inference.InferenceError,
    ) as e:  # fmt: skip
        raise ModelError(f"{folder.path}: the weights do not fit config.json ({first_line(e)})") from e


def _compare_with_network(folder: ModelFolder, system: System) -> None:
    """Refuse to write a graph that answers otherwise than the network: somebody changed one of them."""
    from tabsa.models.folder_network import NetworkSession
    from tabsa.models.onnx.session import load_onnxruntime
    from tabsa.models.onnx.word_engine import WordEngine

    graph = _built(folder, system, "float32", half=False).SerializeToString()
    session = load_onnxruntime().InferenceSession(graph, providers=["CPUExecutionProvider"])
    words = [word for word in folder.vectors.words if word.isalpha()][:: max(1, len(folder.vectors) // 20)][:20]
    text = " ".join(["Ada", *words[:7], "Bo", *words[7:]])
    names = [Target(name, (Span(text.index(name), text.index(name) + len(name)),)) for name in ("Ada", "Bo")]
    answers = []
    for runs in (session, NetworkSession(folder)):
        engine = WordEngine(folder, threads=1)
        engine.session = runs
        passages = list(engine.cut(text, names))
        answers.append(engine.read_passages(passages, gates=True))
    for ours, theirs in zip(*answers, strict=True):
        pairs = [(ours.probabilities, theirs.probabilities), (ours.gates, theirs.gates)]
        if any(one is not None and not np.allclose(one, other, atol=_TOLERANCE) for one, other in pairs):
            raise ChangedNetworkError(
                f"the network of '{system.name}' was changed, and its graph was not: {folder.path} needs none, "
                f"and is used through PyTorch"
            )
