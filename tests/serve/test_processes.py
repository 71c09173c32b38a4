"""`tabsa serve` as it runs: processes, signals, memory."""

import asyncio
import json
import os
import signal
import time
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx2
import pytest

from tabsa.inference.predictor import Predictor

pytestmark = pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="reads /proc")
NAMES = ["Camden", "Leeds"]


def request(text: str) -> bytes:
    body = json.dumps({"text": text, "targets": NAMES}).encode()
    head = "POST /v1/predict HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    return f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body


class Wire:
    """A connection, to see what a client library would hide."""

    def __init__(self, address: str) -> None:
        self._place = (urlsplit(address).hostname, urlsplit(address).port)

    async def __aenter__(self) -> "Wire":
        self._reader, self._writer = await asyncio.open_connection(*self._place)
        self.told_to_go = False
        return self

    async def __aexit__(self, *_: object) -> None:
        self._writer.close()

    async def send(self, text: str) -> None:
        if self.told_to_go:
            self._writer.close()
            await self.__aenter__()
        self._writer.write(request(text))
        await self._writer.drain()

    async def receive(self) -> tuple[int, Any]:
        """A whole answer; raises an IncompleteReadError where it breaks off, with what there was of it."""
        head = await self._reader.readuntil(b"\r\n\r\n")
        fields = dict(line.lower().split(b": ", 1) for line in head.split(b"\r\n")[1:] if line)
        body = await self._reader.readexactly(int(fields[b"content-length"]))
        self.told_to_go = fields.get(b"connection") == b"close"
        return int(head.split()[1]), json.loads(body)


def expected(predictor: Predictor, text: str) -> Any:
    return predictor.predict(text, NAMES).to_dict()["opinions"]


@pytest.mark.parametrize("workers", [1, 2])
def test_a_stop_answers_every_request_that_was_taken(serve: Any, predictor: Predictor, workers: int) -> None:
    """Requests sit in a long window when SIGTERM comes; each of them is answered, and rightly."""
    service = serve("--workers", str(workers), "--set", "batch_window_ms=1000", ready=workers)
    texts = [f"Camden is number {n} and not cheap" for n in range(24)]

    async def ask() -> list[tuple[int, Any]]:
        async with AsyncExitStack() as stack:
            wires = [await stack.enter_async_context(Wire(service.address)) for _ in texts]
            for wire in wires:  # a crowd, after which a call waits for its window
                await wire.send("Leeds is nice")
            for wire in wires:
                await wire.receive()
            for wire, text in zip(wires, texts, strict=True):
                await wire.send(text)
            await asyncio.sleep(0.4)
            service.process.send_signal(signal.SIGTERM)
            return [await wire.receive() for wire in wires]

    for text, (status, answer) in zip(texts, asyncio.run(ask()), strict=True):
        assert status == 200
        assert answer["opinions"] == expected(predictor, text)
    assert service.process.wait(20) in (0, -signal.SIGTERM)


def test_a_stop_under_load_breaks_no_answer_off(serve: Any, predictor: Predictor) -> None:
    """Clients ask on and on; after SIGTERM a connection may be closed or refused, but never within an answer."""
    service = serve("--workers", "2", ready=2)
    texts = [f"Camden is {word} but Leeds not" for word in ("nice", "dear", "far", "safe")]
    right = [expected(predictor, text) for text in texts]
    answered = 0
    broken: list[str] = []

    async def one_client() -> None:
        nonlocal answered
        try:
            async with Wire(service.address) as wire:
                for n in range(100_000):
                    await wire.send(texts[n % 4])
                    status, answer = await wire.receive()
                    if (status, answer.get("opinions")) != (200, right[n % 4]):
                        broken.append(str(answer))
                    answered += 1
        except asyncio.IncompleteReadError as e:
            if e.partial:
                broken.append(repr(e.partial))
        except ConnectionError:
            pass

    async def load() -> None:
        async with asyncio.TaskGroup() as group:
            for _ in range(16):
                group.create_task(one_client())
            await asyncio.sleep(1)
            service.process.send_signal(signal.SIGTERM)

    asyncio.run(load())
    assert service.process.wait(20) in (0, -signal.SIGTERM)
    assert answered > 16
    assert broken == []


def test_a_killed_worker_is_replaced_and_the_service_stays_up(serve: Any) -> None:
    service = serve("--workers", "2", ready=2)
    before = service.workers()
    assert len(before) == 2
    with httpx2.Client(base_url=service.address, headers={"Connection": "close"}) as client:
        for _ in range(10):
            assert client.post("/v1/predict", json={"text": "Camden", "targets": NAMES}).status_code == 200
        os.kill(before[0], signal.SIGKILL)
        served = 0
        deadline = time.time() + 30
        while time.time() < deadline:
            try:
                served += client.post("/v1/predict", json={"text": "Camden", "targets": NAMES}).status_code == 200
            except httpx2.TransportError:  # the worker's own connections go with it
                continue
            if sum("startup complete" in line for line in service.log) >= 3 and served > 20:
                break
        after = service.workers()
        assert served > 20
        assert len(after) == 2
        assert before[0] not in after
        assert before[1] in after
        metrics = client.get("/metrics").text
    counted = [line for line in metrics.splitlines() if line.startswith("tabsa_texts_total")]
    assert float(counted[0].split()[1]) >= served + 10  # of all workers, the dead one too
    assert "tabsa_waiting_texts 0.0" in metrics


def test_jobs_are_every_workers(serve: Any) -> None:
    service = serve("--workers", "2", ready=2)
    with httpx2.Client(base_url=service.address, headers={"Connection": "close"}) as client:
        files = {"file": ("a.csv", b"text\n" + b"Camden is not nice\n" * 500)}
        identity = client.post("/v1/score?job=true", files=files, data={"targets": "Camden"}).json()["id"]
        states = []
        for _ in range(200):
            job = client.get(f"/v1/jobs/{identity}").json()
            states.append(job["state"])
            if job["state"] != "running":
                break
            time.sleep(0.05)
        assert (job["state"], job["scored"]) == ("done", 500)
        sizes = {len(client.get(f"/v1/jobs/{identity}/result").content) for _ in range(10)}
        assert len(sizes) == 1


def memory(process: int) -> int:
    """Resident megabytes."""
    status = Path(f"/proc/{process}/status").read_text()
    return int(next(line for line in status.splitlines() if line.startswith("VmRSS")).split()[1]) // 1024


def test_overload_is_refused_and_memory_stays_where_it_is(serve: Any) -> None:
    service = serve("--set", "max_waiting=8", "--set", "max_texts=8", "--set", "max_text_characters=200000")
    text = "Nobody is here. " * 4_000  # 64 kB that are read, and in which there is nothing to judge
    sent = request(text)
    statuses: list[int] = []

    async def one_client(times: int) -> None:
        async with Wire(service.address) as wire:
            for _ in range(times):
                wire._writer.write(sent)
                status, _ = await wire.receive()
                statuses.append(status)

    async def load(clients: int, times: int) -> None:
        await asyncio.gather(*(one_client(times) for _ in range(clients)))

    asyncio.run(load(16, 2))
    before = memory(service.process.pid)
    asyncio.run(load(100, 4))
    grown = memory(service.process.pid) - before
    assert set(statuses) == {200, 503}
    assert statuses.count(503) > 200
    # Were the line not bounded, 100 clients' texts and answers would be here; a hundred bodies being read may be.
    assert grown < 150, f"{grown} MB more"
    with httpx2.Client(base_url=service.address) as client:
        assert client.get("/readyz").status_code == 200


def connections_of(process: int) -> int:
    """How many connections a process holds."""
    table = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
    established = {f"socket:[{fields[9]}]" for fields in table if fields[3] == "01"}
    links = [link for link in Path(f"/proc/{process}/fd").iterdir() if link.is_symlink()]
    return sum(str(link.readlink()) in established for link in links)


def test_clients_are_shared_by_the_workers_again_after_one_died(serve: Any, predictor: Predictor) -> None:
    """Eight clients that ask on and on come back to the worker that is left; the new one gets some of them."""
    service = serve("--workers", "2", ready=2)
    text = "Camden is number 8 and not cheap"
    right = expected(predictor, text)
    goes = 0

    async def one_client(until: asyncio.Event) -> None:
        nonlocal goes
        while not until.is_set():
            try:
                async with Wire(service.address) as wire:
                    while not until.is_set():
                        await wire.send(text)
                        assert (await wire.receive())[1]["opinions"] == right
                        goes += wire.told_to_go
            except (ConnectionError, asyncio.IncompleteReadError):  # by the kill
                await asyncio.sleep(0.01)

    async def load() -> list[int]:
        over = asyncio.Event()
        async with asyncio.TaskGroup() as group:
            for _ in range(8):
                group.create_task(one_client(over))
            await asyncio.sleep(0.5)
            os.kill(service.workers()[0], signal.SIGKILL)
            shares: list[int] = []
            for _ in range(300):
                await asyncio.sleep(0.1)
                started = sum("startup complete" in line for line in service.log)
                shares = sorted(map(connections_of, service.workers()))
                if started == 3 and len(shares) == 2 and shares[0] >= 3:
                    break
            over.set()
        return shares

    shares = asyncio.run(load())
    assert shares[0] >= 3
    assert goes > 0
