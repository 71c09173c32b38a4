"""The records of parts, and where they lie: every run, their mean and deviation, and all it takes to make them again.

OUT/parts/EXPERIMENT/PART.json          a finished part
OUT/parts/EXPERIMENT/PART.safetensors   the best weights of its seeds, of systems whose gates are looked at
OUT/EXPERIMENT.json                     the finished parts, in order
"""

import json
import os
import statistics
import subprocess
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, TypeAlias

from safetensors import SafetensorError
from safetensors.torch import load_file, save
from torch import Tensor

import tabsa
from tabsa.errors import DataError, OutputError
from tabsa.evaluation.metrics import FAMILIES, METRICS
from tabsa.files import read_text, replacing
from tabsa.training.run_config import RunConfig, run_config
from tabsa.training.run_folder import difference, flat
from tabsa_repro.experiments import EXPERIMENTS, Variant
from tabsa_repro.seed_runs import SeedRun

Record: TypeAlias = dict[str, Any]


def make_record(part: Variant, config: RunConfig, runs: Sequence[SeedRun], facts: Mapping[str, Any]) -> Record:
    """One object of a result's file; `facts` are the command, the commit, the vectors, the device and the seconds."""
    rows = [run.to_dict() for run in runs]
    once = runs[0].seed is None

    def over_runs(what: Callable[[list[float]], float | None]) -> dict[str, Any]:
        """One number for each split, family and metric; undefined where that of a run is."""

        def number(values: list[float | None]) -> float | None:
            known = [value for value in values if value is not None]
            return what(known) if len(known) == len(values) else None

        return {
            split: {f: {m: number([row[split][f][m] for row in rows]) for m in METRICS} for f in FAMILIES}
            for split in ("dev", "test")
        }

    return named(part, {}) | {
        "seeds": [run.seed for run in runs if run.seed is not None],
        "runs": rows,
        "mean": over_runs(statistics.fmean),
        "sd": over_runs(lambda values: 0.0 if once else statistics.stdev(values) if len(values) > 1 else None),
        "config": plain_config(config),
        **facts,
    }


def named(part: Variant, record: Record) -> Record:
    """A record under a part's name."""
    rest = {key: value for key, value in record.items() if key not in ("system", "change")}
    return {"system": part.name} | ({"change": part.change} if part.change else {}) | rest


def plain_config(config: RunConfig) -> dict[str, Any]:
    """The whole configuration as JSON has it."""
    values: dict[str, Any] = json.loads(json.dumps(asdict(config)))
    return values


class ResultStore:
    """The results below one folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def path(self, experiment: str, part: Variant) -> Path:
        """The file of one part."""
        return self.folder / "parts" / experiment / f"{part.name}.json"

    def combined(self, experiment: str) -> Path:
        """The file of all parts."""
        return self.folder / f"{experiment}.json"

    def records(self, experiment: str) -> dict[str, Record]:
        """All that is there of an experiment, by name, in the experiment's order; a part's own file goes first."""
        rows = read_json(self.combined(experiment)) or []
        if isinstance(rows, dict):  # Figure 2's
            rows = rows["systems"]
        together = {row["system"]: row for row in rows}
        found = {}
        for part in EXPERIMENTS[experiment]:
            record = read_json(self.path(experiment, part)) or together.get(part.name)
            if record is not None:
                found[part.name] = record
        return found

    def finished(self, experiment: str, part: Variant, config: RunConfig, seeds: Sequence[int]) -> Record | None:
        """The part, where it is there; refuses one of another run."""
        record = self.records(experiment).get(part.name)
        if record is not None and (unlike := _unlike(record, config, seeds)):
            path = self.path(experiment, part)
            where = path if path.exists() else self.combined(experiment)
            raise OutputError(
                f"{where} holds another run of {part.name} ({unlike}); replace it with --again, or choose another --out"
            )
        return record

    def twin(self, config: RunConfig, seeds: Sequence[int]) -> tuple[str, str] | None:
        """The experiment and part, whichever they are, that are this very run."""
        for experiment in EXPERIMENTS:
            for name, record in self.records(experiment).items():
                if not _unlike(record, config, seeds):
                    return experiment, name
        return None

    def save(self, experiment: str, part: Variant, record: Record, weights: dict[str, Tensor]) -> None:
        """Write a part; without `weights` only its figures."""
        path = self.path(experiment, part)
        if weights:
            with replacing(path.with_suffix(".safetensors"), "wb") as stream:
                stream.write(save({name: tensor.contiguous() for name, tensor in weights.items()}))
        write_json(path, record)

    def weights(self, experiment: str, name: str) -> dict[str, Tensor] | None:
        """The best weights of a part, where they were saved."""
        path = self.folder / "parts" / experiment / f"{name}.safetensors"
        try:
            return load_file(path) if path.exists() else None
        except SafetensorError as e:
            raise OutputError(f"{path} is damaged ({e}); delete it and run again") from e


def _unlike(record: Record, config: RunConfig, seeds: Sequence[int]) -> str:
    """The first option that a record does not share with a run, in words.

    Options that came later count as their defaults, and those that are gone had one value in every record.
    """
    if record["config"]["kind"] != config.kind:
        return f"its kind is {record['config']['kind']!r}, not {config.kind!r}"
    new = flat(plain_config(config))
    old = flat(plain_config(run_config({"kind": config.kind})))
    old |= {name: value for name, value in flat(record["config"]).items() if name in new}
    if record["seeds"]:
        old["seeds"], new["seeds"] = record["seeds"], list(seeds)
    return difference(old, new)


def write_json(path: Path, content: object) -> None:
    """Write readable JSON, whole or not at all."""
    with replacing(path) as stream:
        stream.write(json.dumps(content, indent=1, allow_nan=False, ensure_ascii=False) + "\n")


def read_json(path: Path) -> Any:
    """Read what `write_json` wrote; None where there is nothing."""
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
