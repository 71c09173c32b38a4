"""A soak of `tabsa serve`: full load on two workers, which are killed, among slow and hostile clients (`hostile.py`).

    python benchmarks/soak.py [--minutes 10] [--model NAME]

It fails unless every request of an honest client is answered, and as the Predictor does; no answer is a 5xx but 503;
`/healthz` always answers; memory is flat; and the p99 of a client that asks five times a second is under five times
that of the same client alone. Each client has an address of its own (127.0.0.0/8), as they would have elsewhere; the
client whose times are taken, the crowd and the hostile ones are processes of their own, so that none waits for another
before it has even asked.

A request that a kill cuts off is sent again, as clients do; one that is cut off without a kill is a failure.
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
from collections.abc import Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from multiprocessing import get_context
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from hostile import KINDS, Address, Client, go_on
from machine import machine
from service import sentences

import tabsa

RESULTS = Path(__file__).parent / "results" / "soak.json"
WORKERS = 2
_PATIENCE = 30.0  # seconds that a request is sent again and again
_AFTER_KILL = 5.0  # seconds in which a connection may be cut
_RESTART = 3.0  # seconds that a worker takes to come back, at most
_NEAR = 1e-6  # of a probability: it goes through JSON
_MOST_GROWTH = 0.10
_MOST_RATIO = 5.0


@dataclass
class Seen:
    """What the honest clients saw."""

    counts: Counter[str] = field(default_factory=Counter)
    times: list[float] = field(default_factory=list)  # of the client that asks now and then
    far: list[float] = field(default_factory=list)  # those that were asked when no worker was starting
    health: list[float] = field(default_factory=list)


class Questions:
    """What honest clients ask, and what the Predictor says to it."""

    def __init__(self, model: str | None) -> None:
        self.pairs = sentences()[:300]
        predictor = tabsa.load(model, threads=1)
        self.right = [predictor.predict(text, names).to_dict()["opinions"] for text, names in self.pairs]
        self._right_bytes: dict[int, bytes] = {}

    def is_right(self, number: int, body: bytes) -> bool:
        """Whether an answer is the Predictor's; one that is as another that was is."""
        if self._right_bytes.get(number) == body:
            return True
        found, right = json.loads(body)["opinions"], self.right[number]
        if len(found) != len(right) or not all(map(_is_same, found, right)):
            return False
        self._right_bytes[number] = body
        return True


class Shared:
    """What a process of clients knows."""

    address: Address
    questions: Questions
    killed: Any  # when a worker was killed last, on the clock of all processes

    @classmethod
    def take(cls, address: Address, questions: Questions, killed: Any) -> None:
        """At the start of a process."""
        cls.address, cls.questions, cls.killed = address, questions, killed


def since_kill() -> float:
    """The seconds since a worker was killed."""
    return time.monotonic() - float(Shared.killed.value)


def _is_same(one: dict[str, Any], other: dict[str, Any]) -> bool:
    same = all(one[name] == other[name] for name in ("target", "aspect", "polarity"))
    shares = other["probabilities"]
    return same and all(abs(one["probabilities"][label] - share) < _NEAR for label, share in shares.items())


class Honest:
    """A client that asks one thing after another over a connection, and comes back where that is cut."""

    def __init__(self, place: int, seen: Seen) -> None:
        self._own, self.seen = f"127.0.0.{place}", seen
        self._pipe: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None
        self._chance = random.Random(place)

    async def ask(self) -> float:
        """Ask something until it is answered; the seconds that took."""
        questions = Shared.questions
        number = self._chance.randrange(len(questions.pairs))
        text, names = questions.pairs[number]
        counts, start = self.seen.counts, time.monotonic()
        body = json.dumps({"text": text, "targets": names}).encode()
        while time.monotonic() - start < _PATIENCE:
            status, answer = await self.send("POST /v1/predict", body)
            if status == 200:
                counts["answered"] += 1
                counts["wrong"] += not questions.is_right(number, answer)
                return time.monotonic() - start
            counts[f"status {status}" if status else cut_by()] += 1
            await asyncio.sleep(0.1 if status else 0.01)
        counts["lost"] += 1
        return time.monotonic() - start

    async def send(self, line: str, body: bytes = b"") -> tuple[int, bytes]:
        """The status and body of an answer; status 0 where the connection ended."""
        try:
            if self._pipe is None:
                self._pipe = await asyncio.open_connection(*Shared.address, local_addr=(self._own, 0))
            reader, writer = self._pipe
            head = f"{line} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
            writer.write(f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body)
            got = await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), _PATIENCE)
            length = re.search(rb"content-length: (\d+)", got, re.IGNORECASE)
            content = await asyncio.wait_for(reader.readexactly(int(length[1]) if length else 0), _PATIENCE)
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


def cut_by() -> str:
    """Why a connection may have been cut."""
    return "cut by a kill" if since_kill() < _AFTER_KILL else "cut without a kill"


async def on_and_on(client: Honest) -> None:
    """Full load: the next question as soon as one is answered."""
    while True:
        await client.ask()


async def now_and_then(client: Honest) -> None:
    """Five questions a second."""
    while True:
        killed = Shared.killed.value
        took = await client.ask()
        client.seen.times.append(took)
        near = since_kill() - took < _RESTART or killed != Shared.killed.value
        client.seen.far.extend([] if near else [took])
        await asyncio.sleep(0.2)


async def health(client: Honest) -> None:
    """Whether the service says that it is there."""
    while True:
        start = time.monotonic()
        status, _ = await client.send("GET /healthz")
        if status == 200:
            client.seen.health.append(time.monotonic() - start)
        elif since_kill() > _AFTER_KILL:
            client.seen.counts["health refused"] += 1
        await asyncio.sleep(0.2)


async def for_a_while(seconds: float, *coroutines: Any) -> None:
    """Run them side by side for some time; the failure of one is ours."""
    tasks = [asyncio.create_task(one) for one in coroutines]
    done, _ = await asyncio.wait(tasks, timeout=seconds, return_when=asyncio.FIRST_EXCEPTION)
    for task in done:
        task.result()
    while not all(task.done() for task in tasks):  # `wait_for` swallows a cancellation that comes with its result
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks, timeout=0.5)


def measured(seconds: float, *, watched: bool = False) -> Seen:
    """In a process: the client whose times are taken, and perhaps whoever looks after the service."""
    seen = Seen()
    others = [health(Honest(3, seen))] if watched else []
    asyncio.run(for_a_while(seconds, now_and_then(Honest(2, seen)), *others))
    return seen


def crowd(seconds: float, clients: int) -> Seen:
    """In a process: many who ask without a pause."""
    seen = Seen()
    asyncio.run(for_a_while(seconds, *(on_and_on(Honest(20 + number, seen)) for number in range(clients))))
    return seen


def hostile(seconds: float, only: list[str]) -> dict[str, dict[str, int]]:
    """In a process: those that nobody wants, and what they were told."""
    kinds = [kind for kind in KINDS if not only or kind.__name__ in only]
    clients = [Client(Shared.address, 10 + number) for number in range(len(kinds))]
    asyncio.run(for_a_while(seconds, *map(go_on, kinds, clients)))
    return {kind.__name__: dict(client.told) for kind, client in zip(kinds, clients, strict=True)}


def watch(process: int, killed: Any, every: float, until: "Future[Seen]") -> tuple[list[int], int]:
    """End a worker now and then, politely or not; the memory of the service, every second, and the number of kills."""
    memory: list[int] = []
    kills, next_kill = 0, time.monotonic() + every
    while not until.done():
        memory.append(memory_of(process))
        if time.monotonic() >= next_kill and (running := workers_of(process)):
            killed.value = time.monotonic()
            with suppress(ProcessLookupError):
                os.kill(random.choice(running), signal.SIGKILL if kills % 2 == 0 else signal.SIGTERM)
            kills, next_kill = kills + 1, next_kill + every
        time.sleep(1)
    return memory, kills


def workers_of(process: int) -> list[int]:
    """The workers of a service."""
    return [worker for child in children_of(process) for worker in children_of(child)]


def children_of(process: int) -> list[int]:
    """The processes that a process started."""
    with suppress(OSError):
        return [int(child) for child in Path(f"/proc/{process}/task/{process}/children").read_text().split()]
    return []


def memory_of(process: int) -> int:
    """The memory of a process and its children, in bytes; what they share counts once."""
    total = 0
    for one in (process, *children_of(process), *workers_of(process)):
        with suppress(OSError):
            found = re.search(r"^Pss:\s+(\d+)", Path(f"/proc/{one}/smaps_rollup").read_text(), re.MULTILINE)
            total += 1024 * int(found[1]) if found else 0
    return total


def processor_time() -> tuple[int, int]:
    """What other machines on the same host took of this one's cores, and all time of the cores, so far."""
    times = [int(time) for time in Path("/proc/stat").read_text().splitlines()[0].split()[1:9]]
    return times[7], sum(times)


def stolen_since(before: tuple[int, int]) -> float:
    """The share of the cores' time that was taken since."""
    stolen, total = (now - then for now, then in zip(processor_time(), before, strict=True))
    return round(stolen / max(1, total), 3)


@contextmanager
def service(model: str | None) -> Iterator[tuple[Address, int]]:
    """A running service of two workers: its address and its process; what it says goes to a file, which never fills."""
    command = [sys.executable, "-m", "tabsa", "serve", "--port", "0", "--workers", str(WORKERS)]
    command += ["--model", model] if model else []
    with tempfile.TemporaryFile("w+") as log:
        process = subprocess.Popen(command, stderr=log, env=os.environ | {"PYTHONUNBUFFERED": "1"})
        try:
            said = ""
            while said.count("Application startup complete") < WORKERS:
                time.sleep(0.2)
                log.seek(0)
                said = log.read()
                if process.poll() is not None:
                    sys.exit(f"the service did not start:\n{said}")
            address = urlsplit(re.findall(r"http://[\d.]+:\d+", said)[0])
            yield (address.hostname or "", address.port or 0), process.pid
        finally:
            process.terminate()
            process.wait()


def soak(
    address: Address, process: int, questions: Questions, minutes: float, clients: int, only: list[str]
) -> dict[str, Any]:
    """A client alone, then with a crowd, then with everybody."""
    phase, seconds = min(60.0, 10 + minutes * 6), 60 * minutes
    context = get_context("spawn")
    killed = context.Value("d", -1e9)
    with ProcessPoolExecutor(3, context, Shared.take, (address, questions, killed)) as processes:

        def run(name: str, seconds: float, others: int, *, watched: bool = False) -> list[Future[Seen]]:
            print(f"{name} ...", file=sys.stderr)
            own = processes.submit(measured, seconds, watched=watched)
            return [own, processes.submit(crowd, seconds, others)] if others else [own]

        processes.submit(hostile, 0, only)
        for one in run("warm-up", 3, 1):
            one.result()
        (alone,) = (one.result() for one in run("alone", phase, 0))
        busy, _ = (one.result() for one in run("full load", phase, clients))
        told = processes.submit(hostile, seconds, only)
        seen, others = run(f"soak, {minutes:g} minutes", seconds, clients, watched=True)
        memory, kills = watch(process, killed, max(10.0, seconds / 20), seen)
        counts = seen.result().counts + others.result().counts + Counter(kills=kills)
        return figures(alone, busy, seen.result(), counts, memory) | {
            "minutes": minutes,
            "clients": clients,
            "hostile": told.result(),
        }


def p99(times: list[float]) -> float:
    """In milliseconds."""
    return round(1000 * statistics.quantiles(times, n=100, method="inclusive")[98], 1)


def figures(alone: Seen, busy: Seen, seen: Seen, counts: Counter[str], memory: list[int]) -> dict[str, Any]:
    """What came of it."""
    tenth = max(1, len(memory) // 10)
    early, late = memory[2 * tenth : 4 * tenth], memory[-2 * tenth :]
    return {
        "honest": {"wrong": 0, **counts},
        "p99_ms": {"alone": p99(alone.times), "full load": p99(busy.times), "soak": p99(seen.times),
                   "soak, no worker starting": p99(seen.far)},
        "p50_ms": {name: round(1000 * statistics.median(one.times), 1) for name, one in
                   (("alone", alone), ("full load", busy), ("soak", seen))},
        "p99_ratio": round(p99(seen.times) / p99(alone.times), 2),
        "healthz_p99_ms": p99(seen.health),
        "healthz_slowest_ms": round(1000 * max(seen.health), 1),
        "memory_mb": round(max(memory) / 1e6),
        "memory_growth": round(statistics.mean(late) / statistics.mean(early) - 1, 4),
    }  # fmt: skip


def failures(found: dict[str, Any]) -> list[str]:
    """What is not as it should be."""
    honest = found["honest"]
    bad = [
        f"{honest[name]} {name}"
        for name in ("lost", "wrong", "cut without a kill", "health refused")
        if honest.get(name)
    ]
    told = Counter({name: times for name, times in honest.items() if name.startswith("status 5")})
    told.update({f"status {name}": n for of in found["hostile"].values() for name, n in of.items() if name[0] == "5"})
    bad += [f"{times} {name}" for name, times in told.items() if name != "status 503"]
    if found["memory_growth"] > _MOST_GROWTH:
        bad.append(f"memory grew by {found['memory_growth']:.0%}")
    if found["p99_ratio"] >= _MOST_RATIO:
        bad.append(f"p99 is {found['p99_ratio']} times that of a client alone")
    return bad


def main() -> None:
    """Parse, soak, print and write."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--model", help="a name or a folder; the model in the box by default")
    parser.add_argument("--clients", type=int, default=4, help="honest ones that ask without a pause")
    parser.add_argument("--only", action="append", choices=[kind.__name__ for kind in KINDS], help="of hostile ones")
    arguments = parser.parse_args()
    before, stolen = round(os.getloadavg()[0], 2), processor_time()
    questions = Questions(arguments.model)
    with service(arguments.model) as (address, process):
        asked = (arguments.minutes, arguments.clients, arguments.only or [])
        found = soak(address, process, questions, *asked)
    bad = failures(found)
    facts = machine() | {"load_before": before, "stolen": stolen_since(stolen)}
    found |= {"failures": bad, "model": arguments.model or "reader", "facts": facts}
    RESULTS.write_text(json.dumps(found, indent=2) + "\n")
    print(json.dumps(found, indent=2))
    if bad:
        sys.exit(f"the soak failed: {'; '.join(bad)}")


if __name__ == "__main__":
    main()
