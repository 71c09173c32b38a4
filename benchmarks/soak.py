"""A soak of `tabsa serve`: full load on two workers, which are killed now and then, among the attacks of `attack.py`.

    python benchmarks/soak.py [--minutes 10] [--model NAME]

It fails unless every request of an honest client is answered in the end, and as the Predictor does; no answer is a 5xx
but 503; memory is flat; and the p99 of a client that asks ten times a second is under five times that of the same one
alone. A request that a kill cuts off is sent again, as clients do.
"""

import argparse
import asyncio
import json
import os
import random
import signal
import statistics
import sys
import tempfile
import time
from collections import Counter
from concurrent.futures import Future, ProcessPoolExecutor
from contextlib import suppress
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from attack import ATTACKS, Address, Honest, Questions, Service, attack, serving
from machine import machine

RESULTS = Path(__file__).parent / "results" / "soak.json"
WORKERS, CLIENTS, MOST_RATIO, MOST_GROWTH = 2, 4, 5.0, 0.1
KINDS = (
    "fill and leave",
    "endless head",
    "nonsense",
    "hundred targets",
    "cut off at once",
)


class Seen:
    """What became of the requests of some honest clients."""

    def __init__(self) -> None:
        self.times, self.counts = list[float](), Counter[str]()

    async def ask_on(self, client: Honest, pause: float, end: float) -> None:
        """Ask one question after another, each until it is answered."""
        while time.monotonic() < end:
            before, start = client.statuses["200"], time.monotonic()
            while client.statuses["200"] == before and time.monotonic() - start < 60:
                await client.ask()
            self.counts["answered" if client.statuses["200"] > before else "lost"] += 1
            self.times.append(time.monotonic() - start)
            await asyncio.sleep(pause)
        self.counts.update(client.statuses)
        self.counts["wrong"] += client.wrong


def honest(address: Address, questions: Questions, seconds: float, clients: int, pause: float) -> Seen:
    """In a process: some honest clients for some time."""

    async def run() -> Seen:
        seen, end = Seen(), time.monotonic() + seconds
        await asyncio.gather(
            *(seen.ask_on(Honest(address, questions, number), pause, end) for number in range(clients))
        )
        return seen

    return asyncio.run(run())


def hostile(address: Address, seconds: float) -> None:
    """In a process: one attack after another, a few seconds each."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        attack(random.choice(KINDS), address, min(10.0, max(1.0, end - time.monotonic())))


def watch(service: Service, every: float, until: "Future[Seen]") -> tuple[list[int], int]:
    """Kill a worker now and then; the memory of the service, every second, and the number of kills."""
    memory, kills, next_kill = list[int](), 0, time.monotonic() + every
    while not until.done():
        memory.append(service.megabytes())
        workers = [one for one in service.processes()[1:] if "spawn_main" in _command(one)]
        if time.monotonic() >= next_kill and workers:
            with suppress(ProcessLookupError):
                os.kill(random.choice(workers), signal.SIGKILL)
            kills, next_kill = kills + 1, next_kill + every
        time.sleep(1)
    return memory, kills


def _command(process: int) -> str:
    with suppress(OSError):
        return Path(f"/proc/{process}/cmdline").read_text()
    return ""


def soak(service: Service, questions: Questions, minutes: float) -> dict[str, Any]:
    """A client alone, then with everybody."""
    seconds = 60 * minutes
    with ProcessPoolExecutor(3, get_context("spawn")) as processes:
        alone = processes.submit(honest, service.address, questions, min(60.0, 10 + seconds / 10), 1, 0.1).result()
        others = processes.submit(honest, service.address, questions, seconds, CLIENTS, 0.0)
        processes.submit(hostile, service.address, seconds)
        one = processes.submit(honest, service.address, questions, seconds, 1, 0.1)
        memory, kills = watch(service, max(10.0, seconds / 20), one)
        seen, crowd = one.result(), others.result()
    tenth = max(1, len(memory) // 10)
    early, late = memory[2 * tenth : 4 * tenth], memory[-2 * tenth :]
    return {
        "minutes": minutes,
        "kills": kills,
        "honest": dict(seen.counts + crowd.counts),
        "p99_ms": {"alone": p99(alone.times), "soak": p99(seen.times)},
        "p99_ratio": round(p99(seen.times) / p99(alone.times), 2),
        "memory_mb": max(memory),
        "memory_growth": round(statistics.mean(late) / statistics.mean(early) - 1, 4),
    }


def p99(times: list[float]) -> float:
    """In milliseconds."""
    return round(1000 * statistics.quantiles(times, n=100, method="inclusive")[98], 1)


def failures(found: dict[str, Any]) -> list[str]:
    """The promises that were not kept."""
    counts = found["honest"]
    bad = [f"{counts[name]} {name}" for name in ("lost", "wrong") if counts.get(name)]
    bad += [f"{count} of {name}" for name, count in counts.items() if name.startswith("5") and name != "503"]
    if found["memory_growth"] > MOST_GROWTH:
        bad.append(f"memory grew by {found['memory_growth']:.0%}")
    if found["p99_ratio"] >= MOST_RATIO:
        bad.append(f"p99 is {found['p99_ratio']} times that of a client alone")
    return bad


def main() -> None:
    """Soak, print and write."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--model", help="a name or a folder; the model in the box by default")
    arguments = parser.parse_args()
    before, questions = round(os.getloadavg()[0], 2), Questions(arguments.model)
    assert set(KINDS) <= ATTACKS.keys()
    with tempfile.TemporaryDirectory() as folder, serving(arguments.model, WORKERS, Path(folder)) as service:
        found = soak(service, questions, arguments.minutes)
        found["stop_s"], found["tracebacks"] = service.stop(), service.log.read_text().count("Traceback")
    found |= {"failures": failures(found), "model": arguments.model or "reader"}
    found["facts"] = machine() | {"load_before": before, "workers": WORKERS}
    RESULTS.write_text(json.dumps(found, indent=2) + "\n")
    print(json.dumps(found, indent=2))
    if found["failures"]:
        sys.exit(f"the soak failed: {'; '.join(found['failures'])}")


if __name__ == "__main__":
    main()
