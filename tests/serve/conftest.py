"""Services to test: in this process, and as processes of their own."""

import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("fastapi", reason="needs the service: pip install 'tabsa[serve]'")
from fastapi.testclient import TestClient

from tabsa.inference.predictor import Predictor, load
from tabsa.serve.app import create_app
from tabsa.serve.settings import Settings

MakeClient = Callable[..., TestClient]


@pytest.fixture(scope="session")
def predictor(tiny_model: Path) -> Predictor:
    return load(tiny_model, threads=1)


@pytest.fixture
def settings(tiny_model: Path) -> Callable[..., Settings]:
    """Settings of a service around the tiny model."""
    return lambda **given: Settings(**{"model": str(tiny_model), "threads": 1} | given)


@pytest.fixture
def make_client(settings: Callable[..., Settings]) -> Iterator[MakeClient]:
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


@dataclass
class Served:
    """A service in a process of its own."""

    process: subprocess.Popen[str]
    address: str = ""
    log: list[str] = field(default_factory=list)

    def workers(self) -> list[int]:
        """The process ids of its workers."""
        return [worker for child in _children(self.process.pid) for worker in _children(child)]


def _children(process: int) -> list[int]:
    return [int(child) for child in Path(f"/proc/{process}/task/{process}/children").read_text().split()]


@pytest.fixture
def serve(tiny_model: Path) -> Iterator[Callable[..., Served]]:
    """Starts `tabsa serve` with the options given, and stops it afterwards."""
    with _services(tiny_model) as start:
        yield start


@pytest.fixture(scope="module")
def serve_all(tiny_model: Path) -> Iterator[Callable[..., Served]]:
    """The same, for all the tests of a file."""
    with _services(tiny_model) as start:
        yield start


@contextmanager
def _services(model: Path) -> Iterator[Callable[..., Served]]:
    started: list[Served] = []

    def start(*options: str, ready: int = 1) -> Served:
        command = [sys.executable, "-m", "tabsa", "serve", "--port", "0", "--model", str(model), *options]
        environment = os.environ | {"PYTHONUNBUFFERED": "1", "OMP_NUM_THREADS": "1", "PYTHONPATH": _sources()}
        process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=environment)
        served = Served(process)
        started.append(served)
        up = threading.Event()

        def read() -> None:
            assert process.stderr is not None
            for line in process.stderr:
                served.log.append(line)
                served.address = served.address or next(iter(re.findall(r"http://\S+:\d+", line)), "")
                if sum("startup complete" in line for line in served.log) >= ready:
                    up.set()
            up.set()

        threading.Thread(target=read, daemon=True).start()
        assert up.wait(60)
        assert process.poll() is None, "".join(served.log)
        return served

    yield start
    for served in started:
        if served.process.poll() is None:
            served.process.send_signal(signal.SIGTERM)
        try:
            served.process.wait(30)
        except subprocess.TimeoutExpired:
            served.process.kill()


def _sources() -> str:
    import tabsa

    return str(Path(tabsa.__file__).parents[1])
