"""What people correct is saved as training data: every line whole, however many write and whatever happened before."""

import json
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient

from service_client import as_json, error_of
from tabsa.datasets.checking import check
from tabsa.datasets.loading import load
from tabsa.errors import ConfigError, DataError, OutputError
from tabsa.inference.predictor import Predictor
from tabsa.serve.corrections import CorrectionsFile
from tabsa.serve.schema import CorrectionRequest

TEXT = "Camden is not cheap, and Stokey 🎉 is."


def given(**fields: Any) -> dict[str, Any]:
    """A correction, with something changed."""
    return {"text": TEXT, "target": "Camden", "aspect": "price", "polarity": "negative"} | fields


def lines_of(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "deep" / "corrections.jsonl"


@pytest.fixture
def client(make_client: Callable[..., TestClient], file: Path) -> TestClient:
    return make_client(corrections=str(file))


def questions(path: Path) -> list[tuple[str, str, str, str]]:
    dataset = load(path, "all")
    return [(example.text, target.name, aspect, polarity) for example, target, aspect, polarity in dataset.questions()]


# What is saved


def test_a_correction_is_a_row_of_training_data(client: TestClient, file: Path, predictor: Predictor) -> None:
    sent = [
        given(said="positive", probability=0.51, model="tiny", time="2026-01-31T12:00:00.123Z"),
        given(target="Stoke Newington", aliases=["Stokey"], polarity="none", probability=1),
        given(target=None, aspect="safety", polarity="positive"),
    ]
    for one in sent:
        response = client.post("/v1/corrections", json=one)
        assert (response.status_code, response.json()) == (201, {"status": "saved"})
    rest = {"said": "positive", "probability": 0.51, "model": "tiny", "time": "2026-01-31T12:00:00.123Z"}
    assert lines_of(file) == [
        {**given(), "asked_only": True, **rest},
        {**sent[1], "asked_only": True},
        {**sent[2], "asked_only": True},
    ]
    assert file.read_text(encoding="utf-8").splitlines()[1].endswith('"probability":1}')
    assert questions(file) == [
        (TEXT, "Camden", "price", "negative"),
        (TEXT, "Stoke Newington", "price", "none"),
        (TEXT, "", "safety", "positive"),
    ]
    assert not check(file).findings
    assert (file.stat().st_mode & 0o777) == 0o600
    assert client.get("/v1/models").json()["corrections"] == "corrections.jsonl"


def test_a_later_correction_counts_and_null_takes_it_back(client: TestClient, file: Path) -> None:
    for polarity in ("positive", "negative"):
        client.post("/v1/corrections", json=given(polarity=polarity))
    client.post("/v1/corrections", json=given(aspect="safety"))
    client.post("/v1/corrections", json=given(aspect="safety", polarity=None))
    assert [line["polarity"] for line in lines_of(file)] == ["positive", "negative", "negative", None]
    assert lines_of(file)[-1]["withdrawn"] is True
    with pytest.warns(UserWarning, match="dropped 1 repeated or conflicting"):
        assert questions(file) == [(TEXT, "Camden", "price", "negative")]


# What is refused


def test_a_service_without_a_file_saves_nothing(make_client: Callable[..., TestClient]) -> None:
    error = error_of(make_client().post("/v1/corrections", json=given()), 404)
    assert error["code"] == "no_corrections"
    assert "its operator can name a file" in error["message"]


@pytest.mark.parametrize(
    ("fields", "field", "words"),
    [
        ({"text": " "}, "text", "empty"),
        ({"text": "x" * 10_001}, "text", "at most 10,000"),
        ({"target": ""}, "target", "empty"),
        ({"target": "Leeds"}, "target", "does not name 'Leeds'"),
        ({"aliases": ["a"] * 21}, "aliases", "at most 20"),
        ({"aspect": "weather"}, "aspect", "does not know the aspect 'weather'"),
        ({"polarity": "good"}, "polarity", "no label of the model; expected none, positive, negative"),
        ({"said": "bad"}, "said", "no label of the model"),
        ({"probability": 1.5}, "probability", "less than or equal to 1"),
        ({"time": "yesterday"}, "time", "pattern"),
        ({"asked_only": False}, "asked_only", "not permitted"),
    ],
)
def test_what_is_not_right_is_refused_and_not_saved(
    client: TestClient, file: Path, fields: dict[str, Any], field: str, words: str
) -> None:
    error = error_of(client.post("/v1/corrections", **as_json(given(**fields))), 422)
    assert error["field"] == field
    assert words in error["message"]
    assert file.read_bytes() == b""


def test_a_full_file_and_a_broken_disk_are_said(
    make_client: Callable[..., TestClient], file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = make_client(corrections=str(file))
    client.app.state.service.corrections._most = 300  # type: ignore[attr-defined]
    while (response := client.post("/v1/corrections", json=given())).status_code == 201:
        assert file.stat().st_size <= 300
    error = error_of(response, 503)
    assert (error["code"], response.headers["retry-after"]) == ("not_saved", "30")
    assert "corrections.jsonl is full: it may have 300 bytes" in error["message"]
    assert str(file.parent) not in error["message"]
    before = file.read_bytes()

    def half(handle: int, data: bytes) -> int:
        return real(handle, data[:10])

    real = os.write
    monkeypatch.setattr("tabsa.serve.corrections.os.write", half)
    with pytest.raises(OutputError, match=r"cannot write corrections\.jsonl: the disk is full"):
        CorrectionsFile(file).add(CorrectionRequest(**given()), "price")
    assert file.read_bytes() == before


@pytest.mark.parametrize(("name", "error"), [("a.csv", ConfigError), ("folder.jsonl", OutputError)])
def test_a_file_that_cannot_be_one(tmp_path: Path, name: str, error: type[Exception]) -> None:
    (tmp_path / "folder.jsonl").mkdir()
    with pytest.raises(error, match=r"does not end in \.jsonl|cannot write"):
        CorrectionsFile(tmp_path / name)


# Whole lines


def test_a_line_that_a_crash_left_is_closed(client: TestClient, file: Path) -> None:
    client.post("/v1/corrections", json=given())
    whole = file.read_bytes()
    file.write_bytes(whole + whole[:40])
    client.post("/v1/corrections", json=given(polarity="none"))
    lines = file.read_bytes().splitlines()
    assert [len(line) for line in lines[:2]] == [len(whole) - 1, 40]
    with pytest.raises(DataError, match="line 2 is not JSON"):
        questions(file)
    file.write_bytes(b"\n".join([lines[0], *lines[2:]]))
    assert questions(file) == [(TEXT, "Camden", "price", "none")]


def test_many_writers_at_once(file: Path) -> None:
    writers = [CorrectionsFile(file) for _ in range(8)]
    texts = [f"{n} " + "x" * 3000 for n in range(200)]
    with ThreadPoolExecutor(8) as pool:
        sent = [CorrectionRequest(**given(text=text)) for text in texts]
        list(pool.map(lambda writer, one: writer.add(one, "price"), writers * 25, sent))
    assert sorted(line["text"] for line in lines_of(file)) == sorted(texts)
