"""`POST /v1/predict`: what is answered, and that it is what the Predictor says."""

from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient

from service_client import body, error_of
from tabsa.inference.predictor import Predictor
from tabsa.schema import Target
from tabsa.serve.schema import PredictMany, PredictOne

TEXT = "Camden is not cheap but nice; Brixton Hill is far and dear. Leeds? Camden is safe."
TARGETS = ["Camden", "Brixton Hill", "Nowhere"]


def predict(client: TestClient, **fields: Any) -> Any:
    response = client.post("/v1/predict", json=body(**fields))
    assert response.status_code == 200, response.text
    return response.json()


def test_one_text_has_every_pair_as_the_predictor_has_it(client: TestClient, predictor: Predictor) -> None:
    answer = predict(client, text=TEXT, targets=TARGETS)
    assert {name: answer[name] for name in ("text", "opinions")} == predictor.predict(TEXT, TARGETS).to_dict()
    assert len(answer["opinions"]) == len(TARGETS) * len(predictor.aspects)
    assert answer["mentions"] == [
        {"target": "Camden", "spans": [[0, 6], [67, 73]]},
        {"target": "Brixton Hill", "spans": [[30, 42]]},
    ]
    assert answer["explanation"] is None
    PredictOne.model_validate(answer)


def test_many_texts_are_answered_in_order(client: TestClient, predictor: Predictor) -> None:
    texts = [TEXT, "", "Brixton Hill is cheap", "\n", "nothing of note", "Camden " * 300]
    answer = client.post("/v1/predict", json={"texts": texts, "targets": TARGETS}).json()
    assert [result["opinions"] for result in answer["results"]] == [
        predictor.predict(text, TARGETS).to_dict()["opinions"] for text in texts
    ]
    assert [result["text"] for result in answer["results"]] == texts
    PredictMany.model_validate(answer)


def test_aspects_come_in_the_order_asked_and_once(client: TestClient, predictor: Predictor) -> None:
    aspects = ["safety", "general", "safety"]
    answer = predict(client, text=TEXT, targets=TARGETS, aspects=aspects)
    assert answer["opinions"] == predictor.predict(TEXT, TARGETS, aspects).to_dict()["opinions"]
    assert [opinion["aspect"] for opinion in answer["opinions"]] == ["safety", "general"] * 3


def test_aliases_are_mentions(client: TestClient, predictor: Predictor) -> None:
    text = "Stokey is nice, N16 too."
    targets = [{"name": "Stoke Newington", "aliases": ["Stokey", "N16"]}, "Camden"]
    answer = predict(client, text=text, targets=targets)
    expected = predictor.predict(text, {"Stoke Newington": ["Stokey", "N16"], "Camden": []})
    assert answer["opinions"] == expected.to_dict()["opinions"]
    assert answer["mentions"] == [{"target": "Stoke Newington", "spans": [[0, 6], [16, 19]]}]


def test_a_text_may_be_about_what_it_does_not_name(client: TestClient, predictor: Predictor) -> None:
    answer = predict(client, text=TEXT, targets=TARGETS, implied=True, explain=True)
    expected = predictor.predict(TEXT, TARGETS, implied=True)
    assert answer["opinions"] == expected.to_dict()["opinions"]
    assert [mention["target"] for mention in answer["mentions"]] == ["Camden", "Brixton Hill"]
    assert [passage["targets"] for passage in answer["explanation"]["passages"]] == [
        list(passage.targets) for passage in expected.passages
    ]
    assert answer["opinions"] != predict(client, text=TEXT, targets=TARGETS)["opinions"]
    texts = ["Not cheap.", "Nowhere is nice"]
    results = predict(client, text=None, texts=texts, targets=["Nowhere"], implied=True)["results"]
    assert [result["opinions"] for result in results] == [
        predictor.predict(text, ["Nowhere"], implied=True).to_dict()["opinions"] for text in texts
    ]
    assert [len(result["mentions"]) for result in results] == [0, 1]


def test_what_a_text_is_about_may_go_without_a_name(client: TestClient, predictor: Predictor) -> None:
    answer = predict(client, text="Not cheap, but safe.", targets=[], implied=True, explain=True)
    expected = predictor.predict("Not cheap, but safe.", [Target("", implied=True)])
    assert [opinion["target"] for opinion in answer["opinions"]] == [None] * len(predictor.aspects)
    assert [opinion["probabilities"] for opinion in answer["opinions"]] == [o.probabilities for o in expected.opinions]
    assert [passage["targets"] for passage in answer["explanation"]["passages"]] == [[None]]
    assert answer["mentions"] == []
    PredictOne.model_validate(answer)
    assert "'implied'" in error_of(client.post("/v1/predict", json=body(targets=[])), 422)["message"]


def test_offsets_count_code_points(client: TestClient) -> None:
    text = "😀 Zürich is nice 👍🏽, zurich!"
    spans = predict(client, text=text, targets=["Zürich"])["mentions"][0]["spans"]
    assert [text[start:end] for start, end in spans] == ["Zürich", "zurich"]
    assert spans[0] == [2, 8]


@pytest.mark.parametrize("text", [TEXT, "Camden " + "is not nice and " * 40 + ". Camden.", "nobody here"])
def test_an_explanation_is_the_predictors(client: TestClient, predictor: Predictor, text: str) -> None:
    aspects = ["price", "general"]
    answer = predict(client, text=text, targets=TARGETS, aspects=aspects, explain=True)
    expected = predictor.predict(text, TARGETS, aspects)
    assert answer["opinions"] == expected.to_dict()["opinions"]
    explanation = answer["explanation"]
    PredictOne.model_validate(answer)
    assert explanation["aspects"] == aspects
    assert explanation["tied"] == expected.tied
    assert explanation["directions"] == (["forward", "backward"] if expected.passages else [])
    if expected.attention is None:
        assert explanation["attention"] is None
    else:
        assert explanation["attention"] == expected.attention.astype(float).round(4).tolist()
    assert len(explanation["passages"]) == len(expected.passages)
    for ours, theirs in zip(explanation["passages"], expected.passages, strict=True):
        assert (ours["start"], ours["end"], ours["targets"]) == (theirs.start, theirs.end, list(theirs.targets))
        assert [(t["text"], t["start"], t["end"], t["target"]) for t in ours["tokens"]] == [
            (t.text, t.start, t.end, t.target) for t in theirs.tokens
        ]
        assert theirs.gates is not None
        assert ours["gates"] == theirs.gates.astype(float).round(4).tolist()


def test_a_model_without_a_memory_explains_what_it_can(make_client: Any, tmp_path: Path) -> None:
    import numpy as np

    from tabsa.models.linear.linear_features import FeatureSpace, LRConfig
    from tabsa.models.linear.linear_model import LinearModel, write_model

    config = LRConfig(pos_ngrams=0)
    space = FeatureSpace(("w:cheap", "w:dear"), np.ones(2, np.float32), config)
    model = LinearModel(
        space,
        np.ones((2, 1, 3), np.float32),
        np.zeros((1, 3), np.float32),
        ("price",),
        ("none", "positive", "negative"),
    )
    write_model(tmp_path / "words", model, {}, "# words\n")
    client = make_client(model=str(tmp_path / "words"))
    answer = predict(client, text="Camden is cheap", explain=True)
    assert answer["explanation"]["attention"] is None
    assert answer["explanation"]["directions"] == []
    assert [passage["gates"] for passage in answer["explanation"]["passages"]] == [None]
    (described,) = client.get("/v1/models").json()["models"]
    assert (described["chains"], described["kind"], described["metrics"]) == (None, "lr", None)
    assert described["targets_at_once"] == 100


@pytest.mark.parametrize(
    ("fields", "field", "word"),
    [
        ({"text": None}, None, "either"),
        ({"texts": ["a"]}, None, "either"),
        ({"text": None, "texts": []}, "texts", "at least 1"),
        ({"targets": []}, "targets", "at least 1"),
        ({"targets": [""]}, "targets", "empty"),
        ({"targets": ["Camden", "camden"]}, "targets", "two targets"),
        ({"targets": ["Camden", "Camden"]}, "targets", "twice"),
        ({"targets": [{"name": "A1", "aliases": ["B1"]}, "B1"]}, "targets", "two targets"),
        ({"aspects": ["prize"]}, "aspects", "it knows: general, price"),
        ({"aspects": []}, "aspects", "at least 1"),
        ({"colour": 1}, "colour", "not permitted"),
        ({"implied": "yes"}, "implied", "valid boolean"),
        ({"text": None, "texts": ["a"], "explain": True}, None, "one text"),
    ],
)
def test_what_is_not_right_is_told_in_one_line(client: TestClient, fields: Any, field: str | None, word: str) -> None:
    error = error_of(client.post("/v1/predict", json=body(**fields)), 422)
    assert error["field"] == field
    assert word in error["message"]


LIMITS = {
    "max_text_characters": (body(text="a" * 11), 10),
    "max_texts": ({"texts": ["a", "b", "c"], "targets": ["Camden"]}, 2),
    "max_targets": (body(targets=["A1", "B1", "C1"]), 2),
    "max_aliases": (body(targets=[{"name": "A1", "aliases": ["B1", "C1"]}]), 1),
    "max_name_characters": (body(targets=["A1" * 20]), 30),
    "max_aspects": (body(aspects=["price", "safety"]), 1),
    "max_opinions": (body(targets=["A1", "B1"]), 7),
}


@pytest.mark.parametrize("name", LIMITS)
def test_every_limit_is_a_setting(make_client: Any, client: TestClient, name: str) -> None:
    body, most = LIMITS[name]
    assert client.post("/v1/predict", json=body).status_code == 200
    error = error_of(make_client(**{name: most}).post("/v1/predict", json=body), 422)
    assert error["code"] == "limit"
    assert f"{most}" in error["message"]


def test_names_that_may_be_targets_are_suggested(client: TestClient) -> None:
    response = client.post("/v1/suggest", json={"text": "I live in Camden Town, near Leeds."})
    assert response.json() == {
        "targets": [
            {"name": "Camden Town", "texts": 1, "spans": [[10, 21]]},
            {"name": "Leeds", "texts": 1, "spans": [[28, 33]]},
        ]
    }
    error_of(client.post("/v1/suggest", json={"text": "a" * 10_001}), 422)
    error_of(client.post("/v1/suggest", json={}), 422)


def test_names_of_many_texts_are_counted(client: TestClient) -> None:
    texts = ["I live in Leeds.", "Leeds! Lovely.", "We moved from Leeds to Camden Town.", "Nothing here."]
    response = client.post("/v1/suggest", json={"texts": texts})
    assert response.json() == {
        "targets": [{"name": "Leeds", "texts": 3, "spans": []}, {"name": "Camden Town", "texts": 1, "spans": []}]
    }
    for wrong in ({"texts": texts, "text": "a"}, {"texts": []}, {"texts": ["a"] * 257}, {"texts": ["a" * 10_001]}):
        error_of(client.post("/v1/suggest", json=wrong), 422)
