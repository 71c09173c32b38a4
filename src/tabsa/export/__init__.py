"""Model folders to `model.onnx`. Needs the package `onnx`, and no PyTorch: the graph is built from the weights."""

from pathlib import Path
from typing import Any

from tabsa.batch import aspect_matrix, target_word
from tabsa.errors import ModelError
from tabsa.files import replacing
from tabsa.folder import ModelFolder
from tabsa.vectors import lookup

# The kinds that can be exported: all neural systems.
EXPORTED = ("lstm-final", "lstm-loc", "lstm-ta-sa", "sentic-lstm", "entnet", "delayed-entnet")


def export(folder: ModelFolder) -> Path:
    """Write the folder's `model.onnx`, and return its path."""
    kind = folder.config.kind
    if kind not in EXPORTED:
        raise ModelError(
            f"a '{kind}' cannot be exported; these can: {', '.join(EXPORTED)}; an 'lr' predicts without it"
        )
    try:
        import onnx
    except ImportError as e:
        raise ModelError("exporting needs the package onnx: pip install 'tabsa[train]'") from e
    try:
        model = _graph(folder)
    except (KeyError, IndexError, ValueError, onnx.checker.ValidationError, onnx.shape_inference.InferenceError) as e:
        told = (str(e).splitlines() or [""])[0]
        raise ModelError(f"{folder.path}: the weights do not fit config.json ({told})") from e
    path = folder.path / "model.onnx"
    with replacing(path, "wb") as stream:
        stream.write(model.SerializeToString())
    return path


def _graph(folder: ModelFolder) -> Any:
    """The folder's model as an `onnx.ModelProto`."""
    from tabsa.export.entnet import entnet
    from tabsa.export.lstm import lstm
    from tabsa.export.sentic import sentic_lstm

    config, weights, half = folder.config, folder.weights, folder.compact
    if config.kind in ("entnet", "delayed-entnet"):
        targets = lookup([target_word(slot) for slot in range(config.targets)], folder.vectors).matrix
        aspects = aspect_matrix(config.aspects, folder.vectors)
        return entnet(config.model, weights, targets, aspects, config.temperature, half=half)
    if config.kind != "sentic-lstm":
        return lstm(config.kind, weights, config.targets, config.temperature, half=half)
    if folder.concepts is None:
        raise ModelError(f"{folder.path} has no concepts.safetensors, without which a {config.kind} cannot read")
    return sentic_lstm(weights, folder.concepts.matrix, config.targets, config.temperature, half=half)
