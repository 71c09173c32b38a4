"""Folders whose files a test changes on purpose."""

from pathlib import Path

from tabsa.checkpoint.checksums import CHECKSUMS


def unchecked(folder: Path) -> Path:
    """The folder without its checksums, as an older version wrote it."""
    (folder / CHECKSUMS).unlink(missing_ok=True)
    return folder
