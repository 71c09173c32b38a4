"""A table by `/v1/columns`, `/v1/score` and `/v1/report`: what `tabsa score` and `tabsa report` make of it."""

import io
import itertools
import json
import threading
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient

from service_client import REVIEWS, csv_table, error_of, post_table
from tabsa.errors import DataError
from tabsa.inference.predictor import Predictor
from tabsa.pages.counting import summarise
from tabsa.pages.report_page import report_page
from tabsa.scoring.request import Layout, Request
from tabsa.scoring.single import score_table
from tabsa.tables.reading import read_rows

FORMULAS = csv_table([("1", "=Camden is dear"), ("2", "Camden is cheap")])


def scored(tmp_path: Path, predictor: Predictor, content: bytes, form: str = "csv", **fields: Any) -> bytes:
    """What `tabsa score` writes."""
    source, out = tmp_path / "in.csv", tmp_path / f"out.{form}"
    source.write_bytes(content)
    score_table(source, out, predictor, Request(**{"targets": {"Camden": [], "Leeds": []}} | fields))
    return out.read_bytes()


def events(response: Any) -> list[dict[str, Any]]:
    assert response.status_code == 200, response.text
    assert response.headers["content-type"] == "application/x-ndjson"
    return [json.loads(line) for line in response.text.splitlines()]


# ---- score


@pytest.mark.parametrize("layout", ["wide", "long"])
@pytest.mark.parametrize("form", ["csv", "jsonl"])
@pytest.mark.parametrize("events_wanted", [True, False])
def test_results_are_those_of_the_command(
    client: TestClient, predictor: Predictor, tmp_path: Path, layout: str, form: str, events_wanted: bool
) -> None:
    content = csv_table(REVIEWS * 100)  # more than one chunk
    expected = scored(tmp_path, predictor, content, form, layout=Layout(layout), probabilities=True)
    response = post_table(
        client, content, layout=layout, format=form, probabilities="true", events=str(events_wanted).lower()
    )
    if not events_wanted:
        assert response.content == expected
        assert response.headers["content-disposition"] == f'attachment; filename="opinions.{form}"'
        return
    told = events(response)
    assert "".join(event["output"] for event in told if event["event"] == "rows").encode() == expected
    assert [event["event"] for event in told] == ["start", *["rows"] * (len(told) - 2), "end"]
    assert len(told) > 4
    counts = told[-1]["counts"]
    assert told[-2]["counts"] == counts
    assert counts == {"scored": 300, "rejected": 0, "opinions": counts["opinions"], "unsure": counts["unsure"]}
    shares = [event["share"] for event in told if event["event"] == "rows"]
    assert shares == sorted(shares)
    assert shares[-1] == 1


def test_events_tell_what_was_rejected_and_the_texts(client: TestClient) -> None:
    content = b"text;whose\nCamden is dear;Camden\n;Leeds\nLeeds is cheap;Leeds;more\nNice;Hull; \nGood;Hull\n"
    start, rows, end = events(post_table(client, content, targets=None, target_column="whose", events="true"))
    assert start == {"event": "start", "note": "read as separated by semicolons"}
    assert rows["texts"] == [
        {"row": 2, "text": "Camden is dear", "targets": "Camden"},
        {"row": 6, "text": "Good", "targets": "Hull"},
    ]
    assert [one["row"] for one in rows["rejected"]] == [3, 4, 5]
    assert rows["rejected"][0]["reason"] == "no text in 'text'"
    assert "has 3 fields; the header has 2" in rows["rejected"][1]["reason"]
    assert (end["counts"]["scored"], end["counts"]["rejected"]) == (2, 3)


@pytest.mark.parametrize("kind", ["tsv", "jsonl", "xlsx"])
def test_every_kind_of_table(client: TestClient, kind: str) -> None:
    content = csv_table()
    if kind == "tsv":
        content = "".join(f"{a}\t{b}\n" for a, b in (("id", "text"), *REVIEWS)).encode()
    elif kind == "jsonl":
        content = b"".join(json.dumps({"id": a, "text": b}).encode() + b"\n" for a, b in REVIEWS)
    elif kind == "xlsx":
        openpyxl = pytest.importorskip("openpyxl")
        book, out = openpyxl.Workbook(), io.BytesIO()
        for row in (("id", "text"), *REVIEWS):
            book.active.append(row)
        book.save(out)
        content = out.getvalue()
    response = post_table(client, content, f"Reviews.{kind}", aspect=["price"], layout="long")
    expected = post_table(client, aspect=["price"], layout="long")
    assert response.content == expected.content


def test_formulas_are_escaped_where_it_is_asked_for(client: TestClient) -> None:
    assert "\n1,'=Camden" in post_table(client, FORMULAS, escape_formulas="true").text
    assert "\n1,=Camden" in post_table(client, FORMULAS).text


@pytest.mark.parametrize(
    ("fields", "status", "field", "words"),
    [
        ({"targets": None}, 422, None, "either 'targets'"),
        ({"target_column": "id"}, 422, None, "either 'targets'"),
        ({"targets": ["A=B", "A=C"]}, 422, "targets", "twice"),
        ({"targets": ["Camden", "camden"]}, 422, "targets", "two targets"),
        ({"targets": ["x" * 201]}, 422, "targets", "at most 200"),
        ({"targets": ["x=" + ",".join(f"a{n}" for n in range(21))]}, 422, "targets", "at most 20"),
        ({"targets": ["x"] * 101}, 422, "targets", "at most 100"),
        ({"aspect": ["prize"]}, 422, "aspect", "does not know the aspect 'prize'"),
        ({"layout": "high"}, 422, "layout", "'wide' or 'long'"),
        ({"colour": "red"}, 422, "colour", "not permitted"),
        ({"text_column": "nobody"}, 422, "file", "no column 'nobody'"),
        ({"text_column": "a" * 40_000}, 400, None, "maximum size"),
        ({"content": b""}, 422, "file", "no rows"),
        ({"content": b"text\n"}, 422, "file", "no rows"),
        ({"content": b"id,text\n1,\n"}, 422, "file", "all 1 rows were rejected"),
        ({"content": b"%PDF-1.4"}, 422, "file", "another kind of file"),
        ({"content": b"id,text\n1,a\n", "name": "a.xlsx"}, 422, "file", "the file"),
        ({"name": "a.xls"}, 415, "file", "save a spreadsheet as .xlsx"),
        ({"name": "a.parquet"}, 415, "file", "expected one of .csv"),
    ],
)
def test_what_is_wrong_is_told_before_the_answer_begins(
    client: TestClient, fields: dict[str, Any], status: int, field: str | None, words: str
) -> None:
    error = error_of(post_table(client, **fields), status)
    assert error["field"] == field
    assert words in error["message"]
    assert "/tmp" not in error["message"]


def test_files_have_limits(make_client: Any) -> None:
    client = make_client(max_upload_bytes=20_000)
    error_of(post_table(client, b"text\n" + b"a" * 2_000_000), 413)


def test_a_file_that_cannot_be_read_on(client: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    def torn(path: Path, *_: Any, **__: Any) -> Any:
        yield from itertools.islice(read_rows(path, io.BytesIO(csv_table(REVIEWS * 40))), 100)
        raise DataError(f"{path} is damaged")

    monkeypatch.setattr("tabsa.serve.tables.read_rows", torn)
    *rows, last = events(post_table(client, events="true"))
    assert (rows[-1]["counts"]["scored"], last["event"]) == (64, "error")
    assert last["error"] == {"code": "bad_file", "message": "the file is damaged", "field": "file"}
    assert len(post_table(client).text.splitlines()) == 1 + 64  # the answer breaks off


def test_only_so_many_files_are_worked_on_at_a_time(make_client: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    client = make_client(max_tables=1)
    begun, go_on = threading.Event(), threading.Event()

    def held(*_: Any) -> dict[str, Any]:
        begun.set()
        assert go_on.wait(30)
        return {}

    monkeypatch.setattr("tabsa.serve.tables._look", held)
    other = threading.Thread(target=post_table, args=(client,), kwargs={"path": "/v1/columns"})
    other.start()
    assert begun.wait(30)
    refused = post_table(client)
    assert error_of(refused, 503)["code"] == "busy"
    assert refused.headers["retry-after"] == "1"
    go_on.set()
    other.join(30)
    for _ in range(3):  # whatever became of it, a file gives its place back
        assert post_table(client).status_code == 200
        assert post_table(client, text_column="nobody").status_code == 422


# ---- columns


def test_columns_and_what_they_seem_to_be_for(client: TestClient) -> None:
    rows = "".join(f"{n};2024-01-{n:02};Camden is dear in Hull;4\n" for n in range(1, 10))
    found = post_table(client, f"Nr;day;What they say;stars\n{rows}".encode("cp1252"), path="/v1/columns").json()
    assert found == {
        "format": "csv",
        "note": "read as separated by semicolons",
        "columns": ["Nr", "day", "What they say", "stars"],
        "text": "What they say",
        "id": "Nr",
        "target": None,
        "date": "day",
        "rows": [
            {"Nr": str(n), "day": f"2024-01-{n:02}", "What they say": "Camden is dear in Hull", "stars": "4"}
            for n in range(1, 6)
        ],
        "targets": [{"name": "Camden", "texts": 9}, {"name": "Hull", "texts": 9}],
    }
    other = post_table(client, csv_table(), path="/v1/columns", text_column="id").json()
    assert (other["text"], other["id"]) == ("id", None)
    assert error_of(post_table(client, path="/v1/columns", text_column="x"), 422)["field"] == "text_column"


def test_the_first_part_of_a_table_is_enough(client: TestClient) -> None:
    rows = [(str(n), f"Camden, é {n * 7919} is dear") for n in range(400)]
    table = csv_table(rows)
    found = post_table(client, table[: len(table) // 4], path="/v1/columns", cut="true").json()
    assert (found["columns"], found["note"]) == (["id", "text"], None)
    assert found["rows"][1] == {"id": "1", "text": rows[1][1]}


# ---- report


@pytest.mark.parametrize("layout", ["wide", "long"])
def test_the_report_is_that_of_the_command(client: TestClient, tmp_path: Path, layout: str) -> None:
    table = post_table(client, csv_table(REVIEWS * 5), layout=layout).content
    response = post_table(client, table, "opinions.csv", path="/v1/report", title="My table")
    assert response.status_code == 200, response.text
    (tmp_path / "the file.csv").write_bytes(table)
    assert response.text == report_page(summarise(tmp_path / "the file.csv", title="My table"))
    assert response.headers["content-type"].startswith("text/html")
    assert "<title>My table</title>" in response.text
    policy = response.headers["content-security-policy"]
    assert all(part in policy for part in ("sandbox allow-scripts", "default-src 'none'", "frame-ancestors 'self'"))
    assert response.headers["x-frame-options"] == "SAMEORIGIN"


def test_a_table_without_opinions_has_no_report(client: TestClient) -> None:
    for content in (csv_table(), b"", b"text,Camden/price\n"):
        error = error_of(post_table(client, content, path="/v1/report"), 422)
        assert (error["code"], error["field"]) == ("bad_file", "file")
        assert "/tmp" not in error["message"]
    error_of(post_table(client, csv_table(), path="/v1/report", date_column="when"), 422)
