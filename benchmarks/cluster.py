"""Rows a second of `tabsa score FOLDER` on 1, 2 and 3 Ray nodes, and on this machine alone with the same cores.

    python benchmarks/cluster.py                            # five minutes or so
    python benchmarks/cluster.py --nodes 1 2 --rows 2500

Every node is a raylet of its own (`ray start`), with one CPU and an object store. So n nodes have n workers, and are
compared with `tabsa score --workers n` without Ray; both are kept to the same cores: n of them, or all there are where
that is fewer. On two cores the third node adds a worker and no core, and shows only what one more node costs.

`seconds` is the whole command: joining the cluster, starting workers, loading models. `steady` is the rate of the last
three quarters of the parts, which is what a long job sees; efficiency is Ray's steady rate by the local one. They
go to benchmarks/results/cluster.json, with what a hundred machines would need, on paper.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from machine import machine
from raylets import ENVIRONMENT, Raylets
from score_memory import PLACES, write_table

from tabsa.scoring.many.parts import find_parts
from tabsa.scoring.many.pieces import ReadPlan, read_pieces

RESULTS = Path(__file__).parent / "results" / "cluster.json"
MACHINES, CORES = 100, 16  # of the cluster on paper


def measure(source: Path, out: Path, workers: int, model: str, address: str | None, cores: set[int]) -> dict[str, Any]:
    """One command: whole seconds, and the rate between its first and its last part."""
    targets = [part for place in PLACES for part in ("-t", place)]
    options = ["--workers", str(workers), "--threads", "1", "--model", model, "--format", "parquet"]
    if address:
        options += ["--engine", "ray", "--ray-address", address]
    command = [sys.executable, "-m", "tabsa", "score", str(source), str(out), *targets, *options]
    started = time.perf_counter()
    subprocess.run(
        command,
        check=True,
        stderr=subprocess.DEVNULL,
        env=ENVIRONMENT,
        preexec_fn=lambda: os.sched_setaffinity(0, cores),
    )
    seconds = time.perf_counter() - started
    rows = json.loads((out / "_summary.json").read_text())["rows"]
    return {"seconds": round(seconds, 1), "rows_per_second": round(rows / seconds), "steady": _steady(out)}


def _steady(out: Path) -> int:
    """Rows a second of the last three quarters: while the first is scored, some workers are still starting."""
    lines = [json.loads(line) for line in (out / "_parts.jsonl").read_text().splitlines()]
    done = [line for line in lines if "counts" in line]
    times = sorted((out / line["part"]).stat().st_mtime for line in done)[len(done) // 4 :]
    rows = sum(line["counts"]["rows"] for line in done) / len(done)
    return round(rows * (len(times) - 1) / (times[-1] - times[0]))


def on_paper(source: Path, out: Path, rate: float) -> dict[str, Any]:
    """What a hundred machines would need, by what one row costs here."""
    part = find_parts(source, out)[0]
    started = time.perf_counter()
    pieces = list(read_pieces(ReadPlan(part, 1024, 1024, frozenset())))
    reading = time.perf_counter() - started
    rows = 1024 * pieces[-1].total
    stored = sum(path.stat().st_size for path in out.glob("*.parquet"))
    scored = json.loads((out / "_summary.json").read_text())["rows"]
    carried = sum(len(piece.rows) + len(piece.head) for piece in pieces) / rows
    total = rate * MACHINES * CORES
    return {
        "rows_per_second_and_core": round(rate),
        "bytes_read_a_row": round(part.bytes / rows, 1),
        "bytes_carried_a_row": round(carried, 1),
        "bytes_written_a_row": round(stored / scored, 1),
        "rows_per_second_that_one_table_of_text_is_read_at": round(rows / reading),
        "machines": MACHINES,
        "cores_a_machine": CORES,
        "rows_per_second": round(total),
        "megabytes_per_second_and_machine": round(
            (part.bytes / rows + carried + stored / scored) * total / MACHINES / 1e6, 2
        ),
        "seconds_for_a_billion_rows": round(1e9 / total),
    }


def main() -> None:
    """Parse, run, write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nodes", type=int, nargs="+", default=[1, 2, 3], help="of the cluster, one run each")
    parser.add_argument("--tables", type=int, default=36)
    parser.add_argument("--rows", type=int, default=1024, help="of each table")
    parser.add_argument("--model", default="places")
    parser.add_argument("--out", type=Path, default=RESULTS, help="where the figures go")
    arguments = parser.parse_args()
    cores, load = sorted(os.sched_getaffinity(0)), os.getloadavg()[0]
    runs: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "in").mkdir()
        for number in range(arguments.tables):
            write_table(folder / "in" / f"{number:03}.csv", arguments.rows)
        for nodes in arguments.nodes:
            used = set(cores[:nodes])
            local = measure(folder / "in", folder / f"local-{nodes}", nodes, arguments.model, None, used)
            cluster = Raylets(nodes, cores=used)
            try:
                ray = measure(folder / "in", folder / f"ray-{nodes}", nodes, arguments.model, cluster.address, used)
            finally:
                cluster.stop()
            run = {"nodes": nodes, "cores": len(used), "local": local, "ray": ray}
            run["efficiency"] = round(ray["steady"] / local["steady"], 2)
            runs.append(run)
            print(json.dumps(run), flush=True)
        write_table(folder / "large.csv", 102_400)
        least = min(runs, key=lambda run: run["nodes"])
        paper = on_paper(
            folder / "large.csv", folder / f"ray-{least['nodes']}", least["ray"]["steady"] / least["cores"]
        )
    nodes_asked = " ".join(map(str, arguments.nodes))
    result = {
        "what": "rows a second of `tabsa score FOLDER` on Ray nodes of one CPU each, and without Ray on the same cores",
        "command": f"python benchmarks/cluster.py --nodes {nodes_asked} --tables {arguments.tables}",
        "model": arguments.model,
        "tables": arguments.tables,
        "rows": arguments.tables * arguments.rows,
        "runs": runs,
        "on_paper": paper,
        "machine": machine() | {"load_average_before": round(load, 1)},  # of what else ran there
    }
    arguments.out.parent.mkdir(parents=True, exist_ok=True)
    arguments.out.write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
