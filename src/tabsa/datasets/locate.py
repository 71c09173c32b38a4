"""Places where data lies, and what can be fetched from where (`files/catalogue.toml`)."""

import os
import tomllib
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

from tabsa.errors import DataNotFoundError, first_line
from tabsa.files import read_text

ENVIRONMENT: Final = "TABSA_DATA"
DATASET: Final = "dataset"
VECTORS: Final = "word vectors"
RESOURCE: Final = "resource"


def data_folders(data_dir: Path | str | None = None) -> list[Path]:
    """Return where data is looked for, in order, whether or not a folder is there.

    The folder given (which must exist), `$TABSA_DATA`, `../shared/data` (from the current folder), the user's cache.
    """
    given = [] if data_dir is None else [Path(data_dir).expanduser()]
    if given and not given[0].is_dir():
        raise DataNotFoundError(f"the data folder {data_dir} is not there; expected a folder that holds datasets")
    named = os.environ.get(ENVIRONMENT)
    return [*given, *([Path(named).expanduser()] if named else []), Path("../shared/data"), cache_folder()]


def cache_folder() -> Path:
    """Return the user's cache, which `tabsa data fetch` fills; it may not exist yet."""
    named = Path(os.environ.get("XDG_CACHE_HOME", ""))  # the specification has a relative path ignored
    return (named if named.is_absolute() else Path("~/.cache").expanduser()) / "tabsa"


def find(relative: str, data_dir: Path | str | None = None) -> Path:
    """Return the first `relative` (such as "sentihood/sentihood-dev.json") that exists where data is looked for."""
    folders = data_folders(data_dir)
    for folder in folders:
        if exists(folder / relative):
            return folder / relative
    advice = "put a copy of it in one of them"
    for one in catalogue().values():
        if one.fetchable and any(file.path == relative for file in one.files):
            advice = f"get it with `tabsa data fetch {one.name}`"
    raise DataNotFoundError(f"no {relative} in {', '.join(map(str, folders))}; {advice}")


def exists(path: Path) -> bool:
    """Return whether the path can be seen: one behind a closed folder counts as absent, and the next place is tried."""
    try:
        return path.exists()
    except OSError:
        return False


@dataclass(frozen=True, slots=True)
class File:
    """One file below a data folder, its published size and sha256, and its public home, where these are known."""

    path: str
    size: int | None = None
    sha256: str | None = None
    url: str | None = None


@dataclass(frozen=True, slots=True)
class Entry:
    """The content of one `tabsa data fetch NAME`: files, or an `archive` (a zip) that they come out of."""

    name: str
    kind: str
    description: str
    licence: str
    citation: str
    files: tuple[File, ...]
    archive: File | None = None
    datasets: Sequence[str] = ()  # the names that these files load under
    home: str | None = None  # where it is, if it is in no data folder

    @property
    def fetchable(self) -> bool:
        """True where it has a public home that may be downloaded from."""
        return self.archive is not None or (bool(self.files) and all(file.url is not None for file in self.files))


@cache
def catalogue() -> dict[str, Entry]:
    """Return all that is known by name, whether it can be fetched or not."""
    listed = tomllib.loads(read_text(Path(__file__).parent / "files" / "catalogue.toml"))
    entries = {}
    for name, values in listed.items():
        values["files"] = tuple(File(**file) for file in values.get("files", ()))
        values["archive"] = File(**values["archive"]) if "archive" in values else None
        entries[name] = Entry(name, **values)
    return entries


def entry(name: str) -> Entry:
    """Return the entry called `name`, or that the dataset `name` is read from."""
    for one in catalogue().values():
        if name == one.name or name in one.datasets:
            return one
    names = ", ".join(one.name for one in catalogue().values() if one.fetchable)
    raise DataNotFoundError(f"there is nothing called {name!r} to fetch; choose one of {names}")


def fetch(name: str, folder: Path, *, progress: bool = False) -> list[Path]:
    """Download what `name` stands for into `folder`, unless it is there, check its sha256, and return its files."""
    wanted = entry(name)
    paths = [folder / file.path for file in wanted.files]
    if not wanted.fetchable:
        instead = f"put your own copy at {paths[0]}" if paths else f"it is in {wanted.home}"
        raise DataNotFoundError(f"{name} cannot be fetched (licence: {wanted.licence}); {instead}")
    try:
        import pooch
    except ImportError as e:
        raise DataNotFoundError("fetching needs pooch; install it with `pip install 'tabsa[data]'`") from e
    pooch.get_logger().setLevel("ERROR")
    for file in wanted.files if wanted.archive is None else (wanted.archive,):
        files = pooch.create(folder, base_url="", registry={file.path: file.sha256}, urls={file.path: file.url})
        unpack = pooch.Unzip(extract_dir=".") if wanted.archive else None
        try:
            files.fetch(file.path, unpack, pooch.HTTPDownloader(progressbar=progress))
        except (OSError, ValueError, zipfile.BadZipFile) as e:
            raise DataNotFoundError(f"cannot fetch {file.url}: {first_line(e)}") from e
    return paths
