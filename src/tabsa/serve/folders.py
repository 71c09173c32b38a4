"""Folders that go with whoever uses them, even if it is killed.

A user holds a lock on a file in the folder for as long as it lives; a folder whose lock nobody holds is left behind.
Numbers of processes would not do: in a container the next one has the same.
"""

import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

try:
    import fcntl
except ImportError:  # Windows: nothing is locked, so nothing is swept
    fcntl = None  # type: ignore[assignment]

_PREFIX: Final = "tabsa-"
_LOCK: Final = ".lock"
_YOUNG_SECONDS: Final = 2.0  # between making a lock and holding it


@contextmanager
def service_folder(parent: str | None) -> Iterator[Path]:
    """The folder of a service, in the system's temporary one unless told; what killed services left there goes."""
    place = Path(parent or tempfile.gettempdir())
    place.mkdir(parents=True, exist_ok=True)
    sweep(place, _PREFIX)
    with own_folder(_PREFIX, place) as folder:
        yield folder


@contextmanager
def own_folder(prefix: str, parent: Path | None = None) -> Iterator[Path]:
    """A folder that only this user can read, removed afterwards; of a killed process, by the next `sweep`."""
    folder = Path(tempfile.mkdtemp(prefix=prefix, dir=parent))
    try:
        with hold(folder):
            yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def hold(folder: Path) -> Iterator[None]:
    """Keep a folder from being swept; several processes may."""
    with (folder / _LOCK).open("ab") as lock:
        if fcntl:
            fcntl.flock(lock, fcntl.LOCK_SH)
        yield


def sweep(parent: Path, prefix: str = "") -> None:
    """Remove the folders made by `own_folder` that nobody holds any more."""
    for folder in parent.glob(f"{prefix}*"):
        if fcntl and not folder.is_symlink() and _is_left(folder):
            shutil.rmtree(folder, ignore_errors=True)


def _is_left(folder: Path) -> bool:
    try:
        lock = os.open(folder / _LOCK, os.O_RDWR | os.O_NOFOLLOW)
    except OSError:  # no such folder, or another user's
        return False
    try:
        about = os.fstat(lock)
        if about.st_uid != os.getuid() or time.time() - about.st_mtime < _YOUNG_SECONDS:
            return False
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    else:
        return True
    finally:
        os.close(lock)
