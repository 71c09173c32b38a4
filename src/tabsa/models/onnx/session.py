"""A graph's file as an onnxruntime session."""

from pathlib import Path
from typing import Any

from tabsa.errors import ModelError


def open_session(path: Path, remedy: str) -> Any:
    """A session of one thread; a one-line ModelError with the command that makes the graph where there is none."""
    import onnxruntime

    if not path.is_file():
        raise ModelError(f"{path.parent} has no {path.name}; make it with `{remedy}`")
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 4  # a bad file is told of below, in one line
    try:
        return onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    except Exception as e:  # onnxruntime raises classes of its own for a bad file
        first_line = (str(e).splitlines() or [""])[0]
        raise ModelError(f"{path} cannot be run ({first_line}); make it again with `{remedy}`") from e
