"""Where data lies: the one place that knows."""

import os
import sys
from contextlib import suppress
from pathlib import Path

from tabsa.datasets.catalogue import CATALOGUE
from tabsa.errors import DataError, DataNotFoundError

ENVIRONMENT = "TABSA_DATA"
_SIBLING = Path("../shared/data")


def data_folders(data_dir: Path | str | None = None) -> list[Path]:
    """Where data is looked for, in order, whether or not a folder is there.

    The folder given (which must exist), `$TABSA_DATA`, `../shared/data` (from the current folder), the user's cache.
    """
    folders = []
    if data_dir is not None:
        folders.append(_existing(Path(data_dir)))
    if named := os.environ.get(ENVIRONMENT):
        folders.append(expanded(Path(named)))
    folders.append(_SIBLING)
    with suppress(DataError):  # without a home folder there are still the other places
        folders.append(cache_folder())
    return folders


def cache_folder() -> Path:
    """The user's cache, which `tabsa data fetch` fills; it may not exist yet."""
    if sys.platform == "win32":
        base = Path(os.environ.get("LOCALAPPDATA") or _home() / "AppData" / "Local")
    elif sys.platform == "darwin":
        base = _home() / "Library" / "Caches"
    else:
        named = Path(os.environ.get("XDG_CACHE_HOME", ""))
        # The XDG specification has a relative path ignored.
        base = named if named.is_absolute() else _home() / ".cache"
    return base / "tabsa"


def find(relative: str, data_dir: Path | str | None = None) -> Path:
    """The first `relative` (such as "sentihood/sentihood-dev.json") that exists where data is looked for."""
    folders = data_folders(data_dir)
    for folder in folders:
        if exists(folder / relative):
            return folder / relative
    places = ", ".join(str(folder) for folder in folders)
    raise DataNotFoundError(f"no {relative} in {places}; {_how_to_get(relative)}")


def _how_to_get(relative: str) -> str:
    for entry in CATALOGUE.values():
        if entry.fetchable and any(file.path == relative for file in entry.files):
            return f"get it with `tabsa data fetch {entry.name}`"
    return "put a copy of it in one of them"


def _existing(data_dir: Path) -> Path:
    folder = expanded(data_dir)
    if not exists(folder):
        raise DataNotFoundError(f"the data folder {data_dir} does not exist; expected a folder that holds datasets")
    if not folder.is_dir():
        raise DataNotFoundError(f"the data folder {data_dir} is a file; expected a folder that holds datasets")
    return folder


def exists(path: Path) -> bool:
    """Whether the path can be seen: one behind a closed folder counts as absent, and the next place is tried."""
    try:
        return path.exists()
    except OSError:
        return False


def expanded(path: Path) -> Path:
    """The path with `~` written out, where there is such a user."""
    with suppress(RuntimeError):
        return path.expanduser()
    return path


def _home() -> Path:
    try:
        return Path.home()
    except RuntimeError as e:
        raise DataError(f"cannot tell where your home folder is; set HOME or {ENVIRONMENT}") from e
