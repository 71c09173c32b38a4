"""Opinions, evidence, names and the model: answered as the Predictor does, or refused in one line."""

import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient

from open_model import LABELS, open_model
from service_client import body, error_of
from tabsa.inference.predictor import Predictor, load
from tabsa.schema import Target
from tabsa.serve.app import create_app
from tabsa.serve.settings import Settings
from tabsa.text.aspects import EVERYDAY, LISTS
from unchecked import unchecked

__all__ = ["open_model"]  # a fixture
TEXT = "Camden is not cheap but nice; Brixton Hill is far and dear. Leeds? Camden is safe."
TARGETS = ["Camden", "Brixton Hill", "Nowhere"]
OPEN_TEXT = "The Pixel has a great battery but a bad camera; Nokia too."


@pytest.fixture(scope="module")
def open_client(open_model: Path) -> Iterator[TestClient]:
    app = create_app(Settings(model=str(open_model), threads=1))
    with TestClient(app, "http://localhost", raise_server_exceptions=False) as client:
        yield client


def answer(client: TestClient, path: str = "predict", **fields: Any) -> Any:
    response = client.post(f"/v1/{path}", json=body(**fields))
    assert response.status_code == 200, response.text
    return response.json()


# ---- predict


def test_one_text_has_every_pair_and_the_mentions(client: TestClient, predictor: Predictor) -> None:
    found = answer(client, text=TEXT, targets=TARGETS)
    assert found == {
        **predictor.predict(TEXT, TARGETS).to_dict(),
        "mentions": [
            {"target": "Camden", "spans": [[0, 6], [67, 73]]},
            {"target": "Brixton Hill", "spans": [[30, 42]]},
        ],
        "explanation": None,
    }
    assert len(found["opinions"]) == len(TARGETS) * len(predictor.aspects)


def test_many_texts_are_answered_in_order(client: TestClient, predictor: Predictor) -> None:
    texts = [TEXT, "", "Brixton Hill is cheap", "\n", "nothing of note", "Camden " * 300]
    results = client.post("/v1/predict", json={"texts": texts, "targets": TARGETS}).json()["results"]
    expected = [predictor.predict(text, TARGETS).to_dict() for text in texts]
    assert [{name: one[name] for name in ("text", "opinions")} for one in results] == expected


def test_aspects_keep_their_order_aliases_are_mentions_and_offsets_count_code_points(
    client: TestClient, predictor: Predictor
) -> None:
    text = "😀 Stokey is nice 👍🏽, N16 too."
    targets = [{"name": "Stoke Newington", "aliases": ["Stokey", "N16"]}, "Camden"]
    aspects = ["safety", "general", "safety"]
    found = answer(client, text=text, targets=targets, aspects=aspects)
    expected = predictor.predict(text, {"Stoke Newington": ["Stokey", "N16"], "Camden": []}, aspects)
    assert found["opinions"] == expected.to_dict()["opinions"]
    assert [opinion["aspect"] for opinion in found["opinions"]] == ["safety", "general"] * 2
    ((mention),) = found["mentions"]
    assert [text[start:end] for start, end in mention["spans"]] == ["Stokey", "N16"]


def test_a_text_may_be_about_what_it_does_not_name(client: TestClient, predictor: Predictor) -> None:
    found = answer(client, text=TEXT, targets=TARGETS, implied=True, explain=True)
    expected = predictor.predict(TEXT, TARGETS, implied=True)
    assert found["opinions"] == expected.to_dict()["opinions"] != answer(client, text=TEXT, targets=TARGETS)["opinions"]
    assert [one["targets"] for one in found["explanation"]["passages"]] == [list(p.targets) for p in expected.passages]
    unnamed = answer(client, text="Not cheap, but safe.", targets=[], implied=True, explain=True)
    expected = predictor.predict("Not cheap, but safe.", [Target("", implied=True)])
    assert unnamed["opinions"] == expected.to_dict()["opinions"]
    assert {opinion["target"] for opinion in unnamed["opinions"]} == {None}
    assert (unnamed["mentions"], unnamed["explanation"]["passages"][0]["targets"]) == ([], [None])


def test_a_model_of_texts_that_name_nobody(tiny_model: Path, tmp_path: Path, make_client: Any) -> None:
    folder = tmp_path / "implied"
    unchecked(Path(shutil.copytree(tiny_model, folder)))
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    (folder / "config.json").write_text(json.dumps(config | {"implied": True, "named": False}), encoding="utf-8")
    client, text = make_client(model=str(folder)), "It is not cheap, but it is safe."
    expected = [opinion.probabilities for opinion in load(folder, threads=1).predict(text).opinions]

    def shares(**fields: Any) -> list[tuple[str | None, Any]]:
        return [(one["target"], one["probabilities"]) for one in answer(client, text=text, **fields)["opinions"]]

    assert client.get("/v1/models").json()["models"][0]["implied"] is True
    assert shares(targets=[]) == shares(targets=[], implied=None) == [(None, one) for one in expected]
    assert shares(targets=["it"]) == [("it", one) for one in expected] != shares(targets=["it"], implied=False)
    error_of(client.post("/v1/predict", json=body(targets=[], implied=False)), 422)


@pytest.mark.parametrize("text", [TEXT, "Camden " + "is not nice and " * 40 + ". Camden.", "nobody here"])
def test_an_explanation_is_the_predictors(client: TestClient, predictor: Predictor, text: str) -> None:
    aspects = ["price", "general"]
    found = answer(client, text=text, targets=TARGETS, aspects=aspects, explain=True)
    expected = predictor.predict(text, TARGETS, aspects)
    explanation, attention = found["explanation"], expected.attention
    assert found["opinions"] == expected.to_dict()["opinions"]
    assert explanation["aspects"] == aspects
    assert explanation["attention"] == (None if attention is None else attention.astype(float).round(4).tolist())
    assert explanation["unread"] == [
        {"target": name, "spans": [list(span) for span in expected.unread(name)]}
        for name in TARGETS
        if expected.unread(name)
    ]
    for ours, theirs in zip(explanation["passages"], expected.passages, strict=True):
        assert theirs.gates is not None
        assert ours == {
            "start": theirs.start,
            "end": theirs.end,
            "targets": list(theirs.targets),
            "tokens": [{"text": t.text, "start": t.start, "end": t.end, "target": t.target} for t in theirs.tokens],
            "gates": theirs.gates.astype(float).round(4).tolist(),
        }


@pytest.mark.parametrize("aspects", [None, ["camera"], [" battery  life", "wifi", "battery life"], ["<b>&'\"", "価格"]])
def test_an_open_model_takes_any_words(open_client: TestClient, open_model: Path, aspects: list[str] | None) -> None:
    found = answer(open_client, text=OPEN_TEXT, targets=["Pixel", "Nokia"], aspects=aspects, explain=True)
    expected = load(open_model, threads=1).predict(OPEN_TEXT, ["Pixel", "Nokia"], aspects)
    assert found["opinions"] == expected.to_dict()["opinions"]
    assert (found["explanation"]["aspects"], found["explanation"]["attention"]) == (list(expected.aspects), None)


@pytest.mark.parametrize(
    ("fields", "field", "words"),
    [
        ({"text": None}, None, "either"),
        ({"texts": ["a"]}, None, "either"),
        ({"text": None, "texts": []}, "texts", "at least 1"),
        ({"targets": []}, "targets", "'implied'"),
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
def test_a_wrong_request_is_one_line(client: TestClient, fields: Any, field: str | None, words: str) -> None:
    error = error_of(client.post("/v1/predict", json=body(**fields)), 422)
    assert (error["code"], error["field"]) == ("invalid", field)
    assert words in error["message"]


@pytest.mark.parametrize("aspect", ["", "--", "bell\x07"])
def test_what_is_no_aspect_of_an_open_model(open_client: TestClient, aspect: str) -> None:
    error = error_of(open_client.post("/v1/predict", json=body(aspects=[aspect])), 422)
    assert error["field"] == "aspects"


# ---- evidence


@pytest.mark.parametrize("target", TARGETS)
def test_evidence_is_the_predictors(client: TestClient, predictor: Predictor, target: str) -> None:
    found = answer(client, "evidence", text=TEXT, targets=TARGETS, of={"target": target, "aspect": "price"})
    assert found == predictor.predict(TEXT, TARGETS, ["price"]).evidence(target, "price").to_dict()
    if target == "Nowhere":
        assert (found["polarity"], found["words"], len(found["unread"])) == ("none", [], 3)


def test_evidence_of_what_a_text_does_not_name(client: TestClient) -> None:
    found = answer(
        client, "evidence", text="Not cheap.", targets=[], implied=True, of={"target": None, "aspect": "price"}
    )
    assert (found["target"], found["unread"], len(found["sentences"])) == (None, [], 1)


CAMDEN = {"target": "Camden", "aspect": "price"}


@pytest.mark.parametrize(
    ("fields", "field", "words"),
    [
        ({"of": {"target": "Leith", "aspect": "price"}}, "of.target", "'Leith' is none of the question's targets"),
        ({"of": {"target": None, "aspect": "price"}}, "of.target", "None is none of the question's targets"),
        ({"of": {"target": "Camden", "aspect": "wifi"}}, "of.aspect", "does not know the aspect 'wifi'"),
        ({"of": CAMDEN, "aspects": ["safety"]}, "of.aspect", "'price' is none of the question's aspects"),
        ({"of": CAMDEN, "text": None, "texts": [TEXT]}, None, "one 'text'"),
        ({"of": None}, "of", "valid dictionary"),
        ({"of": {"aspect": "price"}}, "of.target", "required"),
    ],
)
def test_a_cell_that_is_none_of_the_questions(client: TestClient, fields: Any, field: str | None, words: str) -> None:
    error = error_of(client.post("/v1/evidence", json=body(**{"text": TEXT, "targets": TARGETS} | fields)), 422)
    assert error["field"] == field
    assert words in error["message"]


def test_evidence_waits_in_a_bounded_line(make_client: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tabsa.serve.opinions._MOST_EVIDENCE", 1)
    client = make_client()
    places = client.app.state.service.evidence_places
    assert places.acquire(blocking=False)
    assert error_of(client.post("/v1/evidence", json=body(of=CAMDEN)), 503)["code"] == "busy"
    places.release()
    for _ in range(2):  # each gives its place back
        assert client.post("/v1/evidence", json=body(of=CAMDEN)).status_code == 200


# ---- names and the model


def test_names_that_may_be_targets_are_suggested(client: TestClient) -> None:
    response = client.post("/v1/suggest", json={"text": "I live in Camden Town, near Leeds."})
    assert response.json() == {
        "targets": [{"name": "Camden Town", "spans": [[10, 21]]}, {"name": "Leeds", "spans": [[28, 33]]}]
    }
    error_of(client.post("/v1/suggest", json={}), 422)


def test_the_model_is_described(client: TestClient, open_client: TestClient) -> None:
    assert client.get("/v1/models").json() == {
        "models": [
            {
                "name": "tiny",
                "kind": "delayed-entnet",
                "labels": ["none", "positive", "negative"],
                "open_aspects": False,
                "aspects": ["general", "price", "safety", "transit-location"],
                "aspect_lists": {},
                "implied": False,
            }
        ],
        "default": "tiny",
        "corrections": None,
    }
    (model,) = open_client.get("/v1/models").json()["models"]
    assert (model["open_aspects"], model["aspects"], model["labels"]) == (True, list(EVERYDAY), list(LABELS))
    assert model["aspect_lists"] == {name: list(aspects) for name, aspects in LISTS.items()}
