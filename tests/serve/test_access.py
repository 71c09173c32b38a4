"""Who is let in, from where, and with which headers."""

from typing import Any

import pytest
from fastapi.testclient import TestClient

from service_client import body, error_of
from tabsa.errors import ConfigError
from tabsa.serve.app import create_app
from tabsa.serve.guard import CONTENT_SECURITY_POLICY
from tabsa.serve.settings import Settings

KEY = "s3cret-key"


@pytest.mark.parametrize("path", ["/", "/static/nothing.js", "/healthz", "/v1/models", "/nowhere", "/v1/predict"])
def test_every_answer_has_the_security_headers(client: TestClient, path: str) -> None:
    headers = client.get(path).headers
    assert headers["content-security-policy"] == CONTENT_SECURITY_POLICY
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["x-frame-options"] == "DENY"
    assert headers["referrer-policy"] == "no-referrer"
    assert (headers.get("cache-control") == "no-store") == path.startswith("/v1/")
    assert "server" not in headers


def test_an_unforeseen_error_is_told_without_its_inside(client: TestClient, monkeypatch: Any) -> None:
    def broken(*_: Any) -> None:
        raise RuntimeError("secret inside")

    monkeypatch.setattr("tabsa.serve.routes.check_predict", broken)
    response = client.post("/v1/predict", json=body())
    assert error_of(response, 500)["code"] == "internal"
    assert "secret" not in response.text
    assert "content-security-policy" in response.headers


def test_there_is_no_cors_unless_told(client: TestClient) -> None:
    response = client.get("/v1/models", headers={"Origin": "https://example.com"})
    assert response.status_code == 200
    assert "access-control-allow-origin" not in response.headers


def test_cors_for_those_allowed(make_client: Any) -> None:
    client = make_client(cors_origins=("https://example.com",))
    allowed = client.post("/v1/predict", json=body(), headers={"Origin": "https://example.com"})
    assert allowed.headers["access-control-allow-origin"] == "https://example.com"
    other = client.post("/v1/predict", json=body(), headers={"Origin": "https://other.example"})
    assert "access-control-allow-origin" not in other.headers
    cross = {"Sec-Fetch-Site": "cross-site", "Origin": "https://example.com"}
    assert client.post("/v1/predict", json=body(), headers=cross).status_code == 200


def test_pages_allowed_in_can_send_a_key_and_read_what_is_refused(make_client: Any) -> None:
    client = make_client(cors_origins=("https://example.com",), api_key=KEY)
    origin = {"Origin": "https://example.com"}
    probe = {"Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "authorization,content-type"}
    assert client.options("/v1/predict", headers=origin | probe).status_code == 200  # browsers ask without the key
    answers = [
        client.post("/v1/predict", json=body(), headers=origin | {"Authorization": f"Bearer {KEY}"}),
        client.post("/v1/predict", json=body(), headers=origin),
        client.post("/v1/predict", content=b"x" * 2_000_000, headers=origin | {"X-API-Key": KEY}),
    ]
    assert [answer.status_code for answer in answers] == [200, 401, 413]
    assert {answer.headers["access-control-allow-origin"] for answer in answers} == {"https://example.com"}


@pytest.mark.parametrize("path", ["/v1/models", "/metrics", "/v1/jobs/aaaaaaaaaaaaaaaaaaaaaa", "/v1/nothing"])
def test_a_key_is_asked_for_where_there_is_one(make_client: Any, path: str) -> None:
    client = make_client(api_key=KEY)
    wrong = ({}, {"Authorization": "Bearer wrong"}, {"Authorization": KEY}, {"X-API-Key": ""}, {"X-API-Key": "ü"})
    for headers in wrong:
        encoded = {name: value.encode("latin-1") for name, value in headers.items()}
        response = client.get(path, headers=encoded)
        assert error_of(response, 401)["code"] == "unauthorised"
        assert response.headers["www-authenticate"] == "Bearer"
    for headers in ({"Authorization": f"Bearer {KEY}"}, {"Authorization": f"bearer {KEY}"}, {"X-API-Key": KEY}):
        assert client.get(path, headers=headers).status_code in (200, 404)


def test_the_key_is_asked_for_below_another_address_too(settings: Any) -> None:
    app = create_app(settings(api_key=KEY, max_body_bytes=100))
    with TestClient(app, "http://localhost", root_path="/tabsa") as client:
        for path in ("/v1/models", "/metrics", "/v1/jobs/aaaaaaaaaaaaaaaaaaaaaa", "/nothing"):
            assert error_of(client.get(f"/tabsa{path}"), 401)["code"] == "unauthorised"
            assert client.get(f"/tabsa{path}", headers={"X-API-Key": KEY}).status_code in (200, 404)
        for path in ("/", "/healthz", "/static/style.css"):
            assert client.get(f"/tabsa{path}").status_code == 200
        files = {"file": ("a.csv", b"text\nCamden\n" * 20)}  # more than a body may have, but not more than a file may
        assert client.post("/tabsa/v1/score", files=files, headers={"X-API-Key": KEY}).status_code == 422
        metrics = client.get("/tabsa/metrics", headers={"X-API-Key": KEY}).text
        assert 'route="/static"' in metrics


def test_without_the_key_there_are_the_page_and_the_health(make_client: Any) -> None:
    client = make_client(api_key=KEY)
    for path in ("/", "/healthz", "/readyz", "/openapi.json"):
        assert client.get(path).status_code == 200, path
    error_of(client.post("/v1/predict", json=body()), 401)
    error_of(client.post("/v1/score", content=b"x" * 10_000_000), 401)  # before a byte of it is read


def test_the_document_tells_of_the_key(make_client: Any, client: TestClient) -> None:
    schema = make_client(api_key=KEY).get("/openapi.json").json()
    assert schema["components"]["securitySchemes"] == {"HTTPBearer": {"type": "http", "scheme": "bearer"}}
    assert schema["paths"]["/v1/predict"]["post"]["security"] == [{"HTTPBearer": []}]
    assert "securitySchemes" not in client.get("/openapi.json").json()["components"]


@pytest.mark.parametrize("key", ["", "schlüssel", "a\nb"])
def test_keys_that_no_header_can_hold(key: str) -> None:
    with pytest.raises(ConfigError, match="api_key"):
        Settings(api_key=key)


def test_a_full_request_must_find_room() -> None:
    with pytest.raises(ConfigError, match="max_waiting"):
        Settings(max_waiting=10, max_texts=11)


def test_the_service_tells_of_itself(client: TestClient) -> None:
    assert client.get("/healthz").json() == {"status": "ok"}
    assert client.get("/readyz").json() == {"status": "ready"}
    listing = client.get("/v1/models").json()
    assert listing["default"] == "tiny"
    (model,) = listing["models"]
    assert model["kind"] == "delayed-entnet"
    assert model["aspects"] == ["general", "price", "safety", "transit-location"]
    assert model["labels"] == ["none", "positive", "negative"]
    assert (model["chains"], model["tied"], model["targets_at_once"]) == (3, 2, 2)


@pytest.mark.parametrize(("model", "name"), [(None, "reader"), ("fast", "places")])
def test_a_model_of_the_package_goes_by_its_own_name(model: str | None, name: str) -> None:
    with TestClient(create_app(Settings(model=model, threads=1)), "http://localhost") as client:
        listing = client.get("/v1/models").json()
    assert (listing["default"], listing["models"][0]["name"]) == (name, name)
    assert listing["models"][0]["open_aspects"] == (name == "reader")


def test_the_page_comes_with_its_files(client: TestClient) -> None:
    page = client.get("/")
    assert page.headers["content-type"].startswith("text/html")
    assert client.get("/static/style.css").headers["cache-control"] == "no-cache"
    assert client.get("/static/index.html").text == page.text


def test_counts_have_no_labels_that_clients_make_up(client: TestClient) -> None:
    client.get("/made/up/by/me")
    client.request("MADEUP", "/healthz")
    client.get("/v1/jobs/secret-job-name")
    metrics = client.get("/metrics").text
    assert "made" not in metrics.lower()
    assert "secret" not in metrics
    assert 'tabsa_requests_total{method="GET",route="other",status="404"}' in metrics
    assert "/v1/jobs/{" in metrics
