"""A service around a model that was trained on texts which do not name what they are about."""

import csv
import io
import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient

from tabsa.inference.predictor import Predictor, load
from tabsa.serve.app import create_app
from tabsa.serve.settings import Settings
from unchecked import unchecked

TEXT = "It is not cheap, but it is safe."


@pytest.fixture(scope="module")
def implied_model(tiny_model: Path, tmp_path_factory: pytest.TempPathFactory) -> Predictor:
    folder = tmp_path_factory.mktemp("implied") / "model"
    unchecked(Path(shutil.copytree(tiny_model, folder)))
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    (folder / "config.json").write_text(json.dumps(config | {"implied": True, "named": False}), encoding="utf-8")
    return load(folder, threads=1)


@pytest.fixture(scope="module")
def service(implied_model: Predictor) -> Iterator[TestClient]:
    app = create_app(Settings(model=str(implied_model.folder.path), threads=1))
    with TestClient(app, "http://localhost", raise_server_exceptions=False) as client:
        yield client


def opinions(service: TestClient, **body: Any) -> list[tuple[str | None, dict[str, float]]]:
    response = service.post("/v1/predict", json={"text": TEXT, **body})
    assert response.status_code == 200, response.text
    return [(one["target"], one["probabilities"]) for one in response.json()["opinions"]]


def test_the_model_says_so(service: TestClient, client: TestClient) -> None:
    assert service.get("/v1/models").json()["models"][0]["implied"] is True
    assert client.get("/v1/models").json()["models"][0]["implied"] is False


def test_nobody_needs_to_be_named(service: TestClient, client: TestClient, implied_model: Predictor) -> None:
    said = [opinion.probabilities for opinion in implied_model.predict(TEXT).opinions]
    assert opinions(service) == [(None, shares) for shares in said]
    assert opinions(service, implied=None, targets=[]) == opinions(service)
    # A name is what the answer is called; it is looked for where that is said.
    assert opinions(service, targets=["it"]) == [("it", shares) for shares in said]
    assert opinions(service, targets=["it"], implied=False) != opinions(service, targets=["it"])
    for asked, body in ((service, {"implied": False}), (client, {})):
        refused = asked.post("/v1/predict", json={"text": TEXT, **body})
        assert (refused.status_code, refused.json()["error"]["field"]) == (422, "targets")


def test_tables(service: TestClient, implied_model: Predictor) -> None:
    def post(**fields: str) -> Any:
        return service.post("/v1/score", data=fields, files={"file": ("my.csv", f'text\n"{TEXT}"\n'.encode())})

    polarities = {opinion.aspect: opinion.polarity for opinion in implied_model.predict(TEXT).opinions}
    (row,) = csv.DictReader(io.StringIO(post().text))
    assert row == {"text": TEXT, **polarities}
    (named,) = csv.DictReader(io.StringIO(post(targets="it").text))
    assert named == {"text": TEXT, **{f"it/{aspect}": polarity for aspect, polarity in polarities.items()}}
    assert post(implied="false").status_code == 422
