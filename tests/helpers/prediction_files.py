"""Files of predictions, as any system may write them for `tabsa evaluate`."""

import gzip
import json
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tabsa.schema import Dataset


def write_predictions(path: Path, dataset: Dataset, probabilities: NDArray[np.float64]) -> Path:
    """One JSON object a line, in the dataset's order; `probabilities` is (groups, aspects, labels)."""
    rows = [
        {
            "id": example.id,
            "target": target.name,
            "aspect": aspect,
            "probabilities": dict(zip(dataset.labels, vector, strict=True)),
        }
        for (example, target), of_group in zip(dataset.groups(), probabilities.tolist(), strict=True)
        for aspect, vector in zip(dataset.aspects, of_group, strict=True)
    ]
    text = "".join(json.dumps(row, allow_nan=False) + "\n" for row in rows).encode()
    path.write_bytes(gzip.compress(text, mtime=0) if path.suffix == ".gz" else text)
    return path
