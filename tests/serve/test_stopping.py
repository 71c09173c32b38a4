"""A stop, a kill, and what is left behind: real processes."""

import asyncio
import json
import multiprocessing
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from urllib.parse import urlsplit

import pytest

from tabsa.inference.predictor import Predictor
from tabsa.serve import supervisor
from tabsa.serve.folders import own_folder, service_folder, sweep

pytestmark = pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="reads /proc")
LONGEST = 20.0
NAMES = ["Camden", "Leeds"]
TEXTS = [f"Camden is {word} but Leeds not" for word in ("nice", "dear", "far", "safe")]


def place(service: Any) -> tuple[str, int]:
    parts = urlsplit(service.address)
    return str(parts.hostname), int(parts.port or 0)


def request(text: str, more: str = "") -> bytes:
    content = json.dumps({"text": text, "targets": NAMES}).encode()
    head = f"POST /v1/predict HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n{more}"
    return f"{head}Content-Length: {len(content)}\r\n\r\n".encode() + content


async def answer(reader: asyncio.StreamReader) -> tuple[int, bool, Any]:
    """The status, whether the connection stays, and the content."""
    head = (await reader.readuntil(b"\r\n\r\n")).lower()
    size = int(head.split(b"content-length: ")[1].split(b"\r\n")[0])
    content = json.loads(await reader.readexactly(size))
    return int(head.split()[1]), b"connection: close" not in head, content


def until(happened: Callable[[], bool], seconds: float = LONGEST) -> None:
    end = time.monotonic() + seconds
    while not happened():
        assert time.monotonic() < end
        time.sleep(0.05)


def refuses(service: Any) -> bool:
    try:
        socket.create_connection(place(service), timeout=2).close()
    except ConnectionRefusedError:
        return True
    return False


@pytest.mark.parametrize("lasting", [True, False], ids=["connections that last", "a connection each"])
def test_a_stop_loses_no_request(serve: Any, predictor: Predictor, lasting: bool) -> None:
    """Twelve clients of two workers ask on and on; after SIGTERM each is either answered or refused at once."""
    service = serve("--workers", "2", ready=2)
    right = [predictor.predict(text, NAMES).to_dict()["opinions"] for text in TEXTS]
    lost: list[str] = []
    answered = [0] * 12

    async def client(number: int) -> None:
        stays, reader, writer = False, None, None
        for turn in range(1_000_000):
            if not stays:
                try:
                    reader, writer = await asyncio.open_connection(*place(service))
                except ConnectionRefusedError:
                    return
            try:
                writer.write(request(TEXTS[turn % 4], "" if lasting else "Connection: close\r\n"))
                status, stays, content = await answer(reader)
            except (ConnectionError, asyncio.IncompleteReadError) as e:
                lost.append(f"client {number}, request {turn}: {e!r}")
                return
            assert (status, content["opinions"]) == (200, right[turn % 4])
            answered[number] += 1
            if not stays:
                writer.close()

    async def load() -> None:
        async with asyncio.TaskGroup() as group:
            for number in range(12):
                group.create_task(client(number))
            await asyncio.sleep(0.8)
            service.process.send_signal(signal.SIGTERM)

    asyncio.run(load())
    assert service.process.wait(LONGEST) == 0
    assert lost == []
    assert min(answered) > 1


def test_new_connections_are_refused_while_the_old_are_answered(serve: Any, predictor: Predictor) -> None:
    """Clients that send slowly hold both workers up when the stop comes."""
    service = serve("--workers", "2", ready=2)
    sent = request(TEXTS[0])

    async def slow() -> list[tuple[int, bool, Any]]:
        wires = [await asyncio.open_connection(*place(service)) for _ in range(12)]
        for _, writer in wires:
            writer.write(sent[:-10])
        await asyncio.sleep(0.5)
        service.process.send_signal(signal.SIGTERM)
        await asyncio.to_thread(until, lambda: refuses(service), 3)
        for _, writer in wires:
            writer.write(sent[-10:])
        return [await answer(reader) for reader, _ in wires]

    expected = predictor.predict(TEXTS[0], NAMES).to_dict()["opinions"]
    for status, stays, content in asyncio.run(slow()):
        assert (status, stays, content["opinions"]) == (200, False, expected)
    assert service.process.wait(LONGEST) == 0


def test_workers_go_with_their_parent(serve: Any) -> None:
    service = serve("--workers", "2", ready=2)
    workers = service.workers()
    with socket.create_connection(place(service), timeout=LONGEST) as connection:
        sent = request(TEXTS[0])
        connection.sendall(sent[:-10])
        time.sleep(0.3)
        service.process.kill()
        until(lambda: refuses(service))  # the port is free
        connection.sendall(sent[-10:])
        assert connection.recv(12) == b"HTTP/1.1 200"  # and what they had is answered
    until(lambda: not any(is_running(worker) for worker in workers))


def is_running(process: int) -> bool:
    with suppress(OSError):
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    return False


def test_a_stop_ends_in_time_whatever_clients_do(serve: Any) -> None:
    service = serve("--workers", "2", "--set", "shutdown_seconds=1", ready=2)
    with socket.create_connection(place(service), timeout=LONGEST) as connection:
        connection.sendall(request(TEXTS[0])[:-10])
        time.sleep(0.3)
        service.process.send_signal(signal.SIGTERM)
        assert service.process.wait(LONGEST) == 0


def test_uploads_of_a_killed_worker_are_removed(serve: Any, tmp_path: Path) -> None:
    service = serve("--workers", "2", "--set", f"folder={tmp_path}", ready=2)
    form = b'--b\r\nContent-Disposition: form-data; name="file"; filename="a.csv"\r\n\r\ntext\n'
    head = b"POST /v1/score HTTP/1.1\r\nHost: localhost\r\nContent-Type: multipart/form-data; boundary=b\r\n"
    with socket.create_connection(place(service), timeout=LONGEST) as connection:
        connection.sendall(head + b"Content-Length: 5000\r\n\r\n" + form)
        until(lambda: bool(list(tmp_path.glob("uploads/*/*/"))))
        (left,) = [path.parent for path in tmp_path.glob("uploads/*/*/")]
        time.sleep(2.1)  # a lock that is younger may not be held yet
        killed = next(worker for worker in service.workers() if holds(worker, left))
        os.kill(killed, signal.SIGKILL)
        until(lambda: sum("startup complete" in line for line in service.log) >= 3)
        until(lambda: not left.exists())
    assert len(list(tmp_path.glob("uploads/*/"))) == 2
    service.process.send_signal(signal.SIGTERM)
    service.process.wait(LONGEST)
    assert list(tmp_path.glob("uploads/*")) == []
    assert list(tmp_path.glob("tabsa-*")) == []


def holds(process: int, folder: Path) -> bool:
    opened = [path.readlink() for path in Path(f"/proc/{process}/fd").iterdir() if path.is_file()]
    return folder / ".lock" in opened


def test_the_folder_of_a_killed_service_is_removed_by_the_next(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    program = (
        "import sys, time\nfrom tabsa.serve.folders import service_folder\n"
        f"with service_folder({str(tmp_path)!r}) as folder:\n    print(folder, flush=True)\n    time.sleep(60)\n"
    )
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True) as other:
        assert other.stdout is not None
        folder = Path(other.stdout.readline().strip())
        os.utime(folder / ".lock", (0, 0))
        (tmp_path / "tabsa-notes").mkdir()  # somebody's own
        sweep(tmp_path, "tabsa-")
        assert folder.exists()  # it is in use
        other.kill()
    with service_folder(None) as mine:
        assert mine.stat().st_mode & 0o777 == 0o700
        assert sorted(tmp_path.iterdir()) == sorted([mine, tmp_path / "tabsa-notes"])
    assert not mine.exists()


def test_a_link_is_not_followed_when_sweeping(tmp_path: Path) -> None:
    with own_folder("elsewhere-", tmp_path) as elsewhere:
        (tmp_path / "place").mkdir()
        (tmp_path / "place" / "tabsa-link").symlink_to(elsewhere)
        os.utime(elsewhere / ".lock", (0, 0))
        sweep(tmp_path / "place")
        assert elsewhere.exists()


def test_a_worker_that_gives_no_sign_of_life_is_not_well(monkeypatch: Any) -> None:
    process, (ours, theirs) = SimpleNamespace(is_alive=lambda: True), multiprocessing.Pipe(duplex=False)
    worker = supervisor._Worker.__new__(supervisor._Worker)
    worker.process, worker._beats, worker._heard = process, ours, time.monotonic() - 100
    assert not worker.is_well()
    theirs.send_bytes(b".")
    assert worker.is_well()
    monkeypatch.setattr(supervisor, "_HUNG_SECONDS", 0)
    assert not worker.is_well()
    monkeypatch.setattr(supervisor, "_HUNG_SECONDS", 60)
    process.is_alive = lambda: False
    assert not worker.is_well()
