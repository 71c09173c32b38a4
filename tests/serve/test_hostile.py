"""What nobody should send, and somebody will."""

import json
import socket
from typing import Any

import pytest
from fastapi.testclient import TestClient
from hypothesis import HealthCheck, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from service_client import as_json, body, error_of

JSON = {"Content-Type": "application/json"}
ROUTES = ("/v1/predict", "/v1/suggest")


@pytest.mark.parametrize("route", ROUTES)
@pytest.mark.parametrize(
    "content",
    [
        b"{",
        b"",
        b"null",
        b"[]",
        b'"text"',
        b"{'text': 1}",
        b'{"text": "a" "targets": []}',
        b"\x00",
        b'{"text": "a\x00b", "targets": ["Camden"]}',
        b'{"text": "\xff\xfe", "targets": ["Camden"]}',
        b'{"text": NaN, "targets": ["Camden"]}',
        b'{"text": ' + b"9" * 10_000 + b', "targets": ["Camden"]}',
        b"[" * 200_000,
        b'{"text":' * 50_000 + b"1" + b"}" * 50_000,
    ],
    ids=lambda content: repr(content[:20]),
)
def test_a_body_that_is_not_our_json(client: TestClient, route: str, content: bytes) -> None:
    response = client.post(route, content=content, headers=JSON)
    assert response.status_code in (400, 422)
    error_of(response, response.status_code)


WRONG = (1, 0, 1.5, True, "yes", [], {}, [1], [[]], {"a": 1}, [None], [{"name": 1}], [{"nam": "A"}])
RIGHT = {"text": str, "explain": bool}  # what some of them are in one place


@pytest.mark.parametrize(
    ("name", "wrong"),
    [
        (name, wrong)
        for name in ("text", "texts", "targets", "aspects", "explain")
        for wrong in WRONG
        if type(wrong) is not RIGHT.get(name)
    ],
)
def test_wrong_types(client: TestClient, name: str, wrong: Any) -> None:
    error = error_of(client.post("/v1/predict", json=body(**{name: wrong})), 422)
    assert error["field"] is None or error["field"].startswith(name)


@pytest.mark.parametrize("spelling", ["\ud800", "a\udfffb", "\0", "a\0"])
@pytest.mark.parametrize("place", ["text", "texts", "targets", "aliases", "aspects"])
def test_half_characters_and_null_characters(client: TestClient, place: str, spelling: str) -> None:
    content = {
        "text": body(text=spelling),
        "texts": body(text=None, texts=["fine", spelling]),
        "targets": body(targets=[spelling]),
        "aliases": body(targets=[{"name": "Camden", "aliases": [spelling]}]),
        "aspects": body(aspects=[spelling]),
    }[place]
    error = error_of(client.post("/v1/predict", **as_json(content)), 422)
    assert error["field"].startswith("targets" if place == "aliases" else place)


def test_half_a_character_in_a_name_of_a_field(client: TestClient) -> None:
    error_of(client.post("/v1/predict", **as_json(body(**{"\ud800": 1}))), 422)


def test_ten_thousand_targets(client: TestClient) -> None:
    error = error_of(client.post("/v1/predict", json=body(targets=[f"Place{n}" for n in range(10_000)])), 422)
    assert error == {
        "code": "limit",
        "message": "'targets': 10,000 targets; at most 100 are allowed",
        "field": "targets",
    }


@pytest.mark.parametrize("kind", ["text/plain", "application/x-www-form-urlencoded", "", "application/xml"])
def test_other_types_of_body(client: TestClient, kind: str) -> None:
    content = json.dumps(body()).encode()
    error_of(client.post("/v1/predict", content=content, headers={"Content-Type": kind}), 415)
    error_of(client.post("/v1/score", content=content, headers={"Content-Type": kind}), 415)


def test_a_body_that_says_it_is_huge_is_refused_unread(make_client: Any) -> None:
    client = make_client(max_body_bytes=1000)
    error = error_of(client.post("/v1/predict", json=body(text="a" * 1000)), 413)
    assert error["code"] == "too_large"
    assert "1,000 bytes" in error["message"]
    for length in ("9" * 18, "9" * 400):
        response = client.post("/v1/predict", content=b"{}", headers=JSON | {"Content-Length": length})
        assert response.status_code == 413


def test_a_body_that_does_not_say_its_size_is_read_no_further_than_allowed(make_client: Any) -> None:
    client = make_client(max_body_bytes=1000)
    read = 0
    sent: list[dict[str, Any]] = []

    async def receive() -> dict[str, Any]:  # an endless body; the test client would put it together first
        nonlocal read
        read += 100
        assert read < 100_000
        return {"type": "http.request", "body": b" " * 100, "more_body": True}

    async def send(message: dict[str, Any]) -> None:
        sent.append(message)

    scope = {"type": "http", "method": "POST", "path": "/v1/predict", "query_string": b"", "root_path": ""}
    headers = [(b"host", b"localhost"), (b"content-type", b"application/json")]
    client.portal.call(client.app, scope | {"headers": headers, "client": ("testclient", 50000)}, receive, send)
    assert sent[0]["status"] == 413
    assert json.loads(sent[1]["body"])["error"]["code"] == "too_large"
    assert read <= 1100


def test_what_comes_out_is_always_json(client: TestClient) -> None:
    """Nothing that a client sends comes back as anything but text in JSON."""
    text = "<script>alert(1)</script> Camden \u2028 \u202e 'is' \"nice\" \\ </b>"
    response = client.post("/v1/predict", json=body(text=text))
    assert response.headers["content-type"] == "application/json"
    assert response.headers["x-content-type-options"] == "nosniff"
    assert response.json()["text"] == text


names = st.text(max_size=12)
anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(names, inner, max_size=4),
    max_leaves=12,
)
requests = st.fixed_dictionaries(
    {},
    optional={
        "text": st.text(max_size=200) | anything,
        "texts": st.lists(st.text(max_size=40), max_size=4) | anything,
        "targets": st.lists(names | st.fixed_dictionaries({"name": names}, optional={"aliases": st.lists(names)}))
        | anything,
        "aspects": st.lists(st.sampled_from(["price", "safety", "none"])) | anything,
        "explain": st.booleans() | anything,
    },
)


@given(body=requests | anything)
@hypothesis_settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_whatever_is_sent_is_answered_or_refused(client: TestClient, body: Any) -> None:
    response = client.post("/v1/predict", **as_json(body))
    assert response.status_code in (200, 400, 422), response.text
    if response.status_code != 200:
        error_of(response, response.status_code)


@given(text=st.text(st.characters(exclude_categories=["Cs"]), max_size=300))
@hypothesis_settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_text_has_suggestions_that_stand_in_it(client: TestClient, text: str) -> None:
    response = client.post("/v1/suggest", json={"text": text.replace("\0", "")})
    assert response.status_code == 200
    for target in response.json()["targets"]:
        for start, end in target["spans"]:
            assert text.replace("\0", "")[start:end] == target["name"]


def exchange(address: str, sent: bytes) -> bytes:
    """What comes back for bytes that no client library would send."""
    host, port = address.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port)), timeout=10) as connection:
        connection.sendall(sent)
        received = b""
        while b"\r\n\r\n" not in received and (piece := connection.recv(65536)):
            received += piece
        return received


def test_bytes_that_are_hardly_http(serve: Any) -> None:
    """On the wire, to a real service: each gets a 4xx, and the service goes on."""
    address = serve("--set", "max_body_bytes=2000").address
    host = b"Host: localhost\r\n"
    post = b"POST /v1/predict HTTP/1.1\r\n" + host + b"Content-Type: application/json\r\n"
    chunk = b"800\r\n" + b" " * 0x800 + b"\r\n"
    for sent, status in (
        (b"nonsense\r\n\r\n", b"400"),
        (post + b"Content-Length: 10000000000\r\n\r\n{", b"413"),
        (post + b"Content-Length: -1\r\n\r\n{}", b"400"),
        (post + b"Transfer-Encoding: chunked\r\n\r\n" + chunk * 10, b"413"),
        (b"GET /\x00 HTTP/1.1\r\n" + host + b"\r\n", b"40"),
        (b"GET /static/%2e%2e/app.py HTTP/1.1\r\n" + host + b"\r\n", b"404"),
        (b"GET /static/..%2fapp.py HTTP/1.1\r\n" + host + b"\r\n", b"404"),
        (b"GET /v1/jobs/..%2f..%2fetc HTTP/1.1\r\n" + host + b"\r\n", b"404"),
        (b"GET /healthz HTTP/1.1\r\nHost: evil.example\r\n\r\n", b"400"),
        (b"GET /healthz HTTP/1.1\r\n" + host + b"\r\n", b"200"),
    ):
        answer = exchange(address, sent)
        assert answer.startswith(b"HTTP/1.1 " + status), (sent[:60], answer[:200])
