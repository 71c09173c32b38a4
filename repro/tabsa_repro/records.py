"""What is kept of a part: every run, their mean and standard deviation, and all it takes to make them again."""

import json
import math
import os
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, TypeAlias

import tabsa
from tabsa.errors import DataError
from tabsa.evaluation.metrics import FAMILIES, METRICS
from tabsa.files import read_text, replacing
from tabsa.training.run_config import RunConfig
from tabsa_repro.experiments import Variant
from tabsa_repro.training import SeedRun

Record: TypeAlias = dict[str, Any]
Values: TypeAlias = dict[str, dict[str, dict[str, float | None]]]  # split, family, metric


def make_record(part: Variant, config: RunConfig, runs: Sequence[SeedRun], facts: Mapping[str, Any]) -> Record:
    """One object of a result's file; `facts` are the command, the commit, the vectors, the device and the seconds."""
    rows = [run.to_dict() for run in runs]
    named = {"system": part.name} | ({"change": part.change} if part.change else {})
    return named | {
        "seeds": [run.seed for run in runs if run.seed is not None],
        "runs": rows,
        "mean": _over_runs(rows, _mean),
        "sd": _over_runs(rows, _zero if runs[0].seed is None else _deviation),
        "config": plain_config(config),
        **facts,
    }


def plain_config(config: RunConfig) -> dict[str, Any]:
    """The whole configuration as JSON has it."""
    values: dict[str, Any] = json.loads(json.dumps(asdict(config)))
    return values


def _over_runs(rows: Sequence[Record], what: Any) -> Values:
    """One number for each split, family and metric."""
    return {
        split: {
            family: {metric: what([row[split][family][metric] for row in rows]) for metric in METRICS}
            for family in FAMILIES
        }
        for split in ("dev", "test")
    }


def _mean(values: Sequence[float | None]) -> float | None:
    """Undefined where one of them is."""
    known = [value for value in values if value is not None]
    return math.fsum(known) / len(known) if known and len(known) == len(values) else None


def _deviation(values: Sequence[float | None]) -> float | None:
    """The sample's standard deviation; undefined for one value."""
    mean = _mean(values)
    if mean is None or len(values) < 2:
        return None
    return math.sqrt(math.fsum((value - mean) ** 2 for value in values if value is not None) / (len(values) - 1))


def _zero(_: Sequence[float | None]) -> float:
    """Of a system without randomness."""
    return 0.0


def write_json(path: Path, content: object) -> None:
    """Readable JSON, whole or not at all."""
    with replacing(path) as stream:
        stream.write(json.dumps(content, indent=1, allow_nan=False, ensure_ascii=False) + "\n")


def read_json(path: Path) -> Any:
    """What `write_json` wrote; None where there is nothing."""
    if not path.exists():
        return None
    try:
        return json.loads(read_text(path))
    except json.JSONDecodeError as e:
        raise DataError(f"{path} is not valid JSON: {e}; delete it and run again") from e


def commit() -> str | None:
    """The commit of the code that runs, with `-dirty` where a file differs from it; None where that is not known.

    A copy of the files without their history, or with an old one, says it by the environment variable TABSA_COMMIT.
    """
    if stated := os.environ.get("TABSA_COMMIT"):
        return stated
    package = Path(tabsa.__file__).parent
    root = package.parents[1]
    if package != root / "src" / "tabsa" or not (root / ".git").exists():
        return None
    describe = ["git", "-C", str(root), "describe", "--always", "--dirty", "--abbrev=7", "--exclude=*"]
    try:
        return subprocess.run(describe, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return None
