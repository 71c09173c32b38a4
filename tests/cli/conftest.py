"""What tests of commands share."""

import sys
from collections.abc import Callable
from typing import TypeAlias

import pytest

from tabsa.cli import main

CommandLine: TypeAlias = Callable[..., tuple[int, str, str]]


@pytest.fixture
def command_line(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> CommandLine:
    """Runs `tabsa` with arguments; gives the exit code, stdout and stderr."""

    def run(*arguments: object) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["tabsa", *map(str, arguments)])
        code = 0
        try:
            main()
        except SystemExit as end:
            code = int(end.code or 0)
        return code, *capsys.readouterr()

    return run
