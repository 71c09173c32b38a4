"""Put a trained model into the box: its files, its graph in int8, what it comes to, and its card.

tabsa train repro/box/places.toml --out runs/box
python repro/box/ship.py runs/box
"""

import json
import runpy
import shutil
import subprocess
import sys
from pathlib import Path

from tabsa.checkpoint import read_folder
from tabsa.models.export import export

ROOT = Path(__file__).parents[2]
BOX = ROOT / "src" / "tabsa" / "pretrained" / "places"
FILES = ("config.json", "metrics.json", "model.onnx", "vectors.safetensors", "weights.safetensors")
ASKED = {
    "benchmark": ("sentihood", "general,price,safety,transit-location"),
    "twelve": ("sentihood", "all"),
    "places": ("places", "all"),
}
MEGABYTES = 20  # that the folder may take


def main() -> None:
    """Copy, export, measure, describe."""
    trained = Path(sys.argv[1])
    for name in FILES:
        shutil.copyfile(trained / name, BOX / name)
    export(read_folder(BOX), "int8")
    size = sum(path.stat().st_size for path in BOX.iterdir()) / 1e6
    if size > MEGABYTES:
        raise SystemExit(f"the folder takes {size:.1f} MB; {MEGABYTES} are allowed")
    folder = BOX.relative_to(ROOT)
    commands, results = [], {}
    for name, (data, aspects) in ASKED.items():
        words = ["evaluate", str(folder), "--data", data, "--split", "test", "--aspects", aspects, "--json"]
        commands.append(" ".join(["tabsa", *words]))
        done = subprocess.run(
            [sys.executable, "-m", "tabsa", *words], cwd=ROOT, check=True, capture_output=True, text=True
        )
        results[name] = json.loads(done.stdout)
    path = ROOT / "repro" / "results" / "box-test.json"
    path.write_text(json.dumps({"command": commands, **results}, indent=1) + "\n", encoding="utf-8")
    sys.argv = ["ask.py"]
    runpy.run_path(str(ROOT / "repro" / "box" / "ask.py"), run_name="__main__")
    runpy.run_path(str(ROOT / "repro" / "box" / "card.py"), run_name="__main__")
    print(f"{folder}: {size:.1f} MB")


if __name__ == "__main__":
    main()
