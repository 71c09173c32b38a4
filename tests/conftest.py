"""Shared fixtures."""

import os
from collections.abc import Iterator
from pathlib import Path

# Before a library starts threads: pytest's workers share the cores, and the problems are small.
os.environ.setdefault("OMP_NUM_THREADS", "1")

import pytest
from hypothesis import HealthCheck, settings

from command_line import CommandLine, tabsa
from tabsa.cli import console

_REPOSITORY = Path(__file__).parents[1]
# How long an example takes is the machine's affair.
settings.register_profile("tests", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("tests")


def pytest_make_parametrize_id(val: object, argname: str) -> str | None:
    """Bytes are called by their argument: packed ones hold the time, and pytest's workers must agree on names."""
    return argname if isinstance(val, bytes) else None


@pytest.fixture(scope="session", autouse=True)
def eighty_columns() -> Iterator[None]:
    """What commands print does not depend on the terminal that the tests are started in."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("COLUMNS", "80")  # for other processes, and for consoles that are made later
        for printer in (console.out, console.err):
            patch.setattr(printer, "width", 80)
        yield


@pytest.fixture
def command_line() -> CommandLine:
    """Runs `tabsa` with arguments; gives the exit code, stdout and stderr."""
    return tabsa


@pytest.fixture
def data_dir() -> Path:
    """Where the real datasets lie; skips, saying how to get them, where they do not."""
    folders = [Path(os.environ["TABSA_DATA"])] if "TABSA_DATA" in os.environ else []
    folders.append(_REPOSITORY.parent / "shared" / "data")
    for folder in folders:
        if (folder / "sentihood" / "sentihood-train.json").is_file():
            return folder
    pytest.skip("needs real data: run `tabsa data fetch sentihood` or set TABSA_DATA")


@pytest.fixture(scope="session")
def tiny_model(tmp_path_factory) -> Path:
    """A Delayed EntNet folder with random weights of a few dimensions, ready to predict: shapes, not sense."""
    from tiny_folder import write_tiny

    return write_tiny(tmp_path_factory.mktemp("models") / "tiny")
