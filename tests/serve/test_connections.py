"""Clients on a wire: silent, slow, endless, gone; and a stop, a kill, several workers."""

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
from tabsa.serve.guard import MAX_HEAD_BYTES

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


@pytest.mark.parametrize(
    "head",
    [
        b"GET / HTTP/1.1\r\nX-A: " + b"a" * 2 * MAX_HEAD_BYTES,
        b"GET /" + b"a" * 2 * MAX_HEAD_BYTES,
        b"X: a\r\n" * 20_000,
    ],
    ids=["a field", "an address", "many fields"],
)
def test_an_endless_head_is_cut(settings: Any, head: bytes) -> None:
    first = b"GET / HTTP/1.1\r\n" if head.startswith(b"X:") else b""
    with serving(settings()) as (place, _):
        assert asyncio.run(said_to(place, first, head)).split(b"\r\n")[0] in (b"HTTP/1.1 431 ", b"")
        endless = http({}, more="Transfer-Encoding: chunked\r\n").partition(b"Content-Length")[0] + b"\r\n"
        trailers = [b"0\r\n", *[b"X-A: " + b"a" * 8000 + b"\r\n"] * 20]
        assert b" 200 " not in asyncio.run(said_to(place, endless, *trailers))


def test_silent_and_slow_clients_are_let_go(settings: Any) -> None:
    with serving(settings(read_timeout=0.3)) as (place, _):

        async def slow() -> list[bytes]:
            head = GOOD.partition(b"\r\n\r\n")[0] + b"\r\n\r\n"
            return await asyncio.gather(
                said_to(place),  # nothing at all
                said_to(place, b"GET / HT"),  # half a head
                said_to(place, head),  # no body
                said_to(place, head + b'{"text":'),
                said_to(place, GOOD),  # an answer, and silence
            )

        nothing, half, *bodies, answered = asyncio.run(slow())
    assert (nothing, half) == (b"", b"")
    assert all(b" 408 " in body and b"too_slow" in body and b"connection: close" in body for body in bodies)
    assert b" 200 OK" in answered


def test_connections_that_wait_for_their_clients_keep_nobody_out(settings: Any) -> None:
    """Silent ones, and those whose bodies do not come; the oldest gives way to the newest."""
    with serving(settings(max_connections=8)) as (place, _):

        async def crowd() -> tuple[int, bytes]:
            opened = [await asyncio.open_connection(*place) for _ in range(20)]
            for _, writer in opened[::2]:
                writer.write(GOOD[:-1])
            reader, writer = await asyncio.open_connection(*place)
            writer.write(GOOD)
            status, _, _ = await asyncio.wait_for(http_answer(reader), 30)
            first = await asyncio.wait_for(opened[0][0].read(), 30)
            for _, one in [*opened, (reader, writer)]:
                one.close()
            return status, first

        assert asyncio.run(crowd()) == (200, b"")


def test_requests_sent_ahead_are_answered_in_order_and_bounded(settings: Any, predictor: Predictor) -> None:
    texts = [f"Camden is number {n}" for n in range(5)]
    with serving(settings()) as (place, _):

        async def ahead() -> list[Any]:
            reader, writer = await asyncio.open_connection(*place)
            writer.write(b"".join(http({"text": text, "targets": NAMES}) for text in texts))
            found = [json.loads((await http_answer(reader))[2])["opinions"] for _ in texts]
            writer.close()
            return found

        assert asyncio.run(ahead()) == [predictor.predict(text, NAMES).to_dict()["opinions"] for text in texts]
        assert b" 400 " in asyncio.run(said_to(place, GOOD * 50))


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


# ---- processes

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


def test_addresses_of_a_proxy_count_only_where_it_is_named(serve: Any) -> None:
    forwarded = http({"text": "Camden", "targets": NAMES}, more="X-Forwarded-For: 203.0.113.9\r\nConnection: close\r\n")
    for options, address in ((("--set", 'proxies=["127.0.0.1"]'), "203.0.113.9"), ((), "127.0.0.1")):
        service = serve("--access-log", *options)
        assert b" 200 OK" in asyncio.run(said_to(service.place, forwarded))
        service.wait_for("/v1/predict")
        assert next(line for line in service.log if "/v1/predict" in line).split("-")[0].split()[-1].startswith(address)
