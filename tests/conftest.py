"""Shared fixtures."""

import os
from pathlib import Path

import pytest

_REPOSITORY = Path(__file__).parents[1]


@pytest.fixture
def data_dir() -> Path:
    """Where the real datasets lie; skips, saying how to get them, where they do not."""
    folders = [Path(os.environ["TABSA_DATA"])] if "TABSA_DATA" in os.environ else []
    folders.append(_REPOSITORY.parent / "shared" / "data")
    for folder in folders:
        if (folder / "sentihood" / "sentihood-train.json").is_file():
            return folder
    pytest.skip("needs real data: run `tabsa data fetch sentihood` or set TABSA_DATA")
