"""Large tables: memory of `tabsa score`, rows a second in one process, in a pool and with Ray, and a killed run.

    python benchmarks/large_tables.py                       # ten minutes or so, on two cores
    python benchmarks/large_tables.py --rows 2000 20000

Every row has a short text of its own that mentions one of five places. Memory is the peak that Linux reports for a
process that scores a CSV of each size. The larger one's rows, as Parquet in twelve files, are scored in one process, by
one process a core, and by Ray with a worker a core; the whole command counts, with starting Ray and loading models. The
Ray job is then run again, killed with all its processes when a third of its tables are there, and resumed: every
id must be there once.
"""

import argparse
import csv
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

import psutil
import pyarrow
from machine import machine
from pyarrow import parquet

RESULTS = Path(__file__).parent / "results" / "large_tables.json"
PLACES = ("Camden", "Brixton", "Croydon", "Richmond", "Walthamstow")
CLAIMS = ("{} is far too dear", "{} feels safe at night", "the trains from {} are slow", "{} has lovely parks")
FILES = 12
CHILD = """
from pathlib import Path
from tabsa.cli import main
try:
    main()
finally:
    print(Path("/proc/self/status").read_text().split("VmHWM:")[1].split()[0])
"""


def texts(rows: int) -> list[str]:
    """Made-up comments; the first of a longer list are those of a shorter one."""
    chosen = random.Random(0)
    return [f"{chosen.choice(CLAIMS).format(chosen.choice(PLACES))} ({number})." for number in range(rows)]


def command(source: Path, out: Path, model: str, *options: str) -> list[str]:
    """The arguments of `tabsa score`."""
    targets = [part for place in PLACES for part in ("-t", place)]
    return ["score", str(source), str(out), *targets, "--model", model, *options]


def memory(folder: Path, rows: int, model: str) -> dict[str, Any]:
    """Score a CSV of so many rows in a process of its own."""
    source, out = folder / f"{rows}.csv", folder / f"{rows}.scored.csv"
    with source.open("w", encoding="utf-8", newline="") as stream:
        csv.writer(stream).writerows([["id", "text"], *enumerate(texts(rows))])
    run = [sys.executable, "-c", CHILD, *command(source, out, model)]
    ended = subprocess.run(run, stdout=subprocess.PIPE, text=True, check=True)
    return {"rows": rows, "peak_mib": round(int(ended.stdout) / 1024, 1)}


def seconds_of(*arguments: str) -> float:
    """Run `tabsa` to its end."""
    started = time.perf_counter()
    subprocess.run([sys.executable, "-m", "tabsa", *arguments], check=True, stderr=subprocess.DEVNULL)
    return round(time.perf_counter() - started, 1)


def killed(source: Path, out: Path, model: str, rows: int) -> dict[str, Any]:
    """Kill a Ray job with all its processes when a third of it is done, and resume it."""
    arguments = command(source, out, model, "--engine", "ray")
    with subprocess.Popen([sys.executable, "-m", "tabsa", *arguments], stderr=subprocess.DEVNULL) as process:
        while len(list(out.glob("*.parquet"))) < FILES // 3:
            if process.poll() is not None:
                sys.exit("the job ended before it was killed")
            time.sleep(0.1)
        for one in (*psutil.Process(process.pid).children(recursive=True), process):
            os.kill(one.pid, signal.SIGKILL)
    before = len(list(out.glob("*.parquet")))
    resumed = seconds_of(*arguments, "--resume")
    ids = Counter(
        i for path in out.glob("*.parquet") for i in parquet.read_table(path, columns=["id"])["id"].to_pylist()
    )
    return {
        "tables_before": before,
        "tables": FILES,
        "seconds_to_go_on": resumed,
        "lost": rows - len(ids),
        "doubled": sum(count > 1 for count in ids.values()),
    }


def main() -> None:
    """Parse, run, write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, nargs=2, default=(10_000, 100_000), help="the two sizes of the table")
    parser.add_argument("--model", default="places")
    parser.add_argument("--out", type=Path, default=RESULTS, help="where the figures go")
    arguments = parser.parse_args()
    load, rows, model = os.getloadavg()[0], arguments.rows[1], arguments.model
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        sizes = [memory(folder, size, model) for size in arguments.rows]
        table = pyarrow.table({"id": list(range(rows)), "text": texts(rows)})
        (folder / "in").mkdir()
        for number in range(FILES):
            part = table.slice(number * rows // FILES, (number + 1) * rows // FILES - number * rows // FILES)
            parquet.write_table(part, folder / "in" / f"{number}.parquet", row_group_size=4096)
        ways = {
            "one process": ("--workers", "1", "--threads", "1"),
            "a pool of processes": (),
            "Ray": ("--engine", "ray"),
        }
        seconds = {
            way: seconds_of(*command(folder / "in", folder / f"out-{number}", model, *options))
            for number, (way, options) in enumerate(ways.items())
        }
        kill = killed(folder / "in", folder / "killed", model, rows)
    result = {
        "what": "peak memory of `tabsa score`; three ways to score the same Parquet files; a job that is killed",
        "command": f"python benchmarks/large_tables.py --rows {arguments.rows[0]} {rows}",
        "model": model,
        "memory": sizes,
        "rows": rows,
        "seconds": seconds,
        "rows_per_second": {way: round(rows / took) for way, took in seconds.items()},
        "killed": kill,
        "machine": machine() | {"load_average_before": round(load, 1)},  # of what else ran there
    }
    print(json.dumps(result, indent=2))
    arguments.out.write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
