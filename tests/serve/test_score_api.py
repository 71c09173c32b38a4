"""`POST /v1/score`, at once and as a job."""

import csv
import gzip
import io
import json
import os
import time
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient

from service_client import error_of
from tabsa.inference.predictor import Predictor
from tabsa.schema import Target
from tabsa.scoring import Layout, Request, score
from tabsa.serve import jobs as module

ROWS = [
    ("r1", "Camden is not cheap but nice"),
    ("r2", "Leeds, lovely; camden dear"),
    ("r3", "nobody"),
    ("r4", "“Camden”\nis far"),
]


def table(rows: list[tuple[str, str]] = ROWS) -> bytes:
    out = io.StringIO()
    csv.writer(out).writerows([("id", "text"), *rows])
    return out.getvalue().encode()


def post(client: TestClient, content: bytes | None = None, name: str = "reviews.csv", **fields: Any) -> Any:
    job = fields.pop("job", None)
    form = {"targets": ["Camden", "Leeds"]} | fields
    form = {key: value for key, value in form.items() if value is not None}
    files = {"file": (name, table() if content is None else content)}
    return client.post("/v1/score", params={"job": "true"} if job else {}, files=files, data=form)


def by_hand(tmp_path: Path, predictor: Predictor, suffix: str, **options: Any) -> bytes:
    """What `tabsa score` would have written."""
    (tmp_path / "in.csv").write_bytes(table())
    request = Request(**{"targets": {"Camden": (), "Leeds": ()}} | options)
    score(tmp_path / "in.csv", tmp_path / f"out{suffix}", predictor, request, overwrite=True)
    return (tmp_path / f"out{suffix}").read_bytes()


def finished(client: TestClient, identity: str) -> dict[str, Any]:
    for _ in range(200):
        status: dict[str, Any] = client.get(f"/v1/jobs/{identity}").json()
        if status["state"] != "running":
            return status
        time.sleep(0.02)
    raise AssertionError("the job does not end")


FORMS: dict[str, tuple[dict[str, Any], dict[str, Any], str]] = {
    "wide csv": ({}, {}, ".csv"),
    "long jsonl": ({"layout": "long", "format": "jsonl"}, {"layout": Layout.LONG}, ".jsonl"),
    "aspects": ({"aspect": ["price", "safety"]}, {"aspects": ["price", "safety"]}, ".csv"),
    "own targets": ({"targets": None, "target_column": "id"}, {"targets": None, "target_column": "id"}, ".csv"),
    "evidence": ({"layout": "long", "evidence": "true"}, {"layout": Layout.LONG, "evidence": True}, ".csv"),
    "prefix": ({"prefix": "x/", "probabilities": "true"}, {"prefix": "x/", "probabilities": True}, ".csv"),
    "columns": ({"text_column": "text", "id_column": "id"}, {"text_column": "text", "id_column": "id"}, ".csv"),
    "aliases": (
        {"targets": ["Camden=nobody, far", "Leeds"], "probabilities": "true"},
        {"targets": {"Camden": ["nobody", "far"], "Leeds": []}, "probabilities": True},
        ".csv",
    ),
    "escapes": ({"targets": ["C\\=D\\\\=nobody\\,"]}, {"targets": {"C=D\\": ["nobody,"]}}, ".csv"),
    "implied": (
        {"implied": "true", "probabilities": "true"},
        {"implied": True, "probabilities": True},
        ".csv",
    ),
    "own and implied": (
        {"targets": None, "target_column": "id", "implied": "true", "format": "jsonl", "layout": "long"},
        {"targets": None, "target_column": "id", "implied": True, "layout": Layout.LONG},
        ".jsonl",
    ),
    "empty fields": ({"text_column": "", "target_column": "", "aspect": ""}, {}, ".csv"),
}


@pytest.mark.parametrize("job", [False, True])
@pytest.mark.parametrize("name", FORMS)
def test_the_result_is_that_of_the_command(
    client: TestClient, predictor: Predictor, tmp_path: Path, name: str, job: bool
) -> None:
    fields, options, suffix = FORMS[name]
    expected = by_hand(tmp_path, predictor, suffix, **options)
    response = post(client, job=job, **fields)
    if job:
        assert response.status_code == 202, response.text
        assert response.json() == {"id": response.json()["id"], "rows": None, "state": "running"}
        identity = response.json()["id"]
        status = finished(client, identity)
        assert status["no_summary"] in (None, "no text has an opinion on what was asked")
        assert status == {
            "id": identity,
            "state": "done",
            "scored": 4,
            "rejected": 0,
            "share": 1.0,
            "note": None,
            "summary": status["no_summary"] is None,
            "no_summary": status["no_summary"],
            "error": None,
        }
        response = client.get(f"/v1/jobs/{identity}/result")
        assert client.get(f"/v1/jobs/{identity}/rejects").content == b""
        assert client.delete(f"/v1/jobs/{identity}").status_code == 204
        error_of(client.get(f"/v1/jobs/{identity}"), 404)
        error_of(client.delete(f"/v1/jobs/{identity}"), 404)
    assert response.status_code == 200, response.text
    assert response.content == expected
    assert response.headers["content-disposition"] == f'attachment; filename="opinions{suffix}"'
    kind = "text/csv; charset=utf-8" if suffix == ".csv" else "application/x-ndjson"
    assert response.headers["content-type"] == kind


def test_an_alias_counts_as_a_mention(client: TestClient) -> None:
    shares = {}
    for targets in ("Camden", "Camden=nobody"):
        response = post(client, targets=targets, probabilities="true", format="jsonl")
        shares[targets] = [json.loads(line)["Camden/price/none"] for line in response.text.splitlines()]
    assert shares["Camden"][2] == 1  # the third row mentions nobody
    assert shares["Camden=nobody"][2] < 1
    assert shares["Camden=nobody"][:2] == shares["Camden"][:2]


def test_what_texts_are_about_may_go_without_a_name(client: TestClient, predictor: Predictor) -> None:
    target = [Target("", implied=True)]
    rows = list(csv.DictReader(io.StringIO(post(client, targets=None, implied="true").text)))
    for (name, text), row in zip(ROWS, rows, strict=True):
        expected = {opinion.aspect: opinion.polarity for opinion in predictor.predict(text, target).opinions}
        assert row == {"id": name, "text": text, **expected}
    long = post(client, targets=None, implied="true", layout="long", format="jsonl").text.splitlines()
    found = sum(len(predictor.predict(text, target).found()) for _, text in ROWS)
    assert [json.loads(line)["target"] for line in long] == [None] * found
    assert "either 'targets'" in error_of(post(client, targets=None), 422)["message"]


def test_a_text_may_be_about_what_it_does_not_name(client: TestClient) -> None:
    response = post(client, targets="Camden", probabilities="true", format="jsonl", implied="true")
    assert all(json.loads(line)["Camden/price/none"] < 1 for line in response.text.splitlines())
    assert error_of(post(client, implied="maybe"), 422)["field"] == "implied"


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.tsv", b"id\ttext\nr1\tCamden is nice\n"),
        ("A.CSV.GZ", gzip.compress(b"id,text\nr1,Camden is nice\n", mtime=0)),
        ("../../a.jsonl", b'{"id": "r1", "text": "Camden is nice"}\n'),
        ("ü ß\u2028.csv", b"id,text\nr1,Camden is nice\n"),
    ],
    ids=["tsv", "csv.gz", "jsonl", "odd name"],
)
def test_files_of_every_kind(client: TestClient, name: str, content: bytes) -> None:
    response = post(client, content, name, format="jsonl")
    assert response.status_code == 200, response.text
    assert json.loads(response.text)["Camden/general"] in ("none", "positive", "negative")


@pytest.mark.parametrize("job", [False, True])
@pytest.mark.parametrize(
    ("content", "fields", "word"),
    [
        (b"", {}, "no rows"),
        (b"id,text\n", {}, "no rows"),
        (b"id,text\n1,\n2,\n", {}, "all 2 rows were rejected"),
        (b"a,b\n1,2\n", {}, "say with 'text_column'"),
        (b"a,text\n1,2\n", {"text_column": "words"}, "words"),
        (b"text,text\n1,2\n", {}, "more than one column"),
        (b"text,Camden/price\nCamden,2\n", {}, "'prefix'"),
        (b"\0\0a,text\n", {}, "zero bytes"),
        ("a,text\n".encode("utf-32"), {}, "UTF-32"),
    ],
)
def test_files_that_cannot_be_scored(
    client: TestClient, content: bytes, fields: dict[str, Any], word: str, job: bool
) -> None:
    response = post(client, content, job=job, **fields)
    if job:
        status = finished(client, response.json()["id"])
        assert status["state"] == "failed"
        message = status["error"]
        error_of(client.get(f"/v1/jobs/{status['id']}/result"), 404)
        client.delete(f"/v1/jobs/{status['id']}")
    else:
        error = error_of(response, 422)
        assert (error["code"], error["field"]) == ("bad_file", "file")
        message = error["message"]
    assert word in message
    assert "input." not in message  # where the service keeps it is nobody's business


@pytest.mark.parametrize(
    ("fields", "status", "field"),
    [
        ({"targets": None}, 422, None),
        ({"target_column": "who"}, 422, None),
        ({"layout": "tall"}, 422, "layout"),
        ({"format": "xlsx"}, 422, "format"),
        ({"aspect": "prize"}, 422, "aspect"),
        ({"colour": "red"}, 422, "colour"),
        ({"targets": ["Camden", "camden "]}, 422, "targets"),
        ({"targets": ["Camden", "Camden=NW1"]}, 422, "targets"),
        ({"targets": ["Camden=NW1", "Leeds=nw1"]}, 422, "targets"),
        ({"targets": "=NW1"}, 422, "targets"),
        ({"targets": "Camden=" + ",".join(f"N{n}" for n in range(21))}, 422, "targets"),
        ({"targets": "Camden=" + "x" * 201}, 422, "targets"),
        ({"targets": "a\0"}, 422, "targets.0"),
        ({"targets": [f"Place{n}" for n in range(101)]}, 422, "targets"),
        ({"targets": [f"Place{n}" for n in range(10_000)]}, 400, None),
        ({"targets": "x" * 100_000}, 400, None),
        ({"name": "reviews.xlsx"}, 422, "file"),
        ({"name": "reviews.xls"}, 415, "file"),
        ({"name": "reviews.parquet"}, 415, "file"),
        ({"name": "reviews.csv.gz"}, 422, "file"),
        ({"name": ""}, 422, "file"),
    ],
    ids=str,
)
def test_forms_that_are_not_right(client: TestClient, fields: Any, status: int, field: str | None) -> None:
    for job in (False, True):
        error = error_of(post(client, job=job, **fields), status)
        assert error["field"] == field


def test_a_form_without_a_file(client: TestClient) -> None:
    assert error_of(client.post("/v1/score", files={"other": ("a.csv", b"text\n")}), 422)["field"] == "file"
    assert error_of(client.post("/v1/score", files={"file": (None, "text")}), 422)["field"] == "file"
    headers = {"Content-Type": "multipart/form-data; boundary=b"}
    error_of(client.post("/v1/score", content=b"nonsense", headers=headers), 400)
    error_of(client.post("/v1/score", content=b"x", headers={"Content-Type": "multipart/form-data"}), 400)
    assert client.post("/v1/score?job=perhaps", files={"file": ("a.csv", b"text\n")}).status_code == 422


def test_files_that_are_too_large_packed_or_not(make_client: Any, tmp_path: Path) -> None:
    client = make_client(max_upload_bytes=10_000, folder=str(tmp_path))
    bomb = gzip.compress(b"text\n" + b"a" * 5_000_000)
    for content, name in ((b"text\n" + b"a" * 11_000, "a.csv"), (b"a" * 400_000, "a.csv"), (bomb, "a.csv.gz")):
        for job in (False, True):
            assert error_of(post(client, content, name, job=job), 413)["code"] == "too_large"
    lines = make_client(max_rows=10)
    assert "10 lines" in error_of(post(lines, b"text\n" + b"Camden\n" * 10), 413)["message"]
    assert [*tmp_path.glob("jobs/*"), *tmp_path.glob("uploads/*/*/")] == []


def test_rows_that_cannot_be_scored_are_kept_with_the_reason(client: TestClient) -> None:
    status = finished(client, post(client, b"id,text\n1,Camden\n2,\n3\n", job=True).json()["id"])
    assert (status["state"], status["scored"], status["rejected"]) == ("done", 1, 2)
    lines = client.get(f"/v1/jobs/{status['id']}/rejects").text.splitlines()
    assert [json.loads(line)["row"] for line in lines] == [3, 4]


def test_rows_of_a_long_table_leave_as_they_are_scored(predictor: Predictor, tmp_path: Path) -> None:
    from tabsa.serve.streaming import scored

    (tmp_path / "in.csv").write_bytes(table(ROWS * 50))
    request = Request(targets={"Camden": (), "Leeds": ()}, chunk=20)
    pieces = list(scored(tmp_path / "in.csv", ".csv", predictor, request))
    assert len(pieces) == 10
    score(tmp_path / "in.csv", tmp_path / "out.csv", predictor, request)
    assert b"".join(pieces) == (tmp_path / "out.csv").read_bytes()


def test_only_some_files_are_scored_at_a_time(make_client: Any, tmp_path: Path) -> None:
    client = make_client(max_scoring=4, folder=str(tmp_path))
    service = client.app.state.service
    for others, own in ((4, 0), (1, 2)):  # all places; half of them, which one client may have
        service.streams.update({"another": others, "testclient": own})
        response = post(client)
        assert error_of(response, 503)["code"] == "busy"
        assert response.headers["retry-after"] == "10"
        service.streams.clear()
    service.streams.update({"another": 2, "testclient": 1})
    assert post(client).status_code == 200
    assert service.streams == {"another": 2, "testclient": 1}
    assert "tabsa_rows_total 4.0" in client.get("/metrics").text
    error_of(post(client, b"a,b\n1,2\n"), 422)
    assert service.streams == {"another": 2, "testclient": 1}
    assert list((tmp_path / "uploads").glob("*/*/")) == []


def test_jobs_are_few_and_end_some_day(make_client: Any, tmp_path: Path) -> None:
    client = make_client(max_jobs=2, folder=str(tmp_path))
    first, second = (post(client, job=True).json()["id"] for _ in range(2))
    for identity in (first, second):
        finished(client, identity)
    jobs = client.app.state.service.jobs
    waiting = [jobs.make_folder() for _ in range(2)]  # finished ones do not count
    response = post(client, job=True)
    assert error_of(response, 429)["code"] == "busy"
    assert int(response.headers["retry-after"]) > 0
    for folder in waiting:
        jobs.discard(folder)
    old = time.time() - 3601
    os.utime(tmp_path / "jobs" / first / "job.json", (old, old))
    third = post(client, job=True)
    assert third.status_code == 202
    error_of(client.get(f"/v1/jobs/{first}"), 404)
    assert finished(client, second)["state"] == "done"


@pytest.mark.parametrize("identity", ["x", "..", "%2e%2e", "a" * 22, "a" * 10_000, "%00", "%F0%9F%98%80", "..%2fjobs"])
def test_there_is_no_such_job(client: TestClient, identity: str) -> None:
    for path in (f"/v1/jobs/{identity}", f"/v1/jobs/{identity}/result", f"/v1/jobs/{identity}/rejects"):
        error_of(client.get(path), 404)


class Slow:
    """A predictor that gives the test time to look."""

    def __init__(self, predictor: Predictor) -> None:
        self._predictor = predictor

    def __getattr__(self, name: str) -> Any:
        return getattr(self._predictor, name)

    def predict_many(self, *given: Any, **options: Any) -> Any:
        time.sleep(0.05)
        return self._predictor.predict_many(*given, **options)


def long_job(client: TestClient) -> str:
    service = client.app.state.service  # type: ignore[attr-defined]
    service.jobs._predictor = Slow(service.predictor)
    identity: str = post(client, table(ROWS * 2000), job=True).json()["id"]
    while client.get(f"/v1/jobs/{identity}").json()["scored"] == 0:
        time.sleep(0.01)
    return identity


def test_a_running_job_tells_how_far_it_is_and_can_be_stopped(make_client: Any, tmp_path: Path) -> None:
    client = make_client(folder=str(tmp_path))
    identity = long_job(client)
    status = client.get(f"/v1/jobs/{identity}").json()
    assert status["state"] == "running"
    assert 0 < status["share"] < 1
    error_of(client.get(f"/v1/jobs/{identity}/result"), 404)
    error_of(client.get(f"/v1/jobs/{identity}/rejects"), 404)
    assert client.delete(f"/v1/jobs/{identity}").status_code == 204
    error_of(client.get(f"/v1/jobs/{identity}"), 404)
    for _ in range(100):
        if not (tmp_path / "jobs" / identity).exists():
            break
        time.sleep(0.05)
    assert list((tmp_path / "jobs").iterdir()) == []


def test_a_job_that_waits_for_its_turn_can_be_deleted(make_client: Any, tmp_path: Path) -> None:
    client = make_client(folder=str(tmp_path), max_scoring=1)
    first, second = long_job(client), post(client, job=True).json()["id"]
    status = client.get(f"/v1/jobs/{second}").json()
    assert (status["state"], status["scored"]) == ("running", 0)
    for identity in (second, first):
        assert client.delete(f"/v1/jobs/{identity}").status_code == 204
        error_of(client.get(f"/v1/jobs/{identity}"), 404)
    client.app.state.service.jobs.close()
    assert list((tmp_path / "jobs").iterdir()) == []


def test_a_file_on_its_way_is_no_old_job(make_client: Any, tmp_path: Path) -> None:
    jobs = make_client(folder=str(tmp_path), job_minutes=0.001).app.state.service.jobs
    folder = jobs.make_folder()
    for path in (folder, *folder.iterdir()):
        os.utime(path, (0, 0))
    jobs.sweep()
    assert folder.exists()
    jobs.discard(folder)
    assert not folder.exists()


def test_any_worker_answers_for_a_job_and_knows_when_its_own_was_killed(make_client: Any, tmp_path: Path) -> None:
    client, other = make_client(folder=str(tmp_path)), make_client(folder=str(tmp_path))
    identity = post(client, job=True).json()["id"]
    finished(client, identity)
    assert other.get(f"/v1/jobs/{identity}").json()["state"] == "done"
    assert other.get(f"/v1/jobs/{identity}/result").content == client.get(f"/v1/jobs/{identity}/result").content
    path = tmp_path / "jobs" / identity / "job.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"state": "running", "process": 2**22 + 1}))
    job = other.get(f"/v1/jobs/{identity}").json()
    assert (job["state"], job["error"]) == ("failed", "the worker that scored it was stopped; send the file again")


def test_a_job_that_ends_while_it_is_looked_at_has_not_failed(make_client: Any, monkeypatch: Any) -> None:
    client = make_client()
    identity = post(client, job=True).json()["id"]
    finished(client, identity)
    jobs = client.app.state.service.jobs
    path = jobs._folder / identity / "job.json"
    done = path.read_text()
    path.write_text(json.dumps(json.loads(done) | {"state": "running"}))

    def ends_now(*_: Any) -> bool:
        path.write_text(done)
        return False

    monkeypatch.setattr(jobs, "_is_worked_on", ends_now)
    assert client.get(f"/v1/jobs/{identity}").json()["state"] == "done"


def test_a_stop_ends_jobs_and_says_so(make_client: Any, tmp_path: Path) -> None:
    client = make_client(folder=str(tmp_path))
    identity = long_job(client)
    client.app.state.service.jobs.close()
    status = client.get(f"/v1/jobs/{identity}").json()
    assert status["state"] == "failed"
    assert "stopped" in status["error"]


def test_an_unforeseen_error_does_not_leave_a_job_running(make_client: Any, monkeypatch: Any, caplog: Any) -> None:
    def broken(*_: Any, **__: Any) -> None:
        raise RuntimeError("secret inside")

    monkeypatch.setattr(module, "score", broken)
    client = make_client()
    with caplog.at_level("ERROR", "uvicorn.error"):
        status = finished(client, post(client, job=True).json()["id"])
    assert status["state"] == "failed"
    assert "secret" not in status["error"]
    assert "secret inside" in caplog.text
