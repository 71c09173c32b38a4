"""What using a model costs before the first answer: the install's time and size, and how long commands take to start.

    python benchmarks/install.py [--runs 5]

Makes a fresh environment in a temporary folder and installs the package into it from this checkout, without extras,
with the versions of constraints.txt and without pip's cache. Then runs each command from process start to end, in
turns, after one round that warms the disk cache. The figures go to benchmarks/results/install.json.
"""

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from machine import machine

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "benchmarks" / "results" / "install.json"
ASKED = ["predict", "Camden is lovely but dear.", "-t", "Camden", "--json"]
COMMANDS = {
    "python -c pass": ["python", "-c", "pass"],
    "import tabsa": ["python", "-c", "import tabsa"],
    "tabsa --help": ["tabsa", "--help"],
    "tabsa predict": ["tabsa", *ASKED],
    "tabsa predict, int8": ["tabsa", *ASKED, "--precision", "int8"],
}


def megabytes(folder: Path) -> float:
    """What the files in a folder weigh, as they are, links not followed."""
    return sum(path.lstat().st_size for path in folder.rglob("*") if not path.is_dir()) / 1e6


def seconds(command: list[str]) -> float:
    """Wall time of one process, started away from the checkout so that the installed package is what runs."""
    start = time.perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, cwd=Path(command[0]).parent, env=clean())
    return time.perf_counter() - start


def clean() -> dict[str, str]:
    """The environment without what would lead Python to other packages."""
    return {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}


def install(venv: Path) -> dict[str, object]:
    """Make the environment, and tell its time and size."""
    subprocess.run([sys.executable, "-m", "venv", venv], check=True, env=clean())
    bare = megabytes(venv)
    pip = [
        str(venv / "bin" / "python"),
        "-m",
        "pip",
        "--disable-pip-version-check",
        "install",
        "--quiet",
        "--no-cache-dir",
    ]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    taken = seconds([*pip, "-c", str(ROOT / "constraints.txt"), str(ROOT)])
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    (packages,) = venv.glob("lib/python*/site-packages")
    parts = {path.name: megabytes(path) for path in packages.iterdir() if path.is_dir()}
    largest = sorted(parts, key=lambda name: -parts[name])[:10]
    return {
        "install_seconds": round(taken, 1),
        "install_cpu_seconds": round(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, 1),
        "environment_mb": round(megabytes(venv), 1),
        "of_which_pip_and_python_mb": round(bare, 1),
        "largest_mb": {name: round(parts[name], 1) for name in largest},
    }


def main() -> None:
    """Measure, print, write."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--out", type=Path, default=RESULTS, help="where the figures go")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        venv = Path(folder) / "venv"
        result = install(venv)
        commands = {name: [str(venv / "bin" / first), *rest] for name, (first, *rest) in COMMANDS.items()}
        times: dict[str, list[float]] = {name: [] for name in commands}
        for _ in range(arguments.runs + 1):
            for name, command in commands.items():
                times[name].append(seconds(command))
    starts = {name: round(statistics.median(values[1:]), 3) for name, values in times.items()}
    print(f"installed in {result['install_seconds']} s, {result['install_cpu_seconds']} s of them computing;")
    print(f"{result['environment_mb']} MB, of which:")
    for name, size in result["largest_mb"].items():  # type: ignore[attr-defined]
        print(f"  {name:<24}{size:>8.1f} MB")
    for name, value in starts.items():
        print(f"{name:<26}{value:>8.2f} s")
    content = {**result, "median_start_seconds": starts, "runs": arguments.runs, "machine": machine()}
    arguments.out.parent.mkdir(exist_ok=True)
    arguments.out.write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
