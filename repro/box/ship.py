"""Put a trained model into the box: its files, what it comes to, and its card.

A graph in int8 (`model.int8.onnx`, made of today's weights at c56808e) belongs to the weights it was made of: it goes.

tabsa train repro/box/places.toml --out runs/box
python repro/box/ship.py runs/box
"""

import runpy
import shutil
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
BOX = ROOT / "src" / "tabsa" / "pretrained" / "places"
FILES = ("checksums.json", "config.json", "metrics.json", "model.onnx", "vectors.safetensors", "weights.safetensors")
MEGABYTES = 20  # that the folder may take


def main() -> None:
    """Copy, export, measure, describe."""
    trained = Path(sys.argv[1])
    for name in FILES:
        shutil.copyfile(trained / name, BOX / name)
    (BOX / "model.int8.onnx").unlink(missing_ok=True)
    size = sum(path.stat().st_size for path in BOX.iterdir()) / 1e6
    if size > MEGABYTES:
        raise SystemExit(f"the folder takes {size:.1f} MB; {MEGABYTES} are allowed")
    folder = BOX.relative_to(ROOT)
    runpy.run_path(str(ROOT / "repro" / "box" / "measure.py"), run_name="__main__")
    print(f"{folder}: {size:.1f} MB")


if __name__ == "__main__":
    main()
