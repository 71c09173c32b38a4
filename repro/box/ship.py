"""Put a trained model into the box: its files, its graph in int8, what it comes to, and its card.

tabsa train repro/box/places.toml --out runs/box
python repro/box/ship.py runs/box
"""

import runpy
import shutil
import sys
from pathlib import Path

from tabsa.checkpoint.model_folder import read_folder
from tabsa.models.export import export

ROOT = Path(__file__).parents[2]
BOX = ROOT / "src" / "tabsa" / "pretrained" / "places"
FILES = ("checksums.json", "config.json", "metrics.json", "model.onnx", "vectors.safetensors", "weights.safetensors")
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
    runpy.run_path(str(ROOT / "repro" / "box" / "measure.py"), run_name="__main__")
    print(f"{folder}: {size:.1f} MB")


if __name__ == "__main__":
    main()
