"""What the tests of the service share."""

import json
from typing import Any


def error_of(response: Any, status: int) -> dict[str, Any]:
    """The error of an answer, which has the one form and one line."""
    assert response.status_code == status, response.text
    assert set(response.json()) == {"error"}
    error: dict[str, Any] = response.json()["error"]
    assert set(error) == {"code", "message", "field"}
    assert error["message"]
    assert "\n" not in error["message"]
    return error


def body(**fields: Any) -> dict[str, Any]:
    """A request for a prediction, with something changed."""
    return {"text": "Camden is not cheap.", "targets": ["Camden"]} | fields


def as_json(content: Any) -> dict[str, Any]:
    """How to send JSON exactly so, whatever a client library thinks of it."""
    return {"content": json.dumps(content).encode(), "headers": {"Content-Type": "application/json"}}
