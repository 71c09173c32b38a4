"""Consoles of all commands: results for people and programs on stdout, notes, errors and progress on stderr."""

import json
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeAlias

import typer
from rich.console import Console

Show: TypeAlias = Callable[[str, float | None], None]  # a line, and the share that is done, where it is known

out = Console()
err = Console(stderr=True)


def fail(message: str) -> None:
    """Print one line that says what was wrong."""
    _line("[bold red]error:[/] ", message)


def warn(message: str) -> None:
    """Print one line that says what was noticed."""
    _line("[bold yellow]warning:[/] ", message)


def _line(label: str, message: str) -> None:
    err.print(label, end="")
    note(" ".join(message.split()))


def note(message: str) -> None:
    """Print a line for people on stderr, as it is."""
    err.print(message, markup=False, highlight=False, soft_wrap=True)


def show_warnings_as_lines() -> None:
    """Make `warnings.warn` print like `warn`, with no file name or source line."""

    def show(message: Warning | str, *_: object, **__: object) -> None:
        warn(str(message))

    warnings.showwarning = show
    if not sys.warnoptions:
        warnings.simplefilter("default")


def print_json(content: Any) -> None:
    """Print JSON for programs; what is not a number is an error, not `NaN`."""
    typer.echo(json.dumps(content, indent=2, allow_nan=False))


def duration(seconds: float) -> str:
    """Return a time in seconds, or of more than two minutes in minutes."""
    return f"{seconds:.0f} s" if seconds < 120 else f"{seconds / 60:.0f} min"


def printable(text: str) -> str:
    """Return the text without characters that would steer a terminal; as long as before."""
    return "".join(c if c.isprintable() or c == "\n" else " " if c.isspace() else "\ufffd" for c in text)


@contextmanager
def progress_bar() -> Iterator[Show]:
    """Show a line on the work and how much of it is done, on a terminal also the time left, or in a notebook."""
    from rich.progress import Progress

    if err.is_jupyter:  # where rich's bar needs widgets
        shown = [""]

        def show(line: str, share: float | None) -> None:
            if (now := f"\r{line}: {share or 0:4.0%}") != shown[0]:
                shown[0] = now
                sys.stderr.write(now)
                sys.stderr.flush()

        yield show
        sys.stderr.write("\n")
        return
    with Progress(console=err, transient=True, disable=not err.is_terminal) as bar:
        task = bar.add_task("starting", total=1.0)
        yield lambda line, share: bar.update(task, description=line, completed=share or 0.0)
