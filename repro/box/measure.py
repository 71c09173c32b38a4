"""What the model in the box comes to as users get it: `tabsa evaluate` by its name, sentences, and its card.

    python repro/box/measure.py

Writes repro/results/box-test.json, repro/results/box-sentences.json, the dev figures of the folder's metrics.json, and
its card.
"""

import json
import runpy
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
BOX = ROOT / "src" / "tabsa" / "pretrained" / "places"
MEASURED = {
    "benchmark": ("sentihood", "test", "general,price,safety,transit-location"),
    "twelve": ("sentihood", "test", "all"),
    "places": ("places", "test", "all"),
}


def evaluated(data: str, split: str, aspects: str) -> tuple[str, dict[str, Any]]:
    """A command, and what it prints."""
    words = ["evaluate", BOX.name, "--data", data, "--split", split, "--aspects", aspects, "--json"]
    done = subprocess.run([sys.executable, "-m", "tabsa", *words], cwd=ROOT, check=True, capture_output=True, text=True)
    return " ".join(["tabsa", *words]), json.loads(done.stdout)


def main() -> None:
    """Measure, and describe."""
    commands, results = [], {}
    for name, (data, split, aspects) in MEASURED.items():
        command, results[name] = evaluated(data, split, aspects)
        commands.append(command)
    path = ROOT / "repro" / "results" / "box-test.json"
    path.write_text(json.dumps({"command": commands, **results}, indent=1) + "\n", encoding="utf-8")
    metrics = json.loads((BOX / "metrics.json").read_text(encoding="utf-8"))
    _, dev = evaluated(metrics["data"], metrics["split"], "all")
    metrics["dev"] = {family: dev[family] for family in ("sun", "ma")}
    (BOX / "metrics.json").write_text(json.dumps(metrics, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    sys.argv = ["ask.py"]
    runpy.run_path(str(ROOT / "repro" / "box" / "ask.py"), run_name="__main__")
    runpy.run_path(str(ROOT / "repro" / "box" / "card.py"), run_name="__main__")


if __name__ == "__main__":
    main()
