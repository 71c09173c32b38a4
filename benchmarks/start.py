"""From process start to answer: `tabsa predict` against `import torch` alone, in turns; and what the install weighs.

python benchmarks/start.py [--runs 5]
"""

import argparse
import json
import statistics
import subprocess
import sys
import time
from pathlib import Path

RESULTS = Path(__file__).parent / "results" / "start.json"
COMMANDS = {
    "tabsa predict": ["-m", "tabsa", "predict", "Camden is lovely but dear.", "-t", "Camden", "--json"],
    "import torch": ["-c", "import torch"],
    "import nltk": ["-c", "import nltk"],
    "import tabsa": ["-c", "import tabsa"],
}


def seconds(arguments: list[str]) -> float:
    """Wall time of one process."""
    start = time.perf_counter()
    subprocess.run([sys.executable, *arguments], check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - start


def main() -> None:
    """Measure, print, write."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=5)
    runs = parser.parse_args().runs
    times: dict[str, list[float]] = {name: [] for name in COMMANDS}
    for _ in range(runs + 1):  # the first round warms the disk cache
        for name, arguments in COMMANDS.items():
            times[name].append(seconds(arguments))
    results = {name: statistics.median(values[1:]) for name, values in times.items()}
    for name, value in results.items():
        print(f"{name:<16}{value:>8.2f} s")
    print(f"tabsa predict takes {results['tabsa predict'] / results['import torch']:.2f} of `import torch`")
    RESULTS.parent.mkdir(exist_ok=True)
    RESULTS.write_text(json.dumps({"median_seconds": results, "runs": runs}, indent=2) + "\n")


if __name__ == "__main__":
    main()
