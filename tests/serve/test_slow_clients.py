"""Clients that send or take slowly, or not at all, on the wire: none holds a connection for ever."""

import json
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import httpx2
import pytest

from service_client import body

SECONDS = 1.0  # of patience
LONGEST = 8.0  # until something that should happen counts as not happening
CONTENT = json.dumps(body()).encode()
POST = b"POST /v1/predict HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
GET = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"

Connect = Callable[[], socket.socket]


@pytest.fixture(scope="module")
def hasty(serve_all: Any) -> Any:
    """A service that has little patience."""
    options = [f"--read-timeout={SECONDS}", "--set", f"write_timeout={SECONDS}", "--set", "max_scoring=1"]
    return serve_all(*options)


@pytest.fixture
def connect(hasty: Any) -> Iterator[Connect]:
    """Connections to it."""
    host, port = hasty.address.removeprefix("http://").split(":")
    with ExitStack() as stack:

        def connected() -> socket.socket:
            connection = stack.enter_context(socket.create_connection((host, int(port)), timeout=LONGEST))
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            return connection

        yield connected


def trickle(connection: socket.socket, sent: bytes, size: int, every: float) -> None:
    """Send some bytes at a time, until all are sent, or the service answers or leaves."""
    connection.settimeout(every)
    for start in range(0, len(sent), size):
        try:
            connection.sendall(sent[start : start + size])
            connection.recv(1, socket.MSG_PEEK)
        except TimeoutError:  # nothing came back
            continue
        except ConnectionError:
            pass
        break
    connection.settimeout(LONGEST)


def rest(connection: socket.socket) -> bytes:
    """All that comes until the service closes the connection."""
    received = b""
    try:
        while piece := connection.recv(65536):
            received += piece
    except ConnectionResetError:
        pass
    return received


def answer(connection: socket.socket) -> bytes:
    """One answer, after which the connection stays."""
    received = b""
    while b"\r\n\r\n" not in received or not received.endswith(b"}"):
        received += connection.recv(65536)
    return received


HEADS = {"nothing": b"", "a start": b"GET /healthz HT", "a field without end": GET[:-2] + b"X-Long: " + b"a" * 1000}


@pytest.mark.parametrize("sent", HEADS.values(), ids=HEADS)
def test_a_head_must_come(connect: Connect, sent: bytes) -> None:
    connection, started = connect(), time.monotonic()
    trickle(connection, sent, 1, 0.2)
    assert rest(connection) == b""
    assert SECONDS * 0.9 < time.monotonic() - started < LONGEST


@pytest.mark.parametrize("sent", [b"\r\n", b"GET"])
def test_so_must_the_next_one(connect: Connect, sent: bytes) -> None:
    connection = connect()
    for _ in range(2):
        connection.sendall(GET)
        assert answer(connection).startswith(b"HTTP/1.1 200")
    started = time.monotonic()
    trickle(connection, sent, 1, 0.2)
    assert rest(connection) == b""
    assert time.monotonic() - started < LONGEST


SIZED, CHUNKED = b"Content-Length: 5000\r\n\r\n", b"Transfer-Encoding: chunked\r\n\r\n2000\r\n"
BODIES = {
    "nothing": (SIZED, b""),
    "a start": (CHUNKED + CONTENT[:-1], b""),
    "a byte at a time": (SIZED, b" " * 1000),
    "chunks of a byte": (CHUNKED + CONTENT, b" " * 1000),
}


@pytest.mark.parametrize(("ahead", "later"), BODIES.values(), ids=BODIES)
def test_a_body_must_come(connect: Connect, ahead: bytes, later: bytes) -> None:
    connection, started = connect(), time.monotonic()
    connection.sendall(POST + ahead)
    trickle(connection, later, 1, 0.1)
    head, _, content = rest(connection).partition(b"\r\n\r\n")
    assert SECONDS * 0.9 < time.monotonic() - started < LONGEST
    assert head.startswith(b"HTTP/1.1 408 ")
    assert b"connection: close" in head.lower()
    assert b"content-security-policy" in head
    error = json.loads(content)["error"]
    assert (error["code"], error["field"]) == ("too_slow", None)
    assert "1,024 bytes a second" in error["message"]


def test_a_body_that_was_refused_cannot_be_sent_for_ever(connect: Connect) -> None:
    connection = connect()
    connection.sendall(POST + b"Content-Length: 1000000000\r\n\r\n")
    assert answer(connection).startswith(b"HTTP/1.1 413 ")
    trickle(connection, b" " * 1000, 1, 0.1)
    assert rest(connection) == b""


UPLOAD = (
    b"POST /v1/score HTTP/1.1\r\nHost: localhost\r\n"
    b"Content-Type: multipart/form-data; boundary=b\r\nContent-Length: 5000\r\n\r\n"
    b'--b\r\nContent-Disposition: form-data; name="file"; filename="a.csv"\r\n\r\ntext\n'
)


def test_a_file_must_come_and_then_leaves_its_place(connect: Connect) -> None:
    for _ in range(2):  # there is one place
        connection = connect()
        connection.sendall(UPLOAD)
        assert rest(connection).startswith(b"HTTP/1.1 408 ")


def test_who_leaves_while_sending_is_no_error_of_the_service(connect: Connect, hasty: Any) -> None:
    before = len(hasty.log)
    for sent in (UPLOAD, POST + SIZED + b"{"):
        connection = connect()
        connection.sendall(sent)
        time.sleep(0.1)
        connection.close()
    connection = connect()
    connection.sendall(GET)
    assert answer(connection).startswith(b"HTTP/1.1 200 ")
    assert hasty.log[before:] == []


def test_a_body_that_comes_at_a_fair_pace_is_served(connect: Connect) -> None:
    connection, started = connect(), time.monotonic()
    sent = CONTENT + b" " * 10_000
    connection.sendall(POST + b"Content-Length: %d\r\n\r\n" % len(sent))
    trickle(connection, sent, 512, 0.1)
    assert time.monotonic() - started > 1.5 * SECONDS
    assert answer(connection).startswith(b"HTTP/1.1 200 ")
    connection.sendall(GET)
    assert answer(connection).startswith(b"HTTP/1.1 200 ")


def test_a_request_sent_ahead_is_served(connect: Connect) -> None:
    connection = connect()
    connection.sendall(POST + b"Content-Length: %d\r\n\r\n" % len(CONTENT) + CONTENT + GET + GET[:20])
    received = rest(connection)
    assert received.count(b"HTTP/1.1 200 ") == 2


def test_an_answer_that_takes_long_is_waited_for(serve: Any) -> None:
    """A text stays in the line for longer than a client may pause; patience is with who sends, not with who waits."""
    service = serve("--read-timeout", "0.2", "--set", "batch_window_ms=800")
    with httpx2.Client(base_url=service.address, timeout=LONGEST) as client:
        assert client.post("/v1/predict", json={"texts": ["Camden"] * 40, "targets": ["Camden"]}).status_code == 200
        started = time.monotonic()
        assert client.post("/v1/predict", json=body()).status_code == 200
        assert time.monotonic() - started > 0.5


@pytest.mark.skipif(not hasattr(socket, "TCP_USER_TIMEOUT"), reason="needs a system that watches answers: Linux")
def test_an_answer_must_be_taken(connect: Connect) -> None:
    """Who uploads a table and takes nothing of the result does not keep its place among those being scored."""
    names = "".join(f'--b\r\nContent-Disposition: form-data; name="targets"\r\n\r\nPlace{n}\r\n' for n in range(100))
    more = '--b\r\nContent-Disposition: form-data; name="probabilities"\r\n\r\ntrue\r\n'
    file = '--b\r\nContent-Disposition: form-data; name="file"; filename="a.csv"\r\n\r\ntext\n'
    form = (names + more + file + "nobody\n" * 2000 + "\r\n--b--\r\n").encode()  # 12 MB of answer
    kind = b"Content-Type: multipart/form-data; boundary=b\r\nContent-Length: %d\r\n\r\n" % len(form)
    sent = b"POST /v1/score HTTP/1.1\r\nHost: localhost\r\n" + kind + form
    idle = connect()
    idle.sendall(sent)
    time.sleep(0.5)
    assert refused(connect(), sent)
    until = time.monotonic() + LONGEST
    while refused(connect(), sent):
        assert time.monotonic() < until
        time.sleep(0.2)


def refused(connection: socket.socket, sent: bytes) -> bool:
    connection.sendall(sent)
    answer = connection.recv(12)
    connection.close()
    assert answer in (b"HTTP/1.1 503", b"HTTP/1.1 200")
    return answer.endswith(b"503")


def test_workers_have_the_same_patience(serve: Any, tmp_path: Path) -> None:
    service = serve("--workers", "2", f"--read-timeout={SECONDS}", "--set", f"folder={tmp_path / 'made'}", ready=2)
    host, port = service.address.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port)), timeout=LONGEST) as connection:
        connection.sendall(POST + b"Content-Length: 5000\r\n\r\n{")
        assert rest(connection).startswith(b"HTTP/1.1 408 ")
