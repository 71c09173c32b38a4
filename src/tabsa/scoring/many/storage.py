"""Where the files of a job lie: in a folder of this machine, or at a URL of an object store (needs pyarrow)."""

import io
import os
import re
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO, Final, NamedTuple

from tabsa.errors import ConfigError, DataError, DataNotFoundError, OutputError, TabsaError
from tabsa.files import reason, replacing
from tabsa.tables.saving import open_locked

_JOURNAL_EVERY: Final = 5.0  # seconds between two writings of a journal that cannot be appended to


class FileEntry(NamedTuple):
    """What tells a file from another, or from itself after a change."""

    bytes: int
    changed: int  # when, in nanoseconds


def is_url(location: object) -> bool:
    """Whether this is a URL rather than a path."""
    return re.match(r"[a-z][a-z0-9+.-]+://", str(location)) is not None


def without_file_scheme(location: str) -> str:
    """The path that a `file://` URL names; anything else as it is."""
    return location.removeprefix("file://") if location.startswith("file:///") else location


def path_of(location: str) -> Path:
    """A file's path for messages, and to know it by its name: of a URL without what is for the store only."""
    return Path(shown(location))


def shown(location: str) -> str:
    """A location for messages."""
    return re.sub(r"(://)[^/@]*@", r"\1", location.partition("?")[0]) if is_url(location) else location


def folder_at(location: str) -> "Folder":
    """The folder at a path or a URL, which need not be there."""
    return UrlFolder(location) if is_url(location) else Folder(location)


def open_file(location: str) -> io.BufferedReader:
    """The file at a path or a URL, to be read."""
    if not is_url(location):
        try:
            return Path(location).open("rb")
        except OSError as e:
            raise DataError(f"cannot read {location}: {reason(e)}") from e
    store, path = _store(location)
    with _told(location, DataError):
        return io.BufferedReader(store.open_input_file(path))


class Folder:
    """A folder of this machine: files by their names, which are relative and have `/` in them."""

    _journal: BinaryIO  # once it is open

    def __init__(self, location: str | Path) -> None:
        self.location = str(location)
        self.path: Path | None = Path(location)

    def _file(self, name: str) -> Path:
        return Path(self.location, name)

    def location_of(self, name: str) -> str:
        """A file's own location, for `open_file`."""
        return str(self._file(name))

    def entries(self) -> dict[str, FileEntry]:
        """All files below; none where there is no such folder."""

        def refuse(error: OSError) -> None:
            raise DataError(f"cannot read {error.filename}: {reason(error)}") from error

        root, found = Path(self.location), {}
        for name, _, files in os.walk(root, onerror=refuse) if root.exists() else ():
            for path in (Path(name, file) for file in files):
                if path.is_file():
                    status = path.stat()
                    found[path.relative_to(root).as_posix()] = FileEntry(status.st_size, status.st_mtime_ns)
        return found

    def read(self, name: str) -> bytes:
        """All of a file."""
        with _told(self.location_of(name), OutputError):
            return self._file(name).read_bytes()

    def write(self, name: str, content: bytes) -> None:
        """Write a file, all of it or nothing."""
        with replacing(self._file(name), "wb") as stream:
            stream.write(content)

    def remove(self, name: str) -> None:
        """Remove a file, if there is one."""
        with _told(self.location_of(name), OutputError):
            self._file(name).unlink(missing_ok=True)

    def open_journal(self, name: str) -> None:
        """Have a file that lines are added to; refused where another run does. What a kill left of one is cut off."""
        with _told(self.location, OutputError):
            self._file(name).parent.mkdir(parents=True, exist_ok=True)
            self._journal = open_locked(self._file(name), Path(self.location))
            self._journal.truncate(self._file(name).read_bytes().rfind(b"\n") + 1)

    def append(self, line: bytes) -> None:
        """Add a line to the journal; it outlives this process, of an object store's after some seconds."""
        with _told(self.location, OutputError):
            self._journal.write(line)
            self._journal.flush()
            os.fsync(self._journal.fileno())

    def clear_journal(self) -> None:
        """Forget all its lines."""
        self._journal.truncate(0)

    def close_journal(self) -> None:
        """All its lines are kept now."""
        self._journal.close()


class UrlFolder(Folder):
    """A folder of an object store, such as `s3://bucket/folder`, by pyarrow's file systems."""

    def __init__(self, url: str) -> None:
        self.location, self.path = url, None
        self._base, _, self._query = url.partition("?")
        self._store, root = _store(url)
        self._root = root.rstrip("/")
        self._lines, self._write_lines, self._written = bytearray(), partial(self.write, ""), 0.0

    def location_of(self, name: str) -> str:
        """See `Folder`."""
        return f"{self._base.rstrip('/')}/{name}" + (f"?{self._query}" if self._query else "")

    def entries(self) -> dict[str, FileEntry]:
        """See `Folder`."""
        from pyarrow.fs import FileSelector, FileType

        with _told(self.location, DataError):
            infos = self._store.get_file_info(FileSelector(self._root, recursive=True, allow_not_found=True))
        return {
            info.path[len(self._root) + 1 :]: FileEntry(info.size, info.mtime_ns or 0)
            for info in infos
            if info.type == FileType.File
        }

    def entry(self, name: str) -> FileEntry | None:
        """One file, if there is one."""
        from pyarrow.fs import FileType

        with _told(self.location_of(name), DataError):
            info = self._store.get_file_info(f"{self._root}/{name}")
        return FileEntry(info.size, info.mtime_ns or 0) if info.type == FileType.File else None

    def read(self, name: str) -> bytes:
        """See `Folder`."""
        with (
            _told(self.location_of(name), OutputError),
            self._store.open_input_stream(f"{self._root}/{name}", compression=None) as stream,
        ):
            return bytes(stream.read())

    def write(self, name: str, content: bytes) -> None:
        """See `Folder`: an object store shows a file when it is whole."""
        with (
            _told(self.location_of(name), OutputError),
            self._store.open_output_stream(f"{self._root}/{name}", compression=None) as stream,
        ):
            stream.write(content)

    def remove(self, name: str) -> None:
        """See `Folder`."""
        with _told(self.location_of(name), OutputError), suppress(FileNotFoundError):
            self._store.delete_file(f"{self._root}/{name}")

    def open_journal(self, name: str) -> None:
        """See `Folder`: what cannot be appended to is written anew every few seconds."""
        self._lines = bytearray(self.read(name) if self.entry(name) else b"")
        self._write_lines = partial(self.write, name)

    def append(self, line: bytes) -> None:
        """See `Folder`."""
        self._lines += line
        if time.monotonic() - self._written > _JOURNAL_EVERY:
            self.close_journal()

    def clear_journal(self) -> None:
        """See `Folder`."""
        self._lines.clear()

    def close_journal(self) -> None:
        """See `Folder`."""
        self._write_lines(bytes(self._lines))
        self._written = time.monotonic()


def _store(url: str) -> tuple[Any, str]:
    """The store of a URL, and the path in it."""
    try:
        import pyarrow
        from pyarrow.fs import FileSystem
    except ImportError as e:
        raise ConfigError(f"{url} needs pyarrow; install it with `pip install 'tabsa[tables]'`") from e
    try:
        store, path = FileSystem.from_uri(url)
    except (pyarrow.ArrowException, OSError) as e:
        raise ConfigError(f"cannot use {shown(url)}: {_first_line(e)}") from e
    return store, str(path)


@contextmanager
def _told(location: str, kind: type[TabsaError]) -> Iterator[None]:
    """What goes wrong with a file becomes one clear line."""
    try:
        yield
    except FileNotFoundError as e:
        raise DataNotFoundError(f"no file {shown(location)}") from e
    except OSError as e:
        deed = "read" if kind is DataError else "write"
        raise kind(f"cannot {deed} {shown(location)}: {_first_line(e)}") from e


def _first_line(error: Exception) -> str:
    said = reason(error) if isinstance(error, OSError) else str(error)
    return said.strip().splitlines()[0].rstrip(".") if said.strip() else type(error).__name__
