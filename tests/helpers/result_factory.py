"""Runs of a second on the package's own data, and results made up without any."""

from pathlib import Path
from typing import Any

from tabsa.evaluation.metrics import FAMILIES, METRICS
from tabsa_repro.experiments import EXPERIMENTS, config_of
from tabsa_repro.records import make_record
from tabsa_repro.running import ReproduceRequest
from tabsa_repro.seed_runs import SeedRun

TINY = (
    "data.name=places",
    "augmentation.composed=0",
    "vectors.file=",
    "vectors.aligned=",
    "vectors.size=6",
    "training.threads=1",
    "training.epochs=2",
    "training.validate_every=1",
    "training.precision=float32",
)


def request(experiment: str, out: Path, *only: str, **others: Any) -> ReproduceRequest:
    """A run of a second."""
    settings = others.pop("settings", ())
    return ReproduceRequest(
        experiment, out, only=only, seeds=others.pop("seeds", 2), settings=(*TINY, *settings), **others
    )


def made_up(experiment: str, seeds: int = 5) -> list[dict[str, Any]]:
    """Records of every part, figures between 0.7 and 0.9."""
    records = []
    for number, part in enumerate(EXPERIMENTS[experiment]):
        once = part.base == "lr"
        runs = [
            SeedRun(None if once else seed, None if once else 7, *(_figures(number, seed + shift) for shift in (0, 2)))
            for seed in range(1, 2 if once else seeds + 1)
        ]
        facts = {"command": "tabsa", "commit": "abc1234", "vectors": {}, "device": "CPU", "seconds": 1.0}
        records.append(make_record(part, config_of(part), runs, facts))
    return records


def _figures(part: int, seed: int) -> dict[str, dict[str, float]]:
    return {
        family: {metric: 0.7 + 0.01 * part + 0.003 * seed + 0.02 * n for n, metric in enumerate(METRICS)}
        for family in FAMILIES
    }
