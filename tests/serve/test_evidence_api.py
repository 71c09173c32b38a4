"""`POST /v1/evidence`: what carries one answer, and that it is what the Predictor says."""

from typing import Any

import pytest
from fastapi.testclient import TestClient

from service_client import body, error_of
from tabsa.inference.predictor import Predictor
from tabsa.serve.schema import EvidenceOut

TEXT = "Camden is not cheap but nice; Brixton Hill is far and dear. Leeds? Camden is safe."
TARGETS = ["Camden", "Brixton Hill", "Nowhere"]


def evidence(client: TestClient, **fields: Any) -> Any:
    response = client.post("/v1/evidence", json=body(**fields))
    assert response.status_code == 200, response.text
    EvidenceOut.model_validate(response.json())
    return response.json()


@pytest.mark.parametrize("target", ["Camden", "Brixton Hill"])
def test_it_is_what_the_predictor_gives(client: TestClient, predictor: Predictor, target: str) -> None:
    answer = evidence(client, text=TEXT, targets=TARGETS, of={"target": target, "aspect": "price"})
    expected = predictor.predict(TEXT, TARGETS, ["price"]).evidence(target, "price").to_dict()
    assert answer == expected
    assert [TEXT[word["start"] : word["end"]] for word in answer["words"]][:3] == ["is", "not", "cheap"]


def test_a_target_that_is_not_there_was_not_read_for(client: TestClient) -> None:
    answer = evidence(client, text=TEXT, targets=TARGETS, of={"target": "Nowhere", "aspect": "price"})
    assert (answer["polarity"], answer["words"], answer["sentences"]) == ("none", [], [])
    assert [TEXT[start:end] for start, end in answer["unread"]] == [
        "Camden is not cheap but nice; Brixton Hill is far and dear.",
        "Leeds?",
        "Camden is safe.",
    ]


def test_what_a_text_does_not_name(client: TestClient) -> None:
    answer = evidence(client, text="Not cheap.", targets=[], implied=True, of={"target": None, "aspect": "price"})
    assert answer["target"] is None
    assert answer["unread"] == []
    assert len(answer["words"]) == 2


def test_the_explanation_says_what_was_not_read(client: TestClient) -> None:
    asked = body(text=TEXT, targets=TARGETS, explain=True)
    unread = client.post("/v1/predict", json=asked).json()["explanation"]["unread"]
    assert [one["target"] for one in unread] == ["Nowhere"]


@pytest.mark.parametrize(
    ("fields", "field", "message"),
    [
        ({"of": {"target": "Leith", "aspect": "price"}}, "of.target", "'Leith' is none of the targets asked about"),
        ({"of": {"target": None, "aspect": "price"}}, "of.target", "null is for a question without targets"),
        ({"of": {"target": "Camden", "aspect": "wifi"}}, "of.aspect", "does not know the aspect 'wifi'"),
        (
            {"of": {"target": "Camden", "aspect": "price"}, "aspects": ["safety"]},
            "of.aspect",
            "'price' is none of the aspects asked about",
        ),
    ],
)
def test_a_cell_that_is_not_asked_about_is_one_line(
    client: TestClient, fields: dict[str, Any], field: str, message: str
) -> None:
    response = client.post("/v1/evidence", json=body(text=TEXT, targets=TARGETS, **fields))
    error = error_of(response, 422)
    assert (error["code"], error["field"]) == ("invalid", field)
    assert message in error["message"]


@pytest.mark.parametrize("changes", [{"text": None, "texts": [TEXT]}, {"of": None}, {"of": {"aspect": "price"}}])
def test_it_is_of_one_text_and_one_cell(client: TestClient, changes: dict[str, Any]) -> None:
    asked = {"text": TEXT, "targets": TARGETS, "of": {"target": "Camden", "aspect": "price"}} | changes
    assert client.post("/v1/evidence", json=asked).status_code == 422
