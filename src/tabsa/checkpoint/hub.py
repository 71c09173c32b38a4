"""Model folders of the Hugging Face hub by name: `hub:OWNER/NAME`, with `@REVISION` and `#sha256=HEX` to pin one.

`huggingface_hub` downloads, so `HF_TOKEN`, `HF_ENDPOINT` and `HF_HUB_OFFLINE` mean what they always do. Only the
files that a model folder has are downloaded, and all are compared with its `checksums.json` before any is read.
"""

import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from tabsa import __version__
from tabsa.checkpoint.checksums import CHECKSUMS, read_checksums
from tabsa.checkpoint.model_folder import ANSWERING, ModelFolder, read_folder
from tabsa.errors import ModelError, first_line

PREFIX: Final = "hub:"
BESIDE: Final = ("README.md", "metrics.json", "reliability.svg")  # files that no answer comes from
_NAME: Final = re.compile(
    r"hub:(?P<repo>[A-Za-z0-9][\w.-]*/[A-Za-z0-9_][\w.-]*)(@(?P<revision>[^@#\s]+))?(#sha256=(?P<sha256>[0-9a-fA-F]{64}))?",
    re.ASCII,
)


@dataclass(frozen=True)
class HubName:
    """A model on the hub; without a revision it is the newest, and without a SHA-256 whatever is there."""

    repo: str
    revision: str | None = None
    sha256: str | None = None

    def __str__(self) -> str:
        revision = f"@{self.revision}" if self.revision else ""
        return f"{PREFIX}{self.repo}{revision}" + (f"#sha256={self.sha256}" if self.sha256 else "")


def is_hub_name(name: str | Path | None) -> bool:
    """Tell whether a name is that of a model on the hub."""
    return isinstance(name, str) and name.startswith(PREFIX)


def hub_name(text: str) -> HubName:
    """Parse a name on the hub."""
    found = _NAME.fullmatch(text)
    if found is None:
        raise ModelError(f"'{text}' names no model; expected hub:OWNER/NAME, hub:OWNER/NAME@REVISION or ...#sha256=HEX")
    sha256 = found["sha256"]
    return HubName(found["repo"], found["revision"], sha256.lower() if sha256 else None)


def pinned_name(name: str) -> str:
    """Return a name that stays the same model: one on the hub with its SHA-256, any other as it is."""
    if not is_hub_name(name):
        return name
    wanted = hub_name(name)
    return str(replace(wanted, sha256=hub_folder(wanted).sha256))


def hub_folder(name: HubName) -> ModelFolder:
    """Download a model folder where that is needed, compare each of its files with its checksum, and open it."""
    from tabsa.datasets.locate import cache_folder

    what = f"{PREFIX}{name.repo}"
    place = cache_folder() / "hub" / "--".join((*name.repo.split("/"), (name.revision or "main").replace("/", "-")))
    with hub_errors(what, name.revision):
        from huggingface_hub import snapshot_download

        snapshot_download(
            name.repo,
            revision=name.revision,
            local_dir=place,
            allow_patterns=[*ANSWERING, CHECKSUMS, *BESIDE],
            library_name="tabsa",
            library_version=__version__,
        )
    listed = read_checksums(place)
    if listed is None or "config.json" not in listed:
        raise ModelError(f"{what} has no whole {CHECKSUMS}, so it is no model folder that can be checked")
    if strange := [file for file in listed if file not in ANSWERING]:
        raise ModelError(f"{what}: {CHECKSUMS} names {strange[0][:60]!r}, which no model folder has")
    for file in set(ANSWERING) - set(listed):
        (place / file).unlink(missing_ok=True)  # of an earlier version
    folder = read_folder(place)
    for file in listed:
        if not folder.files.checked(file).is_file():
            raise ModelError(f"{what} has no {file}, so it is no whole model folder")
    if name.sha256 and folder.sha256 != name.sha256:
        raise ModelError(f"the files of {what} have the SHA-256 {folder.sha256}, not {name.sha256}")
    return folder


@contextmanager
def hub_errors(what: str, revision: str | None = None) -> Iterator[None]:
    """Turn errors of `huggingface_hub` into one line, and show its bars on a terminal only."""
    try:
        from huggingface_hub import errors
        from huggingface_hub.utils.tqdm import disable_progress_bars, enable_progress_bars
    except ImportError as e:
        raise ModelError(f"'{what}' is on the hub, which needs huggingface_hub: pip install 'tabsa[hub]'") from e
    if quiet := not sys.stderr.isatty():
        disable_progress_bars()
    try:
        yield
    except errors.RevisionNotFoundError as e:
        raise ModelError(f"{what} has no revision '{revision or 'main'}'") from e
    except errors.RepositoryNotFoundError as e:
        why = "or it is private or gated: ask on its page, then log in (`hf auth login`, or HF_TOKEN)"
        raise ModelError(f"there is no {what}, {why}") from e
    except errors.LocalEntryNotFoundError as e:
        raise ModelError(f"{what} is not in the cache, and the hub does not answer ({first_line(e)})") from e
    except Exception as e:  # of several libraries that it may be built on
        raise ModelError(f"the hub does not take or give {what}: {first_line(e)}") from e
    finally:
        if quiet:
            enable_progress_bars()
