"""By which names the service can be addressed, and what pages of other sites can make a browser send."""

from typing import Any

import pytest

from service_client import body, error_of

OWN = "http://localhost"
FILE = {"file": ("a.csv", b"text\nCamden is nice\n")}

NAMES = {
    "localhost": 200,
    "LOCALHOST:8000": 200,
    "127.0.0.1:8000": 200,
    "[::1]:8000": 200,
    "10.0.0.5": 200,
    "tabsa.example": 200,
    "Tabsa.Example:443": 200,
    "evil.example": 400,
    "localhost.evil.example": 400,
    "127.0.0.1.evil.example:8000": 400,
    "tabsa.example.evil.example": 400,
    "[evil.example]": 400,
    "": 400,
}


@pytest.mark.parametrize("path", ["/v1/models", "/", "/healthz", "/metrics", "/nowhere"])
def test_only_addresses_localhost_and_names_given_are_answered(make_client: Any, path: str) -> None:
    client = make_client(allowed_hosts=("tabsa.example",))
    for host, status in NAMES.items():
        response = client.get(path, headers={"Host": host})
        assert (response.status_code == 400) == (status == 400), host
        if status == 400:
            assert error_of(response, 400)["code"] == "bad_host"


def test_rebound_names_are_refused_by_default(make_client: Any) -> None:
    client = make_client()
    assert client.get("/v1/models", headers={"Host": "evil.example:8000"}).status_code == 400
    assert client.get("/v1/models", headers={"Host": "192.168.1.7:8000"}).status_code == 200
    assert make_client(allowed_hosts=("*",)).get("/v1/models", headers={"Host": "any.example"}).status_code == 200


def test_a_second_name_is_refused(make_client: Any) -> None:
    headers = [("Host", "localhost"), ("Host", "evil.example")]
    assert make_client().get("/v1/models", headers=headers).status_code == 400


FOREIGN = {
    "cross-site": {"Sec-Fetch-Site": "cross-site"},
    "same-site": {"Sec-Fetch-Site": "same-site"},
    "same-site with an origin": {"Sec-Fetch-Site": "same-site", "Origin": "http://localhost:3000"},
    "another origin": {"Origin": "https://evil.example"},
    "another port": {"Origin": "http://localhost:3000"},
    "another scheme's port": {"Origin": "https://localhost:80"},
    "a sandbox": {"Origin": "null"},
    "a file": {"Origin": "file://"},
    "an origin like ours": {"Origin": "http://localhost.evil.example"},
    "no port": {"Origin": "http://localhost:x"},
    "an extension": {"Origin": "chrome-extension://localhost"},
    "something new": {"Sec-Fetch-Site": "elsewhere"},
}


@pytest.mark.parametrize("headers", FOREIGN.values(), ids=FOREIGN)
def test_pages_of_other_sites_are_refused(client: Any, headers: dict[str, str]) -> None:
    sent = client.post("/v1/score", files=FILE, data={"targets": "Camden"}, headers=headers)
    assert error_of(sent, 403)["code"] == "other_site"
    assert error_of(client.post("/v1/predict", json=body(), headers=headers), 403)["code"] == "other_site"
    assert error_of(client.delete("/v1/jobs/aaaaaaaaaaaaaaaaaaaaaa", headers=headers), 403)["code"] == "other_site"
    assert client.get("/healthz", headers=headers).status_code == 200


OWN_PAGES = {
    "no browser": {},
    "our page": {"Sec-Fetch-Site": "same-origin", "Origin": OWN},
    "a person": {"Sec-Fetch-Site": "none"},
    "our page, of an old browser": {"Origin": OWN},
    "our page, by its port": {"Origin": "http://localhost:80"},
    "our page behind a proxy": {"Origin": "https://tabsa.example", "Host": "tabsa.example"},
    "our page behind a proxy, by its port": {"Origin": "https://tabsa.example:8443", "Host": "tabsa.example:8443"},
    "a proxy that leaves the port out": {"Sec-Fetch-Site": "same-origin", "Origin": "https://localhost:8443"},
    "our page by its address": {"Origin": "http://[::1]:8000", "Host": "[::1]:8000"},
}


@pytest.mark.parametrize("headers", OWN_PAGES.values(), ids=OWN_PAGES)
def test_the_page_itself_and_programs_are_not(make_client: Any, headers: dict[str, str]) -> None:
    client = make_client(allowed_hosts=("tabsa.example",))
    assert client.post("/v1/predict", json=body(), headers=headers).status_code == 200


def test_an_origin_that_was_allowed_may_send(make_client: Any) -> None:
    client = make_client(cors_origins=("https://friend.example",))
    for site in ({}, {"Sec-Fetch-Site": "cross-site"}, {"Sec-Fetch-Site": "same-site"}):
        allowed = client.post("/v1/predict", json=body(), headers={"Origin": "https://friend.example", **site})
        assert allowed.status_code == 200
        other = client.post("/v1/predict", json=body(), headers={"Origin": "https://evil.example", **site})
        assert other.status_code == 403
