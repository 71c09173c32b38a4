"""What `tabsa report` takes for 100,000 scored rows: seconds and peak memory, page and table of numbers included.

    python benchmarks/report.py                      # a minute
    python benchmarks/report.py --rows 10000         # ten times smaller

Tables are made up as `tabsa score` writes them: the long layout (a row an opinion, 200 targets by 12 aspects), the long
layout with every pair (`--all`), and the wide one with probabilities (4 targets by 12 aspects: 288 columns). Texts have
two to five sentences of their own and a date. Each report runs in a process of its own; the peak is what
`resource.getrusage` says of it, interpreter included. The figures go to benchmarks/results/report.json.
"""

import argparse
import csv
import json
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from datetime import date, timedelta
from pathlib import Path
from typing import Any

from machine import machine

RESULTS = Path(__file__).parent / "results" / "report.json"
ASPECTS = (
    "price",
    "safety",
    "general",
    "nightlife",
    "dining",
    "shopping",
    "quiet",
    "live",
    "nature",
    "schools",
    "noise",
    "rent",
)
LABELS = ("none", "positive", "negative", "neutral", "mixed")
CLAIMS = (
    "{} is far too dear for what it is",
    "I felt safe in {} at night",
    "trains from {} are slow",
    "we loved {}'s parks",
)
OTHERS = ("It rained all week.", "My sister came along!", "Would I go again?", "Nothing else to say about it, really.")
CHILD = """
import resource, sys
from tabsa.cli import main
try:
    main()
finally:
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print("peak", peak // (1024 if sys.platform == "darwin" else 1), file=sys.stderr)
"""


def texts(rows: int, targets: list[str], chosen: random.Random) -> Iterator[tuple[list[object], str]]:
    """The first cells of each row, and whom its text names."""
    for number in range(rows):
        target = chosen.choice(targets)
        sentences = [
            *chosen.choices(OTHERS, k=chosen.randint(1, 4)),
            f"{chosen.choice(CLAIMS).format(target)} ({number}).",
        ]
        chosen.shuffle(sentences)
        day = date(2022, 1, 1) + timedelta(days=chosen.randrange(1000))
        yield [f"t{number}", day.isoformat(), chosen.randint(1, 5), " ".join(sentences)], target


def shares(polarity: str, chosen: random.Random) -> list[float]:
    """A probability for each label, the highest for the one that is said."""
    sure = round(chosen.uniform(0.5, 1), 6)
    return [sure if label == polarity else round((1 - sure) / 4, 6) for label in LABELS]


def write_long(path: Path, rows: int, *, every: bool) -> None:
    """A row for each opinion, or for each aspect of each text."""
    chosen, targets = random.Random(0), [f"Place {n}" for n in range(200)]
    with path.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.writer(stream)
        head = ["id", "date", "stars", "text", "target", "aspect", "polarity", "confidence"]
        writer.writerow([*head, *(f"probability_{label}" for label in LABELS)])
        for first, target in texts(rows // len(ASPECTS) + 1 if every else rows, targets, chosen):
            for aspect in ASPECTS if every else (chosen.choice(ASPECTS),):
                polarity = chosen.choice(LABELS if every else LABELS[1:])
                given = shares(polarity, chosen)
                writer.writerow([*first, target, aspect, polarity, max(given), *given])


def write_wide(path: Path, rows: int) -> None:
    """A row for each text, and six columns for each pair."""
    chosen, targets = random.Random(0), ["Camden", "Brixton", "Croydon", "Richmond"]
    pairs = [f"{target}/{aspect}" for target in targets for aspect in ASPECTS]
    silent = ["none", *(float(label == "none") for label in LABELS)]
    with path.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.writer(stream)
        added = [name for pair in pairs for name in (pair, *(f"{pair}/{label}" for label in LABELS))]
        writer.writerow(["id", "date", "stars", "text", *added])
        for first, target in texts(rows, targets, chosen):
            cells: list[object] = []
            for pair in pairs:
                polarity = chosen.choice(LABELS) if pair.startswith(target) and chosen.random() < 0.2 else "none"
                cells += silent if polarity == "none" else [polarity, *shares(polarity, chosen)]
            writer.writerow([*first, *cells])


def measure(name: str, table: Path, rows: int) -> dict[str, Any]:
    """Report on a table in a process of its own."""
    page = table.with_name(f"{table.stem}-report.html")
    started = time.perf_counter()
    run = subprocess.run(
        [sys.executable, "-c", CHILD, "report", str(table), "--out", str(page)],
        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, check=True,
    )  # fmt: skip
    seconds = time.perf_counter() - started
    peak = int(run.stderr.rpartition("peak ")[2]) / 1024
    found = {
        "table": name,
        "rows": rows,
        "table_mb": round(table.stat().st_size / 1e6, 1),
        "page_mb": round(page.stat().st_size / 1e6, 2),
        "seconds": round(seconds, 1),
        "peak_mib": round(peak, 1),
    }
    print(f"{name:<16}{rows:>10,} rows{found['table_mb']:>8} MB{seconds:>7.1f} s{peak:>7.0f} MiB")
    return found


def main() -> None:
    """Parse, run, write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=100_000, help="of each table")
    parser.add_argument("--out", type=Path, default=RESULTS, help="where the figures go")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        tables = {name: Path(folder) / f"{name.replace(' ', '-')}.csv" for name in ("long", "long with none", "wide")}
        write_long(tables["long"], arguments.rows, every=False)
        write_long(tables["long with none"], arguments.rows, every=True)
        write_wide(tables["wide"], arguments.rows)
        found = [measure(name, table, arguments.rows) for name, table in tables.items()]
    result = {
        "what": "seconds and peak resident memory of `tabsa report`, page and numbers included",
        "command": f"python benchmarks/report.py --rows {arguments.rows}",
        "tables": found,
        "machine": machine(),
    }
    arguments.out.parent.mkdir(parents=True, exist_ok=True)
    arguments.out.write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
