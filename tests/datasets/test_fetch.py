"""Downloads, against a server in this process that misbehaves in every way a real one does."""

import errno
import hashlib
import io
import os
import random
import signal
import socket
import subprocess
import sys
import threading
import time
import zipfile
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tabsa.datasets import fetch as module
from tabsa.datasets.catalogue import RESOURCE, Entry, File
from tabsa.datasets.fetch import fetch
from tabsa.errors import FetchError

CONTENT = random.Random(1).randbytes(300_000)
HALF = len(CONTENT) // 2


class Server(ThreadingHTTPServer):
    """Serves `content` at every path; `plan` says what happens to the coming requests, one item each."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.content = CONTENT
        self.plan: list[Callable[[Handler], None]] = []
        self.ranges: list[str | None] = []
        self.sent = 0
        self.released = threading.Event()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/file"

    def entry(self, **changes: object) -> dict[str, Entry]:
        known = {"size": len(self.content), "sha256": hashlib.sha256(self.content).hexdigest(), "url": self.url}
        return {"it": Entry("it", RESOURCE, "-", "-", "-", (File("folder/file", **(known | changes)),))}


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Server

    def do_GET(self) -> None:
        self.server.ranges.append(self.headers["Range"])
        (self.server.plan.pop(0) if self.server.plan else serve)(self)

    def log_message(self, *_: object) -> None: ...

    @property
    def start(self) -> int:
        return int((self.headers["Range"] or "bytes=0-").removeprefix("bytes=").removesuffix("-"))

    def head(self, status: int, length: int | None, **headers: str) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        if length is not None:
            self.send_header("Content-Length", str(length))
        self.end_headers()

    def body(self, data: bytes) -> None:
        self.server.sent += len(data)  # first, or whoever has it all may count too early
        self.wfile.write(data)


def serve(handler: Handler, limit: int | None = None) -> None:
    """What a good server does; with a limit, the connection is cut after that many bytes."""
    content, start = handler.server.content, handler.start
    if start >= len(content):
        handler.head(416, 0, Content_Range=f"bytes */{len(content)}")
        return
    rest = content[start:]
    if handler.headers["Range"]:
        span = f"bytes {start}-{len(content) - 1}/{len(content)}"
        handler.head(206, len(rest), Content_Range=span)
    else:
        handler.head(200, len(rest))
    handler.body(rest[:limit])
    handler.close_connection = limit is not None or handler.close_connection


def cut(limit: int) -> Callable[[Handler], None]:
    return lambda handler: serve(handler, limit)


def without_ranges(handler: Handler) -> None:
    handler.head(200, len(handler.server.content))
    handler.body(handler.server.content)


def answer(status: int) -> Callable[[Handler], None]:
    return lambda handler: handler.head(status, 0)


def redirect(to: str) -> Callable[[Handler], None]:
    return lambda handler: handler.head(302, 0, Location=to)


def stall(handler: Handler) -> None:
    """Half of the file, and then nothing for a long time."""
    handler.head(200, len(handler.server.content))
    handler.body(handler.server.content[:HALF])
    handler.wfile.flush()
    handler.server.released.wait(30)
    handler.close_connection = True


def without_length(data: bytes) -> Callable[[Handler], None]:
    def act(handler: Handler) -> None:
        handler.head(200, None)
        handler.body(data)
        handler.close_connection = True

    return act


@pytest.fixture
def server() -> Iterator[Server]:
    with Server() as running:
        threading.Thread(target=running.serve_forever, args=(0.02,), daemon=True).start()
        yield running
        running.released.set()
        running.shutdown()


@pytest.fixture(autouse=True)
def no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "BACKOFF_S", 0.0)
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)


def refused(server: Server, folder: Path, catalogue: dict[str, Entry] | None = None) -> str:
    """The one line that the fetch fails with."""
    with pytest.raises(FetchError) as caught:
        fetch("it", folder=folder, catalogue=catalogue or server.entry())
    message = str(caught.value)
    assert "\n" not in message
    return message


def files(folder: Path) -> list[str]:
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())


def test_a_good_file_arrives_and_is_not_fetched_twice(server: Server, tmp_path: Path) -> None:
    seen: list[tuple[str, int, int | None]] = []
    paths = fetch("it", folder=tmp_path, catalogue=server.entry(), progress=lambda *now: seen.append(now))
    assert paths == [tmp_path / "folder" / "file"]
    assert paths[0].read_bytes() == CONTENT
    assert files(tmp_path) == ["folder/file"]
    assert [done for _, done, _ in seen] == sorted(done for _, done, _ in seen)
    assert seen[-1] == ("folder/file", len(CONTENT), len(CONTENT))

    fetch("it", folder=tmp_path, catalogue=server.entry())
    assert server.ranges == [None]


def test_wrong_bytes_are_refused_and_leave_nothing(server: Server, tmp_path: Path) -> None:
    expected = "0" * 64
    got = hashlib.sha256(CONTENT).hexdigest()
    message = refused(server, tmp_path, server.entry(sha256=expected))
    assert expected in message
    assert got in message
    assert files(tmp_path) == []
    assert len(server.ranges) == 1


def test_a_failed_fetch_keeps_the_file_that_is_there(server: Server, tmp_path: Path) -> None:
    path = tmp_path / "folder" / "file"
    path.parent.mkdir()
    path.write_bytes(b"mine")
    refused(server, tmp_path, server.entry(sha256="0" * 64))
    assert path.read_bytes() == b"mine"
    assert files(tmp_path) == ["folder/file"]


def test_a_file_that_differs_is_replaced_by_the_published_one(server: Server, tmp_path: Path) -> None:
    path = tmp_path / "folder" / "file"
    path.parent.mkdir()
    path.write_bytes(bytes(len(CONTENT)))
    fetch("it", folder=tmp_path, catalogue=server.entry())
    assert path.read_bytes() == CONTENT


def test_unchecked_keeps_wrong_bytes_and_says_so(server: Server, tmp_path: Path) -> None:
    catalogue = server.entry(sha256="0" * 64, size=7)
    with pytest.warns(UserWarning, match=f"{hashlib.sha256(CONTENT).hexdigest()}.*expected 0000.*unchecked"):
        (path,) = fetch("it", folder=tmp_path, catalogue=catalogue, unchecked=True)
    assert path.read_bytes() == CONTENT


def test_a_cut_download_is_resumed(server: Server, tmp_path: Path) -> None:
    server.plan = [cut(HALF)]
    (path,) = fetch("it", folder=tmp_path, catalogue=server.entry())
    assert path.read_bytes() == CONTENT
    assert server.ranges == [None, f"bytes={HALF}-"]
    assert server.sent == len(CONTENT)


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(content=st.binary(min_size=1, max_size=200), cuts=st.lists(st.integers(0, 60), max_size=4))
def test_however_it_is_cut_every_byte_comes_once(
    server: Server, tmp_path_factory: pytest.TempPathFactory, content: bytes, cuts: list[int]
) -> None:
    server.content, server.plan, server.sent = content, [cut(limit) for limit in cuts], 0
    (path,) = fetch("it", folder=tmp_path_factory.mktemp("cut"), catalogue=server.entry())
    assert path.read_bytes() == content
    assert server.sent == len(content)


def test_a_server_that_ignores_ranges_starts_anew(server: Server, tmp_path: Path) -> None:
    server.plan = [cut(HALF), without_ranges]
    (path,) = fetch("it", folder=tmp_path, catalogue=server.entry())
    assert path.read_bytes() == CONTENT
    assert server.sent == HALF + len(CONTENT)


def test_a_part_of_another_version_is_noticed_and_fetched_anew(server: Server, tmp_path: Path) -> None:
    part = tmp_path / "folder" / "file.part"
    part.parent.mkdir()
    part.write_bytes(bytes(HALF))
    (path,) = fetch("it", folder=tmp_path, catalogue=server.entry())
    assert path.read_bytes() == CONTENT
    assert server.ranges == [f"bytes={HALF}-", None]
    assert files(tmp_path) == ["folder/file"]


@pytest.mark.parametrize(("extra", "requests"), [(0, 1), (5, 2)], ids=["as long", "longer"])
def test_a_part_that_is_too_long_to_resume_is_fetched_anew(
    server: Server, tmp_path: Path, extra: int, requests: int
) -> None:
    part = tmp_path / "folder" / "file.part"
    part.parent.mkdir()
    part.write_bytes(bytes(len(CONTENT) + extra))
    (path,) = fetch("it", folder=tmp_path, catalogue=server.entry())
    assert path.read_bytes() == CONTENT
    assert len(server.ranges) == requests


def test_a_part_that_is_complete_needs_no_request(server: Server, tmp_path: Path) -> None:
    part = tmp_path / "folder" / "file.part"
    part.parent.mkdir()
    part.write_bytes(CONTENT)
    fetch("it", folder=tmp_path, catalogue=server.entry())
    assert files(tmp_path) == ["folder/file"]
    assert server.ranges == []


def test_a_resumption_elsewhere_than_asked_is_refused(server: Server, tmp_path: Path) -> None:
    def elsewhere(handler: Handler) -> None:
        handler.head(206, HALF, Content_Range=f"bytes 0-{HALF - 1}/{len(CONTENT)}")

    server.plan = [cut(HALF), elsewhere]
    assert "resumed elsewhere" in refused(server, tmp_path)


def test_a_cut_without_a_stated_length_is_noticed(server: Server, tmp_path: Path) -> None:
    server.plan = [without_length(CONTENT[:HALF])]
    (path,) = fetch("it", folder=tmp_path, catalogue=server.entry())
    assert path.read_bytes() == CONTENT
    assert server.ranges == [None, f"bytes={HALF}-"]


def test_a_file_of_another_size_is_refused_before_it_is_downloaded(server: Server, tmp_path: Path) -> None:
    seen: list[int] = []
    with pytest.raises(FetchError, match="has 300,000 bytes, expected 400,000"):
        fetch(
            "it",
            folder=tmp_path,
            catalogue=server.entry(size=400_000),
            progress=lambda _path, done, _total: seen.append(done),
        )
    assert seen == []
    assert files(tmp_path) == []


def test_an_endless_file_is_refused(server: Server, tmp_path: Path) -> None:
    server.plan = [without_length(CONTENT * 2)]
    assert "expected 300,000" in refused(server, tmp_path)
    assert files(tmp_path) == []


def test_what_is_not_there_is_one_line(server: Server, tmp_path: Path) -> None:
    server.plan = [answer(404)]
    assert f"{server.url} answered 404 Not Found" in refused(server, tmp_path)
    assert files(tmp_path) == []
    assert len(server.ranges) == 1


@pytest.mark.parametrize("status", [500, 503, 429])
def test_a_busy_server_is_asked_again(server: Server, tmp_path: Path, status: int) -> None:
    server.plan = [answer(status), answer(status)]
    (path,) = fetch("it", folder=tmp_path, catalogue=server.entry())
    assert path.read_bytes() == CONTENT
    assert len(server.ranges) == 3


def test_a_server_that_stays_busy_is_given_up(server: Server, tmp_path: Path) -> None:
    server.plan = [cut(HALF)] + [answer(500)] * 100
    message = refused(server, tmp_path)
    assert "500 Internal Server Error, 5 times in a row; 150,000 bytes are kept" in message
    assert files(tmp_path) == ["folder/file.part"]
    assert len(server.ranges) == 1 + module.ATTEMPTS


def test_a_silent_server_is_asked_again(server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "TIMEOUT_S", 0.3)
    server.plan = [stall]
    (path,) = fetch("it", folder=tmp_path, catalogue=server.entry())
    assert path.read_bytes() == CONTENT
    assert server.ranges[1] is not None


def test_redirects_are_followed_with_the_range(server: Server, tmp_path: Path) -> None:
    server.plan = [cut(HALF), redirect("/elsewhere")]
    fetch("it", folder=tmp_path, catalogue=server.entry())
    assert server.ranges == [None, f"bytes={HALF}-", f"bytes={HALF}-"]


def test_redirects_without_end_are_one_line(server: Server, tmp_path: Path) -> None:
    server.plan = [redirect("/file")] * 100
    assert "infinite loop" in refused(server, tmp_path)


def test_only_http_is_spoken(server: Server, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("secret")
    assert "unknown url type: file" in refused(server, tmp_path, server.entry(url=secret.as_uri()))
    server.plan = [redirect(secret.as_uri())]
    assert "302" in refused(server, tmp_path)
    server.plan = [redirect("ftp://127.0.0.1/file")]
    assert "unknown url type: ftp" in refused(server, tmp_path)


def test_a_refused_connection_is_one_line(server: Server, tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    message = refused(server, tmp_path, server.entry(url=f"http://127.0.0.1:{port}/file"))
    assert message.startswith(f"cannot reach 127.0.0.1:{port}: Connection refused")


def test_an_unknown_host_is_one_line(server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown(*_: object, **__: object) -> None:
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", unknown)
    message = refused(server, tmp_path, server.entry(url="https://nowhere.invalid/file"))
    assert message.startswith("cannot reach nowhere.invalid: Name or service not known")


def test_a_full_disk_is_one_line_and_keeps_the_part(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(module.os, "fsync", full)
    assert "folder/file: No space left on device" in refused(server, tmp_path)
    assert files(tmp_path) == ["folder/file.part"]


def test_a_folder_that_cannot_be_made_is_one_line(server: Server, tmp_path: Path) -> None:
    (tmp_path / "folder").write_text("a file where a folder is needed")
    assert refused(server, tmp_path).startswith(f"cannot write {tmp_path / 'folder' / 'file'}: ")
    assert server.ranges == []


def test_two_downloads_of_one_file_do_not_mix(server: Server, tmp_path: Path) -> None:
    fcntl = pytest.importorskip("fcntl")
    part = tmp_path / "folder" / "file.part"
    part.parent.mkdir()
    with part.open("ab") as other:
        fcntl.flock(other, fcntl.LOCK_EX)
        assert "another process is downloading" in refused(server, tmp_path)
    fetch("it", folder=tmp_path, catalogue=server.entry())
    assert files(tmp_path) == ["folder/file"]


_KILLED = """
import sys
from pathlib import Path
from tabsa.datasets.catalogue import Entry, File
from tabsa.datasets.fetch import fetch
url, size, sha256, folder = sys.argv[1:]
file = File("folder/file", int(size), sha256, url)
fetch("it", folder=Path(folder), catalogue={"it": Entry("it", "resource", "-", "-", "-", (file,))})
"""


@pytest.mark.skipif(sys.platform == "win32", reason="kills with a POSIX signal")
def test_a_killed_download_leaves_only_its_part_and_is_resumed(server: Server, tmp_path: Path) -> None:
    server.plan = [stall]
    sha256 = hashlib.sha256(CONTENT).hexdigest()
    command = [sys.executable, "-c", _KILLED, server.url, str(len(CONTENT)), sha256, str(tmp_path)]
    process = subprocess.Popen(command, env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)})
    part = tmp_path / "folder" / "file.part"
    deadline = time.monotonic() + 60
    while not (part.is_file() and part.stat().st_size) and time.monotonic() < deadline:
        time.sleep(0.02)
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert files(tmp_path) == ["folder/file.part"]
    have = part.stat().st_size
    assert 0 < have <= HALF

    server.sent = 0
    (path,) = fetch("it", folder=tmp_path, catalogue=server.entry())
    assert path.read_bytes() == CONTENT
    assert server.ranges == [None, f"bytes={have}-"]
    assert server.sent == len(CONTENT) - have


def test_several_files_come_in_the_order_of_the_catalogue(server: Server, tmp_path: Path) -> None:
    sha256 = hashlib.sha256(CONTENT).hexdigest()
    several = tuple(File(f"folder/{name}", len(CONTENT), sha256, server.url) for name in "cab")
    paths = fetch("it", folder=tmp_path, catalogue={"it": Entry("it", RESOURCE, "-", "-", "-", several)})
    assert [path.name for path in paths] == ["c", "a", "b"]


def test_what_has_no_public_home_says_where_to_put_it(tmp_path: Path) -> None:
    with pytest.raises(FetchError, match=r"licence: unclear.*put your own copy at .*senticnet4\.tsv"):
        fetch("senticnet4", folder=tmp_path)


def archive_entry(server: Server, members: dict[str, bytes]) -> dict[str, Entry]:
    """The server's content becomes a zip; the entry wants `tool/a.json` and `tool/b.json` out of it."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as bundle:
        for name, content in members.items():
            bundle.writestr(name, content)
    server.content = stream.getvalue()
    (archive,) = server.entry()["it"].files
    archive = File("tools/tool.zip", archive.size, archive.sha256, archive.url)
    wanted = (File("tools/tool/a.json", 1, hashlib.sha256(b"a").hexdigest()), File("tools/tool/b.json"))
    return {"it": Entry("it", RESOURCE, "-", "-", "-", wanted, archive)}


def test_an_archive_is_unpacked_and_nothing_else_comes_out_of_it(server: Server, tmp_path: Path) -> None:
    members = {"tool/a.json": b"a", "tool/b.json": b"b", "../evil": b"!", "tool/../../evil": b"!", "/evil": b"!"}
    catalogue = archive_entry(server, members)
    paths = fetch("it", folder=tmp_path / "data", catalogue=catalogue)
    assert [path.read_bytes() for path in paths] == [b"a", b"b"]
    assert files(tmp_path) == ["data/tools/tool/a.json", "data/tools/tool/b.json"]

    fetch("it", folder=tmp_path / "data", catalogue=catalogue)
    assert len(server.ranges) == 1

    paths[0].write_bytes(b"x")
    fetch("it", folder=tmp_path / "data", catalogue=catalogue)
    assert paths[0].read_bytes() == b"a"


def test_an_archive_that_lacks_a_file_is_one_line(server: Server, tmp_path: Path) -> None:
    message = refused(server, tmp_path, archive_entry(server, {"tool/a.json": b"a"}))
    assert "tool/b.json" in message
    assert "\n" not in message


def test_an_archive_that_is_no_zip_is_one_line(server: Server, tmp_path: Path) -> None:
    catalogue = archive_entry(server, {})
    archive = File("tools/tool.zip", len(CONTENT), hashlib.sha256(CONTENT).hexdigest(), server.url)
    server.content = CONTENT
    broken = Entry("it", RESOURCE, "-", "-", "-", catalogue["it"].files, archive)
    assert "is not the zip file expected" in refused(server, tmp_path, {"it": broken})
