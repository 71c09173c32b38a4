"""Model folders to graphs that onnxruntime runs.

Needs the package `onnx`, and no PyTorch: a graph is built from the weights.
"""

from pathlib import Path
from typing import Any

import numpy as np

from tabsa.batch import aspect_matrix, target_word
from tabsa.errors import ModelError
from tabsa.files import replacing
from tabsa.folder import GRAPHS, ModelFolder, Precision
from tabsa.vectors import lookup

# The kinds that can be exported: all neural systems.
EXPORTED = ("lstm-final", "lstm-loc", "lstm-ta-sa", "sentic-lstm", "entnet", "delayed-entnet")
# Those that can be exported in int8 as well.
EXPORTED_INT8 = ("entnet", "delayed-entnet")


def export(folder: ModelFolder, precision: Precision = "float32") -> Path:
    """Write the folder's `model.onnx`, or in int8 its `model.int8.onnx`, and return its path."""
    kind = folder.config.kind
    if kind not in EXPORTED:
        raise ModelError(
            f"a '{kind}' cannot be exported; these can: {', '.join(EXPORTED)}; an 'lr' predicts without it"
        )
    if precision == "int8" and kind not in EXPORTED_INT8:
        raise ModelError(f"a '{kind}' cannot be exported in int8; these can: {', '.join(EXPORTED_INT8)}")
    try:
        import onnx
    except ImportError as e:
        raise ModelError("exporting needs the package onnx: pip install 'tabsa[train]'") from e
    try:
        model = _graph(folder, precision)
    except (KeyError, IndexError, ValueError, onnx.checker.ValidationError, onnx.shape_inference.InferenceError) as e:
        told = (str(e).splitlines() or [""])[0]
        raise ModelError(f"{folder.path}: the weights do not fit config.json ({told})") from e
    path = folder.path / GRAPHS[precision]
    with replacing(path, "wb") as stream:
        stream.write(model.SerializeToString())
    return path


def _graph(folder: ModelFolder, precision: Precision) -> Any:
    """The folder's model as an `onnx.ModelProto`."""
    from tabsa.export.entnet import entnet
    from tabsa.export.lstm import lstm
    from tabsa.export.sentic import sentic_lstm

    config, half = folder.config, folder.compact
    weights = _biased(folder)
    if config.kind in ("entnet", "delayed-entnet"):
        targets = lookup([target_word(slot) for slot in range(config.targets)], folder.vectors).matrix
        aspects = aspect_matrix(config.aspects, folder.vectors)
        return entnet(config.model, weights, targets, aspects, config.temperature, half=half, precision=precision)
    if config.kind != "sentic-lstm":
        return lstm(config.kind, weights, config.targets, config.temperature, half=half)
    if folder.concepts is None:
        raise ModelError(f"{folder.path} has no concepts.safetensors, without which a {config.kind} cannot read")
    return sentic_lstm(weights, folder.concepts.matrix, config.targets, config.temperature, half=half)


def _biased(folder: ModelFolder) -> dict[str, Any]:
    """The weights, with the calibration's bias among those of the last layer; graphs divide by the temperature."""
    weights, config = dict(folder.weights), folder.config
    if config.bias:
        own = weights.get("output_bias", np.zeros(len(config.labels), np.float32))
        weights["output_bias"] = own + np.float32(config.temperature) * np.asarray(config.bias, np.float32)
    return weights
