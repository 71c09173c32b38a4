"""What int8 gains and loses against float32: sentences a second, and every metric on Sentihood's test split.

    python benchmarks/int8.py [--model FOLDER] [--data-dir DIR] [--threads 2]

Both graphs of one model folder run in turns through `Predictor.predict_many`, from text to opinions. int8 is worth
offering while it loses at most 0.2 points of any of the five metrics, in both families of definitions, with the
benchmark's four aspects and with all of the model's; where it loses more, the exit code is 1. Make the graphs with
`tabsa export FOLDER --precision int8`. With `--threads 1` it is processor time that counts,
which other work on the machine hardly disturbs. The figures go to benchmarks/results/int8.json.
"""

import argparse
import json
import os
import platform
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime

import tabsa
from tabsa.checkpoint.model_folder import GRAPHS, Precision
from tabsa.datasets.loading import load
from tabsa.evaluation.metrics import FAMILIES, METRICS
from tabsa.evaluation.report import evaluate
from tabsa.inference.predictor import Predictor
from tabsa.inference.results import Prediction
from tabsa.schema import Dataset

RESULTS = Path(__file__).parent / "results" / "int8.json"
ALLOWED = 0.2  # points
PRECISIONS: tuple[Precision, ...] = ("float32", "int8")


def predictions(model: Predictor, dataset: Dataset) -> list[Prediction]:
    """Every target-aspect pair of every sentence."""
    texts, targets = zip(*((example.text, example.targets) for example in dataset.examples), strict=True)
    return list(model.predict_many(texts, targets_of_each=targets))


def table(found: list[Prediction], dataset: Dataset) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Probabilities (groups, aspects, labels) in the dataset's order."""
    rows = []
    for prediction in found:
        found = {(opinion.target, opinion.aspect): opinion.probabilities for opinion in prediction.opinions}
        targets = dict.fromkeys(opinion.target for opinion in prediction.opinions)
        rows += [[[found[target, a][label] for label in dataset.labels] for a in dataset.aspects] for target in targets]
    probabilities = np.array(rows, np.float64)
    return np.asarray(probabilities / probabilities.sum(-1, keepdims=True))


def speeds(
    models: Mapping[Precision, Predictor], dataset: Dataset, repeats: int, threads: int
) -> dict[Precision, float]:
    """Sentences a second, the best of several rounds in turns."""
    best = dict.fromkeys(models, float("inf"))
    clock = time.process_time if threads == 1 else time.perf_counter
    for _ in range(repeats):
        for name, model in models.items():
            start = clock()
            predictions(model, dataset)
            best[name] = min(best[name], clock() - start)
    return {name: len(dataset.examples) / taken for name, taken in best.items()}


def losses(tables: Mapping[Precision, Any], dataset: Dataset) -> dict[str, Any]:
    """Each metric of both in per cent, and how many points int8 has less."""
    reports = {name: evaluate(dataset, probabilities, bootstrap=0) for name, probabilities in tables.items()}
    result: dict[str, Any] = {}
    for family in FAMILIES:
        result[family] = {}
        for metric in METRICS:
            full, small = (100 * getattr(reports[name], family)[metric] for name in PRECISIONS)
            result[family][metric] = {"float32": full, "int8": small, "loss": full - small}
    return result


def main() -> None:
    """Measure, print, write."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--model", default=None, help="a name or a folder (default: the model in the box)")
    parser.add_argument("--data-dir", type=Path, default=None)
    parser.add_argument("--threads", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--repeats", type=int, default=7)
    arguments = parser.parse_args()
    models = {name: tabsa.load(arguments.model, threads=arguments.threads, precision=name) for name in PRECISIONS}
    aspects = {"four aspects": None, "all aspects": models["float32"].aspects}
    data = {name: load("sentihood", "test", data_dir=arguments.data_dir, aspects=a) for name, a in aspects.items()}
    found = {name: predictions(model, data["all aspects"]) for name, model in models.items()}
    metrics, differences = {}, {}
    for name, dataset in data.items():
        tables = {precision: table(found[precision], dataset) for precision in PRECISIONS}
        metrics[name] = losses(tables, dataset)
        full, small = tables.values()
        differences[name] = {
            "same_label": float((full.argmax(-1) == small.argmax(-1)).mean()),
            "mean_difference": float(np.abs(full - small).mean()),
            "largest_difference": float(np.abs(full - small).max()),
        }
    worst = max(values["loss"] for both in metrics.values() for family in both.values() for values in family.values())
    speed = speeds(models, data["all aspects"], arguments.repeats, arguments.threads)
    for name, both in metrics.items():
        for family, values in both.items():
            shown = ", ".join(f"{metric} {found['int8'] - found['float32']:+.2f}" for metric, found in values.items())
            print(f"{name}, {family}: {shown}")
    print(
        f"largest loss: {worst:.2f} points; the same label for {differences['all aspects']['same_label']:.2%} of pairs"
    )
    ratio = speed["int8"] / speed["float32"]
    print(f"float32 {speed['float32']:.0f}, int8 {speed['int8']:.0f} sentences/s: {ratio:.2f} times as fast")
    folder = models["float32"].folder
    content = {
        "what": "int8 against float32, Sentihood test, from text to opinions",
        "model": {
            "name": arguments.model or "the one in the box",
            "kind": folder.config.kind,
            "vectors": folder.vectors.dim,
        },
        "largest_loss": worst,
        "allowed_loss": ALLOWED,
        "metrics": metrics,
        "probabilities": differences,
        "sentences_per_second": speed,
        "times_as_fast": ratio,
        "megabytes": {name: (folder.path / GRAPHS[name]).stat().st_size / 1e6 for name in PRECISIONS},
        "machine": {
            "threads": arguments.threads,
            "vnni": "_vnni" in Path("/proc/cpuinfo").read_text(encoding="utf-8"),
            "system": f"{platform.system()} {platform.machine()}",
            "python": platform.python_version(),
            "onnxruntime": onnxruntime.__version__,
        },
    }
    RESULTS.parent.mkdir(exist_ok=True)
    RESULTS.write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")
    if worst > ALLOWED:
        sys.exit(f"int8 loses more than {ALLOWED} points: do not ship its graph")


if __name__ == "__main__":
    main()
