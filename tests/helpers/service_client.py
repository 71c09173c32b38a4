"""What the tests of the service share."""

import csv
import io
import json
import time
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


REVIEWS = [("r1", "Camden is not cheap but nice"), ("r2", "Leeds, lovely; camden dear"), ("r3", "nobody")]


def csv_table(rows: list[tuple[str, str]] = REVIEWS) -> bytes:
    """A table to score."""
    out = io.StringIO()
    csv.writer(out).writerows([("id", "text"), *rows])
    return out.getvalue().encode()


def post_table(client: Any, content: bytes | None = None, name: str = "reviews.csv", **fields: Any) -> Any:
    """Send a table to be scored; a field of None is left out, and `job` asks not to wait."""
    job = fields.pop("job", None)
    form = {key: value for key, value in ({"targets": ["Camden", "Leeds"]} | fields).items() if value is not None}
    files = {"file": (name, csv_table() if content is None else content)}
    return client.post("/v1/score", params={"job": "true"} if job else {}, files=files, data=form)


def finished_job(client: Any, identity: str) -> dict[str, Any]:
    """How a job ended."""
    for _ in range(500):
        status: dict[str, Any] = client.get(f"/v1/jobs/{identity}").json()
        if status["state"] != "running":
            return status
        time.sleep(0.02)
    raise AssertionError("the job does not end")
