"""Clients on a wire: endless, too many, gone; and a stop, a kill, several workers."""

import asyncio
import json
import os
import signal
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from service_client import NAMES, http, http_answer, serving
from tabsa.inference.predictor import Predictor

GOOD = http({"text": "Camden is cheap", "targets": NAMES})


async def said_to(place: tuple[str, int], *pieces: bytes) -> bytes:
    """All that comes back, until the service closes the connection."""
    reader, writer = await asyncio.open_connection(*place)
    try:
        for piece in pieces:
            writer.write(piece)
            await writer.drain()
        return await asyncio.wait_for(reader.read(), 60)
    except ConnectionError:
        return b""
    finally:
        writer.close()


@pytest.mark.parametrize("head", [b"X-A: " + b"a" * 200_000, b"X: a\r\n" * 50_000], ids=["a long field", "many fields"])
def test_an_endless_head_is_cut(settings: Any, head: bytes) -> None:
    with serving(settings()) as (place, _):
        assert asyncio.run(said_to(place, b"GET / HTTP/1.1\r\n", head))[:12] in (b"HTTP/1.1 400", b"")


def test_more_connections_than_allowed_are_refused(settings: Any) -> None:
    with serving(settings(max_connections=4)) as (place, _):

        async def crowd() -> bytes:
            opened = [await asyncio.open_connection(*place) for _ in range(4)]
            refused = await said_to(place, GOOD)
            for _, writer in opened:
                writer.close()
            return refused

        assert asyncio.run(crowd()).startswith(b"HTTP/1.1 503")


@pytest.mark.parametrize("sent", [GOOD, GOOD[:-5], GOOD[:30]], ids=["all of it", "half a body", "half a head"])
def test_the_work_of_a_client_that_left_is_dropped(
    settings: Any, sent: bytes, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    came: list[int] = []
    read: list[Any] = []
    open_gate = threading.Event()
    with serving(settings()) as (place, app):
        batcher = app.state.service.batcher
        take = batcher._take
        monkeypatch.setattr(batcher, "check", came.append)
        monkeypatch.setattr(batcher, "_take", lambda: open_gate.wait(30) and take())
        monkeypatch.setattr(batcher, "_read", lambda parts: read.extend(parts))

        async def leave() -> None:
            for _ in range(20):
                _, writer = await asyncio.open_connection(*place)
                writer.write(sent)
                await writer.drain()
                writer.close()
                await writer.wait_closed()
            reader, writer = await asyncio.open_connection(*place)
            while batcher._waiting or len(came) < (20 if sent == GOOD else 0):  # each that left is noticed
                writer.write(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
                await http_answer(reader)
            writer.close()

        asyncio.run(asyncio.wait_for(leave(), 60))
        open_gate.set()
    assert read == []
    assert "Traceback" not in caplog.text


LINUX = pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="reads /proc")


async def on_and_on(place: tuple[str, int], right: Callable[[str], Any], number: int) -> tuple[int, str]:
    """Ask until the service is gone; how many answers there were, and how it ended."""
    answers, text = 0, f"Camden is number {number}"
    try:
        while True:
            reader, writer = await asyncio.open_connection(*place)
            while True:
                writer.write(http({"text": text, "targets": NAMES}))
                status, head, content = await http_answer(reader)
                assert status == 200
                assert json.loads(content)["opinions"] == right(text)
                answers += 1
                if b"connection: close" in head.lower():
                    break
            writer.close()
    except ConnectionRefusedError:
        return answers, "refused"
    except asyncio.IncompleteReadError as e:
        return answers, "within an answer" if e.partial else "between answers"
    except ConnectionError:
        return answers, "between answers"


@pytest.mark.parametrize("workers", [1, 2])
def test_a_stop_answers_what_was_taken_and_leaves_no_traceback(serve: Any, predictor: Predictor, workers: int) -> None:
    service = serve(workers=workers)
    heavy = http({"texts": ["Camden " * 1400] * 250, "targets": NAMES})  # which a stop does not wait for to its end

    async def load() -> list[tuple[int, str]]:
        clients = [asyncio.create_task(on_and_on(service.place, right, number)) for number in range(8)]
        long = asyncio.create_task(said_to(service.place, heavy))
        reader, writer = await asyncio.open_connection(*service.place)
        for _ in range(20):  # others are at work by then
            writer.write(GOOD)
            await http_answer(reader)
        service.process.send_signal(signal.SIGTERM)
        writer.close()
        ended = await asyncio.gather(*clients)
        assert (await long)[:12] in (b"HTTP/1.1 200", b"HTTP/1.1 503", b"")
        return list(ended)

    def right(text: str) -> Any:
        return predictor.predict(text, NAMES).to_dict()["opinions"]

    ended = asyncio.run(asyncio.wait_for(load(), 100))
    assert all(answers for answers, _ in ended)
    assert {how for _, how in ended} <= {"refused", "between answers"}
    assert service.process.wait(30) in (0, -signal.SIGTERM)
    assert "Traceback" not in "".join(service.log)


def workers_of(process: int) -> list[int]:
    children = Path(f"/proc/{process}/task/{process}/children").read_text().split()
    return [int(one) for one in children if b"spawn_main" in Path(f"/proc/{one}/cmdline").read_bytes()]


@LINUX
def test_a_killed_worker_loses_no_request_but_its_own(serve: Any, predictor: Predictor) -> None:
    service = serve(workers=2)
    texts = [f"Leeds is number {n}" for n in range(60)]
    cut = 0

    async def ask(text: str) -> Any:
        nonlocal cut
        while True:
            reader, writer = await asyncio.open_connection(*service.place)
            try:
                writer.write(http({"text": text, "targets": NAMES}))
                return json.loads((await http_answer(reader))[2])["opinions"]
            except (ConnectionError, asyncio.IncompleteReadError):
                cut += 1
            finally:
                writer.close()

    async def load() -> list[Any]:
        before = await asyncio.gather(*(ask(text) for text in texts[:20]))
        os.kill(workers_of(service.process.pid)[0], signal.SIGKILL)
        return [*before, *await asyncio.gather(*(ask(text) for text in texts[20:]))]

    answers = asyncio.run(asyncio.wait_for(load(), 100))
    assert answers == [predictor.predict(text, NAMES).to_dict()["opinions"] for text in texts]
    service.wait_for("startup complete", 3)  # another took its place
    assert len(workers_of(service.process.pid)) == 2
    assert cut <= 40
