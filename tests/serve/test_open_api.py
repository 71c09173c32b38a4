"""The service around a model with open aspects."""

import asyncio
import csv
import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest
from fastapi.testclient import TestClient

from open_model import LABELS, open_model
from service_client import error_of
from tabsa.inference.predictor import Predictor, load
from tabsa.serve.app import create_app
from tabsa.serve.schema import PredictOne
from tabsa.serve.settings import Settings
from tabsa.text.aspects import EVERYDAY, LISTS

__all__ = ["open_model"]  # a fixture
TEXT = "The Pixel has a great battery but a bad camera; Nokia too."
TARGETS = ["Pixel", "Nokia"]


@pytest.fixture(scope="module")
def client(open_model: Path) -> Iterator[TestClient]:
    with TestClient(
        create_app(Settings(model=str(open_model))), "http://localhost", raise_server_exceptions=False
    ) as client:
        yield client


@pytest.fixture(scope="module")
def model(open_model: Path) -> Predictor:
    return load(open_model)


def predict(client: TestClient, **fields: Any) -> dict[str, Any]:
    response = client.post("/v1/predict", json={"text": TEXT, "targets": TARGETS} | fields)
    assert response.status_code == 200, response.text
    answer: dict[str, Any] = response.json()
    return answer


@pytest.mark.parametrize("aspects", [None, ["camera"], [" battery  life", "wifi", "battery life"], ["<b>&'\"", "価格"]])
def test_any_words_are_answered_as_the_predictor_does(
    client: TestClient, model: Predictor, aspects: list[str] | None
) -> None:
    answer = predict(client, aspects=aspects, explain=True)
    PredictOne.model_validate(answer)
    expected = model.predict(TEXT, TARGETS, aspects)
    assert answer["opinions"] == expected.to_dict()["opinions"]
    assert answer["explanation"]["aspects"] == list(expected.aspects)
    assert answer["explanation"]["attention"] is None


@pytest.mark.parametrize("name", LISTS)
def test_a_list_by_name(client: TestClient, name: str) -> None:
    answer = predict(client, aspect_list=name, targets=["Pixel"])
    assert [opinion["aspect"] for opinion in answer["opinions"]] == list(LISTS[name])


@pytest.mark.parametrize(
    ("fields", "field", "word"),
    [
        ({"aspects": [""]}, "aspects", "no word in it"),
        ({"aspects": ["--"]}, "aspects", "no word in it"),
        ({"aspects": ["bell\x07"]}, "aspects", "control character"),
        ({"aspects": [3]}, "aspects.0", "string"),
        ({"aspects": []}, "aspects", "at least 1"),
        ({"aspect_list": "phnes"}, "aspect_list", "did you mean 'phones'"),
        ({"aspect_list": ""}, "aspect_list", "expected one of: everyday, places"),
        ({"aspect_list": "phones", "aspects": ["price"]}, "aspect_list", "either"),
    ],
)
def test_what_is_not_right_is_told_in_one_line(client: TestClient, fields: Any, field: str, word: str) -> None:
    error = error_of(client.post("/v1/predict", json={"text": TEXT, "targets": TARGETS} | fields), 422)
    assert (error["code"], error["field"]) == ("invalid", field)
    assert word in error["message"]


@pytest.mark.parametrize(
    ("setting", "most", "fields"),
    [
        ("max_aspects", 2, {"aspects": ["a", "b", "c"]}),
        ("max_aspects", 2, {"aspect_list": "phones"}),
        ("max_aspect_characters", 5, {"aspects": ["battery"]}),
        ("max_aspect_characters", 100, {"aspects": ["x" * 101]}),
        ("max_opinions", 3, {"aspects": ["a", "b"]}),
        ("max_name_characters", 5, {"aspect_list": "phones"}),
    ],
)
def test_limits(open_model: Path, setting: str, most: int, fields: dict[str, Any]) -> None:
    app = create_app(Settings(model=str(open_model), **{setting: most}))  # type: ignore[arg-type]
    with TestClient(app, "http://localhost") as client:
        error = error_of(client.post("/v1/predict", json={"text": TEXT, "targets": ["Pixel", "N16"]} | fields), 422)
    assert error["code"] == "limit"
    assert f"{most}" in error["message"]


def test_the_service_tells_that_aspects_are_open(client: TestClient) -> None:
    (described,) = client.get("/v1/models").json()["models"]
    assert described["open_aspects"] is True
    assert described["aspects"] == list(EVERYDAY)
    assert described["aspect_lists"] == {name: list(aspects) for name, aspects in LISTS.items()}
    assert described["labels"] == list(LABELS)
    assert (described["chains"], described["tied"]) == (None, 0)


def test_a_closed_model_offers_only_lists_that_it_knows(tiny_model: Path) -> None:
    with TestClient(create_app(Settings(model=str(tiny_model), threads=1)), "http://localhost") as client:
        (described,) = client.get("/v1/models").json()["models"]
        assert (described["open_aspects"], described["aspect_lists"]) == (False, {})
        request = {"text": TEXT, "targets": TARGETS, "aspect_list": "places"}
        error = error_of(client.post("/v1/predict", json=request), 422)
        assert error["field"] == "aspect_list"
        assert "does not know the aspect 'dining'" in error["message"]


def test_clients_with_aspects_of_their_own_are_read_together(open_model: Path, model: Predictor) -> None:
    asked = [None, ["camera"], ["battery life", "camera"], ["wifi"]]

    async def ask() -> list[httpx2.Response]:
        app = create_app(Settings(model=str(open_model), batch_texts=8))
        transport = httpx2.ASGITransport(app=app)
        async with (
            app.router.lifespan_context(app),
            httpx2.AsyncClient(transport=transport, base_url="http://localhost") as client,
        ):
            bodies = [{"text": TEXT, "targets": TARGETS, "aspects": asked[n % 4]} for n in range(24)]
            return await asyncio.gather(*(client.post("/v1/predict", json=one) for one in bodies))

    for number, answer in enumerate(asyncio.run(ask())):
        expected = model.predict(TEXT, TARGETS, asked[number % 4])
        assert answer.json()["opinions"] == expected.to_dict()["opinions"]


@pytest.mark.parametrize(
    ("fields", "aspects"),
    [
        ({"aspect": ["battery life", "food, drinks"]}, ["battery life", "food, drinks"]),
        ({"aspect_list": "phones"}, list(LISTS["phones"])),
        ({"aspect_list": ""}, list(EVERYDAY)),
        ({}, list(EVERYDAY)),
    ],
)
def test_a_file_is_scored_for_any_words(client: TestClient, fields: dict[str, Any], aspects: list[str]) -> None:
    files = {"file": ("reviews.csv", b"id,text\n1,Pixel: bad battery\n")}
    response = client.post("/v1/score", files=files, data={"targets": ["Pixel"], **fields})
    assert response.status_code == 200, response.text
    (row,) = csv.DictReader(io.StringIO(response.text))
    assert list(row)[2:] == [f"Pixel/{aspect}" for aspect in aspects]


@pytest.mark.parametrize(
    ("fields", "field"),
    [({"aspect": ["!!"]}, "aspect"), ({"aspect_list": "phnes"}, "aspect_list")],
)
def test_what_is_not_right_about_a_form(client: TestClient, fields: dict[str, Any], field: str) -> None:
    files = {"file": ("reviews.csv", b"text\nPixel\n")}
    error = error_of(client.post("/v1/score", files=files, data={"targets": ["Pixel"], **fields}), 422)
    assert error["field"] == field
