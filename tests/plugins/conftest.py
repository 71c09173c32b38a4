"""A small model with open aspects, and a hub with one model, for the tests of loading and of sharing."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from hub_server import HubServer, Repo
from open_model import open_model
from tabsa.inference.predictor import Predictor, load

__all__ = ["open_model"]  # a fixture


@pytest.fixture(scope="module")
def model(open_model: Path) -> Predictor:
    return load(open_model)


@pytest.fixture(scope="module")
def server() -> Iterator[HubServer]:
    running = HubServer()
    yield running
    running.close()


@pytest.fixture
def files(tiny_model: Path) -> dict[str, bytes]:
    """A model folder as it lies on the hub, among files that are none of a model's."""
    own = {path.name: path.read_bytes() for path in tiny_model.iterdir()}
    return own | {"run.py": b"print('code')", "weights.pkl": b"\x80", "sub/config.json": b"{}", "report.html": b""}


@pytest.fixture
def there(server: HubServer, files: dict[str, bytes], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> HubServer:
    """A hub with one model, and caches that are empty."""
    constants = pytest.importorskip("huggingface_hub.constants", reason="needs: pip install 'tabsa[hub]'")
    server.repos = {"someone/tiny": Repo()}
    server.repos["someone/tiny"].commit(files)
    server.asked, server.cut, server.large, server.down = [], set(), {}, False
    template = constants.HUGGINGFACE_CO_URL_TEMPLATE.replace(constants.ENDPOINT, server.url)
    monkeypatch.setattr(constants, "HUGGINGFACE_CO_URL_TEMPLATE", template)
    monkeypatch.setattr(constants, "ENDPOINT", server.url)
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "hf"))
    monkeypatch.setattr(constants, "HF_TOKEN_PATH", str(tmp_path / "token"))
    # This hub keeps large files as Git LFS has them.
    monkeypatch.setattr(constants, "HF_HUB_DISABLE_XET", True)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    for name in ("HF_TOKEN", "HUGGING_FACE_HUB_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    return server
