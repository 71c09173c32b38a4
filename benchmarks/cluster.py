"""Rows a second of `tabsa score FOLDER`: in one process, and with Ray workers on this machine.

    python benchmarks/cluster.py                            # two or three minutes
    python benchmarks/cluster.py --workers 1 2 4 8 16

The folder has 24 tables of 2,500 short comments each. Every run is a process of its own, with the model in the box and
one thread a model. `seconds` is the whole command, and so includes what Ray takes to start; a run before the first
one, which is not measured, brings what they read into the disk's cache. All runs must write the same bytes. The
figures go to benchmarks/results/cluster.json.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from machine import machine
from score_memory import PLACES, write_table

RESULTS = Path(__file__).parent / "results" / "cluster.json"


def outputs(folder: Path) -> dict[str, bytes]:
    """The results in a folder, without what the job writes about itself."""
    return {path.name: path.read_bytes() for path in folder.glob("*.csv")}


def measure(source: Path, out: Path, options: list[str]) -> float:
    """Seconds of one command."""
    targets = [part for place in PLACES for part in ("-t", place)]
    command = [sys.executable, "-m", "tabsa", "score", str(source), str(out), "--threads", "1", *targets, *options]
    started = time.perf_counter()
    subprocess.run(command, check=True, stderr=subprocess.DEVNULL)
    return time.perf_counter() - started


def main() -> None:
    """Parse, run, write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 2], help="of Ray, one run each")
    parser.add_argument("--parts", type=int, default=24, help="tables")
    parser.add_argument("--rows", type=int, default=2500, help="of each table")
    parser.add_argument("--out", type=Path, default=RESULTS, help="where the figures go")
    arguments = parser.parse_args()
    engines = {"local": ["--engine", "local"]}
    engines |= {
        f"ray, {n} worker{'' if n == 1 else 's'}": ["--engine", "ray", "--workers", str(n)] for n in arguments.workers
    }
    runs: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "in").mkdir()
        for number in range(arguments.parts):
            write_table(folder / "in" / f"{number:03}.csv", arguments.rows)
        measure(folder / "in" / "000.csv", folder / "warm", ["--engine", "ray"])
        for engine, options in engines.items():
            seconds = measure(folder / "in", folder / engine, options)
            if outputs(folder / engine) != outputs(folder / "local"):
                sys.exit(f"{engine} wrote other bytes than local")
            rate = arguments.parts * arguments.rows / seconds
            times = rate / runs[0]["rows_per_second"] if runs else 1.0
            runs.append(
                {
                    "engine": engine,
                    "seconds": round(seconds, 1),
                    "rows_per_second": round(rate),
                    "times_local": round(times, 2),
                }
            )
            print(f"{engine:16}{seconds:8.1f} s{rate:9,.0f} rows/s{times:7.2f} times local")
    result = {
        "what": "rows a second of `tabsa score FOLDER`, one thread a model, starting Ray included",
        "command": f"python benchmarks/cluster.py --workers {' '.join(map(str, arguments.workers))}",
        "parts": arguments.parts,
        "rows": arguments.parts * arguments.rows,
        "runs": runs,
        "machine": machine(),
    }
    arguments.out.parent.mkdir(parents=True, exist_ok=True)
    arguments.out.write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
