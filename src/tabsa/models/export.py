"""Model folders to graphs that onnxruntime runs.

Needs the package `onnx`, and no PyTorch: a graph is built from the weights.
"""

from pathlib import Path
from typing import Any

import numpy as np

from tabsa.checkpoint.model_folder import GRAPHS, ModelFolder, Precision, add_files
from tabsa.config import build_saved
from tabsa.errors import ConfigError, ModelError, first_line
from tabsa.models.onnx.graph_file import graph_content
from tabsa.models.registry import SYSTEMS, system_of


def export(folder: ModelFolder, precision: Precision = "float32") -> Path:
    """Write the folder's `model.onnx`, or in int8 its `model.int8.onnx`, and return its path.

    A system with several graphs names them itself; the path is then the first one's.
    """
    system = system_of(folder)
    if not system.graph:
        able = ", ".join(name for name, other in SYSTEMS.items() if other.graph)
        raise ModelError(f"a '{system.name}' needs no graph to predict, and has none to export; these have: {able}")
    if precision == "int8" and not system.int8:
        able = ", ".join(name for name, other in SYSTEMS.items() if other.int8)
        raise ModelError(f"a '{system.name}' cannot be exported in int8; these can: {able}")
    try:
        import onnx
    except ImportError as e:
        raise ModelError("exporting needs the package onnx: pip install 'tabsa[train]'") from e
    for name, array in folder.weights.items():
        if array.dtype.kind == "f" and not np.isfinite(array).all():
            raise ModelError(f"{folder.path}: '{name}' of the weights holds something that is not a finite number")
    _check_options(folder)
    try:
        built = system.build_graph(folder, precision)
    except (
        KeyError,
        IndexError,
        ValueError,
        TypeError,
        AttributeError,
        OverflowError,
        onnx.checker.ValidationError,
        onnx.shape_inference.InferenceError,
    ) as e:
        raise ModelError(f"{folder.path}: the weights do not fit config.json ({first_line(e)})") from e
    models: dict[str, Any] = built if isinstance(built, dict) else {GRAPHS[precision]: built}
    files = {name: model.SerializeToString() for name, model in models.items()}
    for name, content in files.items():
        if strange := graph_content(content).operators - system.operators:
            raise AssertionError(f"{name} has the operators {sorted(strange)}, which the registry does not name")
    add_files(folder, files)
    return folder.path / next(iter(models))


def _check_options(folder: ModelFolder) -> None:
    """Refuse options of a network that its family has not; an encoder's sizes, which are none, its builder checks."""
    options = {name: value for name, value in folder.config.model.items() if name != "shape"}
    try:
        build_saved(system_of(folder).config_class, options, "model.")
    except ConfigError as e:
        raise ModelError(f"{folder.path / 'config.json'}: {e}") from e
