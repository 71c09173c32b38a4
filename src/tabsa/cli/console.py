"""Consoles of all commands: tables for people on stdout, errors and progress on stderr."""

import sys
import warnings

from rich.console import Console

out = Console()
err = Console(stderr=True)


def fail(message: str) -> None:
    """Print one line that says what was wrong."""
    err.print("[bold red]error:[/] ", end="")
    err.print(" ".join(message.split()), markup=False, highlight=False, soft_wrap=True)


def warn(message: str) -> None:
    """Print one line that says what was noticed."""
    err.print("[bold yellow]warning:[/] ", end="")
    err.print(" ".join(message.split()), markup=False, highlight=False, soft_wrap=True)


def show_warnings_as_lines() -> None:
    """Make `warnings.warn` print like `warn`, with no file name or source line."""

    def show(message: Warning | str, *_: object, **__: object) -> None:
        warn(str(message))

    warnings.showwarning = show
    if not sys.warnoptions:
        warnings.simplefilter("default")


def note(message: str) -> None:
    """Print a line for people on stderr, as it is."""
    err.print(message, markup=False, highlight=False, soft_wrap=True)


def printable(text: str) -> str:
    """Return the text without characters that would steer a terminal; as long as before."""
    return "".join(c if c.isprintable() or c == "\n" else " " if c.isspace() else "\ufffd" for c in text)
