"""A million rows on three Ray nodes that are killed: nothing is lost or doubled, and memory stays flat.

    python benchmarks/cluster_failures.py                       # ten minutes or so, on two cores
    python benchmarks/cluster_failures.py --rows 100000 --only "one table, a worker node lost"

Three raylets on this machine, each with one CPU and an object store, score a million short texts, one in forty of which
names the target: in one table and in a hundred. In the middle, a worker node is killed with all its processes
(`kill -9`), and the job goes on by itself; in another run the head is killed, with the command on it, and `--resume`
goes on with a new cluster. Every id must be in the results once. The memory is that of all processes, the command's and
the nodes', each second; the figures go to benchmarks/results/cluster_failures.json.
"""

import argparse
import csv
import json
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from pathlib import Path
from typing import Any

import psutil
from machine import machine
from raylets import ENVIRONMENT, Raylets

RESULTS = Path(__file__).parent / "results" / "cluster_failures.json"
NAMES_ONE_IN = 40  # texts


def write_tables(folder: Path, rows: int, tables: int) -> None:
    """Comments with ids from 0 on."""
    folder.mkdir()
    each = rows // tables
    for table in range(tables):
        with (folder / f"{table:03}.csv").open("w", encoding="utf-8", newline="") as stream:
            writer = csv.writer(stream)
            writer.writerow(["id", "text"])
            for number in range(table * each, (table + 1) * each):
                who = "Camden" if number % NAMES_ONE_IN == 0 else "it"
                writer.writerow([number, f"{who} is far too dear ({number})"])


class Memory(threading.Thread):
    """What some processes have, in MiB, each second: what is theirs alone, and their share of what is not."""

    def __init__(self, processes: Any) -> None:
        super().__init__(daemon=True)
        self._processes, self.samples, self.ended = processes, [], threading.Event()

    def run(self) -> None:
        """Sample."""
        while not self.ended.wait(1.0):
            total = 0
            for pid in self._processes():
                try:
                    total += psutil.Process(pid).memory_full_info().pss
                except (psutil.Error, OSError):
                    continue
            self.samples.append(round(total / 2**20))


class Run:
    """One command on a cluster, watched."""

    def __init__(self, source: Path, out: Path, cluster: Raylets, *options: str) -> None:
        command = [sys.executable, "-m", "tabsa", "score", str(source), str(out), "-t", "Camden", "-a", "price"]
        command += ["--model", "places", "--engine", "ray", "--ray-address", cluster.address, *options]
        self.out, self.started = out, time.monotonic()
        self.process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=ENVIRONMENT)

    def parts(self) -> int:
        """How many are done."""
        path = self.out / "_parts.jsonl"
        return path.read_bytes().count(b'"counts"') if path.exists() else 0

    def reach(self, parts: int) -> float:
        """Wait until so many parts are done; gives the seconds since the start."""
        while self.parts() < parts:
            if self.process.poll() is not None:
                sys.exit(f"ended too early: {self.process.stderr.read()}")
            time.sleep(0.2)
        return round(time.monotonic() - self.started, 1)

    def end(self) -> tuple[float, str]:
        """Wait for the end; gives the seconds, and the last line."""
        stderr = self.process.communicate(timeout=900)[1]
        if self.process.returncode:
            sys.exit(f"the job failed: {stderr}")
        return round(time.monotonic() - self.started, 1), next(line for line in stderr.splitlines() if "scored" in line)


def check(out: Path, rows: int) -> dict[str, int]:
    """How often each id is in the results."""
    from pyarrow import parquet

    seen: Counter[str] = Counter()
    for path in out.rglob("*.parquet"):
        seen.update(parquet.read_table(path, columns=["id"])["id"].to_pylist())
    lost, doubled = rows - len(seen), sum(count > 1 for count in seen.values())
    if lost or doubled or set(seen) != {str(number) for number in range(rows)}:
        sys.exit(f"{lost} rows are lost, {doubled} doubled")
    return {"rows": len(seen), "lost": lost, "doubled": doubled}


def flatness(samples: list[int]) -> dict[str, Any]:
    """The memory in the second third of a run, and in the last; the first loads models."""
    third = len(samples) // 3
    return {
        "mib": samples[:: max(1, len(samples) // 20)],
        "second_third": max(samples[third : 2 * third]),
        "last_third": max(samples[2 * third :]),
    }


def lose_worker(source: Path, out: Path, rows: int) -> dict[str, Any]:
    """Kill a worker node when a third is done."""
    cluster = Raylets(3)
    run = Run(source, out, cluster)
    memory = Memory(lambda: [run.process.pid, *cluster.processes()])
    memory.start()
    try:
        killed = run.reach(rows // 1024 // 3)
        cluster.kill(2)
        seconds, last = run.end()
    finally:
        memory.ended.set()
        cluster.stop()
    return {
        "killed_after": killed,
        "seconds": seconds,
        "said": last,
        "ids": check(out, rows),
        "memory": flatness(memory.samples),
    }


def lose_head(source: Path, out: Path, rows: int) -> dict[str, Any]:
    """Kill the head and the command on it when a third is done, and go on with another cluster."""
    cluster = Raylets(3)
    run = Run(source, out, cluster)
    try:
        killed = run.reach(rows // 1024 // 3)
        cluster.kill(0)
        run.process.send_signal(signal.SIGKILL)
        run.process.wait()
    finally:
        cluster.stop()
    kept = run.parts()
    cluster = Raylets(3)
    try:
        seconds, last = Run(source, out, cluster, "--resume").end()
    finally:
        cluster.stop()
    return {
        "killed_after": killed,
        "parts_kept": kept,
        "seconds_to_go_on": seconds,
        "said": last,
        "ids": check(out, rows),
    }


def main() -> None:
    """Parse, run, write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--only", help="one of the runs, by its name")
    parser.add_argument("--out", type=Path, default=RESULTS, help="where the figures go")
    arguments = parser.parse_args()
    cases = {
        "one table, a worker node lost": (1, lose_worker),
        "100 tables, a worker node lost": (100, lose_worker),
        "one table, the head lost": (1, lose_head),
    }
    known = json.loads(arguments.out.read_text()) if arguments.out.exists() and arguments.only else {}
    runs = dict(known.get("runs", {}))
    with tempfile.TemporaryDirectory() as name:
        for case, (tables, lose) in cases.items():
            if arguments.only in (None, case):
                folder = Path(name) / str(len(runs))
                folder.mkdir()
                write_tables(folder / "in", arguments.rows, tables)
                source = folder / "in" / "000.csv" if tables == 1 else folder / "in"
                runs[case] = lose(source, folder / "out", arguments.rows)
                print(case, json.dumps(runs[case]), flush=True)
    result = {
        "what": "`tabsa score --engine ray` on three raylets, of which one is killed with -9",
        "command": f"python benchmarks/cluster_failures.py --rows {arguments.rows}",
        "model": "places",
        "rows": arguments.rows,
        "runs": runs,
        "machine": machine(),
    }
    arguments.out.write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
