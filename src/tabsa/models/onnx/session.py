"""A graph's file as an onnxruntime session, and what may come out of one."""

from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from tabsa.checkpoint import ModelFolder
from tabsa.errors import ModelError, first_line
from tabsa.models.onnx.graph_file import check_graph
from tabsa.models.onnx.runtime import load_onnxruntime

_ROUNDING: Final = 1e-3  # by which a share may leave 0 to 1


def open_session(
    folder: ModelFolder, name: str, remedy: str, operators: Collection[str], *, outside: bool = False
) -> Any:
    """A session of one thread of one of the folder's graphs, after it was checked.

    Args:
        folder: the model.
        name: of the graph's file.
        remedy: the command that makes the graph.
        operators: all that it may be built of.
        outside: whether its numbers may lie in weights.safetensors.

    Raises:
        ModelError: in one line, with the command: there is no graph, or none that is ours.
    """
    onnxruntime = load_onnxruntime()
    path = folder.files.checked(name)
    if not path.is_file():
        raise ModelError(f"{path.parent} has no {path.name}; make it with `{remedy}`")
    try:
        check_graph(path, operators, outside=outside)
    except ModelError as e:
        raise ModelError(f"{e}; make it again with `{remedy}`") from e
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 4  # a bad file is told of below, in one line
    try:
        return onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    except Exception as e:  # onnxruntime raises classes of its own for a bad file
        raise ModelError(f"{path} cannot be run ({first_line(e)}); make it again with `{remedy}`") from e


def shares(values: Any, shape: Sequence[int], path: Path) -> NDArray[np.float32]:
    """What a graph or a model says, as it is, after a look: of this shape, every number a share from 0 to 1."""
    found = np.asarray(values)
    if found.shape != tuple(shape):
        raise ModelError(f"{path} answers with {list(found.shape)} numbers; expected {list(shape)}")
    if found.size and not (found.min() >= -_ROUNDING and found.max() <= 1 + _ROUNDING):  # false of NaN, too
        raise ModelError(f"{path} answers with something that is no share from 0 to 1; the model is damaged")
    return found
