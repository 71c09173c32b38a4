"""Requests a second and latency of `tabsa serve` for 1, 8 and 64 clients, with and without batching, against BERT.

    python benchmarks/service.py [--seconds 10] [--bert-python PYTHON]

Every client sends a sentence with its targets to a service on this machine, waits for the answer, and sends the next;
it asks for every aspect (12 in the box). The clients share the machine with the service.

    tabsa             as it comes
    tabsa-unbatched   one text a model call
    tabsa-workers     one worker a core
    bert-base         FastAPI around a transformers pair classifier of that shape (`bert_service.py`), which reads the
                      text once for each target-aspect pair; PYTHON is an interpreter that has torch, transformers,
                      fastapi and uvicorn
"""

import argparse
import asyncio
import json
import os
import platform
import random
import re
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from urllib.parse import urlsplit

import onnxruntime

import tabsa
from tabsa.datasets.loading import load
from tabsa.errors import DataNotFoundError

HERE = Path(__file__).parent
RESULTS = HERE / "results" / "service.json"
Request = tuple[bytes, int]  # what is sent, and the number of its sentence


def sentences() -> list[tuple[str, list[str]]]:
    """Texts with their targets: Sentihood's test split where it is found, else the package's `places`."""
    try:
        dataset = load("sentihood", "test")
    except DataNotFoundError:
        dataset = load("places", "test")
    return [(example.text, [target.name for target in example.targets]) for example in dataset.examples]


def requests(pairs: list[tuple[str, list[str]]]) -> list[Request]:
    """The sentences as HTTP."""
    made = []
    for number, (text, targets) in enumerate(pairs):
        body = json.dumps({"text": text, "targets": targets}).encode()
        head = "POST /v1/predict HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        made.append((f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body, number))
    return made


@contextmanager
def service(command: list[str], workers: int = 1) -> Iterator[tuple[str, int]]:
    """A running service: its address and its process."""
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=os.environ | {"PYTHONUNBUFFERED": "1"})
    try:
        assert process.stderr is not None
        address, started = "", 0
        for line in process.stderr:
            address = address or next(iter(re.findall(r"http://[\d.]+:\d+", line)), "")
            started += "Application startup complete" in line
            if address and started == workers:
                break
        yield address, process.pid
    finally:
        process.terminate()
        process.wait()


def vocabulary(pairs: list[tuple[str, list[str]]]) -> list[str]:
    """The word pieces of all requests, for a tokeniser that has no vocabulary of its own here."""
    read = " ".join(
        [*(text for text, _ in pairs), *(name for _, names in pairs for name in names), *tabsa.load("places").aspects]
    )
    return ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *sorted(set(re.findall(r"\w+|[^\w\s]", read.lower())))]


def ours(*options: str) -> list[str]:
    """The command of our service."""
    return [sys.executable, "-m", "tabsa", "serve", "--port", "0", *options]


async def one_client(address: str, made: list[Request], on_answer: Callable[[int, bytes, float], None]) -> None:
    """Send request after request over one connection, or another where it is told to, until it is stopped."""
    place = urlsplit(address).hostname, urlsplit(address).port
    reader, writer = await asyncio.open_connection(*place)
    chance = random.Random(id(writer))
    head = b""
    try:
        while True:
            request, number = chance.choice(made)
            start = time.perf_counter()
            if b"connection: close" in head.lower():
                writer.close()
                reader, writer = await asyncio.open_connection(*place)
            writer.write(request)
            head = await reader.readuntil(b"\r\n\r\n")
            length = re.search(rb"content-length: (\d+)", head, re.IGNORECASE)
            body = await reader.readexactly(int(length[1]) if length else 0)
            status = int(head.split(b" ", 2)[1])
            on_answer(number if status == 200 else -status, body, time.perf_counter() - start)
    finally:
        writer.close()


async def load_with(clients: int, ended: Callable[[], bool], *given: Any) -> None:
    """So many clients at a time until it has `ended`; what is under way then is dropped. A client's failure is ours."""
    tasks = [asyncio.create_task(one_client(*given)) for _ in range(clients)]
    while not ended():
        await asyncio.sleep(0.02)
        for task in tasks:
            if task.done():
                task.result()
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


def measure(address: str, made: list[Request], clients: int, seconds: float) -> dict[str, float]:
    """The rate and the latencies of so many clients, over some time and at least one answer for each."""
    times: list[float] = []
    failed = 0
    began = time.perf_counter()

    def ended() -> bool:
        return time.perf_counter() - began >= seconds and len(times) >= max(clients, 5)

    def on_answer(number: int, _: bytes, took: float) -> None:
        nonlocal failed
        times.append(took)
        failed += number < 0

    asyncio.run(load_with(clients, ended, address, made, on_answer))
    took = time.perf_counter() - began
    centiles = statistics.quantiles(times, n=100, method="inclusive")
    return {
        "requests_per_second": len(times) / took,
        "p50_ms": 1000 * centiles[49],
        "p99_ms": 1000 * centiles[98],
        "requests": len(times),
        "failed": failed,
    }


def compare(seconds: float, bert_python: str | None, folder: str) -> None:
    """Measure every service with every number of clients; print and write."""
    before = round(os.getloadavg()[0], 2)  # of others: the clients and the service want the machine to themselves
    pairs = sentences()
    made = requests(pairs)
    cores = os.cpu_count() or 1
    commands = {
        "tabsa": ours(),
        "tabsa-unbatched": ours("--set", "batch_work=1"),
        "tabsa-workers": ours("--workers", str(cores)),
    }
    if bert_python:
        words = Path(folder) / "vocab.txt"
        words.write_text("\n".join(vocabulary(pairs)))
        commands["bert-base"] = [bert_python, str(HERE / "bert_service.py"), str(words)]
    results: dict[str, dict[str, Any]] = {}
    for name, command in commands.items():
        with service(command, cores if name == "tabsa-workers" else 1) as (address, _):
            measure(address, made, 2, 1)
            results[name] = {str(clients): measure(address, made, clients, seconds) for clients in (1, 8, 64)}
        for clients, figures in results[name].items():
            rate, median, slowest = figures["requests_per_second"], figures["p50_ms"], figures["p99_ms"]
            print(f"{name:<16}{clients:>4} clients{rate:>9.1f}/s  p50 {median:>8.1f} ms  p99 {slowest:>8.1f} ms")
    if "bert-base" in results:
        for clients, figures in results["bert-base"].items():
            best = max(results[name][clients]["requests_per_second"] for name in results if name != "bert-base")
            print(f"{clients:>4} clients: {best / figures['requests_per_second']:.0f} times bert-base")
    facts = {
        "python": platform.python_version(),
        "onnxruntime": onnxruntime.__version__,
        "cores": os.cpu_count(),
        "load_before": before,
        "sentences": len(made),
        "aspects": len(tabsa.load("places").aspects),
    }
    _write({"facts": facts, "services": results})


def _write(content: dict[str, Any]) -> None:
    RESULTS.parent.mkdir(exist_ok=True)
    RESULTS.write_text(json.dumps(content, indent=2) + "\n")


def main() -> None:
    """Parse and measure."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=10, help="of each measurement")
    parser.add_argument("--bert-python", metavar="PYTHON", help="an interpreter with torch and transformers")
    arguments = parser.parse_args()
    with TemporaryDirectory() as folder:
        compare(arguments.seconds, arguments.bert_python, folder)


if __name__ == "__main__":
    main()
