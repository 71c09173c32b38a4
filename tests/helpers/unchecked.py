"""Folders whose files a test changes on purpose, and the line that refuses them."""

from pathlib import Path

import pytest

from tabsa import load
from tabsa.checkpoint.checksums import CHECKSUMS
from tabsa.errors import ModelError

TEXT, TARGETS = "Camden is cheap but not safe.", ["Camden"]


def refused_folder(path: Path) -> str:
    """The one line that asking a model in a folder ends with."""
    with pytest.raises(ModelError) as caught:
        load(path).predict(TEXT, TARGETS)
    message = str(caught.value)
    assert "\n" not in message
    return message


def unchecked(folder: Path) -> Path:
    """The folder without its checksums, as an older version wrote it."""
    (folder / CHECKSUMS).unlink(missing_ok=True)
    return folder
