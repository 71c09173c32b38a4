"""What a job found: its summary, the rows behind every number, and both as files."""

import csv
import gzip
import io
import json
import re
import time
from collections import Counter
from typing import Any

import pytest

pytest.importorskip("fastapi", reason="needs the service: pip install 'tabsa[serve]'")
from fastapi.testclient import TestClient

from service_client import error_of
from tabsa.report.tally import wilson

WORDS = ["Camden is dear.", "Leeds is cheap and safe.", "Camden and Leeds are lovely.", "Nothing is said here.", ""]
ROWS = [{"id": f"r{n}", "text": WORDS[n % 5], "date": f"2024-0{1 + n % 6}-10", "place": "Leeds"} for n in range(60)]


def table(rows: list[dict[str, str]] = ROWS, delimiter: str = ",") -> str:
    stream = io.StringIO()
    writer = csv.DictWriter(stream, list(rows[0]), delimiter=delimiter)
    writer.writeheader()
    writer.writerows(rows)
    return stream.getvalue()


def run(client: TestClient, content: bytes | str = "", name: str = "reviews.csv", **fields: Any) -> dict[str, Any]:
    """The status of a job that has ended."""
    data = {"targets": ["Camden", "Leeds"]} | fields
    response = client.post(
        "/v1/score?job=true", files={"file": (name, content or table())}, data={k: v for k, v in data.items() if v}
    )
    assert response.status_code == 202, response.text
    address = f"/v1/jobs/{response.json()['id']}"
    for _ in range(600):
        status: dict[str, Any] = client.get(address).json()
        if status["state"] != "running":
            return status
        time.sleep(0.02)
    raise AssertionError("the job does not end")


@pytest.fixture(scope="module")
def job(client: TestClient) -> str:
    status = run(client)
    assert status["state"] == "done", status
    assert status["summary"] is True
    return f"/v1/jobs/{status['id']}"


def results(client: TestClient, job: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(client.get(f"{job}/result").text)))


def test_the_summary_counts_the_results(client: TestClient, job: str) -> None:
    found, scored = client.get(f"{job}/summary").json(), results(client, job)
    assert (found["title"], found["texts"], found["rejected"]["rows"]) == ("reviews.csv", 48, 12)
    assert found["rejected"]["reasons"] == {"no text in 'text'": 12}
    assert found["columns"] == {"text": "text", "id": "id", "date": "date"}
    over_time = [point["n"] for point in found["time"]["total"] if point["n"]]
    assert (len(over_time), sum(over_time)) == (6, found["opinions"])
    assert {(cell["target"], cell["aspect"]) for cell in found["cells"]} == {
        tuple(column.split("/")) for column in scored[0] if "/" in column
    }
    for cell in found["cells"]:
        counts = Counter(row[f"{cell['target']}/{cell['aspect']}"] for row in scored)
        assert {name: number for name, number in cell["counts"].items() if number} == dict(counts)
        judged = counts["positive"] + counts["negative"]
        assert cell["judged"] == judged
        if judged:
            assert cell["share_positive"] == pytest.approx(counts["positive"] / judged, abs=1e-6)
            assert cell["interval"] == pytest.approx(wilson(counts["positive"], judged), abs=1e-6)
        else:
            assert cell["interval"] is None
    assert found["sentences"]
    assert not any("<" in sentence for sentence in found["sentences"])


def test_the_rows_behind_every_cell(client: TestClient, job: str) -> None:
    found, scored = client.get(f"{job}/summary").json(), results(client, job)
    for cell in found["cells"]:
        asked = {"target": cell["target"], "aspect": cell["aspect"], "limit": 100}
        column = f"{cell['target']}/{cell['aspect']}"
        expected = [(row["id"], row["text"], row["date"], row[column]) for row in scored if row[column] != "none"]
        given = client.get(f"{job}/rows", params=asked).json()
        assert [(row["id"], row["text"], row["date"], row["polarity"]) for row in given["rows"]] == expected
        assert given["total"] == cell["n"] == len(expected)
        for polarity, number in cell["counts"].items():
            some = client.get(f"{job}/rows", params=asked | {"polarity": polarity}).json()
            assert some["total"] == (number if polarity != "none" else 0)
    named = [row for row in client.get(f"{job}/rows", params={"target": "Camden"}).json()["rows"] if row["mentions"]]
    assert all(row["text"][start:end] == "Camden" for row in named for start, end in row["mentions"])


def test_rows_are_paged_and_filtered(client: TestClient, job: str) -> None:
    whole = client.get(f"{job}/rows", params={"limit": 100}).json()
    assert whole["total"] > 10
    pieces = []
    for offset in range(0, whole["total"] + 7, 7):
        pieces += client.get(f"{job}/rows", params={"limit": 7, "offset": offset}).json()["rows"]
    assert pieces[:100] == whole["rows"]
    some = client.get(f"{job}/rows", params={"words": "LOVELY", "limit": 100}).json()
    assert some["total"] == sum("lovely" in row["text"] for row in pieces)
    for words in ("%", "_", "' OR 1 = 1 --", '"'):
        assert client.get(f"{job}/rows", params={"words": words}).json()["total"] == 0
        assert client.get(f"{job}/rows", params={"target": words}).json()["total"] == 0
    for wrong in ({"limit": 101}, {"limit": 0}, {"offset": -1}, {"words": "x" * 1001}, {"offset": "x"}):
        error_of(client.get(f"{job}/rows", params=wrong), 422)


@pytest.mark.parametrize(
    "fields",
    [
        {"layout": "long"},
        {"layout": "long", "format": "jsonl"},
        {"format": "jsonl", "probabilities": "true"},
        {"prefix": "x/", "text_column": "text", "id_column": "id"},
        {"targets": None, "target_column": "place", "layout": "long"},
        {"targets": None, "target_column": "place"},
        {"targets": None, "implied": "true"},
    ],
    ids=str,
)
def test_every_layout_has_a_summary_and_its_rows(client: TestClient, fields: dict[str, Any]) -> None:
    status = run(client, **fields)
    assert (status["state"], status["summary"]) == ("done", True), status
    job = f"/v1/jobs/{status['id']}"
    found = client.get(f"{job}/summary").json()
    assert found["opinions"] == sum(cell["n"] for cell in found["cells"])
    assert client.get(f"{job}/rows").json()["total"] == found["opinions"]
    for cell in found["cells"][:20]:
        asked = {"aspect": cell["aspect"]} | (
            {"unnamed": "true"} if cell["target"] is None else {"target": cell["target"]}
        )
        assert client.get(f"{job}/rows", params=asked).json()["total"] == cell["n"]
    client.delete(job)


def test_results_without_an_opinion_have_no_summary(client: TestClient) -> None:
    status = run(client, targets=["Nowhere"])
    assert (status["state"], status["summary"]) == ("done", False)
    assert status["no_summary"] == "no text has an opinion on what was asked"
    error = error_of(client.get(f"/v1/jobs/{status['id']}/summary"), 404)
    assert (error["code"], error["message"]) == ("no_summary", status["no_summary"])


def test_the_report_is_a_stranger_to_the_service(client: TestClient, job: str) -> None:
    response = client.get(f"{job}/report.html")
    assert response.headers["content-type"] == "text/html; charset=utf-8"
    (policy,) = response.headers.get_list("content-security-policy")
    assert policy.startswith("sandbox allow-scripts")
    assert "allow-same-origin" not in policy
    assert "default-src 'none'" in policy
    assert response.headers["x-content-type-options"] == "nosniff"
    assert response.headers["cache-control"] == "no-store"
    assert "<h1>reviews.csv</h1>" in response.text
    (policy,) = client.get(job).headers.get_list("content-security-policy")
    assert policy.startswith("default-src 'self'")


def test_names_and_texts_do_not_become_markup(client: TestClient) -> None:
    evil = "<script>alert(1)</script>"
    rows = [{"id": evil, "text": f"{evil} Camden is cheap & <b>safe</b>."}]
    status = run(client, table(rows), name=f"{evil}.csv", targets=["Camden", "<b>x</b>"])
    job = f"/v1/jobs/{status['id']}"
    page = client.get(f"{job}/report.html").text
    assert "<script>alert" not in page
    assert "<b>safe</b>" not in page
    assert client.get(f"{job}/summary").headers["content-type"] == "application/json"
    client.delete(job)


def test_the_numbers_are_a_table(client: TestClient, job: str) -> None:
    response = client.get(f"{job}/numbers.csv")
    rows = list(csv.DictReader(io.StringIO(response.text)))
    cells = client.get(f"{job}/summary").json()["cells"]
    assert [(row["target"], row["aspect"], int(row["opinions"])) for row in rows] == [
        (cell["target"], cell["aspect"], cell["n"]) for cell in cells
    ]
    assert response.headers["content-disposition"] == 'attachment; filename="numbers.csv"'


PARTS = ("summary", "rows", "report.html", "numbers.csv")


@pytest.mark.parametrize("part", PARTS)
def test_no_job_has_no_findings(client: TestClient, part: str) -> None:
    for identity in ("x", "a" * 22, "..%2f..%2fetc"):
        assert client.get(f"/v1/jobs/{identity}/{part}").status_code == 404
    status = run(client, "id,text\n1,\n")
    assert status["state"] == "failed"
    assert status["summary"] is False
    error_of(client.get(f"/v1/jobs/{status['id']}/{part}"), 404)


def test_findings_need_the_key_and_go_with_their_job(make_client: Any) -> None:
    client = make_client(api_key="secret")
    client.headers["Authorization"] = "Bearer secret"
    status = run(client)
    job = f"/v1/jobs/{status['id']}"
    for part in PARTS:
        assert client.get(f"{job}/{part}").status_code == 200
        error_of(client.get(f"{job}/{part}", headers={"Authorization": "Bearer wrong"}), 401)
    assert client.delete(job).status_code == 204
    for part in PARTS:
        error_of(client.get(f"{job}/{part}"), 404)


# ---- files of every kind


@pytest.mark.parametrize(
    ("content", "name", "note"),
    [
        (table().encode(), "a.csv", None),
        (table(delimiter=";").encode("cp1252"), "a.csv", "read as separated by semicolons"),
        (table().replace("dear", "chère").encode("cp1252"), "a.csv", "read as Windows-1252"),
        (table(delimiter="\t").encode("utf-16"), "a.csv", "read as UTF-16, separated by tabs"),
        (table().replace("\r\n", "\r").encode(), "a.csv", None),
        (
            gzip.compress(table(delimiter=";").encode("utf-16-le")),
            "a.csv.gz",
            "read as UTF-16, separated by semicolons",
        ),
    ],
    ids=["plain", "semicolons", "windows", "utf-16", "cr", "packed"],
)
def test_a_job_says_how_its_file_was_read(client: TestClient, content: bytes, name: str, note: str | None) -> None:
    status = run(client, content, name)
    assert (status["state"], status["scored"], status["rejected"], status["note"]) == ("done", 48, 12, note)
    client.delete(f"/v1/jobs/{status['id']}")


def workbook(rows: list[list[object]]) -> bytes:
    openpyxl = pytest.importorskip("openpyxl", reason="needs openpyxl: pip install '.[dev]'")
    book, stream = openpyxl.Workbook(), io.BytesIO()
    for row in rows:
        book.active.append(row)
    book.save(stream)
    return stream.getvalue()


def test_a_workbook_is_scored_as_its_rows(client: TestClient) -> None:
    content = workbook(
        [["id", "text"], ["a", "Camden, so “dear”"], [], ["b", None], ["c", 'Leeds is "cheap"\nand safe']]
    )
    status = run(client, content, "reviews.xlsx")
    assert (status["state"], status["scored"], status["rejected"]) == ("done", 2, 1)
    job = f"/v1/jobs/{status['id']}"
    assert [(row["id"], row["text"]) for row in results(client, job)] == [
        ("a", "Camden, so “dear”"),
        ("c", 'Leeds is "cheap"\nand safe'),
    ]
    (reject,) = map(json.loads, client.get(f"{job}/rejects").text.splitlines())
    assert (reject["row"], reject["reason"]) == (4, "no text in 'text'")
    seen = client.post("/v1/csv", files={"file": ("reviews.xlsx", content)})
    assert seen.headers["content-type"] == "text/csv; charset=utf-8"
    assert list(csv.reader(io.StringIO(seen.text, newline="")))[1:4] == [["a", "Camden, so “dear”"], [], ["b", ""]]


def test_workbooks_that_are_none_or_too_large(client: TestClient, make_client: Any) -> None:
    for path in ("/v1/csv", "/v1/score?job=true", "/v1/score"):
        fields = {} if "csv" in path else {"targets": "Camden"}
        error = error_of(client.post(path, files={"file": ("a.xlsx", b"PK\x03\x04")}, data=fields), 422)
        assert error["message"].startswith("the file is not a whole Excel workbook")
        assert not re.search(r"/\w+/", error["message"])
    error_of(client.post("/v1/csv", files={"file": ("a.csv", b"text\n")}), 415)
    error_of(client.post("/v1/csv", data={"file": "x"}), 415)
    many = workbook([["text"], *([f"Camden {n}"] for n in range(50))])
    small = make_client(max_rows=20)
    error_of(small.post("/v1/csv", files={"file": ("a.xlsx", many)}), 413)
    error_of(small.post("/v1/score", files={"file": ("a.xlsx", many)}, data={"targets": "Camden"}), 413)
