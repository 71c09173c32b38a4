"""Attacks on `tabsa serve`, one after another, while an honest client asks every 100 ms.

    python benchmarks/attack.py [--seconds 10] [--only NAME ...] [--model NAME] [--workers 1]

Clients that are silent or slow, and crowds, are a proxy's (docs/security.md). Each attack meets a fresh service and is
bounded in count and time. The table has, for each: the honest client's p50 and p99, its statuses, answers that are not
the Predictor's, the service's memory before, at its peak and 2 s after, the seconds until the client is answered as
before, the seconds that a stop takes while the attack goes on, and whether the log has a traceback. The attackers are a
process of their own, so that the client does not wait for them.
"""

import argparse
import asyncio
import json
import os
import random
import re
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager, suppress
from functools import cache, partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from machine import machine
from service import sentences

import tabsa

RESULTS = Path(__file__).parent / "results" / "attack.json"
Address = tuple[str, int]
_NAMES = [f"Place{number}" for number in range(100)]
_FILE = b'--x\r\nContent-Disposition: form-data; name="file"; filename="t.csv"\r\n\r\n'
_NEAR = 1e-6  # between an answer's probabilities and the Predictor's
_NORMAL = 0.3  # seconds in which an honest client is answered when all is well


# ---- what attackers send


def post(path: str, body: bytes, kind: str = "application/json", more: str = "") -> bytes:
    """A request as HTTP."""
    head = f"POST {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Type: {kind}\r\n{more}"
    return f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body


def to_json(path: str = "/v1/predict", more: str = "", **fields: object) -> bytes:
    """A request of JSON."""
    return post(path, json.dumps(fields, ensure_ascii=False).encode(), more=more)


def form(path: str, content: bytes, *fields: tuple[str, str]) -> bytes:
    """A request with a file."""
    parts = "".join(f'--x\r\nContent-Disposition: form-data; name="{a}"\r\n\r\n{b}\r\n' for a, b in fields)
    body = parts.encode() + _FILE + content + b"\r\n--x--\r\n"
    return post(path, body, "multipart/form-data; boundary=x")


@cache
def hundred_targets(texts: int = 1) -> bytes:
    """A question on a hundred targets of texts that name them throughout."""
    made = [" ".join(random.choices(_NAMES, k=1400))[:9_900] for _ in range(texts)]
    return to_json(texts=made, targets=_NAMES)


@cache
def table(rows: int) -> bytes:
    """A table to score."""
    rows_of_text = b"text\n" + b"Place1 is dear and Place2 is not.\n" * rows
    return form("/v1/score", rows_of_text, *(("targets", name) for name in _NAMES[:3]), ("aspect", "price"))


class Attacker:
    """One client that nobody wants, and the answers it got: a status, or "cut"."""

    def __init__(self, address: Address, number: int, answers: Counter[str]) -> None:
        self._address, self._answers = address, answers
        self.own = f"127.{1 + number // 250 % 250}.0.{1 + number % 250}"

    async def send(
        self,
        *pieces: bytes,
        answered: bool = True,
        stay: float = 0.0,
    ) -> None:
        """Connect, send pieces, stay, and read the answer or leave without it."""
        status, writer = "cut", None
        with suppress(OSError, asyncio.IncompleteReadError, TimeoutError, IndexError):
            reader, writer = await asyncio.open_connection(*self._address, local_addr=(self.own, 0))
            for piece in pieces:
                writer.write(piece)
                await asyncio.wait_for(writer.drain(), 30)
                if reader.at_eof():
                    break
            await asyncio.sleep(stay)
            status = "left"
            if answered:
                status = (await asyncio.wait_for(reader.readline(), 60)).split(b" ")[1].decode()
                while await asyncio.wait_for(reader.read(1 << 16), 60):
                    pass
        if writer is not None:
            writer.close()
        self._answers[status] += 1


class Attack(NamedTuple):
    """How many clients do what, again and again."""

    clients: int
    once: Callable[[Attacker], Awaitable[None]]


def sending(clients: int, make: Callable[[], bytes], **given: Any) -> Attack:
    """An attack by one request, made once, and only where it is wanted."""
    made = cache(make)
    return Attack(clients, lambda attacker: attacker.send(made(), **given))


async def _cut_off(attacker: Attacker) -> None:
    request = to_json(text="Place1 is dear.", targets=_NAMES[:2])
    await attacker.send(request[: random.randint(1, len(request))], answered=False)


async def _nonsense(attacker: Attacker) -> None:
    await attacker.send(os.urandom(500) + b"\r\n\r\n")
    await attacker.send(post("/v1/predict", b"[" * 100_000))
    await attacker.send(post("/v1/predict", b'{"text": ' + b"9" * 10_000))


_LONG = "Place1 is dear, and Place2 is not. " * 100
ATTACKS: dict[str, Attack] = {
    "nothing": Attack(0, _nonsense),
    "invalid items": sending(4, lambda: to_json(texts=[1] * 340_000, targets=["Place1"])),
    "invalid aliases": sending(4, lambda: to_json(text="x", targets=[{"name": "x", "aliases": [1] * 340_000}])),
    "unknown fields": sending(4, lambda: to_json(**{f"field {n}": 1 for n in range(50_000)})),
    "fill and leave": sending(32, lambda: to_json(texts=[_LONG] * 250, targets=_NAMES[:5]), answered=False, stay=0.3),
    "cut off at once": Attack(64, _cut_off),
    "tables at once": sending(12, lambda: table(500_000)),
    "reports at once": sending(8, lambda: form("/v1/report", b"text,Place1/price\n" + b"dear,negative\n" * 2_000_000)),
    "endless head": Attack(
        16, lambda attacker: attacker.send(b"GET / HTTP/1.1\r\n", *[b"X-A: " + b"a" * 8000 + b"\r\n"] * 100_000)
    ),
    "large texts": sending(8, lambda: to_json(text="a" * 10_000_000, targets=["Place1"])),
    "unicode": sending(8, lambda: to_json(text="Place1 \u0301\u202e\u200d\U0001f469" * 900, targets=["Place1"])),
    "nonsense": Attack(8, _nonsense),
    "many aspects": sending(8, lambda: to_json(text="Place1", targets=["Place1"], aspects=[f"a{n}" for n in range(10_000)])),  # noqa: E501
    "hundred targets": sending(8, hundred_targets),
    "hundred of hundred": sending(4, partial(hundred_targets, 40)),
    "evidence": sending(
        8, lambda: to_json("/v1/evidence", text=_LONG, targets=["Place1"], of={"target": "Place1", "aspect": "price"})
    ),
    "corrections": sending(
        8, lambda: to_json("/v1/corrections", text="Place1", target="Place1", aspect="price", polarity="none")
    ),
    "cut forms": Attack(16, lambda attacker: attacker.send(table(1000)[: random.randint(200, 20_000)], answered=False)),
    "takes no answer": sending(
        32, lambda: to_json(texts=["Place1 is dear."] * 250, targets=_NAMES[:10]), answered=False, stay=5.0
    ),
}  # fmt: skip


async def _attack(name: str, address: Address, seconds: float) -> dict[str, int]:
    """Every client again and again; one that is turned away at once does not come back at once."""
    answers, end = Counter[str](), time.monotonic() + seconds

    async def on_and_on(number: int) -> None:
        attacker = Attacker(address, number, answers)
        while time.monotonic() < end:
            await ATTACKS[name].once(attacker)
            await asyncio.sleep(0.01)

    tasks = [asyncio.create_task(on_and_on(number)) for number in range(ATTACKS[name].clients)]
    await asyncio.sleep(seconds)
    while not all(task.done() for task in tasks):  # `wait_for` swallows a cancellation that comes with its result
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks, timeout=0.5)
    return dict(answers)


def attack(name: str, address: Address, seconds: float) -> dict[str, int]:
    """In a process of its own; the answers of the attackers."""
    return asyncio.run(_attack(name, address, seconds))


# ---- the honest client, and the service


class Questions:
    """Texts with their targets, and the Predictor's answers."""

    def __init__(self, model: str | None, count: int = 200) -> None:
        self.pairs = sentences()[:count]
        predictor = tabsa.load(model, threads=1)
        self._right = [predictor.predict(text, names).to_dict()["opinions"] for text, names in self.pairs]

    def is_right(self, number: int, body: bytes) -> bool:
        """Whether an answer is the Predictor's."""
        found, right = json.loads(body)["opinions"], self._right[number]
        return len(found) == len(right) and all(map(_is_same, found, right))


def _is_same(one: dict[str, Any], other: dict[str, Any]) -> bool:
    same = all(one[name] == other[name] for name in ("target", "aspect", "polarity"))
    shares = other["probabilities"]
    return same and all(abs(one["probabilities"][label] - share) < _NEAR for label, share in shares.items())


class Honest:
    """A client that asks one thing after another over a connection, and comes back where that is cut."""

    def __init__(self, address: Address, questions: Questions, number: int = 0) -> None:
        self._address, self._questions, self._own = address, questions, f"127.0.0.{2 + number}"
        self._pipe: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None
        self._chance = random.Random(number)
        self.statuses, self.times, self.wrong = Counter[str](), list[float](), 0

    async def ask(self) -> bool:
        """Ask one question; whether it was answered as it is when all is well."""
        number = self._chance.randrange(len(self._questions.pairs))
        text, names = self._questions.pairs[number]
        start = time.monotonic()
        status, body = await self.send("POST /v1/predict", json.dumps({"text": text, "targets": names}).encode())
        took = time.monotonic() - start
        self.statuses[str(status or "cut")] += 1
        self.times.append(took)
        if status == 200:
            self.wrong += not self._questions.is_right(number, body)
        return status == 200 and took < _NORMAL

    async def send(self, line: str, body: bytes = b"", seconds: float = 30) -> tuple[int, bytes]:
        """The status and body of an answer; status 0 where the connection ended."""
        try:
            if self._pipe is None:
                self._pipe = await asyncio.open_connection(*self._address, local_addr=(self._own, 0))
            reader, writer = self._pipe
            head = f"{line} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
            writer.write(f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body)
            got = await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), seconds)
            length = re.search(rb"content-length: (\d+)", got, re.IGNORECASE)
            content = await asyncio.wait_for(reader.readexactly(int(length[1]) if length else 0), seconds)
            if b"connection: close" in got.lower():
                self.close()
            return int(got.split(b" ", 2)[1]), content
        except (OSError, asyncio.IncompleteReadError, TimeoutError):
            self.close()
            return 0, b""

    def close(self) -> None:
        """End the connection."""
        if self._pipe is not None:
            self._pipe[1].close()
        self._pipe = None


class Service(NamedTuple):
    """A running service."""

    address: Address
    process: subprocess.Popen[str]
    log: Path

    def processes(self) -> list[int]:
        """It and all that it started."""
        found = [self.process.pid]
        for one in found:
            with suppress(OSError):
                found += map(int, Path(f"/proc/{one}/task/{one}/children").read_text().split())
        return found

    def megabytes(self) -> int:
        """Its memory; what its processes share counts once."""
        total = 0
        for one in self.processes():
            with suppress(OSError):
                found = re.search(r"^Pss:\s+(\d+)", Path(f"/proc/{one}/smaps_rollup").read_text(), re.MULTILINE)
                total += int(found[1]) if found else 0
        return round(total / 1000)

    def stop(self) -> float:
        """The seconds until it has ended."""
        start = time.monotonic()
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(60)
        return round(time.monotonic() - start, 1)


@contextmanager
def serving(model: str | None, workers: int, folder: Path) -> Iterator[Service]:
    """A service as it comes, with a file for corrections."""
    command = [sys.executable, "-m", "tabsa", "serve", "--port", "0", "--workers", str(workers)]
    command += ["--corrections", str(folder / "corrections.jsonl"), *(("--model", model) if model else ())]
    path = folder / "log"
    with path.open("w") as log:
        process = subprocess.Popen(command, stderr=log, text=True, env=os.environ | {"PYTHONUNBUFFERED": "1"})
    try:
        while (text := path.read_text()).count("Application startup complete") < workers:
            if process.poll() is not None:
                sys.exit(f"the service did not start:\n{text}")
            time.sleep(0.1)
        address = urlsplit(re.findall(r"http://[\d.]+:\d+", text)[0])
        yield Service((address.hostname or "", address.port or 0), process, path)
    finally:
        if process.poll() is None:
            process.kill()
            process.wait()


# ---- one attack


async def _measure(service: Service, name: str, seconds: float, honest: Honest, processes: ProcessPoolExecutor) -> Any:
    for _ in range(5):
        await honest.ask()
    honest.times.clear()
    honest.statuses.clear()
    before = peak = service.megabytes()
    under_way = processes.submit(attack, name, service.address, seconds)
    while not under_way.done():
        await honest.ask()
        await asyncio.sleep(0.1)
        peak = max(peak, service.megabytes())
    statuses, times, over = dict(honest.statuses), list(honest.times), time.monotonic()
    calm = 0
    while calm < 3 and time.monotonic() - over < 60:
        calm = calm + 1 if await honest.ask() else 0
        normal = time.monotonic() - over
    await asyncio.sleep(2)
    centiles = statistics.quantiles(times, n=100, method="inclusive")
    return {
        "p50_ms": round(1000 * centiles[49]),
        "p99_ms": round(1000 * centiles[98]),
        "statuses": statuses,
        "wrong": honest.wrong,
        "memory_mb": [before, peak, service.megabytes()],
        "normal_after_s": round(normal, 1),
        "attackers": under_way.result(),
    }


def measure(name: str, model: str | None, workers: int, seconds: float, questions: Questions) -> dict[str, Any]:
    """One attack on a fresh service, and a stop while it goes on."""
    context = get_context("spawn")
    with (
        tempfile.TemporaryDirectory() as folder,
        ProcessPoolExecutor(1, context) as processes,
        serving(model, workers, Path(folder)) as service,
    ):
        processes.submit(os.getpid).result()
        honest = Honest(service.address, questions)
        found: dict[str, Any] = asyncio.run(_measure(service, name, seconds, honest, processes))
        under_way = processes.submit(attack, name, service.address, 3.0)
        time.sleep(1.5)
        found["stop_s"] = service.stop()
        under_way.result()
        found["tracebacks"] = service.log.read_text().count("Traceback")
    return found


def main() -> None:
    """Attack in every way, print a table and write it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=10, help="of each attack")
    parser.add_argument("--only", action="append", choices=list(ATTACKS))
    parser.add_argument("--model", help="a name or a folder; the model in the box by default")
    parser.add_argument("--workers", type=int, default=1)
    arguments = parser.parse_args()
    before, questions = round(os.getloadavg()[0], 2), Questions(arguments.model)
    print(
        "attack                 p50    p99  memory MB      wrong  normal  stop tracebacks  statuses, and the attackers'"
    )
    found = {}
    for name in arguments.only or ATTACKS:
        one = found[name] = measure(name, arguments.model, arguments.workers, arguments.seconds, questions)
        memory = "/".join(map(str, one["memory_mb"]))
        print(
            f"{name:<20}{one['p50_ms']:>6}{one['p99_ms']:>7}  {memory:<15}{one['wrong']:>5}{one['normal_after_s']:>8}"
            f"{one['stop_s']:>6}{one['tracebacks']:>11}  {one['statuses']} {one['attackers']}",
            flush=True,
        )
    if not arguments.only:
        facts = machine() | {"load_before": before, "workers": arguments.workers, "seconds": arguments.seconds}
        RESULTS.write_text(
            json.dumps({"model": arguments.model or "reader", "facts": facts, "attacks": found}, indent=2) + "\n"
        )


if __name__ == "__main__":
    main()
