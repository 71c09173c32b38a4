"""The one door to onnxruntime: a graph's file as a session, without telemetry; its runs, and what may come out of one.

As it comes, onnxruntime makes a device's id and a database in the user's cache when it is imported, and knows where to
send what it gathers. The environment is asked before the import: `disable_telemetry_events()` alone comes too late.
"""

import os
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from types import ModuleType
from typing import Any, Final, TypeVar

import numpy as np
from numpy.typing import NDArray

from tabsa.checkpoint.checksums import export_command
from tabsa.checkpoint.model_folder import ModelFolder
from tabsa.errors import ModelError, first_line

_ROUNDING: Final = 1e-3  # by which a share may leave 0 to 1
Item = TypeVar("Item")
Result = TypeVar("Result")
_SWITCH: Final = "ORT_DISABLE_TELEMETRY"


def load_onnxruntime() -> ModuleType:
    """Import onnxruntime at first use; who wants its telemetry sets ORT_DISABLE_TELEMETRY=0."""
    chosen = "onnxruntime" in sys.modules  # by whoever imported it, or another thread is about to
    silent = not chosen and os.environ.setdefault(_SWITCH, "1") != "0"
    import onnxruntime  # waits for a thread that is importing it: half a module has no attributes

    if silent:
        onnxruntime.disable_telemetry_events()
    return onnxruntime  # type: ignore[no-any-return]


def cores() -> int:
    """Count the cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@contextmanager
def running(path: Path) -> Iterator[None]:
    """Turn what onnxruntime raises while it runs the graph at `path` into a one-line ModelError."""
    try:
        yield
    except Exception as e:  # onnxruntime has classes of its own
        raise ModelError(f"{path} cannot be run ({first_line(e)})") from e


def batches_of(lengths: Sequence[int], threads: int, *, most: int, least: int, rows: int = 1) -> Iterator[list[int]]:
    """Yield numbers of passages, longest first, in batches of about as many tokens, enough to keep all threads busy.

    A batch has `least` to `most` tokens, padding included, and of passages of like length `rows` where there are so
    many for each thread: a step of a recurrence costs hardly more for several.
    """
    rounds = -(-sum(lengths) // (most * threads))
    most = min(most, max(least, -(-sum(lengths) // max(1, rounds * threads))))
    order = sorted(range(len(lengths)), key=lambda n: -lengths[n])
    rows = max(1, min(rows, -(-len(order) // threads)))
    start = 0
    while start < len(order):
        longest = lengths[order[start]]
        alike = sum(2 * lengths[number] >= longest for number in order[start : start + rows])
        count = max(1, alike, most // max(1, longest))
        yield order[start : start + count]
        start += count


def in_batches(
    function: Callable[[list[Item]], list[Result]], items: Sequence[Item], batches: Sequence[list[int]], threads: int
) -> list[Result]:
    """Compute the items' results in order, each batch of their numbers by one thread: several to one scale worse."""
    chosen = [[items[number] for number in batch] for batch in batches]
    if min(threads, len(chosen)) <= 1:
        answers = [function(batch) for batch in chosen]
    else:
        with ThreadPoolExecutor(min(threads, len(chosen))) as pool:
            answers = list(pool.map(function, chosen))
    found = dict(zip(chain(*batches), chain(*answers), strict=True))
    return [found[number] for number in range(len(items))]


def open_session(folder: ModelFolder, name: str, fits: Callable[[Any], bool], *, weights: str = "") -> Any:
    """Open one of the folder's graphs as a session of one thread, after its file was checked.

    `fits` tells whether a session is of this folder's model; the graph's numbers lie in it, or in `weights`.
    """
    path, remedy = folder.files.checked(name), export_command(folder.path, name)
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
        session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    except Exception as e:  # onnxruntime raises classes of its own for a bad file
        raise ModelError(f"{path} cannot be run ({first_line(e)}); make it again with `{remedy}`") from e
    if not fits(session):
        raise ModelError(f"{path} does not fit the folder's other files; make it again with `{remedy}`")
    return session


def shares(values: Any, shape: Sequence[int], path: Path) -> NDArray[np.float32]:
    """Check what a graph or a model says: of this shape, every number a share from 0 to 1."""
    found = np.asarray(values)
    if found.shape != tuple(shape):
        raise ModelError(f"{path} answers with {list(found.shape)} numbers; expected {list(shape)}")
    if found.size and not (found.min() >= -_ROUNDING and found.max() <= 1 + _ROUNDING):  # false of NaN, too
        raise ModelError(f"{path} answers with something that is no share from 0 to 1; the model is damaged")
    return found
