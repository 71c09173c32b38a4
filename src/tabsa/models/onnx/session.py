"""The one door to onnxruntime: a graph's file as a session, without telemetry; its runs, and what may come out of one.

As it comes, onnxruntime makes a device's id and a database in the user's cache when it is imported, and knows where to
send what it gathers. The environment is asked before the import: `disable_telemetry_events()` alone comes too late.
"""

import os
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar, copy_context
from pathlib import Path
from types import ModuleType
from typing import Any, Final, ParamSpec, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from tabsa.checkpoint.model_folder import ModelFolder
from tabsa.errors import ModelError, first_line

_SWITCH: Final = "ORT_DISABLE_TELEMETRY"


def load_onnxruntime() -> ModuleType:
    """onnxruntime, imported at first use; who wants its telemetry sets ORT_DISABLE_TELEMETRY=0."""
    chosen = "onnxruntime" in sys.modules  # by whoever imported it, or another thread is about to
    silent = not chosen and os.environ.setdefault(_SWITCH, "1") != "0"
    import onnxruntime  # waits for a thread that is importing it: half a module has no attributes

    if silent:
        onnxruntime.disable_telemetry_events()
    return onnxruntime  # type: ignore[no-any-return]


def cores() -> int:
    """How many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


Given = ParamSpec("Given")
Item = TypeVar("Item")
Result = TypeVar("Result")


class GraphRunner(Protocol):
    """Calls something, and decides when."""

    def __call__(self, call: Callable[Given, Result], *args: Given.args, **kwargs: Given.kwargs) -> Result:
        """What the call gives."""


_runner: ContextVar[GraphRunner | None] = ContextVar("who runs graphs", default=None)


def run_graphs_with(runner: GraphRunner) -> None:
    """Have the graphs that the calling thread runs from now on be run by somebody; the rest of a reading is not."""
    _runner.set(runner)


def run_graph(call: Callable[Given, Result], *args: Given.args, **kwargs: Given.kwargs) -> Result:
    """What a call of a session gives."""
    runner = _runner.get()
    return call(*args, **kwargs) if runner is None else runner(call, *args, **kwargs)


@contextmanager
def running(path: Path) -> Iterator[None]:
    """Around a run of the graph at `path`: what onnxruntime raises becomes a one-line ModelError."""
    try:
        yield
    except Exception as e:  # onnxruntime has classes of its own
        raise ModelError(f"{path} cannot be run ({first_line(e)})") from e


def side_by_side(function: Callable[[Item], Result], items: Sequence[Item], threads: int) -> list[Result]:
    """The results in order, each computed by one of so many threads."""
    if min(threads, len(items)) <= 1:
        return [function(item) for item in items]
    with ThreadPoolExecutor(min(threads, len(items))) as pool:
        contexts = [copy_context() for _ in items]  # a new thread would know nothing of `run_graphs_with`
        return list(pool.map(lambda context, item: context.run(function, item), contexts, items))


_ROUNDING: Final = 1e-3  # by which a share may leave 0 to 1


def open_session(folder: ModelFolder, name: str, remedy: str, *, weights: str = "") -> Any:
    """Open one of the folder's graphs as a session of one thread, after its file was checked.

    Args:
        folder: the model.
        name: of the graph's file.
        remedy: the command that makes the graph.
        weights: the file beside it that its numbers lie in; none where it has them itself.

    Raises:
        ModelError: in one line, with the command: there is no graph, or it cannot be run.
    """
    path = folder.files.checked(name)
    if not path.is_file():
        raise ModelError(f"{path.parent} has no {path.name}; make it with `{remedy}`")
    data = path.read_bytes()
    # However a message is written, its strings stand in it as they are: each file that a graph names is one of these.
    expected = b"\n\x08location\x12" + bytes([len(weights)]) + weights.encode()
    if data.count(b"location") != (data.count(expected) if weights else 0):
        raise ModelError(f"{path} names a file that no graph of its kind reads; make it again with `{remedy}`")
    onnxruntime = load_onnxruntime()
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 4  # the line below says what is wrong with a bad file
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
