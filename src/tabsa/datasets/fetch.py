"""Fetch what the catalogue lists: resumed where it was cut, checked, and never half a file under its final name.

A download grows in `NAME.part` beside `NAME`, and takes the name only once its sha256 is the published one.
The standard library does all of this, so the package needs no HTTP dependency.
"""

import os
import time
import warnings
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from http.client import HTTPException, HTTPResponse
from pathlib import Path
from typing import Final, NoReturn, TypeAlias
from urllib import request
from urllib.error import HTTPError, URLError
from urllib.parse import urlsplit

from tabsa.datasets.catalogue import Entry, File, entry
from tabsa.errors import FetchError
from tabsa.files import reason, replacing, sha256

Progress: TypeAlias = Callable[[str, int, int | None], None]
"""Called with a file's path below the data folder, the bytes it has, and the bytes it will have (where known)."""

ATTEMPTS: Final = 5  # in a row that bring no new byte
BACKOFF_S: Final = 0.25  # doubled with each of them
TIMEOUT_S: Final = 30.0  # for the connection, and for each wait for bytes
CHUNK: Final = 1 << 16


def fetch(
    name: str,
    *,
    folder: Path,
    progress: Progress | None = None,
    unchecked: bool = False,
    catalogue: Mapping[str, Entry] | None = None,
) -> list[Path]:
    """Bring what `name` stands for into `folder`; returns its files, in the catalogue's order.

    A file that is already there with the published sha256 is left alone; one that differs is replaced once the
    published one has arrived. With `unchecked`, a download whose sha256 is not the published one is kept, with a
    warning that says what it is. Raises FetchError, with one line, for everything that can go wrong.
    """
    wanted = entry(name, catalogue)
    paths = [folder / file.path for file in wanted.files]
    if not wanted.fetchable:
        places = ", ".join(str(path) for path in paths)
        raise FetchError(f"{name} cannot be fetched (licence: {wanted.licence}); put your own copy at {places}")
    if wanted.archive is None:
        return [_fetch_file(file, folder, progress, unchecked) for file in wanted.files]
    if not all(is_published(path, file) for path, file in zip(paths, wanted.files, strict=True)):
        archive = _fetch_file(wanted.archive, folder, progress, unchecked)
        _unpack(archive, paths)
    return paths


def is_published(path: Path, file: File) -> bool:
    """Whether `path` is there and holds the bytes of the published `file` (any bytes, where nothing is known of it)."""
    try:
        if not path.is_file() or (file.size is not None and path.stat().st_size != file.size):
            return False
        return file.sha256 is None or sha256(path) == file.sha256
    except OSError as e:
        raise FetchError(f"cannot read {path}: {reason(e)}") from e


def _fetch_file(file: File, folder: Path, progress: Progress | None, unchecked: bool) -> Path:
    path = folder / file.path
    if is_published(path, file):
        return path
    part = path.with_name(f"{path.name}.part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with _alone(part):
            try:
                _Download(file, part, progress, unchecked).run()
                part.replace(path)
            finally:
                if _size(part) == 0:
                    part.unlink(missing_ok=True)
    except OSError as e:
        raise FetchError(f"cannot write {path}: {reason(e)}") from e
    return path


@contextmanager
def _alone(part: Path) -> Iterator[None]:
    """Keep a second process from writing the same `.part`, where the system and the disk have locks."""
    try:
        import fcntl
    except ImportError:  # Windows, which refuses to rename a file that another process has open
        yield
        return
    with part.open("ab") as stream:
        try:
            fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as e:
            raise FetchError(f"another process is downloading {part}; wait until it has finished") from e
        except OSError:  # a network disk without locks
            pass
        yield


def _unpack(archive: Path, paths: list[Path]) -> None:
    """Write `paths` out of the zip beside them and remove it; they say where to, so no member can land elsewhere."""
    try:
        with zipfile.ZipFile(archive) as bundle:
            for path in paths:
                content = bundle.read(path.relative_to(archive.parent).as_posix())
                with replacing(path, "wb") as stream:
                    stream.write(content)
        archive.unlink()
    except OSError as e:
        raise FetchError(f"cannot unpack {archive}: {reason(e)}") from e
    except (zipfile.BadZipFile, zlib.error, KeyError, RuntimeError) as e:
        raise FetchError(f"{archive} is not the zip file expected: {e.args[0]}; remove it and try again") from e


class _CutError(Exception):
    """The connection broke or the server was busy: worth another attempt."""


@dataclass(frozen=True, slots=True)
class _Download:
    """The making of one `.part`."""

    file: File
    part: Path
    progress: Progress | None
    unchecked: bool

    def run(self) -> None:
        """Fill the part with the whole published file; raises, with the part gone, where the bytes are other ones."""
        resumed = self.receive()
        if (got := sha256(self.part)) != self.file.sha256 and resumed:
            # Its beginning may be of another version than its end.
            self.part.write_bytes(b"")
            self.receive()
            got = sha256(self.part)
        if got == self.file.sha256:
            return
        what = f"{self.file.url} has the sha256 {got}, expected {self.file.sha256}"
        if not self.unchecked:
            self.refuse(f"{what}: it has changed, or was tampered with")
        warnings.warn(f"{what}: kept unchecked", stacklevel=2)

    def receive(self) -> bool:
        """Bring the part to its full length, however many attempts that takes; returns whether the last resumed it."""
        most = idle = 0
        while True:
            have = _size(self.part)
            if have and have == self.file.size:
                return True
            try:
                return self.attempt(have)
            except _CutError as e:
                have = _size(self.part)
                idle = 0 if have > most else idle + 1
                most = max(most, have)
                if idle == ATTEMPTS:
                    kept = f"; {have:,} bytes are kept, and fetching again resumes" if have else ""
                    raise FetchError(f"{self.file.url}: {e}, {ATTEMPTS} times in a row{kept}") from e
                time.sleep(BACKOFF_S * 2**idle)

    def attempt(self, have: int) -> bool:
        """One request: append where the server resumes at `have`, start anew where it does not; returns which."""
        with self.open(have) as response:
            resumes = response.status == 206
            total = _total(response, have) if resumes else _number(response.headers.get("Content-Length"))
            if total is None and not self.unchecked:
                total = self.file.size
            self.check_size(total)
            done = have if resumes else 0
            with self.part.open("ab" if resumes else "wb") as stream:
                for chunk in _chunks(response):
                    stream.write(chunk)
                    done += len(chunk)
                    if self.file.size is not None and done > self.file.size:
                        self.check_size(done)
                    if self.progress is not None:
                        self.progress(self.file.path, done, total)
                stream.flush()
                os.fsync(stream.fileno())
        if total is not None and done < total:
            raise _CutError("the connection was cut")
        return resumes

    def open(self, have: int) -> HTTPResponse:
        """Ask for the bytes from `have` on."""
        url = str(self.file.url)
        headers = {"User-Agent": "tabsa"} | ({"Range": f"bytes={have}-"} if have else {})
        try:
            # The address is the catalogue's, and the opener knows no scheme but HTTP and HTTPS.
            answer: HTTPResponse = _opener().open(request.Request(url, headers=headers), timeout=TIMEOUT_S)  # noqa: S310
            return answer
        except HTTPError as e:
            e.close()
            if e.code == 416:  # the part is longer than the file
                self.part.write_bytes(b"")
                raise _CutError("the server has no such part of the file") from e
            why = f"{e.code} {' '.join(str(e.reason).split())}"  # of a redirect, the reason has several lines
            if e.code in (408, 429) or e.code >= 500:
                raise _CutError(f"the server answered {why}") from e
            raise FetchError(f"{url} answered {why}; the file may have moved") from e
        except URLError as e:
            if isinstance(e.reason, ConnectionResetError | ConnectionAbortedError):
                raise _CutError("the connection was cut") from e
            why = reason(e.reason) if isinstance(e.reason, OSError) else str(e.reason)
            raise FetchError(f"cannot reach {urlsplit(url).netloc}: {why}; check the network and the proxy") from e
        except TimeoutError as e:
            raise _CutError(f"no answer within {TIMEOUT_S:.0f} seconds") from e
        except (OSError, HTTPException) as e:
            raise _CutError("the connection was cut") from e

    def check_size(self, got: int | None) -> None:
        """Give up early on a file that cannot be the published one, rather than after gigabytes."""
        if got is not None and self.file.size not in (None, got) and not self.unchecked:
            self.refuse(
                f"{self.file.url} has {got:,} bytes, expected {self.file.size:,}: it has changed, "
                "or a login page answers in its place"
            )

    def refuse(self, why: str) -> NoReturn:
        """Drop the part: it cannot become the published file."""
        self.part.unlink(missing_ok=True)
        raise FetchError(why, code="sha256_differs")


def _opener() -> request.OpenerDirector:
    """Speaks HTTP and HTTPS, proxies and redirects included, and nothing else: no file: and no ftp:."""
    opener = request.OpenerDirector()
    for handler in (
        request.ProxyHandler,
        request.UnknownHandler,
        request.HTTPHandler,
        request.HTTPSHandler,
        request.HTTPDefaultErrorHandler,
        request.HTTPRedirectHandler,
        request.HTTPErrorProcessor,
    ):
        opener.add_handler(handler())
    return opener


def _chunks(response: HTTPResponse) -> Iterator[bytes]:
    while True:
        try:
            chunk = response.read(CHUNK)
        except TimeoutError as e:
            raise _CutError(f"no byte came for {TIMEOUT_S:.0f} seconds") from e
        except (OSError, HTTPException) as e:
            raise _CutError("the connection was cut") from e
        if not chunk:
            return
        yield chunk


def _total(response: HTTPResponse, have: int) -> int | None:
    """The whole file's length, from `Content-Range: bytes 5-9/10`."""
    span, _, total = response.headers.get("Content-Range", "").removeprefix("bytes ").partition("/")
    if _number(span.partition("-")[0]) != have:
        raise FetchError(f"{response.url} resumed elsewhere than asked; remove the .part file and try again")
    return _number(total)


def _number(text: str | None) -> int | None:
    return int(text) if text is not None and text.isdecimal() else None


def _size(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0
