"""The command line, run in this process."""

import io
import sys
import warnings
from collections.abc import Callable
from typing import TypeAlias

import pytest

from tabsa.cli import main

CommandLine: TypeAlias = Callable[..., tuple[int, str, str]]


def tabsa(*arguments: object) -> tuple[int, str, str]:
    """Run `tabsa` with arguments; returns the exit code, stdout and stderr."""
    out, err = (io.TextIOWrapper(io.BytesIO(), "utf-8", newline="", write_through=True) for _ in range(2))
    code = 0
    with pytest.MonkeyPatch.context() as patch, warnings.catch_warnings():  # which `main` shows as lines
        patch.setattr(sys, "argv", ["tabsa", *map(str, arguments)])
        patch.setattr(sys, "stdout", out)
        patch.setattr(sys, "stderr", err)
        try:
            main()
        except SystemExit as end:
            code = int(end.code or 0)
    return code, *(stream.buffer.getvalue().decode() for stream in (out, err))


def refused(*arguments: object) -> str:
    """Run `tabsa`, which must end with 1 and one line on stderr; returns the line."""
    code, out, err = tabsa(*arguments)
    assert (code, out, err.count("\n"), err[:7]) == (1, "", 1, "error: "), err
    return err.removeprefix("error: ").rstrip("\n")
