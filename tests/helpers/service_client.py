"""What the tests of the service share."""

import asyncio
import csv
import io
import json
import random
import socket
import threading
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import Any

import httpx2
import uvicorn
from fastapi import FastAPI

from tabsa.serve.app import create_app
from tabsa.serve.settings import Settings

NAMES = ["Camden", "Brixton Hill", "Leeds"]
WORDS = ("the", "is", "not", "but", "cheap", "dear", "far", "zebra", ".", "Camden", "Leeds", ",", "Brixton Hill")
REVIEWS = [("r1", "Camden is not cheap but nice"), ("r2", "Leeds, lovely; camden dear"), ("r3", "nobody")]


def error_of(response: Any, status: int) -> dict[str, Any]:
    """The error of an answer, which has the one form and one line."""
    assert response.status_code == status, response.text
    assert set(response.json()) == {"error"}
    error: dict[str, Any] = response.json()["error"]
    assert set(error) - {"count"} == {"code", "message", "field"}
    assert error["message"]
    assert "\n" not in error["message"]
    return error


def body(**fields: Any) -> dict[str, Any]:
    """A request for a prediction, with something changed."""
    return {"text": "Camden is not cheap.", "targets": ["Camden"]} | fields


def as_json(content: Any) -> dict[str, Any]:
    """How to send JSON exactly so, whatever a client library thinks of it."""
    return {"content": json.dumps(content).encode(), "headers": {"Content-Type": "application/json"}}


def http(content: Any, path: str = "/v1/predict", more: str = "") -> bytes:
    """A request as bytes."""
    written = json.dumps(content).encode()
    head = f"POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n{more}"
    return f"{head}Content-Length: {len(written)}\r\n\r\n".encode() + written


async def http_answer(reader: asyncio.StreamReader) -> tuple[int, bytes, bytes]:
    """The status, the head and the body of an answer."""
    head = await reader.readuntil(b"\r\n\r\n")
    size = next((int(line[15:]) for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:")), 0)
    return int(head.split()[1]), head, await reader.readexactly(size)


def some_texts(count: int, seed: int = 1, longest: int = 60) -> list[str]:
    """Texts of words and names by chance."""
    chance = random.Random(seed)
    return [" ".join(chance.choices(WORDS, k=chance.randint(1, longest))) for _ in range(count)]


def asking(settings: Settings, ask: Callable[[httpx2.AsyncClient, FastAPI], Awaitable[Any]]) -> Any:
    """Run what asks a service, both in one event loop."""

    async def run() -> Any:
        app = create_app(settings)
        transport = httpx2.ASGITransport(app=app)
        async with (
            app.router.lifespan_context(app),
            httpx2.AsyncClient(transport=transport, base_url="http://localhost") as client,
        ):
            return await ask(client, app)

    return asyncio.run(run())


@contextmanager
def serving(settings: Settings) -> Iterator[tuple[tuple[str, int], FastAPI]]:
    """The service as `tabsa serve` runs it, in a thread: its address and its app."""
    app = create_app(settings)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        more: Any = {"ws": "none", "log_level": "error", "timeout_graceful_shutdown": 1}
        server = uvicorn.Server(uvicorn.Config(app, http="h11", limit_concurrency=settings.max_connections, **more))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
        thread.start()
        place = listener.getsockname()
        with socket.create_connection(place, timeout=30) as probe:  # waits in the line until the service is there
            probe.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
            assert b"200 OK" in probe.recv(1000)
        try:
            yield place, app
        finally:
            server.should_exit = True
            thread.join(30)


def csv_table(rows: list[tuple[str, str]] = REVIEWS) -> bytes:
    """A table to score."""
    out = io.StringIO()
    csv.writer(out).writerows([("id", "text"), *rows])
    return out.getvalue().encode()


def post_table(
    client: Any, content: bytes | None = None, name: str = "reviews.csv", path: str = "/v1/score", **fields: Any
) -> Any:
    """Send a table; a field of None is left out."""
    given = ({"targets": ["Camden", "Leeds"]} if path == "/v1/score" else {}) | fields
    form = {key: value for key, value in given.items() if value is not None}
    return client.post(path, files={"file": (name, csv_table() if content is None else content)}, data=form)
