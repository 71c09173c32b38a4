"""Connections on the wire, as somebody who means ill makes them: heads without end, and too many of everything."""

import json
import socket
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from typing import Any

import httpx2
import pytest

from service_client import body

LONGEST = 8.0  # until something that should happen counts as not happening
CONTENT = json.dumps(body()).encode()
GET = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"
POST = b"POST /v1/predict HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
WHOLE = POST + b"Content-Length: %d\r\n\r\n" % len(CONTENT) + CONTENT
CHUNKED = POST + b"Transfer-Encoding: chunked\r\n\r\n"
UPLOAD = (
    b"POST /v1/score HTTP/1.1\r\nHost: localhost\r\n"
    b"Content-Type: multipart/form-data; boundary=b\r\nContent-Length: 5000\r\n\r\n"
    b'--b\r\nContent-Disposition: form-data; name="file"; filename="a.csv"\r\n\r\ntext\n'
)
HERE, THERE = "127.0.0.1", "127.0.0.2"  # two clients

Connect = Callable[..., socket.socket]


@pytest.fixture
def connect() -> Iterator[Connect]:
    """Connections to a service, from one address or another."""
    with ExitStack() as stack:

        def connected(service: Any, client: str = HERE) -> socket.socket:
            host, port = service.address.removeprefix("http://").split(":")
            source = (client, 0)
            made = socket.create_connection((host, int(port)), timeout=LONGEST, source_address=source)
            return stack.enter_context(made)

        yield connected


@pytest.fixture(scope="module")
def plain(serve_all: Any) -> Any:
    """A service as it comes."""
    return serve_all()


def rest(connection: socket.socket) -> bytes:
    """All that comes until the service closes the connection."""
    received = b""
    with suppress(ConnectionError):
        while piece := connection.recv(65536):
            received += piece
    return received


def answer(connection: socket.socket) -> bytes:
    """One answer, after which the connection stays."""
    received = b""
    while b"\r\n\r\n" not in received or not received.endswith(b"}"):
        piece = connection.recv(65536)
        assert piece, received
        received += piece
    return received


def flood(connection: socket.socket, start: bytes, again: bytes, most: int) -> int:
    """Send a start and then the same again and again, until the service leaves; how many bytes it took."""
    sent, block = len(start), again * (1 + 65536 // len(again))
    try:
        connection.sendall(start)
        while sent < most:
            connection.sendall(block)
            sent += len(block)
    except ConnectionError:
        pass
    return sent


HEADS = {
    "fields": (b"GET / HTTP/1.1\r\n", b"X-Field: " + b"a" * 1000 + b"\r\n"),
    "small fields": (b"GET / HTTP/1.1\r\n", b"a:\r\n"),
    "a field without end": (b"GET / HTTP/1.1\r\nX-Long: ", b"a"),
    "a name without end": (b"GET / HTTP/1.1\r\nX-", b"a"),
    "an address without end": (b"GET /", b"a"),
    "empty lines": (b"", b"\r\n"),
    "a field behind a body": (CHUNKED + b"0\r\nX-Long: ", b"a"),
    "fields behind a body": (CHUNKED + b"0\r\n", b"X-Field: a\r\n"),
    "an extension of a chunk": (CHUNKED + b"1;", b"a"),
}


@pytest.mark.parametrize(("start", "again"), HEADS.values(), ids=HEADS)
def test_a_head_without_end_is_refused_long_before_it_ends(
    plain: Any, connect: Connect, start: bytes, again: bytes
) -> None:
    """The system's own buffers take some megabytes before it is noticed that nobody reads them."""
    attacker = connect(plain)
    assert flood(attacker, start, again, 131_000_000) < 16_000_000
    other = connect(plain)
    other.sendall(GET)
    assert answer(other).startswith(b"HTTP/1.1 200 ")


@pytest.mark.parametrize(
    "head",
    [
        b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n" + b"X: y\r\n" * 100 + b"\r\n",
        b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nX: " + b"y" * 32_768 + b"\r\n\r\n",
        b"GET /" + b"y" * 32_768 + b" HTTP/1.1\r\nHost: localhost\r\n\r\n",
    ],
    ids=["101 fields", "a long field", "a long address"],
)
def test_a_head_beyond_a_limit_is_told_so(plain: Any, connect: Connect, head: bytes) -> None:
    connection = connect(plain)
    connection.sendall(head)
    told, _, content = rest(connection).partition(b"\r\n\r\n")
    assert told.startswith(b"HTTP/1.1 431 ")
    assert b"connection: close" in told
    error = json.loads(content)["error"]
    assert (error["code"], error["field"]) == ("too_large", None)
    assert "32,768 bytes and 100 fields" in error["message"]


def test_a_large_head_within_the_limits_is_served(plain: Any, connect: Connect) -> None:
    connection = connect(plain)
    connection.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n" + b"Cookie: " + b"c" * 30_000 + b"\r\n")
    connection.sendall(b"X: y\r\n" * 98 + b"\r\n")
    assert answer(connection).startswith(b"HTTP/1.1 200 ")
    connection.sendall(GET)
    assert answer(connection).startswith(b"HTTP/1.1 200 ")


def test_what_is_not_http_is_told_so_in_the_form_of_every_error(plain: Any, connect: Connect) -> None:
    for sent in (b"hello\r\n\r\n", CHUNKED + b"zz\r\n"):
        connection = connect(plain)
        connection.sendall(sent)
        told, _, content = rest(connection).partition(b"\r\n\r\n")
        assert told.startswith(b"HTTP/1.1 400 ")
        assert json.loads(content)["error"]["code"] == "bad_request"


def test_requests_before_a_bad_one_are_answered(plain: Any, connect: Connect) -> None:
    connection = connect(plain)
    connection.sendall(WHOLE + WHOLE + b"GET / HTTP/1.1\r\nX: " + b"y" * 80_000)
    received = rest(connection)
    assert received.count(b"HTTP/1.1 200 ") == 2
    assert received.find(b"HTTP/1.1 431") in (-1, received.rfind(b"HTTP/1.1"))


def test_requests_sent_ahead_have_a_limit(plain: Any, connect: Connect) -> None:
    connection = connect(plain)
    connection.sendall(WHOLE + GET * 5000)
    assert 30 < rest(connection).count(b"HTTP/1.1 200 ") < 100


def test_silent_connections_keep_nobody_out(serve: Any, connect: Connect) -> None:
    service = serve("--set", "max_connections=20", "--set", "max_client_connections=20")
    honest = connect(service)
    honest.sendall(GET)
    assert answer(honest).startswith(b"HTTP/1.1 200 ")
    silent = [connect(service, THERE) for _ in range(60)]
    for number, connection in enumerate(silent):
        with suppress(ConnectionError):
            connection.sendall((b"", b"G", b"POST / HTTP/1.1\r\nX")[number % 3])
    for path in ("/healthz", "/readyz", "/metrics", "/v1/models"):
        assert httpx2.get(service.address + path).status_code == 200
    assert httpx2.post(f"{service.address}/v1/predict", json=body()).status_code == 200
    honest.sendall(WHOLE)  # it was silent too, but is not the one who has so many
    assert answer(honest).startswith(b"HTTP/1.1 200 ")
    for connection in silent[:30]:  # the oldest had to go
        assert rest(connection) == b""


def test_where_all_are_at_work_health_is_answered_and_others_are_told(serve: Any, connect: Connect) -> None:
    service = serve("--set", "max_connections=4", "--access-log")
    slow = [connect(service) for _ in range(5)]
    for connection in slow:
        connection.sendall(POST + b"Content-Length: 5000\r\n\r\n{")
    assert rest(slow[-1]).startswith(b"HTTP/1.1 503 ")
    response = httpx2.get(f"{service.address}/v1/models")
    assert (response.status_code, response.headers["retry-after"]) == (503, "1")
    assert response.headers["connection"] == "close"
    assert response.json()["error"]["code"] == "busy"
    for path in ("/healthz", "/readyz", "/metrics"):
        assert httpx2.get(service.address + path).status_code == 200
    slow[0].close()
    slow[1].sendall(b" " * 4998 + b"}")
    assert answer(slow[1]).startswith(b"HTTP/1.1 422 ")
    assert httpx2.post(f"{service.address}/v1/predict", json=body()).status_code == 200


def test_one_client_cannot_have_all_connections(serve: Any, connect: Connect) -> None:
    service = serve("--set", "max_connections=8", "--set", "max_client_connections=3")
    held = [connect(service, THERE) for _ in range(3)]
    for connection in held:
        connection.sendall(POST + b"Content-Length: 5000\r\n\r\n{")
    one_more = connect(service, THERE)
    one_more.sendall(WHOLE)
    assert rest(one_more).startswith(b"HTTP/1.1 503 ")
    health = connect(service, THERE)
    health.sendall(GET)
    assert answer(health).startswith(b"HTTP/1.1 200 ")
    assert httpx2.post(f"{service.address}/v1/predict", json=body()).status_code == 200


def test_files_that_come_slowly_take_no_place_among_those_being_scored(serve: Any, connect: Connect) -> None:
    service = serve("--set", "max_scoring=1", "--set", "max_uploads=8")
    for _ in range(2):
        connect(service, THERE).sendall(UPLOAD)
    third = connect(service, THERE)
    third.sendall(UPLOAD)
    assert answer(third).startswith(b"HTTP/1.1 503 ")  # a client may send a quarter
    files = {"file": ("a.csv", b"text\nCamden is nice\n")}
    for _ in range(2):
        response = httpx2.post(f"{service.address}/v1/score", files=files, data={"targets": "Camden"})
        assert response.status_code == 200
        assert b"Camden is nice" in response.content


def test_the_access_log_does_not_tell_what_was_asked(serve: Any, capfd: Any) -> None:
    service = serve("--access-log")
    for path in ("/healthz?name=Camden", "/v1/jobs/nothing?words=dear"):
        httpx2.get(service.address + path)
    httpx2.get(f"{service.address}/readyz")
    lines = "".join(service.log) + capfd.readouterr().out
    assert '"GET /healthz HTTP/1.1" 200' in lines
    assert '"GET /v1/jobs/nothing HTTP/1.1" 404' in lines
    assert "Camden" not in lines
    assert "dear" not in lines


@pytest.mark.parametrize("path", ["/", "/healthz", "/readyz", "/v1/models", "/static/style.css", "/openapi.json"])
def test_the_head_of_an_answer_can_be_asked_for(plain: Any, connect: Connect, path: str) -> None:
    connection = connect(plain)
    connection.sendall(b"HEAD %s HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n" % path.encode())
    head, _, content = rest(connection).partition(b"\r\n\r\n")
    whole = httpx2.get(plain.address + path)
    assert head.startswith(b"HTTP/1.1 200 ")
    assert content == b""
    assert f"content-length: {len(whole.content)}".encode() in head
    assert httpx2.head(f"{plain.address}/v1/predict").status_code == 405
