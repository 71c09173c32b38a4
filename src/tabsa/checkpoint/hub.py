"""Model folders of the Hugging Face hub, by name: `hub:OWNER/NAME`, `hub:OWNER/NAME@REVISION`, `...#sha256=HEX`.

`huggingface_hub` downloads into its own cache, so what other tools put there is found and `HF_HUB_OFFLINE`, `HF_TOKEN`
and `HF_ENDPOINT` mean what they always do. Of a repository only the files that a model folder has are asked for. What
was downloaded becomes a folder of its own in the user's cache, whole and compared with its `checksums.json`, before
anything is read: half a download is never a model. Nothing here is imported, and nobody asked, without such a name.
"""

import os
import re
import secrets
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from tabsa import __version__
from tabsa.checkpoint.checksums import CHECKSUMS, FolderFiles, read_checksums
from tabsa.checkpoint.model_folder import ANSWERING, ModelFolder, read_folder
from tabsa.datasets.locate import cache_folder
from tabsa.errors import ModelError, OutputError, first_line
from tabsa.files import reason

PREFIX: Final = "hub:"
BESIDE: Final = ("README.md", "metrics.json", "reliability.svg")  # files that no answer comes from
_NAME: Final = re.compile(
    r"hub:(?P<repo>[A-Za-z0-9][\w.-]*/[A-Za-z0-9_][\w.-]*)(@(?P<revision>[^@#\s]+))?(#sha256=(?P<sha256>[0-9a-fA-F]{64}))?",
    re.ASCII,
)
_COMMIT: Final = re.compile(r"[0-9a-f]{40}")


@dataclass(frozen=True)
class HubName:
    """A model on the hub; without a revision it is the newest, and without a SHA-256 whatever is there."""

    repo: str
    revision: str | None = None
    sha256: str | None = None

    def __str__(self) -> str:
        revision = f"@{self.revision}" if self.revision else ""
        return f"{PREFIX}{self.repo}{revision}" + (f"#sha256={self.sha256}" if self.sha256 else "")


@dataclass(frozen=True, kw_only=True)
class HubAccess:
    """How the hub is asked; unless told, as `huggingface_hub` would."""

    token: str | bool | None = None  # True: the one that was saved; False: none
    cache_dir: Path | str | None = None  # of `huggingface_hub`
    local_files_only: bool = False  # ask nobody
    force_download: bool = False  # even what is there already


def is_hub_name(name: str | Path | None) -> bool:
    """Whether a name is that of a model on the hub."""
    return isinstance(name, str) and name.startswith(PREFIX)


def hub_name(text: str) -> HubName:
    """The parts of a name on the hub; a one-line ModelError where it is none."""
    found = _NAME.fullmatch(text)
    if found is None:
        raise ModelError(f"'{text}' names no model; expected hub:OWNER/NAME, hub:OWNER/NAME@REVISION or ...#sha256=HEX")
    sha256 = found["sha256"]
    return HubName(found["repo"], found["revision"], sha256.lower() if sha256 else None)


def pinned_name(name: str | None) -> str | None:
    """A name that stays the same model: of one on the hub, its commit of now; any other name as it is.

    For whoever hands a name on to several processes, which might otherwise load two versions.
    """
    if name is None or not is_hub_name(name):
        return name
    wanted = hub_name(name)
    if wanted.revision and _COMMIT.fullmatch(wanted.revision):
        return name
    return str(replace(wanted, revision=hub_folder(wanted).path.parent.name))


def hub_folder(name: HubName, access: HubAccess | None = None) -> ModelFolder:
    """Download a model folder where that is needed, check all of it, and open it.

    Raises:
        ModelError: the hub does not give it, or it is not what its `checksums.json` or the name's SHA-256 say.
    """
    access = access or HubAccess()
    snapshot = _snapshot(name, access)
    owner, _, short = name.repo.partition("/")
    place = cache_folder() / "hub" / f"{owner}--{short}" / snapshot.name / short
    folder = None
    if place.is_dir() and not access.force_download:
        with suppress(ModelError):  # then it is made again
            folder = _whole(place)
    if folder is None:
        _make(name, snapshot, place, anew=access.force_download)
        folder = _whole(place)
    if name.sha256 and folder.sha256 != name.sha256:
        raise ModelError(f"the files of {PREFIX}{name.repo} have the SHA-256 {folder.sha256}, not {name.sha256}")
    return folder


def _snapshot(name: HubName, access: HubAccess) -> Path:
    """Where the hub's cache holds the repository's files at one commit; the folder has the commit's name."""
    try:
        from huggingface_hub import snapshot_download
    except ImportError as e:
        raise ModelError(f"'{name}' is on the hub, which needs huggingface_hub: pip install 'tabsa[hub]'") from e
    with hub_errors(f"{PREFIX}{name.repo}", name.revision):
        found = snapshot_download(
            name.repo,
            revision=name.revision,
            cache_dir=access.cache_dir,
            token=access.token,
            local_files_only=access.local_files_only,
            force_download=access.force_download,
            allow_patterns=[*ANSWERING, CHECKSUMS, *BESIDE],
            library_name="tabsa",
            library_version=__version__,
        )
    if not _COMMIT.fullmatch(Path(found).name):
        raise ModelError(f"the hub does not say which commit {PREFIX}{name.repo} is")
    return Path(found)


def _whole(place: Path) -> ModelFolder:
    """The folder, each of its files compared with its checksum."""
    folder = read_folder(place)
    for file in read_checksums(place) or {}:
        if not folder.files.checked(file).is_file():
            raise ModelError(f"{place} has no {file}; the folder is incomplete")
    return folder


def _make(name: HubName, snapshot: Path, place: Path, *, anew: bool) -> None:
    """Make the folder at `place` of the files in a snapshot, which are links to where the hub's cache keeps them."""
    temporary = place.with_name(f".{place.name}.{secrets.token_hex(4)}.tmp")
    try:
        temporary.mkdir(parents=True)
        _copy(snapshot / CHECKSUMS, temporary / CHECKSUMS, name)
        for file in _listed(temporary, name):
            _copy(snapshot / file, temporary / file, name)
            _compare(temporary, file, name)
        for file in BESIDE:
            if (snapshot / file).is_file():
                _copy(snapshot / file, temporary / file, name)
        _put(temporary, place, anew=anew)
    except OSError as e:
        raise OutputError(f"cannot keep {PREFIX}{name.repo} at {place}: {reason(e)}") from e
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def _put(temporary: Path, place: Path, *, anew: bool) -> None:
    """Give the folder its name; where another process did the same meanwhile, its folder stays."""
    if not anew:
        try:
            temporary.rename(place)
            return
        except OSError:
            if not place.is_dir():
                raise
        with suppress(ModelError):
            _whole(place)
            return
    shutil.rmtree(place, ignore_errors=True)
    temporary.rename(place)


def _listed(folder: Path, name: HubName) -> list[str]:
    """The files that `checksums.json` names, which are a model folder's and no others."""
    listed = list(read_checksums(folder) or {})
    if strange := [file for file in listed if file not in ANSWERING]:
        raise ModelError(f"{PREFIX}{name.repo}: {CHECKSUMS} names {strange[0][:60]!r}, which no model folder has")
    if "config.json" not in listed:
        raise ModelError(f"{PREFIX}{name.repo}: {CHECKSUMS} does not name config.json")
    return listed


def _copy(source: Path, target: Path, name: HubName) -> None:
    """The file under another name, on the same disk without a second copy."""
    if not source.is_file():
        hint = "; `save_pretrained` or `push_to_hub` write one" if source.name == CHECKSUMS else ""
        raise ModelError(f"{PREFIX}{name.repo} has no {source.name}, so it is no whole model folder{hint}")
    real = source.resolve()
    try:
        os.link(real, target)
    except OSError:
        shutil.copyfile(real, target)


def _compare(folder: Path, file: str, name: HubName) -> None:
    try:
        FolderFiles(folder).checked(file)
    except ModelError as e:
        raise ModelError(
            f"{PREFIX}{name.repo}: {file} is not what {CHECKSUMS} says: damaged on its way, or changed by someone; "
            f"download it again (force_download=True), and load it from elsewhere if that does not help"
        ) from e


@contextmanager
def hub_errors(what: str, revision: str | None = None) -> Iterator[None]:
    """What `huggingface_hub` raises becomes a one-line ModelError; its bars are shown on a terminal only."""
    from huggingface_hub import constants, errors
    from huggingface_hub.utils.tqdm import disable_progress_bars, enable_progress_bars

    silenced = not sys.stderr.isatty() and constants.HF_HUB_DISABLE_PROGRESS_BARS is None  # where the user says nothing
    if silenced:
        disable_progress_bars()
    try:
        yield
    except errors.GatedRepoError as e:
        asked = "its owner lets in who asks on its page; then log in (`hf auth login`, or HF_TOKEN)"
        raise ModelError(f"{what} is gated: {asked}") from e
    except errors.RevisionNotFoundError as e:
        raise ModelError(f"{what} has no revision '{revision or 'main'}'") from e
    except errors.RepositoryNotFoundError as e:
        raise ModelError(
            f"there is no {what} at {constants.ENDPOINT}, or it is private: then log in (`hf auth login`, or HF_TOKEN)"
        ) from e
    except errors.LocalEntryNotFoundError as e:
        raise ModelError(f"{what} is not in the cache, or not all of it, and {_why_unasked(e)}") from e
    except Exception as e:  # of several libraries that it may be built on
        raise ModelError(f"the hub does not take or give {what}: {first_line(e)}") from e
    finally:
        if silenced:
            enable_progress_bars()


def _why_unasked(error: Exception) -> str:
    """Why the hub was not asked, or did not answer."""
    from huggingface_hub import constants
    from huggingface_hub.errors import OfflineModeIsEnabled

    cause: Any = error.__cause__
    if cause is None or isinstance(cause, OfflineModeIsEnabled):
        return "the hub may not be asked (HF_HUB_OFFLINE, or local_files_only)"
    return f"{constants.ENDPOINT} does not answer ({first_line(cause)})"
