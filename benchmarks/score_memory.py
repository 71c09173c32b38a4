"""What `tabsa score` takes in memory: the peak on 100,000 rows and on 1,000,000, which should be the same.

    python benchmarks/score_memory.py                               # a quarter of an hour or more
    python benchmarks/score_memory.py --rows 2000 20000             # the same, fifty times smaller
    python benchmarks/score_memory.py --model FOLDER                # another model than the one in the box

Every row has a short text of its own that mentions one of five places. Each size runs in a process of its own, from
CSV to CSV; the peak is the resident memory that Linux reports for it, model and interpreter included. The figures go
to benchmarks/results/score_memory.json.
"""

import argparse
import csv
import json
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from machine import machine

RESULTS = Path(__file__).parent / "results" / "score_memory.json"
PLACES = ("Camden", "Brixton", "Croydon", "Richmond", "Walthamstow")
CLAIMS = ("{} is far too dear", "{} feels safe at night", "the trains from {} are slow", "{} has lovely parks")
CHILD = """
from pathlib import Path
from tabsa.cli import main
try:
    main()
finally:
    print(Path("/proc/self/status").read_text().split("VmHWM:")[1].split()[0])
"""


def write_table(path: Path, rows: int) -> None:
    """A CSV of made-up comments; the first rows of a longer one are those of a shorter one."""
    chosen = random.Random(0)
    with path.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.writer(stream)
        writer.writerow(["id", "date", "text", "likes"])
        for number in range(rows):
            text = f"{chosen.choice(CLAIMS).format(chosen.choice(PLACES))} ({number})."
            writer.writerow([number, f"2024-{number % 12 + 1:02}-01", text, chosen.randrange(100)])


def measure(folder: Path, rows: int, model: str | None) -> dict[str, Any]:
    """Score a table of so many rows in a process of its own."""
    source, out = folder / f"{rows}.csv", folder / f"{rows}.scored.csv"
    write_table(source, rows)
    arguments = ["score", str(source), str(out), *(part for place in PLACES for part in ("-t", place))]
    started = time.perf_counter()
    run = subprocess.run(
        [sys.executable, "-c", CHILD, *arguments, *(["--model", model] if model else [])],
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    seconds = time.perf_counter() - started
    written = sum(1 for _ in out.open(encoding="utf-8")) - 1
    if written != rows:
        sys.exit(f"{rows} rows went in and {written} came out")
    source.unlink()
    out.unlink()
    return {
        "rows": rows,
        "peak_mib": round(int(run.stdout) / 1024, 1),
        "seconds": round(seconds, 1),
        "rows_per_second": round(rows / seconds),
    }


def main() -> None:
    """Parse, run, write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, nargs=2, default=(100_000, 1_000_000), help="the two sizes of the table")
    parser.add_argument("--model", help="a model's name or folder (default: the one in the box)")
    parser.add_argument("--out", type=Path, default=RESULTS, help="where the figures go")
    arguments = parser.parse_args()
    if not Path("/proc/self/status").exists():
        parser.error("this needs Linux, which tells a process's peak memory in /proc")
    with tempfile.TemporaryDirectory() as folder:
        sizes = [measure(Path(folder), rows, arguments.model) for rows in arguments.rows]
    for size in sizes:
        print(f"{size['rows']:>10,} rows{size['peak_mib']:>9.1f} MiB{size['rows_per_second']:>8,} rows/s")
    ratio = round(sizes[1]["peak_mib"] / sizes[0]["peak_mib"], 3)
    print(f"{arguments.rows[1] / arguments.rows[0]:g} times the rows take {ratio} times the memory")
    result = {
        "what": "peak resident memory of `tabsa score`, CSV to CSV",
        "command": f"python benchmarks/score_memory.py --rows {arguments.rows[0]} {arguments.rows[1]}",
        "model": arguments.model or "the one in the box",
        "sizes": sizes,
        "ratio": ratio,
        "machine": machine(),
    }
    arguments.out.parent.mkdir(parents=True, exist_ok=True)
    arguments.out.write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
