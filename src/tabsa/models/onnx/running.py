"""Runs of graphs: at once or when somebody lets them, one after another or side by side."""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar, copy_context
from pathlib import Path
from typing import ParamSpec, Protocol, TypeVar

from tabsa.errors import ModelError, first_line

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
