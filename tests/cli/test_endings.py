"""How commands end: help, full disks, Ctrl-C, and errors with the options that help."""

import os
import re
import shlex
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
import typer

import tabsa
from command_line import CommandLine
from tabsa.cli.commands import HINTS, app, line_of
from tabsa.errors import DataError, TabsaError

FULL = Path("/dev/full")
PREDICT = ["predict", "Camden is nice", "-t", "Camden", "--model", "places"]
SCORE = ["score", "in.csv", "out.csv", "-t", "Camden", "--model", "places"]
COMMANDS: Any = typer.main.get_command(app)
NAMES = [*COMMANDS.commands, "data fetch", "data check"]
# Stands before what a program imports: Ctrl-C comes while that module is imported.
STOPPED = """
import sys

class Stopped:
    def find_spec(self, name, path=None, target=None):
        if name == {module!r}:
            raise KeyboardInterrupt

sys.meta_path.insert(0, Stopped())
sys.argv = ["tabsa", *{arguments!r}]
from tabsa.cli import main
main()
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "in.csv").write_text("text\nCamden is nice\nBrixton is far\n")
    return tmp_path


# ---- help


@pytest.mark.parametrize("name", NAMES)
def test_the_help_has_examples_that_can_be_run(command_line: CommandLine, name: str) -> None:
    code, stdout, stderr = command_line(*name.split(), "--help")
    assert (code, stderr) == (0, "")
    command = COMMANDS
    for part in name.split():
        command = command.commands[part]
    examples = re.findall(r"`[^`]*\btabsa ([^`]+)`", command.help[command.help.index("Example") :])
    assert examples
    assert all(example.startswith(name) for example in examples)
    assert f"tabsa {examples[0][:20]}" in " ".join(stdout.split())
    for example in examples:
        command.make_context(name, shlex.split(example.removeprefix(name)))  # wrong usage is an exception


def test_wrong_usage_is_2(command_line: CommandLine) -> None:
    for arguments in (["nonsense"], ["evaluate"], ["evaluate", "p", "--bootstrap", "-1"], ["data", "fetch"]):
        code, stdout, stderr = command_line(*arguments)
        assert (code, stdout, "Usage" in stderr) == (2, "", True)


# ---- errors


def test_a_hint_is_for_an_error_that_there_is() -> None:
    sources = sorted(Path(tabsa.__file__).parent.rglob("*.py"))
    codes = {code for path in sources for code in re.findall(r'code="(\w+)"', path.read_text("utf-8"))}
    assert codes >= HINTS.keys()


def test_a_hint_goes_behind_the_message() -> None:
    exists = TabsaError("it is there", code="output_exists")
    assert line_of(exists) == "it is there; replace it with --overwrite, or choose another name"
    assert line_of(DataError("it is wrong")) == "it is wrong"


# ---- a full disk, and Ctrl-C


def run(folder: Path, *command: str, out: Path | None = None) -> tuple[int, str]:
    """Run Python in a process of its own; returns the exit code and what is on stderr."""
    with (out or Path(os.devnull)).open("wb") as stdout:
        done = subprocess.run([sys.executable, *command], cwd=folder, stdout=stdout, stderr=subprocess.PIPE)
    return done.returncode, done.stderr.decode()


@pytest.mark.skipif(not FULL.exists(), reason="needs /dev/full")
@pytest.mark.parametrize("arguments", [PREDICT, [*PREDICT, "--json"], [*SCORE[:2], "-", *SCORE[3:]], ["--help"]])
def test_standard_output_on_a_full_disk_is_one_line(folder: Path, arguments: list[str]) -> None:
    ended = run(folder, "-m", "tabsa", *arguments, out=FULL)
    assert ended == (1, "error: cannot write to standard output: No space left on device\n")


@pytest.mark.parametrize("module", ["typer", "numpy"])
def test_stopped_while_a_module_is_imported(folder: Path, module: str) -> None:
    program = STOPPED.format(module=module, arguments=PREDICT)
    assert run(folder, "-c", program) == (130, "error: interrupted\n")


def test_a_stopped_run_can_go_on_until_it_succeeds(
    command_line: CommandLine, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.chdir(folder)
    import_module("tabsa.scoring.folders")  # which would keep what is patched, were it first imported meanwhile
    with monkeypatch.context() as patch:
        patch.setattr("tabsa.scoring.single.score_table", interrupted)
        code, _, stderr = command_line(*SCORE)
    assert (code, stderr.splitlines()[0]) == (130, "warning: stopped; the same command with --resume goes on from here")
    assert command_line(*SCORE, "--resume")[0] == 0
    before = (folder / "out.csv").read_bytes()
    assert command_line(*SCORE, "--resume") == (0, "", "out.csv is finished, and there is nothing to resume\n")
    assert (folder / "out.csv").read_bytes() == before
    assert command_line(*SCORE)[2].startswith("error: out.csv exists")
