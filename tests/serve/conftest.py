"""Services to test: in this process, and as processes of their own."""

import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

pytest.importorskip("fastapi", reason="needs the service: pip install 'tabsa[serve]'")
from fastapi.testclient import TestClient

import tabsa
from tabsa.inference.predictor import Predictor, load
from tabsa.serve.app import create_app
from tabsa.serve.settings import Settings


@pytest.fixture(scope="session")
def predictor(tiny_model: Path) -> Predictor:
    return load(tiny_model, threads=1)


@pytest.fixture
def settings(tiny_model: Path) -> Callable[..., Settings]:
    """Settings of a service around the tiny model."""
    return lambda **given: Settings(**{"model": str(tiny_model), "threads": 1} | given)


@pytest.fixture
def make_client(settings: Callable[..., Settings]) -> Iterator[Callable[..., TestClient]]:
    """Starts services with the settings given."""
    with ExitStack() as stack:

        def make(**given: Any) -> TestClient:
            app = create_app(settings(**given))
            return stack.enter_context(TestClient(app, "http://localhost", raise_server_exceptions=False))

        yield make


@pytest.fixture(scope="module")
def client(tiny_model: Path) -> Iterator[TestClient]:
    """A service as it comes, shared by the tests of a file."""
    app = create_app(Settings(model=str(tiny_model), threads=1))
    with TestClient(app, "http://localhost", raise_server_exceptions=False) as client:
        yield client


@pytest.fixture(scope="module")
def reader() -> Predictor:
    return load("reader", threads=1)


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """A browser on the page of a service with the model in the box."""
    from browsing import open_browser

    with open_browser(Settings(), tmp_path_factory.mktemp("downloads")) as page:
        yield page


@pytest.fixture
def page(browser: Any) -> Iterator[Any]:
    """An empty page in a wide, light window; nothing may go elsewhere or wrong while a test uses it."""
    browser.fresh()
    yield browser
    browser.check()


@dataclass
class Served:
    """A service in a process of its own."""

    process: subprocess.Popen[str]
    address: str = ""
    log: list[str] = field(default_factory=list)

    @property
    def place(self) -> tuple[str, int]:
        """Its host and port."""
        parts = urlsplit(self.address)
        return str(parts.hostname), int(parts.port or 0)

    def wait_for(self, words: str, times: int = 1) -> None:
        """Wait until its log has some words so often."""
        with self.said:
            assert self.said.wait_for(lambda: sum(words in line for line in self.log) >= times, 60), "".join(self.log)

    def __post_init__(self) -> None:
        self.said = threading.Condition()
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            with self.said:
                self.log.append(line)
                self.address = self.address or next(iter(re.findall(r"http://\S+:\d+", line)), "")
                self.said.notify_all()


@pytest.fixture
def serve(tiny_model: Path) -> Iterator[Callable[..., Served]]:
    """Starts `tabsa serve` with the options given, and stops it afterwards."""
    started: list[Served] = []

    def start(*options: str, workers: int = 1) -> Served:
        command = [sys.executable, "-m", "tabsa", "serve", "--port", "0", "--model", str(tiny_model)]
        environment = os.environ | {"PYTHONUNBUFFERED": "1", "OMP_NUM_THREADS": "1"}
        environment["PYTHONPATH"] = str(Path(tabsa.__file__).parents[1])
        process = subprocess.Popen(
            [*command, "--workers", str(workers), *options],
            stdout=subprocess.PIPE,  # where uvicorn writes its access log
            stderr=subprocess.STDOUT,
            text=True,
            env=environment,
        )
        started.append(Served(process))
        started[-1].wait_for("startup complete", workers)
        return started[-1]

    yield start
    for served in started:
        if served.process.poll() is None:
            served.process.send_signal(signal.SIGTERM)
        try:
            served.process.wait(30)
        except subprocess.TimeoutExpired:
            served.process.kill()
