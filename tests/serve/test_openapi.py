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
    "POST /v1/corrections",
    "POST /v1/columns",
    "POST /v1/score",
    "POST /v1/report",
    "GET /v1/models",
    "GET /healthz",
    "GET /readyz",
)


@pytest.fixture(scope="module")
def operations(tiny_model: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Any]]:
    """What the document of a running service offers."""
    corrections = str(tmp_path_factory.mktemp("saved") / "corrections.jsonl")
    hosts = ("testserver",)
    app = create_app(Settings(model=str(tiny_model), threads=1, corrections=corrections, allowed_hosts=hosts))
    with TestClient(app):
        document = schemathesis.openapi.from_asgi("/openapi.json", app)
        offered = [result.ok() for result in document.get_all_operations()]
        yield {operation.label: operation for operation in offered}


def test_every_operation_is_tried(operations: dict[str, Any]) -> None:
    assert set(operations) == set(OPERATIONS)


# What fits the document, and for those that take a body what does not.
TRIED = [(label, "POSITIVE") for label in OPERATIONS] + [(label, "NEGATIVE") for label in OPERATIONS if "POST" in label]


@pytest.mark.fuzz
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
    assert "code points" in str(document)
    for path, methods in document["paths"].items():
        for operation in methods.values():
            errors = {status: one for status, one in operation["responses"].items() if status >= "4"}
            assert set(errors) == {"4XX", "503"}, path
            for response in errors.values():
                schema = response["content"]["application/json"]["schema"]
                assert schema == {"$ref": "#/components/schemas/ErrorResponse"}
