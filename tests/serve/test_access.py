"""Who is let in, from where, and with which headers."""

from typing import Any

import pytest
from fastapi.testclient import TestClient

from service_client import body, error_of
from tabsa.errors import ConfigError
from tabsa.serve.app import create_app
from tabsa.serve.settings import Settings

KEY = "s3cret-key"
OWN = "http://localhost"


@pytest.mark.parametrize("path", ["/", "/static/app.js", "/static/base.css", "/healthz", "/v1/models", "/nowhere"])
def test_every_answer_has_the_security_headers(client: TestClient, path: str) -> None:
    headers = client.get(path).headers
    assert "default-src 'self'" in headers["content-security-policy"]
    assert "unsafe" not in headers["content-security-policy"]
    assert (headers["x-content-type-options"], headers["x-frame-options"]) == ("nosniff", "DENY")
    assert headers["referrer-policy"] == "no-referrer"
    assert headers["cache-control"] == ("no-store" if path.startswith("/v1/") else "no-cache")
    assert "server" not in headers


def test_an_unforeseen_error_is_told_without_its_inside(client: TestClient, monkeypatch: Any) -> None:
    def broken(*_: Any) -> None:
        raise RuntimeError("secret inside")

    monkeypatch.setattr("tabsa.serve.opinions._questions", broken)
    response = client.post("/v1/predict", json=body())
    assert error_of(response, 500)["code"] == "internal"
    assert "secret" not in response.text
    assert "content-security-policy" in response.headers


# ---- names: DNS rebinding


@pytest.mark.parametrize("host", ["localhost", "localhost:8000", "127.0.0.1", "[::1]:8000", "192.168.1.7", "LocalHost"])
def test_it_goes_by_addresses_and_localhost(client: TestClient, host: str) -> None:
    assert client.get("/v1/models", headers={"Host": host}).status_code == 200


@pytest.mark.parametrize(
    "host", ["evil.example", "localhost.evil.example", "127.0.0.1.evil.example", "", "[::1", "a:b"]
)
def test_it_goes_by_no_other_name(client: TestClient, make_client: Any, host: str) -> None:
    for headers in ([("Host", host)], [("Host", "localhost"), ("Host", host)]):  # two names are none
        assert error_of(client.get("/v1/models", headers=headers), 400)["code"] == "bad_host"
    assert make_client(allowed_hosts=("*",)).get("/", headers={"Host": "any.example"}).status_code == 200


# ---- sites: cross-site request forgery

OTHER_PAGES = {
    "another site": {"Sec-Fetch-Site": "cross-site", "Origin": "https://evil.example"},
    "another origin of this site": {"Sec-Fetch-Site": "same-site", "Origin": "http://localhost:9"},
    "an old browser": {"Origin": "https://evil.example"},
    "another port": {"Origin": "http://localhost:9"},
    "no origin that it tells": {"Origin": "null"},
    "another scheme": {"Origin": "file://localhost"},
}
OWN_PAGES = {
    "no browser": {},
    "our page": {"Sec-Fetch-Site": "same-origin", "Origin": OWN},
    "a person": {"Sec-Fetch-Site": "none"},
    "our page, of an old browser": {"Origin": OWN},
    "our page behind a proxy": {"Origin": "https://tabsa.example", "Host": "tabsa.example"},
    "our page behind a proxy, by its port": {"Origin": "https://tabsa.example:8443", "Host": "tabsa.example:8443"},
    "our page by its address": {"Origin": "http://[::1]:8000", "Host": "[::1]:8000"},
}


@pytest.mark.parametrize("headers", OTHER_PAGES.values(), ids=OTHER_PAGES)
def test_pages_of_other_sites_may_not_send(client: TestClient, headers: dict[str, str]) -> None:
    for path in ("/v1/predict", "/v1/report"):
        assert error_of(client.post(path, json=body(), headers=headers), 403)["code"] == "other_site"
    assert client.get("/healthz", headers=headers).status_code == 200


@pytest.mark.parametrize("headers", OWN_PAGES.values(), ids=OWN_PAGES)
def test_the_page_itself_and_programs_may(make_client: Any, headers: dict[str, str]) -> None:
    client = make_client(allowed_hosts=("tabsa.example",))
    assert client.post("/v1/predict", json=body(), headers=headers).status_code == 200


def test_an_allowed_origin_may_send_with_a_key_and_read_refusals(make_client: Any, client: TestClient) -> None:
    friendly = make_client(cors_origins=("https://friend.example",), api_key=KEY)
    origin = {"Origin": "https://friend.example", "Sec-Fetch-Site": "cross-site"}
    probe = {"Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "authorization,content-type"}
    assert friendly.options("/v1/predict", headers=origin | probe).status_code == 200  # browsers ask without the key
    answers = [
        friendly.post("/v1/predict", json=body(), headers=origin | {"Authorization": f"Bearer {KEY}"}),
        friendly.post("/v1/predict", json=body(), headers=origin),
        friendly.post("/v1/predict", content=b"x" * 2_000_000, headers=origin | {"X-API-Key": KEY}),
    ]
    assert [one.status_code for one in answers] == [200, 401, 413]
    assert {one.headers["access-control-allow-origin"] for one in answers} == {"https://friend.example"}
    other = friendly.post("/v1/predict", json=body(), headers={"Origin": "https://evil.example", "X-API-Key": KEY})
    assert (other.status_code, other.headers.get("access-control-allow-origin")) == (403, None)
    assert "access-control-allow-origin" not in client.get("/v1/models", headers=origin).headers


# ---- the key


@pytest.mark.parametrize("path", ["/v1/models", "/v1/nothing", "/nothing"])
def test_a_key_is_asked_for_where_there_is_one(make_client: Any, path: str) -> None:
    client = make_client(api_key=KEY)
    wrong = ({}, {"Authorization": "Bearer wrong"}, {"Authorization": KEY}, {"X-API-Key": ""}, {"X-API-Key": "ü"})
    for headers in wrong:
        response = client.get(path, headers={name: value.encode("latin-1") for name, value in headers.items()})
        assert error_of(response, 401)["code"] == "unauthorised"
        assert response.headers["www-authenticate"] == "Bearer"
    for headers in ({"Authorization": f"Bearer {KEY}"}, {"Authorization": f"bearer {KEY}"}, {"X-API-Key": KEY}):
        assert client.get(path, headers=headers).status_code in (200, 404)


def test_without_the_key_there_are_the_page_and_the_health(make_client: Any, client: TestClient) -> None:
    keyed = make_client(api_key=KEY)
    for path in ("/", "/static/app.js", "/healthz", "/openapi.json"):
        assert keyed.get(path).status_code == 200, path
    error_of(keyed.post("/v1/predict", json=body()), 401)
    error_of(keyed.post("/v1/score", content=b"x" * 10_000_000), 401)  # before a byte of it is read
    document = keyed.get("/openapi.json").json()
    assert document["paths"]["/v1/predict"]["post"]["security"] == [{"HTTPBearer": []}]
    assert "securitySchemes" not in client.get("/openapi.json").json()["components"]


@pytest.mark.parametrize("key", ["", "schlüssel", "a\nb"])
def test_keys_that_no_header_can_hold(key: str) -> None:
    with pytest.raises(ConfigError, match="api_key"):
        Settings(api_key=key)


# ---- what it tells of itself


@pytest.mark.parametrize(("model", "name"), [(None, "reader"), ("fast", "places")])
def test_a_model_of_the_package_goes_by_its_own_name(model: str | None, name: str) -> None:
    with TestClient(create_app(Settings(model=model, threads=1)), "http://localhost") as client:
        listing = client.get("/v1/models").json()
    assert (listing["default"], listing["models"][0]["open_aspects"]) == (name, name == "reader")
