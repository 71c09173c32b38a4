"""Bodies that nobody should send, and somebody will: each is refused in one line, and cheaply."""

import json
import tracemalloc
from typing import Any

import pytest
from fastapi.testclient import TestClient
from hypothesis import HealthCheck, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from service_client import as_json, body, error_of
from tabsa.serve import schema

JSON = {"Content-Type": "application/json"}


@pytest.mark.parametrize("route", ["/v1/predict", "/v1/suggest", "/v1/corrections"])
@pytest.mark.parametrize(
    "content",
    [
        b"{",
        b"",
        b"null",
        b"[]",
        b'"text"',
        b"{'text': 1}",
        b"\x00",
        b'{"text": "a\x00b", "targets": ["Camden"]}',
        b'{"text": "\xff\xfe", "targets": ["Camden"]}',
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


@pytest.mark.parametrize("spelling", ["\ud800", "a\udfffb", "\0"])
@pytest.mark.parametrize(
    ("place", "fields"),
    [
        ("text", {"text": "?"}),
        ("texts.1", {"text": None, "texts": ["fine", "?"]}),
        ("targets", {"targets": ["?"]}),
        ("targets", {"targets": [{"name": "Camden", "aliases": ["?"]}]}),
        ("aspects.0", {"aspects": ["?"]}),
        ("?", {"?": 1}),
    ],
)
def test_half_characters_and_null_characters(client: TestClient, place: str, fields: Any, spelling: str) -> None:
    sent = json.loads(json.dumps(body(**fields)).replace('"?"', json.dumps(spelling)))
    error = error_of(client.post("/v1/predict", **as_json(sent)), 422)
    assert place == "?" or error["field"].startswith(place)


@pytest.mark.parametrize(
    ("field", "fields"),
    [
        ("text", {"text": "a" * (schema.MAX_TEXT + 1)}),
        ("texts", {"text": None, "texts": ["a"] * (schema.MAX_TEXTS + 1)}),
        ("texts.0", {"text": None, "texts": ["a" * (schema.MAX_TEXT + 1)]}),
        ("targets", {"targets": [f"Place{n}" for n in range(10_000)]}),
        ("targets.0.aliases", {"targets": [{"name": "A1", "aliases": ["b"] * (schema.MAX_ALIASES + 1)}]}),
        ("targets.0.name", {"targets": ["a" * (schema.MAX_NAME + 1)]}),
        ("aspects", {"aspects": ["a"] * (schema.MAX_ASPECTS + 1)}),
        ("aspects.0", {"aspects": ["a" * (schema.MAX_ASPECT + 1)]}),
        (None, {"text": None, "texts": ["a"] * 200, "targets": [f"Place{n}" for n in range(100)]}),
    ],
)
def test_every_field_has_a_limit(client: TestClient, field: str | None, fields: Any) -> None:
    error = error_of(client.post("/v1/predict", json=body(**fields)), 422)
    assert (error["code"], error["field"]) == ("limit", field)
    assert "at most" in error["message"]


@pytest.mark.parametrize(
    "fields",
    [
        {"texts": [1] * 300_000},
        {"targets": [{"x": 1}] * 100_000},
        {"targets": [{"name": "a", "aliases": [1] * 300_000}]},
        {"targets": [{"name": "a", "aliases": [1] * 20}] * 100},
        {f"field {n}": 1 for n in range(50_000)},
    ],
    ids=["texts", "targets", "aliases", "few aliases of many targets", "fields"],
)
def test_very_many_wrong_items_are_not_told_one_by_one(client: TestClient, fields: Any) -> None:
    tracemalloc.start()
    try:
        response = client.post("/v1/predict", **as_json(fields | {"aspects": [2] * 50}))
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    error = error_of(response, 422)
    assert len(response.content) < 20_000
    assert error.get("count", 10) >= 10
    assert peak < 50_000_000  # with the client's own copies of what it sends


def test_the_first_error_and_their_number(client: TestClient) -> None:
    error = error_of(client.post("/v1/predict", json=body(text=None, texts=[1] * 40, aspects=[2])), 422)
    assert (error["field"], error["count"]) == ("texts.0", 41)
    assert error["message"] == "'texts.0': input should be a valid string"


@pytest.mark.parametrize("kind", ["text/plain", "application/x-www-form-urlencoded", "", "application/xml"])
def test_other_types_of_body(client: TestClient, kind: str) -> None:
    content = json.dumps(body()).encode()
    for path in ("/v1/predict", "/v1/corrections"):
        error_of(client.post(path, content=content, headers={"Content-Type": kind}), 422)
    for path in ("/v1/score", "/v1/columns", "/v1/report"):
        assert error_of(client.post(path, content=content, headers={"Content-Type": kind}), 422)["field"] == "file"


def test_a_body_that_says_it_is_huge_is_refused_unread(client: TestClient) -> None:
    for length in (str(schema.MAX_BODY_BYTES + 1), "9" * 18, "9" * 400):
        response = client.post("/v1/predict", content=b"{}", headers=JSON | {"Content-Length": length})
        assert error_of(response, 413)["code"] == "too_large"
        assert response.headers["connection"] == "close"


def test_a_body_that_does_not_say_its_size_is_read_no_further_than_allowed(client: TestClient) -> None:
    sent = 0

    def pieces() -> Any:
        nonlocal sent
        for _ in range(1000):
            sent += 65_536
            yield b" " * 65_536

    response = client.post("/v1/predict", content=pieces(), headers=JSON)
    assert error_of(response, 413)["code"] == "too_large"


ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)
FIELDS = st.sampled_from(("text", "texts", "targets", "aspects", "implied", "explain", "of"))


@pytest.mark.parametrize("path", ["predict", "evidence", "suggest", "corrections"])
@given(sent=ANYTHING | st.dictionaries(FIELDS, ANYTHING | st.just("Camden") | st.just(["Camden"]), max_size=5))
@hypothesis_settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
def test_whatever_is_sent_is_answered_or_refused(client: TestClient, path: str, sent: Any) -> None:
    response = client.post(f"/v1/{path}", **as_json(sent))
    if response.status_code != 200:
        assert response.status_code in (400, 404, 422)
        error_of(response, response.status_code)


def test_the_document_has_examples_that_work(client: TestClient) -> None:
    document = client.get("/openapi.json").json()
    paths = ("/v1/predict", "/v1/evidence", "/v1/suggest")
    for path in paths:
        reference = document["paths"][path]["post"]["requestBody"]["content"]["application/json"]["schema"]["$ref"]
        examples = document["components"]["schemas"][reference.rpartition("/")[2]]["examples"]
        assert examples
        for example in examples:
            response = client.post(path, json=example)
            assert response.status_code == 200, response.text


def test_the_document_is_of_our_errors_only(client: TestClient) -> None:
    document = client.get("/openapi.json").json()
    assert "HTTPValidationError" not in str(document)
    assert "code points" in str(document)
    for path, methods in document["paths"].items():
        for operation in methods.values():
            errors = {status: one for status, one in operation["responses"].items() if status >= "4"}
            assert set(errors) == {"4XX", "503"}, path
            for response in errors.values():
                schema = response["content"]["application/json"]["schema"]
                assert schema == {"$ref": "#/components/schemas/ErrorResponse"}
