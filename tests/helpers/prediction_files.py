"""Files of predictions, as any system may write them for `tabsa evaluate`."""

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from table_rows import write_rows
from tabsa.schema import Dataset


def prediction_rows(dataset: Dataset, probabilities: NDArray[np.float64]) -> list[dict[str, Any]]:
    """The rows of a file in the dataset's order; `probabilities` is (groups, aspects, labels)."""
    return [
        {
            "id": example.id,
            "target": target.name,
            "aspect": aspect,
            "probabilities": dict(zip(dataset.labels, vector, strict=True)),
        }
        for (example, target), of_group in zip(dataset.groups(), probabilities.tolist(), strict=True)
        for aspect, vector in zip(dataset.aspects, of_group, strict=True)
    ]


def write_predictions(path: Path, dataset: Dataset, probabilities: NDArray[np.float64]) -> Path:
    return write_rows(path, prediction_rows(dataset, probabilities))
