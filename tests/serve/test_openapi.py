"""The service's own OpenAPI document: what it says is what happens, and nothing it allows breaks the service."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient
from hypothesis import HealthCheck, given
from hypothesis import settings as hypothesis_settings

from tabsa.serve.app import create_app
from tabsa.serve.settings import Settings

schemathesis = pytest.importorskip("schemathesis", reason="needs Schemathesis: pip install schemathesis")
checks = pytest.importorskip("schemathesis.specs.openapi.checks")

CHECKS = [
    schemathesis.checks.not_a_server_error,
    checks.status_code_conformance,
    checks.content_type_conformance,
    checks.response_schema_conformance,
]


OPERATIONS = (
    "POST /v1/predict",
    "POST /v1/evidence",
    "POST /v1/suggest",
    "POST /v1/score",
    "POST /v1/corrections",
    "GET /v1/models",
    "GET /v1/jobs/{id}",
    "GET /v1/jobs/{id}/result",
    "GET /v1/jobs/{id}/rejects",
    "GET /v1/jobs/{id}/summary",
    "GET /v1/jobs/{id}/rows",
    "GET /v1/jobs/{id}/report.html",
    "GET /v1/jobs/{id}/numbers.csv",
    "POST /v1/csv",
    "DELETE /v1/jobs/{id}",
    "GET /healthz",
    "GET /readyz",
    "GET /metrics",
)


@pytest.fixture(scope="module")
def operations(tiny_model: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Any]]:
    """What the document of a running service offers; its limits are small, so that what is beyond them is tried too."""
    corrections = str(tmp_path_factory.mktemp("kept") / "corrections.jsonl")
    limits = {"max_texts": 3, "max_targets": 5, "max_text_characters": 100, "allowed_hosts": ("testserver",)}
    app = create_app(Settings(model=str(tiny_model), threads=1, corrections=corrections, **limits))
    with TestClient(app):
        document = schemathesis.openapi.from_asgi("/openapi.json", app)
        offered = [result.ok() for result in document.get_all_operations()]
        yield {operation.label: operation for operation in offered}


def test_every_operation_is_tried(operations: dict[str, Any]) -> None:
    assert set(operations) == set(OPERATIONS)


# What fits the document, and for those that take a body what does not.
TRIED = [(label, "POSITIVE") for label in OPERATIONS] + [(label, "NEGATIVE") for label in OPERATIONS if "POST" in label]


@pytest.mark.parametrize(("label", "mode"), TRIED)
def test_no_request_breaks_the_service(operations: dict[str, Any], label: str, mode: str) -> None:
    @given(case=operations[label].as_strategy(generation_mode=schemathesis.GenerationMode[mode]))
    @hypothesis_settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck), database=None)
    def check(case: Any) -> None:
        case.call_and_validate(checks=CHECKS)

    check()


def test_the_document_has_examples_that_work(client: TestClient) -> None:
    document = client.get("/openapi.json").json()
    paths = ("/v1/predict", "/v1/suggest")
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
    assert set(document["paths"]) == {
        "/v1/predict",
        "/v1/evidence",
        "/v1/suggest",
        "/v1/models",
        "/v1/score",
        "/v1/corrections",
        "/v1/jobs/{id}",
        "/v1/jobs/{id}/result",
        "/v1/jobs/{id}/rejects",
        "/v1/jobs/{id}/summary",
        "/v1/jobs/{id}/rows",
        "/v1/jobs/{id}/report.html",
        "/v1/jobs/{id}/numbers.csv",
        "/v1/csv",
        "/healthz",
        "/readyz",
        "/metrics",
    }
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            for status, response in operation["responses"].items():
                if status >= "400":
                    schema = response["content"]["application/json"]["schema"]
                    assert schema == {"$ref": "#/components/schemas/ErrorResponse"}, (path, method, status)
    assert "code points" in str(document)
