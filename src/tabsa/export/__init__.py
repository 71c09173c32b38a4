"""Model folders to `model.onnx`. Needs the package `onnx`, and no PyTorch: the graph is built from the weights."""

from pathlib import Path

from tabsa.batch import aspect_matrix, target_word
from tabsa.errors import ModelError
from tabsa.files import replacing
from tabsa.folder import ModelFolder
from tabsa.vectors import lookup

EXPORTED = ("entnet", "delayed-entnet")  # the kinds that can be exported


def export(folder: ModelFolder) -> Path:
    """Write the folder's `model.onnx`, and return its path."""
    try:
        from tabsa.export.entnet import entnet
    except ImportError as e:
        raise ModelError("exporting needs the package onnx: pip install 'tabsa[train]'") from e
    config = folder.config
    if config.kind not in EXPORTED:
        raise ModelError(f"a '{config.kind}' cannot be exported; these can: {', '.join(EXPORTED)}")
    targets = lookup([target_word(slot) for slot in range(config.targets)], folder.vectors).matrix
    aspects = aspect_matrix(config.aspects, folder.vectors)
    model = entnet(config.model, folder.weights, targets, aspects, config.temperature, half=folder.compact)
    path = folder.path / "model.onnx"
    with replacing(path, "wb") as stream:
        stream.write(model.SerializeToString())
    return path
