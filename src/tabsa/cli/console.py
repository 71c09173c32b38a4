"""What every command prints with: tables for people on stdout, errors and progress on stderr."""

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
