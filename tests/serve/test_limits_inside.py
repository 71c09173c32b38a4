"""What one request may hold, and what may come of it."""

import csv
import io
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient

from service_client import as_json, body, csv_table, error_of, finished_job, post_table

LONG = "x" * 32_000


@pytest.mark.parametrize(
    ("field", "most"),
    [("prefix", 200), ("text_column", 1000), ("id_column", 1000), ("target_column", 1000), ("date_column", 1000)],
)
def test_a_field_of_a_form_has_a_limit(client: TestClient, field: str, most: int) -> None:
    fields: dict[str, Any] = {"targets": None} if field == "target_column" else {}
    error = error_of(post_table(client, **fields, **{field: LONG}), 422)
    assert (error["code"], error["field"]) == ("limit", field)
    assert f"32,000 characters{'' if field == 'prefix' else ' of a column' + chr(39) + 's name'}" in error["message"]
    assert f"at most {most:,} are allowed" in error["message"]


def test_the_aspect_and_the_target_looked_into_have_limits(client: TestClient) -> None:
    for of in ({"target": LONG, "aspect": "price"}, {"target": "Camden", "aspect": LONG}):
        error = error_of(client.post("/v1/evidence", json=body(of=of)), 422)
        assert error["code"] == "limit"
        assert len(error["message"]) < 200


@pytest.mark.parametrize("content", [{"x" * 500_000: 1}, body(**{"y" * 500_000: 1}), body(aspect_list="z" * 190)])
def test_an_error_does_not_send_everything_back(client: TestClient, content: dict[str, Any]) -> None:
    response = client.post("/v1/predict", **as_json(content))
    assert error_of(response, 422)
    assert len(response.content) < 2000


@pytest.mark.parametrize(
    ("target", "field", "words"),
    [
        (None, "targets.0", "expected a name, or an object with a name and aliases"),
        (5, "targets.0", "expected a name, or an object with a name and aliases"),
        ([], "targets.0", "expected a name, or an object with a name and aliases"),
        ({"name": None}, "targets.0.name", "input should be a valid string"),
        ({"name": "a", "aliases": [None]}, "targets.0.aliases.0", "input should be a valid string"),
    ],
)
def test_what_is_wrong_with_a_target_is_told_in_plain_words(
    client: TestClient, target: Any, field: str, words: str
) -> None:
    error = error_of(client.post("/v1/predict", json=body(targets=[target])), 422)
    assert error == {"code": "invalid", "message": f"'{field}': {words}", "field": field}


def test_a_rows_own_targets_have_the_limits_of_a_request(make_client: Any) -> None:
    client = make_client(max_targets=3, max_name_characters=8)
    rows = [("Camden;Leeds", "a Camden"), ("a;b;c;d", "a"), ("a;b;c", "b"), ("123456789", "c")]
    content = "id,text\n" + "".join(f"{names},{text}\n" for names, text in rows)
    identity = post_table(client, content.encode(), targets=None, target_column="id", job=True).json()["id"]
    status = finished_job(client, identity)
    assert (status["scored"], status["rejected"]) == (2, 2)
    lines = client.get(f"/v1/jobs/{identity}/rejects").text.splitlines()
    assert [json.loads(line)["reason"] for line in lines] == [
        "4 targets in 'id'; at most 3 are allowed",
        "a target in 'id' has 9 characters; at most 8",
    ]


def test_a_row_with_a_very_long_text_is_rejected(make_client: Any) -> None:
    client = make_client(max_row_characters=50)
    identity = post_table(client, csv_table([("1", "Camden"), ("2", "Camden " * 10)]), job=True).json()["id"]
    assert finished_job(client, identity)["rejected"] == 1
    assert "longer than 50 characters" in client.get(f"/v1/jobs/{identity}/rejects").text


@pytest.mark.parametrize("job", [True, False])
def test_results_with_too_many_cells_are_refused_before_they_are_made(make_client: Any, job: bool) -> None:
    client = make_client(max_result_cells=59)
    aspects = len(client.app.state.service.predictor.aspects)
    rows = [(str(n), "Camden") for n in range(60 // (2 * aspects) + 1)]
    error = error_of(post_table(client, csv_table(rows), job=job), 422)
    assert error["code"] == "limit"
    assert f"more than 59 new cells, {2 * aspects} a row" in error["message"]
    assert client.app.state.service.jobs._running() == 0
    assert post_table(client, csv_table(rows[: 59 // (2 * aspects)])).status_code == 200


def test_results_with_too_many_bytes_end_the_job_with_one_line(make_client: Any, tmp_path: Path) -> None:
    client = make_client(max_result_bytes=2000, folder=str(tmp_path))
    identity = post_table(client, csv_table([(str(n), "Camden is far") for n in range(200)]), job=True).json()["id"]
    status = finished_job(client, identity)
    assert status["state"] == "failed"
    assert status["error"] == (
        "the results would be larger than 2,000 bytes; score fewer rows, targets or aspects at a time"
    )
    assert sum(path.stat().st_size for path in (tmp_path / "jobs" / identity).iterdir()) < 20_000


def test_finished_jobs_give_way_the_oldest_first(make_client: Any, tmp_path: Path) -> None:
    client = make_client(max_kept_jobs=3, max_jobs=2, folder=str(tmp_path))
    identities = []
    for age in (50, 40, 30, 20, 10):  # seconds ago
        identities.append(post_table(client, job=True).json()["id"])
        finished_job(client, identities[-1])
        path = tmp_path / "jobs" / identities[-1] / "job.json"
        changed = path.stat().st_mtime - age
        os.utime(path, (changed, changed))
    there = [client.get(f"/v1/jobs/{identity}").status_code for identity in identities]
    assert there == [404, 404, 200, 200, 200]


def test_the_disk_of_all_jobs_is_bounded(make_client: Any, tmp_path: Path) -> None:
    one = make_client(folder=str(tmp_path / "one"))
    first = post_table(one, job=True).json()["id"]
    finished_job(one, first)
    size = sum(path.stat().st_size for path in (tmp_path / "one" / "jobs" / first).iterdir())
    client = make_client(max_jobs_bytes=int(2.5 * size), folder=str(tmp_path / "two"))
    for _ in range(5):
        assert finished_job(client, post_table(client, job=True).json()["id"])["state"] == "done"
    client.app.state.service.jobs.make_folder()
    held = [path for path in (tmp_path / "two" / "jobs").rglob("*") if path.is_file()]
    assert sum(path.stat().st_size for path in held) <= 2.5 * size
    small = make_client(max_jobs_bytes=10, folder=str(tmp_path / "three"))
    status = finished_job(small, post_table(small, job=True).json()["id"])
    assert status["state"] == "failed"
    assert "no room for the results" in status["error"]


def test_a_request_may_make_so_much_work(make_client: Any) -> None:
    """A hundred texts that name a hundred targets throughout: refused while they are counted, before any is read."""
    client = make_client(model="reader")
    names = [f"Place{number}" for number in range(100)]
    text = (" ".join(names) * 20)[:10_000]
    service = client.app.state.service
    read = service.batcher._quick.predictor.engine.read_passages
    calls: list[int] = []
    service.batcher._quick.predictor.engine.read_passages = lambda *a, **k: calls.append(1) or read(*a, **k)
    error = error_of(
        client.post("/v1/predict", json={"texts": [text] * 100, "targets": names, "aspects": ["price"]}), 422
    )
    assert error["code"] == "limit"
    assert "over 200,000 word pieces to read and questions to answer" in error["message"]
    assert calls == []
    cell = {"target": "Place1", "aspect": "price"}
    long = (" ".join([*names, "is dear. "]) * 20)[:10_000]
    error = error_of(
        make_client(model="reader", max_work=20_000).post(
            "/v1/evidence", json={"text": long, "targets": names, "of": cell}
        ),
        422,
    )
    assert error["code"] == "limit"


FORMULAS = ("=1+2", "+cmd", "-x", "@a", "\tq", "\rz")


@pytest.mark.parametrize("job", [True, False])
def test_formulas_are_escaped_where_that_is_asked_for(client: TestClient, job: bool) -> None:
    content = csv_table([(cell, f"{cell} Camden") for cell in (*FORMULAS, "-0.5", "+3", "a=b")])
    for asked in (None, "true"):
        response = post_table(
            client, content, job=job, escape_formulas=asked, probabilities="true", targets=["Camden", "-x"]
        )
        if job:
            identity = response.json()["id"]
            assert finished_job(client, identity)["state"] == "done"
            response = client.get(f"/v1/jobs/{identity}/result")
        header, *rows = csv.reader(io.StringIO(response.content.decode(), newline=""))
        mark = "'" if asked else ""
        assert [row[0] for row in rows] == [*(mark + cell for cell in FORMULAS), "-0.5", "+3", "a=b"]
        assert rows[0][1] == f"{mark}=1+2 Camden"
        assert any(name.startswith(f"{mark}-x/") for name in header)
        assert all(float(row[header.index("Camden/price/none")]) >= 0 for row in rows)


MEMORY = """
import io, json, resource, sys
from pathlib import Path
from fastapi.testclient import TestClient
from tabsa.serve.app import create_app
from tabsa.serve.settings import Settings

def status(name):
    return int(Path("/proc/self/status").read_text().split(name + ":")[1].split()[0]) * 1024

with TestClient(create_app(Settings(model=sys.argv[1], threads=1)), "http://localhost") as client:
    names = [f"{n:03}" + "n" * 197 for n in range(100)]
    rows = "".join(json.dumps({"id": n, "text": f"{names[n % 100]} is dear"}) + "\\n" for n in range(256))
    form = {"targets": names, "prefix": "p" * 200, "format": "jsonl", "probabilities": "true"}
    before = status("VmRSS")
    limit = status("VmSize") + 400 * 2**20
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    size = 0
    with client.stream("POST", "/v1/score", files={"file": ("a.jsonl", rows.encode())}, data=form) as answer:
        assert answer.status_code == 200, answer.read()
        for piece in answer.iter_bytes():
            size += len(piece)
    print(size, status("VmHWM") - before)
"""


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs /proc to tell a process's memory")
def test_the_memory_of_a_request_is_bounded(tiny_model: Path) -> None:
    """256 rows, 100 targets and names as long as may be, as JSON Lines: over 100 MB, in a limited process."""
    done = subprocess.run([sys.executable, "-c", MEMORY, tiny_model], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    size, grown = map(int, done.stdout.split())
    assert size > 100 * 2**20
    assert grown < 300 * 2**20
