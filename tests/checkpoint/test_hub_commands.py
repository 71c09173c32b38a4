"""Models of the hub where others are served, and trained on."""

from pathlib import Path

import pytest
from starlette.testclient import TestClient

import tabsa
from hub_server import NAME, TARGETS, TEXT, HubServer, Repo
from tabsa.errors import OutputError
from tabsa.serve.app import create_app
from tabsa.serve.settings import Settings

LABELS = "text,target,aspect,polarity\n" + "".join(
    f"camden is {word} {aspect} {n},camden,{aspect},{polarity}\n"
    for n in range(12)
    for aspect in ("food", "price")
    for word, polarity in (("good", "positive"), ("bad", "negative"))
)


def test_a_model_of_the_hub_is_served(there: HubServer, tiny_model: Path) -> None:
    with TestClient(create_app(Settings(model=NAME, threads=1)), base_url="http://localhost") as client:
        assert client.get("/v1/models").json()["default"] == "tiny"
        answer = client.post("/v1/predict", json={"text": TEXT, "targets": TARGETS}).json()
    assert answer["opinions"] == tabsa.load(tiny_model, threads=1).predict(TEXT, TARGETS).to_dict()["opinions"]


@pytest.fixture
def reader(there: HubServer, tmp_path: Path) -> Repo:
    """A tiny reader on the hub."""
    pytest.importorskip("torch", reason="needs PyTorch: pip install 'tabsa[train]'")
    from reader_folder import small_reader, write_reader

    model = small_reader(along=2, layers=0, rounded=True, sizes={"layers": 3, "size": 64, "inner": 64})
    folder = write_reader(tmp_path / "base", model, "int8").path
    there.repos["someone/reader"] = Repo()
    there.repos["someone/reader"].commit({path.name: path.read_bytes() for path in folder.iterdir()})
    return there.repos["someone/reader"]


def test_a_run_goes_on_with_the_base_that_it_began_with(reader: Repo, tmp_path: Path, command_line) -> None:
    """A newer version on the hub is not mixed into it; asked for by its commit, it is another run."""
    from tabsa.config import read_toml

    first, out = reader.refs["main"], tmp_path / "model"
    (tmp_path / "labels.csv").write_text(LABELS)
    asked = ("train", tmp_path / "labels.csv", "--out", out, "--base", "hub:someone/reader", "--epochs", "2")
    code, _, stderr = command_line(*asked)
    assert code == 0, stderr
    assert read_toml(out / "run" / "config.toml")["fine_tuning"]["base"] == f"hub:someone/reader@{first}"
    second = reader.commit(reader.commits[first] | {"README.md": b"# second\n"})
    code, _, stderr = command_line(*asked, "--resume")
    assert code == 0, stderr
    assert read_toml(out / "run" / "config.toml")["fine_tuning"]["base"] == f"hub:someone/reader@{first}"
    with pytest.raises(OutputError, match="holds another run"):
        tabsa.train(tmp_path / "labels.csv", out, base=f"hub:someone/reader@{second}", epochs=2, resume=True)
